"""A three-joint arm simulated by MuJoCo under a controller of its own: logs that no part of the program under test has made."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from changes import Columns

STEP, CONTROL, RATE = 2.5e-4, 1e-3, 500.0
"""s of a step of the simulation and of the controller, Hz of the log."""

POSITION_NOISE, TORQUE_NOISE = 2e-5, 0.02
"""Of the log, relative to the joint's largest torque for the latter; the controller does not see them."""

SETTLED = 0.3
"""s at the end in which the arm stands."""

_ARM = """<mujoco model="arm3">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{step}" integrator="RK4"/>
  <worldbody>
    <body name="shoulder" pos="0 0 0.3">
      <joint name="j1" axis="0 0 1" armature="{Ia[0]}" damping="{Fv[0]}" frictionloss="{Fc[0]}"/>
      <inertial pos="0 0.02 0.05" mass="{m[0]}" diaginertia="{i[0]} {i[0]} {i[0]}"/>
      <body name="upper" pos="0 0 0.1">
        <joint name="j2" axis="0 1 0" armature="{Ia[1]}" damping="{Fv[1]}" frictionloss="{Fc[1]}"/>
        <inertial pos="0.01 0.03 0.17" mass="{m[1]}" diaginertia="{i[1]} {i[1]} {h[1]}"/>
        <body name="lower" pos="0 0 0.4">
          <joint name="j3" axis="0 1 0" armature="{Ia[2]}" damping="{Fv[2]}" frictionloss="{Fc[2]}"/>
          <inertial pos="0.02 0 0.15" mass="{m[2]}" diaginertia="{i[2]} {i[2]} {h[2]}"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="j1"/><motor joint="j2"/><motor joint="j3"/></actuator>
</mujoco>
"""
_TRUE = {"m": (4.0, 5.0, 2.5), "i": (0.02, 0.08, 0.03), "h": (0.0, 0.01, 0.004)}
_DRIVES = {"Ia": (0.3, 0.3, 0.1), "Fv": (3.0, 4.0, 1.5), "Fc": (4.0, 5.0, 2.0)}


def write_models(folder: Path) -> tuple[Path, Path]:
    """MJCF of the arm as it is, and as its maker describes it: links a quarter too heavy or too light."""
    guess = {key: tuple(x * f for x, f in zip(values, (1.25, 0.8, 1.2), strict=True)) for key, values in _TRUE.items()}
    true, stated = folder / "arm3_true.xml", folder / "arm3.xml"
    true.write_text(_ARM.format(step=STEP, **_TRUE, **_DRIVES), encoding="utf-8")
    stated.write_text(_ARM.format(step=STEP, **guess, **_DRIVES), encoding="utf-8")
    return true, stated


def simulate(model: Path, duration: float, seed: int) -> Columns:
    """Columns of a log: sums of sines followed by a PD controller with gravity compensation that knows two thirds of the weight."""
    import mujoco

    arm = mujoco.MjModel.from_xml_path(str(model))
    data = mujoco.MjData(arm)
    rng = np.random.default_rng(seed)
    frequency = rng.uniform(0.15, 0.9, (4, 3))
    phase = rng.uniform(0.0, 2.0 * np.pi, (4, 3))
    size = np.array([0.9, 0.6, 0.8]) / (4.0 * frequency**0.5)
    P, D = np.array([900.0, 1200.0, 500.0]), np.array([45.0, 60.0, 20.0])
    held, kept = round(CONTROL / STEP), round(1.0 / (RATE * STEP))
    rows: list[np.ndarray] = []
    for k in range(round(duration / STEP)):
        t = k * STEP
        if k % held == 0:
            angle = 2.0 * np.pi * frequency * t + phase
            near = min(max(min(t, duration - SETTLED - t), 0.0), 1.0)
            rise = near**2 * (3.0 - 2.0 * near)  # from rest to rest, within a second; what it adds to the rate is left away
            wanted = rise * np.sum(size * np.sin(angle), axis=0)
            rate = rise * np.sum(size * 2.0 * np.pi * frequency * np.cos(angle), axis=0)
            data.ctrl[:] = P * (wanted - data.qpos) + D * (rate - data.qvel) + data.qfrc_bias / 1.5
        if k % kept == 0:
            rows.append(np.concatenate([[t], data.qpos, data.ctrl]))
        mujoco.mj_step(arm, data)
    log = np.array(rows)
    log[:, 1:4] += POSITION_NOISE * rng.standard_normal((len(log), 3))
    log[:, 4:7] += TORQUE_NOISE * np.abs(log[:, 4:7]).max(axis=0) * rng.standard_normal((len(log), 3))
    return dict(zip(["t", "q1", "q2", "q3", "tau1", "tau2", "tau3"], log.T, strict=True))
