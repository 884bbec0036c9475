"""Logs of an arm with a load beyond a wrist force-torque sensor, the wrench by Pinocchio."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

import inertica as ia
from inertica.robot import inertia
from referee import pinocchio_model

LOAD = inertia.from_com(
    1.4, np.array([0.02, -0.03, 0.08]), np.array([[4e-3, 2e-4, 1e-4], [2e-4, 5e-3, -1e-4], [1e-4, -1e-4, 3e-3]])
)
BIAS = np.array([3.0, -2.0, 5.0, 0.2, -0.1, 0.05])
PARTS = ("fx", "fy", "fz", "tx", "ty", "tz")


def write(
    path: Path, seed: int, sign: float = 1.0, poses: int = 0, columns: Sequence[str] = PARTS, load: np.ndarray = LOAD
) -> None:
    """Ten seconds of motion, or so many poses at rest; 0.1 N, 5e-3 N m and 2e-5 rad of noise."""
    rate = 500.0
    robot, rng = ia.load("panda7").robot, np.random.default_rng(seed)
    n, t = robot.n, np.arange(int(10.0 * rate)) / rate
    low, high = np.array(robot.limits.lower), np.array(robot.limits.upper)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    if poses:
        hold = np.minimum((t * poses / 10.0).astype(int), poses - 1)
        q, dq, ddq = (middle + 0.8 * half * rng.uniform(-1, 1, (poses, n)))[hold], *np.zeros((2, len(t), n))
    else:
        w = 2.0 * np.pi * np.array([0.1, 0.3, 0.5, 0.8])[:, None, None]
        a, phase = 0.12 * half * rng.normal(size=(4, 1, n)), rng.uniform(0, 6.28, (4, 1, n))
        angle = w * t[None, :, None] + phase
        q, dq, ddq = middle + (a * np.sin(angle)).sum(0), (a * w * np.cos(angle)).sum(0), -(a * w**2 * np.sin(angle)).sum(0)
    model = pinocchio_model(robot, np.zeros((n, 10)))
    body = inertia.to_com(load)
    held = pin.Inertia(body.mass, body.com, body.inertia)
    data, wrench = model.createData(), np.empty((len(t), 6))
    for k in range(len(t)):
        pin.forwardKinematics(model, data, q[k], dq[k], ddq[k])
        # acceleration of the last link against free fall, in its own frame
        lifted = data.a[n] - data.oMi[n].actInv(pin.Motion(np.array(robot.gravity), np.zeros(3)))
        wrench[k] = (held * lifted + data.v[n].cross(held * data.v[n])).vector
    noise = np.array([0.1] * 3 + [5e-3] * 3)
    reading = sign * wrench + BIAS + noise * rng.normal(size=wrench.shape)
    chosen = [PARTS.index(c) for c in columns]
    values = np.column_stack([t, q + 2e-5 * rng.normal(size=q.shape), reading[:, chosen]])
    header = ["t", *(f"q{j + 1}" for j in range(n)), *(f"wrench_{c}" for c in columns)]
    np.savetxt(path, values, delimiter=",", header=",".join(header), comments="", fmt="%.9g")
