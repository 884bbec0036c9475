"""Random states of a robot on which rank decisions are taken.

The structural rank of the regressor is that of almost every set of states, so any generic draw will do; what matters is that no
column is numerically tiny in it.  Positions fill the limits, velocities and accelerations mix several orders of magnitude sample
by sample and joint by joint: columns that live near standstill (Stribeck) and columns that grow with the square of the speed are
then both well above rounding.  Closed loops are closed in all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.robot.layout import Layout
from inertica.robot.loops import complete, spread
from inertica.robot.model import Joint
from inertica.robot.natural import NaturalUnits

COUNT = 200
"""Default number of states; with n joints they give n times as many rows."""

SPEEDS = (0.005, 0.5)
"""Typical magnitudes of velocity, from slow to fast, in the robot's natural units (`robot.natural`: radians, or lengths of its longest
link, in the time of a pendulum of that length); the slow end goes down to the smallest velocity shape."""

ACCELERATIONS = (0.01, 0.3)
"""Likewise of acceleration."""

_WIDEST = {False: 4.0 * math.pi, True: 25.0}  # revolute, prismatic: span of positions when the limits allow more, rad or lengths
_OPEN = {False: 2.0 * math.pi, True: 5.0}  # span when there are no limits


@dataclass(frozen=True, eq=False)
class States:
    """Positions, velocities and accelerations, each (N, n), and the joints whose torque is looked at; all by default."""

    q: Array
    dq: Array
    ddq: Array
    rows: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.q)

    @classmethod
    def of(cls, layout: Layout, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> States:
        """Checked states from arrays (N, n)."""
        name_of, n = layout.robot.name, layout.robot.n
        signals = [np.asarray(x, float) for x in (q, dq, ddq)]
        for name, x in zip(("q", "dq", "ddq"), signals, strict=True):
            if x.ndim != 2 or x.shape[1] != n or x.shape != signals[0].shape or not len(x):
                raise InputError(f"{name_of}: {name} should have shape (N, {n}) like the others and N > 0, got {x.shape}")
            if not np.isfinite(x).all():
                raise InputError(f"{name_of}: {name} contains values that are not finite; mask those samples first")
        return cls(signals[0], signals[1], signals[2])

    def thinned(self, most: int) -> States:
        """At most that many states, evenly picked."""
        if len(self) <= most:
            return self
        pick = np.linspace(0, len(self) - 1, most).round().astype(int)
        return States(self.q[pick], self.dq[pick], self.ddq[pick], self.rows)


def random_states(layout: Layout, count: int = COUNT, seed: int = 0) -> States:
    """States for rank decisions; the same seed gives the same states.

    Args:
        layout: the robot with its limits and the velocity shapes of its friction laws.
        count: number of states.
        seed: of the generator.
    """
    rng = np.random.default_rng(seed)
    robot, limits = layout.robot, layout.robot.limits
    natural = NaturalUnits.of(layout, np.zeros(layout.size))
    unit = np.array([natural.size(joint.unit) for joint in robot.joints])
    stated = zip(robot.joints, unit, limits.lower, limits.upper, strict=True)
    ranges = np.array([_range(joint, float(size), low, high) for joint, size, low, high in stated])
    q = rng.uniform(ranges[:, 0], ranges[:, 1], size=(count, robot.n))
    slow = np.minimum(SPEEDS[0] * unit / natural.time, _slowest_shapes(layout))
    dq = _mixed(rng, count, slow, SPEEDS[1] * unit / natural.time)
    low, high = (a * unit / natural.time**2 for a in ACCELERATIONS)
    ddq = _mixed(rng, count, low, high)
    if robot.loops is None:
        return States(q, dq, ddq)
    return States(*complete(robot, spread(robot, q)[0], dq, ddq))


def _slowest_shapes(layout: Layout) -> Array:
    """(n,) the smallest velocity among the shapes of each joint's friction; infinite without one."""
    out = np.full(layout.robot.n, np.inf)
    for term, _ in layout.drives:
        speeds = [s.value for s in term.shapes if s.unit in ("rad/s", "m/s") and s.value > 0.0]
        at = slice(None) if term.joint is None else slice(term.joint, term.joint + 1)
        out[at] = np.minimum(out[at], min(speeds, default=np.inf))
    return out


def _range(joint: Joint, size: float, lower: float, upper: float) -> tuple[float, float]:
    """The limits where finite, a turn (or five lengths) where not; very wide limits are cut around their middle.

    Args:
        joint: revolute or prismatic.
        size: natural unit of its coordinate.
        lower, upper: its limits.
    """
    open_span, widest = size * _OPEN[joint.prismatic], size * _WIDEST[joint.prismatic]
    if not math.isfinite(lower) and not math.isfinite(upper):
        return -0.5 * open_span, 0.5 * open_span
    if not math.isfinite(lower):
        return upper - open_span, upper
    if not math.isfinite(upper):
        return lower, lower + open_span
    middle, half = 0.5 * (lower + upper), 0.5 * min(upper - lower, widest)
    return middle - half, middle + half


def _mixed(rng: np.random.Generator, count: int, low: Array, high: Array) -> Array:
    """(count, n) normal numbers whose scale is itself drawn log-uniformly from [low, high] of the column for every entry."""
    shape = (count, len(low))
    return rng.normal(size=shape) * np.exp(rng.uniform(np.log(low), np.log(high), size=shape))
