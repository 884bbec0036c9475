"""Limits of the model as evidence: a robot does not leave its range, whatever the torque says.

Limits in model files are sometimes wrong or those of a cell, so alone they are a reason to suspect a fault, not to state it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.robot.model import Robot
from inertica.robot.natural import longest_link

BEYOND = 0.1
"""Part of a joint's range by which positions lie clearly outside."""

FASTER = 1.1
"""Times the velocity limit that are clearly beyond it."""

FAR = 0.5
"""Part by which they lie far outside."""

PRICE, FAR_PRICE = 10.0, 15.0
"""Added to the score of a hypothesis under which the worst joint lies clearly or far outside its range: not enough to name a fault
as a problem, the second enough to suspect one."""


def outside(robot: Robot, q: Array) -> Array:
    """(n,) how far positions (M, n) lie outside the limits, in parts of the range; a whole turn more or less does not count.

    Args:
        robot: with its limits; those not stated are infinite.
        q: positions, rad or m.
    """
    low, high = np.array(robot.limits.lower), np.array(robot.limits.upper)
    span = np.where(np.isfinite(high - low), high - low, 2.0 * math.pi)
    turn = np.array([0.0 if joint.prismatic else 2.0 * math.pi for joint in robot.joints])
    lowest, highest = q.min(axis=0), q.max(axis=0)
    over = [np.maximum(low - (lowest + k * turn), highest + k * turn - high) for k in (-1.0, 0.0, 1.0)]
    return np.asarray(np.maximum(np.min(over, axis=0), 0.0) / span)


def possible(robot: Robot, q: Array) -> NDArray[np.bool_]:
    """(n,) joints whose positions (M, n) the robot can take: within a stated range, else within a turn or the length of all links."""
    reach = longest_link(robot) * robot.n
    widest = np.array([reach if joint.prismatic else 2.0 * math.pi for joint in robot.joints])
    stated = np.isfinite(np.array(robot.limits.lower)) & np.isfinite(np.array(robot.limits.upper))
    return np.asarray(np.where(stated, outside(robot, q) <= BEYOND, np.ptp(q, axis=0) <= widest))


def faster(robot: Robot, dq: Array) -> Array:
    """(n,) largest of the velocities (M, n) in parts of the limit."""
    return np.asarray(np.abs(dq).max(axis=0) / np.array(robot.limits.velocity))


def price(robot: Robot, q: Array) -> float:
    """What positions outside the limits cost a hypothesis."""
    return float(np.interp(outside(robot, q).max(), (0.0, BEYOND, FAR), (0.0, PRICE, FAR_PRICE)))
