"""Constraints a motion must keep at every instant: joint limits, torques, places frames must not leave.

A constraint maps states to numbers that should not be positive, each relative to its own limit so that they can be weighed against
each other: 0.01 means one percent too far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation.kinematics import frames
from inertica.excitation.trajectory import Array, Samples
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.model import Limits, Robot, Vector
from inertica.robot.outline import arm_length

INSIDE = 1e-9
"""Relative excess that counts as rounding."""

MARGIN = 0.02
"""Share of a joint's own range, velocity and acceleration limit that is kept free when no margin is stated."""

Margin = float | tuple[float, float, float] | Array
"""Kept free of positions, velocities and accelerations: one number, one for each of the three, or (3, n) for each joint too."""


class MotionConstraint(Protocol):
    """A condition on states."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What each of the k numbers is about."""

    def excess(self, motion: Samples) -> Array:
        """(M, k) at M states; positive means violated."""

    def gradient(self, motion: Samples, weights: Array) -> Samples:
        """Gradient of sum(weights * excess), weights (M, k), with respect to q, dq, ddq."""


@dataclass(frozen=True, eq=False)
class JointLimits:
    """lower + margin <= q <= upper - margin, |dq| <= velocity - margin, |ddq| <= acceleration - margin.

    Args:
        robot: whose joints, for names.
        limits: infinite entries do not constrain.
        margin: kept free, in rad (m), rad/s and rad/s^2: one number for all three, one for each, or (3, n).
    """

    robot: Robot
    limits: Limits
    margin: Margin = 0.0

    def __post_init__(self) -> None:
        lower, upper = self.bounds
        for name, low, high in zip(("position", "velocity", "acceleration"), lower, upper, strict=True):
            for joint, a, b in zip(self.robot.joints, low, high, strict=True):
                if not a < b:
                    raise InputError(
                        f"{joint.name}: the {name} limits leave no room after the margin; take a smaller margin", joint=joint.name
                    )

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of q, dq, ddq, each (3, n)."""
        m = np.asarray(self.margin, float)
        m = m if m.ndim == 2 else np.broadcast_to(m, 3)[:, None]
        v, a = np.array(self.limits.velocity), np.array(self.limits.acceleration)
        upper = np.array([np.array(self.limits.upper) - m[0], v - m[1], a - m[2]])
        lower = np.array([np.array(self.limits.lower) + m[0], m[1] - v, m[2] - a])
        return lower, upper

    @cached_property
    def scale(self) -> Array:
        """(3, n) half of each range, one where it is open."""
        lower, upper = self.bounds
        half = 0.5 * (upper - lower)
        return np.where(np.isfinite(half), half, 1.0)

    @property
    def labels(self) -> tuple[str, ...]:
        what = ("position", "velocity", "acceleration")
        return tuple(f"{w} of {j.name}" for w in what for j in self.robot.joints)

    def excess(self, motion: Samples) -> Array:
        lower, upper = self.bounds
        # in parts of half the range, so that excesses of rad, rad/s and rad/s^2 compare
        parts = [np.maximum(x - u, l - x) / s for x, l, u, s in zip(motion, lower, upper, self.scale, strict=True)]
        return np.hstack(parts)

    def gradient(self, motion: Samples, weights: Array) -> Samples:
        lower, upper = self.bounds
        closed = np.isfinite(lower) & np.isfinite(upper)
        open_side = np.where(np.isfinite(upper), -np.inf, np.inf)  # the only limit is the one that counts
        middle = np.where(closed, 0.5 * np.where(closed, lower, 0.0) + 0.5 * np.where(closed, upper, 0.0), open_side)
        shares = np.split(weights, 3, axis=1)
        out = (w * np.where(x >= m, 1.0, -1.0) / s for x, w, m, s in zip(motion, shares, middle, self.scale, strict=True))
        return Samples(*out)


@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """|tau| <= (1 - margin) limit, with the torques that prior parameters predict.

    Args:
        engine: the robot.
        chi: (P,) prior parameters; `Parameters` bring the shapes of their friction laws along.
        limit: (n,) torques; infinite entries do not constrain.
        margin: share of the limit kept free for control and for what the prior does not know.
    """

    engine: Engine
    chi: Array | Parameters
    limit: tuple[float, ...]
    margin: float = 0.1

    @cached_property
    def _allowed(self) -> Array:
        return (1.0 - self.margin) * np.array(self.limit)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"torque of {j.name}" for j in self.engine.layout.robot.joints)

    def excess(self, motion: Samples) -> Array:
        return np.abs(self.engine.inverse_dynamics(*motion, self.chi)) / self._allowed - 1.0

    def gradient(self, motion: Samples, weights: Array) -> Samples:
        out = Samples(*(np.zeros_like(x) for x in motion))
        at = np.flatnonzero(weights.any(axis=1))
        if at.size:
            q, dq, ddq = (x[at] for x in motion)
            # derivative of |tau|; rows without weight are not worked out at all
            direction = weights[at] * np.sign(self.engine.inverse_dynamics(q, dq, ddq, self.chi)) / self._allowed
            for x, d in zip(out, self.engine.torque_derivatives(q, dq, ddq, self.chi), strict=True):
                x[at] = np.einsum("mi,mij->mj", direction, d)
        return out


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """normal . p >= level for a point p of a link, in the base frame; several planes make a box.

    Args:
        robot: whose link.
        frame: 0-based link, -1 for the last.
        normals: unit vectors.
        levels: one per normal, in metres.
        point: of the link, in its coordinates.
        unit: metres that count as one in the excess; half of the arm's length when not given.
    """

    robot: Robot
    frame: int
    normals: tuple[Vector, ...]
    levels: tuple[float, ...]
    point: Vector = (0.0, 0.0, 0.0)
    unit: float | None = None

    def __post_init__(self) -> None:
        if not -self.robot.n <= self.frame < self.robot.n:
            raise InputError(f"{self.robot.name} has no link {self.frame + 1}; it has {self.robot.n}")
        for normal in self.normals:
            if abs(math.hypot(*normal) - 1.0) > 1e-9:
                raise InputError(f"the normal {normal} of a plane should have length 1")

    @cached_property
    def _unit(self) -> float:
        """Of a robot without lengths, the point's distance from its link's frame; if that is none, it never moves."""
        return self.unit or 0.5 * (arm_length(self.robot) or math.hypot(*self.point) or 1.0)

    @property
    def labels(self) -> tuple[str, ...]:
        link = self.robot.joints[self.frame].link
        return tuple(f"{link} beyond the plane {n} . p = {d:g}" for n, d in zip(self.normals, self.levels, strict=True))

    def excess(self, motion: Samples) -> Array:
        p = frames(self.robot, motion.q).point(self.frame, self.point)
        return (np.array(self.levels) - p @ np.array(self.normals).T) / self._unit

    def gradient(self, motion: Samples, weights: Array) -> Samples:
        out = Samples(*(np.zeros_like(x) for x in motion))
        at = np.flatnonzero(weights.any(axis=1))
        if at.size:
            placed = frames(self.robot, motion.q[at])
            J = placed.jacobian(self.frame, placed.point(self.frame, self.point))
            out.q[at] = np.einsum("mk,kd,mdj->mj", weights[at], -np.array(self.normals) / self._unit, J)
        return out


def above(robot: Robot, height: float, frame: int = -1, point: Vector = (0.0, 0.0, 0.0)) -> HalfSpaces:
    """A link's point stays at or above a height: the base frame's z, or against gravity when that is not along z."""
    g = np.array(robot.gravity)
    up = -g / np.linalg.norm(g) if g.any() else np.array([0.0, 0.0, 1.0])
    x, y, z = (float(v) for v in up)
    return HalfSpaces(robot, frame, ((x, y, z),), (height,), point)


def within_box(
    robot: Robot, lower: Sequence[float], upper: Sequence[float], frame: int = -1, point: Vector = (0.0, 0.0, 0.0)
) -> HalfSpaces:
    """A link's point stays inside a box of the base frame; infinite sides are left out."""
    normals: list[Vector] = []
    levels: list[float] = []
    for k in range(3):
        for sign, level in ((1.0, lower[k]), (-1.0, -upper[k])):
            if math.isfinite(level):
                unit = [0.0, 0.0, 0.0]
                unit[k] = sign
                normals.append((unit[0], unit[1], unit[2]))
                levels.append(float(level))
    return HalfSpaces(robot, frame, tuple(normals), tuple(levels), point)


def usual_margin(limits: Limits) -> Array:
    """(3, n) `MARGIN` of the range of positions, the velocity and the acceleration limit; nothing where there is no limit."""
    spans = np.array([np.subtract(limits.upper, limits.lower), limits.velocity, limits.acceleration])
    return np.where(np.isfinite(spans), MARGIN * spans, 0.0)


def robot_constraints(
    description: Description, engine: Engine, *, margin: Margin | None = None, torque_margin: float = 0.1, floor: float | None = None
) -> list[MotionConstraint]:  # fmt: skip
    """The constraints a description implies: joint limits, torques where limits are finite, and a floor when given."""
    robot = description.robot
    free = usual_margin(robot.limits) if margin is None else margin
    out: list[MotionConstraint] = [JointLimits(robot, robot.limits, free)]
    if any(math.isfinite(t) for t in robot.limits.torque):
        out.append(TorqueLimits(engine, description.prior, robot.limits.torque, torque_margin))
    if floor is not None:
        out.append(above(robot, floor))
    return out
