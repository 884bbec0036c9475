"""Random states of a robot on which rank decisions are taken.

The structural rank of the regressor is that of almost every set of states, so any generic draw will do; what matters is that no
column is numerically tiny in it.  Positions fill the limits, velocities and accelerations mix several orders of magnitude sample
by sample and joint by joint: columns that live near standstill (Stribeck) and columns that grow with the square of the speed are
then both well above rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.errors import InputError
from inertica.robot.layout import Layout
from inertica.robot.model import Joint

Array = NDArray[np.float64]

COUNT = 200
"""Default number of states; with n joints they give n times as many rows."""

SPEEDS = (0.03, 3.0)
"""Typical magnitudes of velocity in rad/s or m/s, from slow to fast; the slow end goes down to the smallest velocity shape."""

ACCELERATIONS = (0.3, 10.0)

_WIDEST = {False: 4.0 * math.pi, True: 10.0}  # revolute, prismatic: span of positions when the limits allow more
_OPEN = {False: 2.0 * math.pi, True: 2.0}  # span when there are no limits


@dataclass(frozen=True, eq=False)
class States:
    """Positions, velocities and accelerations, each (N, n)."""

    q: Array
    dq: Array
    ddq: Array

    def __len__(self) -> int:
        return len(self.q)

    @classmethod
    def of(cls, layout: Layout, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> States:
        """Checked states from arrays (N, n)."""
        name_of, n = layout.robot.name, layout.robot.n
        given = [np.asarray(x, float) for x in (q, dq, ddq)]
        for name, x in zip(("q", "dq", "ddq"), given, strict=True):
            if x.ndim != 2 or x.shape[1] != n or x.shape != given[0].shape or not len(x):
                raise InputError(f"{name_of}: {name} should have shape (N, {n}) like the others and N > 0, got {x.shape}")
            if not np.isfinite(x).all():
                raise InputError(f"{name_of}: {name} contains values that are not finite; mask those samples first")
        return cls(*given)

    def thinned(self, most: int) -> States:
        """At most that many states, evenly picked."""
        if len(self) <= most:
            return self
        pick = np.linspace(0, len(self) - 1, most).round().astype(int)
        return States(self.q[pick], self.dq[pick], self.ddq[pick])


def random_states(layout: Layout, count: int = COUNT, seed: int = 0) -> States:
    """States for rank decisions; the same seed gives the same states.

    Args:
        layout: the robot with its limits and the velocity shapes of its friction laws.
        count: number of states.
        seed: of the generator.
    """
    rng = np.random.default_rng(seed)
    robot = layout.robot
    ranges = np.array([_range(j, lo, up) for j, lo, up in zip(robot.joints, robot.limits.lower, robot.limits.upper, strict=True)])
    q = rng.uniform(ranges[:, 0], ranges[:, 1], size=(count, robot.n))
    knees = [s.value for s in layout.shapes if s.unit in ("rad/s", "m/s") and s.value > 0.0]
    slow = min([SPEEDS[0], *knees])
    return States(q, _mixed(rng, (count, robot.n), slow, SPEEDS[1]), _mixed(rng, (count, robot.n), *ACCELERATIONS))


def _range(joint: Joint, lower: float, upper: float) -> tuple[float, float]:
    """The limits where finite, a turn (or two metres) where not; very wide limits are cut around their middle."""
    open_span, widest = _OPEN[joint.prismatic], _WIDEST[joint.prismatic]
    if not math.isfinite(lower) and not math.isfinite(upper):
        return -0.5 * open_span, 0.5 * open_span
    if not math.isfinite(lower):
        return upper - open_span, upper
    if not math.isfinite(upper):
        return lower, lower + open_span
    middle, half = 0.5 * (lower + upper), 0.5 * min(upper - lower, widest)
    return middle - half, middle + half


def _mixed(rng: np.random.Generator, shape: tuple[int, int], low: float, high: float) -> Array:
    """Normal numbers whose scale is itself drawn log-uniformly from [low, high] for every entry."""
    return rng.normal(size=shape) * np.exp(rng.uniform(math.log(low), math.log(high), size=shape))
