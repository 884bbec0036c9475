"""A quadruped in MuJoCo: what its joints, its base and the force on it read while a crane or a force sensor carries it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

CRANE, SENSOR, FLIGHT = "crane", "sensor", "flight"

LEG = """<body name="{n}_hip" pos="{x} {y} 0"><joint name="{n}_roll" axis="1 0 0" {drive}/>
  <inertial pos="0 {d} 0" mass="0.15" fullinertia="5e-5 3e-5 4e-5 1e-6 0 0"/>
  <body name="{n}_thigh" pos="0 {d} 0"><joint name="{n}_hip" axis="0 1 0" {drive}/>
    <inertial pos="0.002 {e} -0.075" mass="0.16" fullinertia="4e-4 4e-4 5e-5 0 1e-6 2e-6"/>
    <body name="{n}_shank" pos="0 {e} -0.16"><joint name="{n}_knee" axis="0 1 0" {drive}/>
      <inertial pos="0.001 0.003 -0.08" mass="0.05" fullinertia="1.6e-4 1.6e-4 6e-6 0 1e-6 0"/></body></body></body>"""


DRIVE = 'armature="0.002" damping="0.02" frictionloss="0.03"'


def model_text(drive: str = DRIVE, legs: int = 4) -> str:
    """Three joints a leg, 2.5 kg or so with four; without `drive` what a CAD program knows."""
    places = [("fl", 0.19, 0.09, 1), ("fr", 0.19, -0.09, -1), ("hl", -0.19, 0.09, 1), ("hr", -0.19, -0.09, -1)]
    bodies = "".join(LEG.format(n=n, x=x, y=y, d=0.014 * s, e=0.037 * s, drive=drive) for n, x, y, s in places[:legs])
    return f"""<mujoco model="walker"><compiler angle="radian"/>
<option timestep="0.0005" integrator="implicitfast"/><worldbody><body name="trunk"><freejoint name="free"/>
<inertial pos="0.01 0.002 0.004" mass="1.15" fullinertia="0.0056 0.013 0.017 1e-4 2e-4 0"/>{bodies}</body></worldbody></mujoco>"""


@dataclass(frozen=True)
class Noise:
    """Standard deviations of what is recorded."""

    angle: float = 1e-4
    torque: float = 0.01
    place: float = 1e-4
    tilt: float = 1e-4
    force: float = 0.05
    moment: float = 0.01


def reference(rng: np.random.Generator, n: int, seconds: float, size: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Amplitudes (5, n), frequencies in rad/s and phases of a motion of n coordinates."""
    frequency = 2.0 * np.pi * np.arange(1, 6) * max(1.0, seconds // 10.0) / seconds * 3.0
    return (
        size * rng.normal(size=(5, n)) / np.sqrt(5.0) / np.arange(1, 6)[:, None] ** 0.5,
        frequency,
        rng.uniform(0, 6.28, (5, n)),
    )


def record(path: Path, mode: str, seed: int, seconds: float = 20.0, legs: int = 4) -> None:
    """A log of the robot at 500 Hz."""
    noise, rng, n = Noise(), np.random.default_rng(seed), 3 * legs
    model = mujoco.MjModel.from_xml_string(model_text(legs=legs))
    data = mujoco.MjData(model)
    joints, base = reference(rng, n, seconds, 0.5), reference(rng, 6, seconds, 0.25)
    rest = np.tile([0.0, 0.8, -1.4], legs)

    def wanted(motion: tuple[np.ndarray, ...], t: float) -> tuple[np.ndarray, np.ndarray]:
        a, w, p = motion
        angle = w[:, None] * t + p
        return (a * np.sin(angle)).sum(axis=0), (a * w[:, None] * np.cos(angle)).sum(axis=0)

    start, _ = wanted(joints, 0.0)
    data.qpos[7:] = rest + start
    rows, every = [], 4
    for step in range(int(seconds * 2000)):
        mujoco.mj_forward(model, data)
        q, dq = wanted(joints, data.time)
        torque = 6.0 * (rest + q - data.qpos[7:]) + 0.15 * (dq - data.qvel[6:])
        force, moment = np.zeros(3), np.zeros(3)
        if mode != FLIGHT:  # a stiff spring to a moving pose, on the trunk's origin
            place, rate = wanted(base, data.time)
            R = data.xmat[1].reshape(3, 3)
            error = np.zeros(3)
            mujoco.mju_quat2Vel(error, _apart(data.qpos[3:7], place[3:]), 1.0)
            force = 3000.0 * (0.3 * place[:3] - data.qpos[:3]) + 100.0 * (0.3 * rate[:3] - data.qvel[:3]) + [0, 0, 24.0]
            moment = R @ (60.0 * error - 2.0 * (data.qvel[3:6]))
        data.ctrl[:] = 0.0
        data.qfrc_applied[:] = 0.0
        data.qfrc_applied[6:] = torque
        data.qfrc_applied[:3] = force
        data.qfrc_applied[3:6] = data.xmat[1].reshape(3, 3).T @ moment
        if step % every == 0:
            R = data.xmat[1].reshape(3, 3)
            wrench = np.concatenate([R.T @ force, R.T @ moment])
            rows.append(np.concatenate([[data.time], data.qpos[7:], torque, data.qpos[:3], data.qpos[3:7], wrench]))
        mujoco.mj_step(model, data)
    write(path, np.array(rows), mode, noise, rng)


def _apart(quat: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """The rotation from an orientation to that of a rotation vector, in the frame of the first."""
    target, back, out = np.zeros(4), np.zeros(4), np.zeros(4)
    angle = float(np.linalg.norm(rotation))
    mujoco.mju_axisAngle2Quat(target, rotation / angle, angle)
    mujoco.mju_negQuat(back, quat)
    mujoco.mju_mulQuat(out, back, target)
    return out


def write(path: Path, rows: np.ndarray, mode: str, noise: Noise, rng: np.random.Generator) -> None:
    n = (rows.shape[1] - 14) // 2
    names = [f"{leg}_{joint}" for leg in ("fl", "fr", "hl", "hr") for joint in ("roll", "hip", "knee")][:n]
    header = ["t", *(f"{n}_position" for n in names), *(f"{n}_effort" for n in names)]
    header += [*(f"base_pos_{c}" for c in "xyz"), *(f"base_quat_{c}" for c in "wxyz")]
    spread = np.concatenate([[0.0], np.full(n, noise.angle), np.full(n, noise.torque), np.full(3, noise.place), np.zeros(4)])
    spread = np.concatenate([spread, np.full(3, noise.force), np.full(3, noise.moment)])
    noisy = rows + spread * rng.normal(size=rows.shape)
    tilt = np.column_stack([np.ones(len(rows)), 0.5 * noise.tilt * rng.normal(size=(len(rows), 3))])
    for row, small in zip(noisy, tilt / np.linalg.norm(tilt, axis=1, keepdims=True), strict=True):
        out = np.zeros(4)
        mujoco.mju_mulQuat(out, row[2 * n + 4 : 2 * n + 8].copy(), small)
        row[2 * n + 4 : 2 * n + 8] = out
    if mode == SENSOR:
        header += [f"wrench_trunk_{c}" for c in ("fx", "fy", "fz", "tx", "ty", "tz")]
    else:
        noisy = noisy[:, :-6]
    np.savetxt(path, noisy, delimiter=",", header=",".join(header), comments="", fmt="%.9g")


def card(folder: Path, mode: str, legs: int = 4) -> Path:
    """A card of the robot beside its model without drives."""
    (folder / "walker.xml").write_text(model_text("", legs))
    contacts = "none" if mode == FLIGHT else "[trunk]"
    out = folder / f"{mode}.yaml"
    out.write_text(f"model: walker.xml\ncontacts: {contacts}\nfriction: [viscous, coulomb]\narmature: true\n")
    return out
