"""An arm of three joints whose torques are Pinocchio's, with friction that may change along the log."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from inertica.logs.log import Log

Array = NDArray[np.float64]

RATE = 200.0
FRICTION = np.array([[0.5, 0.8], [0.4, 0.6], [0.2, 0.3]])
"""Viscous and Coulomb."""

URDF = """<?xml version="1.0"?>
<robot name="trio">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.1 0.02 0.03"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.15 0.01 0"/><mass value="1.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0.1 0.05 0.02"/><mass value="MASS"/>
    <inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.012" iyz="0" izz="0.015"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="9" effort="60"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="9" effort="60"/></joint>
  <joint name="wrist" type="revolute"><parent link="lower"/><child link="hand"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="9" effort="60"/></joint>
</robot>
"""
JOINTS = ("shoulder", "elbow", "wrist")


@cache
def folder() -> Path:
    """Gone when the process ends."""
    path = Path(mkdtemp(prefix="trio-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def model_file(mass: float = 1.0) -> Path:
    """The arm with a hand of some kilograms."""
    path = folder() / f"trio{mass:g}.urdf"
    path.write_text(URDF.replace("MASS", f"{mass}"))
    return path


def motion(seed: int, seconds: float = 20.0, turns: float = 0.2) -> tuple[Array, Array, Array, Array]:
    """t, and (N, 3) q, dq, ddq of sums of sines, of `turns` and its multiples in Hz."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(RATE * seconds)) / RATE
    q, dq, ddq = (np.zeros((len(t), 3)) for _ in range(3))
    for j in range(3):
        for k in range(1, 6):
            a, phase, w = 0.7 * rng.normal() / k, rng.uniform(0.0, 6.0), 2.0 * np.pi * k * turns
            q[:, j] += a * np.sin(w * t + phase)
            dq[:, j] += a * w * np.cos(w * t + phase)
            ddq[:, j] -= a * w * w * np.sin(w * t + phase)
    return t, q, dq, ddq


def links(mass: float, q: Array, dq: Array, ddq: Array) -> Array:
    """(N, 3) torques without friction."""
    model = pin.buildModelFromUrdf(str(model_file(mass)))
    data = model.createData()
    return np.array([pin.rnea(model, data, *row) for row in zip(q, dq, ddq, strict=True)])


def friction(dq: Array, share: Array | float = 1.0) -> Array:
    """(N, 3) viscous and Coulomb friction times (N, 1) or (N, 3) shares."""
    return np.asarray(share * (FRICTION[:, 0] * dq + FRICTION[:, 1] * np.sign(dq)))


def warm_log(seed: int, changes: Array, seconds: float = 40.0, warm: bool = False) -> tuple[Log, Path]:
    """A log with noise whose friction changes joint by joint by a share of its mean, and the model file.

    Args:
        seed: of motion and noise.
        changes: (3,) from the beginning to the end, or from the lowest to the highest temperature.
        seconds: of the log.
        warm: friction follows a temperature that rises quickly at first, and is recorded; else time.
    """
    t, q, dq, ddq = motion(seed, seconds)
    rng = np.random.default_rng([seed, 99])
    rise = 1.0 - np.exp(-t / 15.0) if warm else t
    x = (rise - rise.mean()) / np.ptp(rise)
    tau = links(1.0, q, dq, ddq) + friction(dq, 1.0 + x[:, None] * changes) + 0.03 * rng.standard_normal(q.shape)
    signals = {"q": q + 1e-6 * rng.standard_normal(q.shape), "tau": tau}
    if warm:
        signals["temp"] = 25.0 + 20.0 * rise[:, None] + 0.05 * rng.standard_normal(q.shape)
    return Log.from_arrays(t, signals, JOINTS), model_file()
