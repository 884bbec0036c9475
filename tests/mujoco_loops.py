"""Mechanisms with closed loops in MuJoCo, driven by motors under PD control: model files and logs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

STIFF = 'solref="0.002 1" solimp="0.9999 0.9999 0.001 0.5 2"'
"""As stiff as MuJoCo's constraints become."""

DRIVE = 'armature="0.02" damping="0.3" frictionloss="0.4"'

PARALLELOGRAM = f"""<mujoco model="parallelogram">
<compiler angle="radian" autolimits="true"/>
<option timestep="0.0005" integrator="implicitfast"><flag contact="disable"/></option>
<worldbody>
 <body name="turret" pos="0 0 .2"><joint name="yaw" axis="0 0 1" range="-2 2" {DRIVE}/>
  <inertial pos="0.01 0 .05" mass="3" diaginertia=".02 .02 .02"/>
  <body name="upper" pos="0.05 0 .1"><joint name="shoulder" axis="0 1 0" range="-0.9 0.9" {DRIVE}/>
   <inertial pos=".01 0 .2" mass="2" diaginertia=".03 .03 .002"/>
   <body name="fore" pos="0 0 .4"><joint name="elbow" axis="0 1 0"/>
    <inertial pos=".15 0 0.01" mass="1.5" diaginertia=".002 .02 .02"/></body>
  </body>
  <body name="crank" pos="0.05 0 .1"><joint name="drive" axis="0 1 0" range="-0.9 0.9" {DRIVE}/>
   <inertial pos="-.06 0 0" mass=".5" diaginertia=".001 .002 .002"/>
   <body name="rod" pos="-.12 0 0"><joint name="pin" axis="0 1 0"/>
    <inertial pos="0 0 .2" mass=".4" diaginertia=".006 .006 .0002"/></body>
  </body>
 </body>
</worldbody>
<equality><connect body1="rod" body2="fore" anchor="0 0 .4" {STIFF}/></equality>
<actuator><motor joint="yaw"/><motor joint="shoulder"/><motor joint="drive"/></actuator>
</mujoco>
"""

FOUR_BAR = f"""<mujoco model="four-bar">
<compiler angle="radian" autolimits="true"/>
<option timestep="0.0005" integrator="implicitfast" gravity="0 -9.81 0"><flag contact="disable"/></option>
<worldbody>
 <body name="crank"><joint name="motor" axis="0 0 1" {DRIVE}/><inertial pos=".1 .02 0" mass="1" diaginertia=".01 .01 .02"/>
  <body name="coupler" pos=".3 0 0" euler="0 0 0.8127555613686607"><joint name="pin" axis="0 0 1"/>
   <inertial pos=".4 0 0" mass=".7" diaginertia=".01 .04 .04"/>
   <site name="tip" pos=".8 0 0"/></body>
 </body>
 <body name="rocker" pos="1 0 0" euler="0 0 1.8234765819369749"><joint name="pivot" axis="0 0 1"/>
  <inertial pos=".3 0 0" mass=".9" diaginertia=".01 .03 .03"/>
  <site name="end" pos=".6 0 0"/></body>
</worldbody>
<equality><connect name="loop" site1="tip" site2="end" {STIFF}/></equality>
<actuator><motor joint="motor"/></actuator>
</mujoco>
"""


def record(
    path: Path, model_file: Path, drives: Sequence[str], seed: int, seconds: float = 10.0, reach: float = 0.6, noise: float = 1.0
) -> Path:
    """A log (500 Hz) of the driven joints alone, which follow sums of sines under PD control; encoders and torques carry noise."""
    model = mujoco.MjModel.from_xml_path(str(model_file))
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    dofs = [model.joint(name).dofadr[0] for name in drives]
    count, dt = len(drives), model.opt.timestep
    w = 2 * np.pi * rng.uniform(0.15, 1.1, (5, count))
    size, phase = rng.uniform(0.3, 1.0, (5, count)), rng.uniform(0, 2 * np.pi, (5, count))
    size *= reach / size.sum(axis=0)

    def wanted(t: float) -> tuple[np.ndarray, np.ndarray]:
        ramp, rate = 1 - np.exp(-t * t), 2 * t * np.exp(-t * t)
        path, speed = (size * np.sin(w * t + phase)).sum(axis=0), (size * w * np.cos(w * t + phase)).sum(axis=0)
        return ramp * path, ramp * speed + rate * path

    rows = []
    for k in range(int(seconds / dt)):
        q_ref, dq_ref = wanted(k * dt)
        tau = 400.0 * (q_ref - data.qpos[dofs]) + 30.0 * (dq_ref - data.qvel[dofs])
        data.ctrl[:] = tau
        if k % 4 == 0:
            rows.append([k * dt, *data.qpos[dofs], *tau])
        mujoco.mj_step(model, data)
    table = np.array(rows)
    table[:, 1 : 1 + count] += noise * 2e-5 * rng.normal(size=(len(table), count))
    table[:, 1 + count :] += noise * 0.02 * rng.normal(size=(len(table), count))
    names = [f"{kind}_{name}" for kind in ("q", "tau") for name in drives]
    np.savetxt(path, table, delimiter=",", header=",".join(["t", *names]), comments="", fmt="%.9g")
    return path
