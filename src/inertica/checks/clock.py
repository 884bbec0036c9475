"""Does the clock count seconds?  Gravity tells, where no velocity was recorded.

On a clock in milliseconds velocities come out a thousand times too small and accelerations a million times, while gravity stays: the
inertial torque that the model computes has to be multiplied by a million to be found in the measured one.  The factor has no unit, and
a robot that is small, fast or heavy with a gravity of its own is judged alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.checks.findings import Finding
from inertica.checks.model_torque import model_torque
from inertica.checks.plainfit import Observed, observed
from inertica.dynamics.engine import Engine
from inertica.identifiability.base import BaseModel
from inertica.robot.layout import Parameters
from inertica.robot.model import Robot

UNITS: Mapping[str, tuple[str, float]] = {"ms": ("milliseconds", 1e3), "us": ("microseconds", 1e6), "ns": ("nanoseconds", 1e9)}
"""What clocks count in besides seconds, and how many of them make one."""

EXPLAINS = 0.1
"""Part of what gravity and friction leave of the torque that inertial torque must explain to say something."""

BAND = 10.0
"""Factor by which the found size of inertial torque may miss the square of a unit: models are off, filters take a part away."""

FASTER = 2.0
"""Times a velocity limit that no robot is faster than."""

PARTS = (0.1, 0.03, 0.01, 0.003)
"""Low-passes that are tried, as parts of the sampling rate: accelerations may drown in noise in all but one of them."""

ENOUGH = 10
"""Rows per column of the fit."""


@dataclass(frozen=True)
class _Size:
    """The factor on the model's inertial torque that fits all joints best, and the part of what was left that it explains."""

    factor: float = 0.0
    explained: float = 0.0


def clock(seen: Observed, robot: Robot, base: BaseModel, prior: Parameters) -> Finding | None:
    """Whether the clock looks like one of another unit; None where nothing tells.

    That is so for logs with a recorded velocity (reading them settles the unit), for motion that would be beyond the velocity limits
    on any other clock, for models without masses or gravity, and for motion too slow for inertial torque.

    Args:
        seen: a log as the plain fit sees it.
        robot: with its limits.
        base: of the layout of `prior`.
        prior: values of the model.
    """
    log = seen.log
    fastest = np.abs(seen.motion.dq[~seen.motion.mask]).max(axis=0, initial=0.0)
    possible = {
        unit: count for unit, (_, count) in UNITS.items() if np.all(count * fastest <= FASTER * np.array(robot.limits.velocity))
    }
    if log.dq is not None or not possible or not np.any(robot.gravity):
        return None
    looks = (observed(log, base, prior, part * seen.motion.rate) for part in PARTS)
    largest = max((_size(look, base.engine, prior) for look in looks), key=lambda size: size.explained)
    if largest.explained < EXPLAINS:
        return None
    numbers = {"factor": largest.factor, "explained": largest.explained}
    for unit, count in possible.items():
        if count**2 / BAND < largest.factor < count**2 * BAND:
            text = (
                f"the clock looks like {UNITS[unit][0]}: the inertial torque in this log is {largest.factor:.2g} times what the model "
                f"has on this clock, and gravity is not; {count:g} of them make a second, and accelerations go with the square of that"
            )
            advice = f"state the unit: t={unit}, as option, units: {{t: {unit}}} in the card, or [{unit}] behind the clock's name"
            return Finding("clock", "problem", text, advice, numbers=numbers)
    return Finding("clock", "fine", "inertial torque and gravity agree with a clock in seconds", numbers=numbers)


def _size(seen: Observed, engine: Engine, prior: Parameters) -> _Size:
    """Least squares: gravity, friction, offset and a swing of each joint's own are taken out of measured and inertial torque."""
    m, use = seen.motion, seen.use
    model = model_torque(seen, engine, prior)
    if model is None or np.count_nonzero(use) < 6 * ENOUGH:
        return _Size()
    tau, dq = seen.reduced(m.tau)[use], seen.reduced(m.dq)[use]
    sign, sine, cosine = (seen.reduced(x)[use] for x in (np.sign(m.dq), np.sin(m.q), np.cos(m.q)))
    both, own_power, joints = 0.0, 0.0, 0
    for j in range(m.n):
        others = np.column_stack([model.gravity[use, j], sign[:, j], dq[:, j], sine[:, j], cosine[:, j], np.ones(len(tau))])
        basis = _orthonormal(others)
        left, inertial = (x - basis @ (basis.T @ x) for x in (tau[:, j], model.inertial[use, j]))
        power = float(left @ left)
        if power > 0.0:  # every joint counts by what is left of its torque
            both, own_power, joints = (
                both + float(inertial @ left) / power,
                own_power + float(inertial @ inertial) / power,
                joints + 1,
            )
    return _Size(both / own_power, both**2 / own_power / joints) if own_power > 0.0 and both > 0.0 else _Size()


def _orthonormal(columns: Array) -> Array:
    """An orthonormal basis of what some columns span; columns of zeros and dependent ones add nothing."""
    size = np.linalg.norm(columns, axis=0)
    U, s, _ = np.linalg.svd(columns[:, size > 0.0] / size[size > 0.0], full_matrices=False)
    return np.asarray(U[:, s > 1e-10 * s.max(initial=0.0)])
