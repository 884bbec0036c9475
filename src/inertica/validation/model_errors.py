"""What errors of the model would look like: torque per unit of each, along a motion, by the estimate.

Every direction is a change of the joint torques that a robot would show if it had that error and the model had not: friction that
drifts, rubs harder under load or bends with speed, a torque that lags or sticks, gears that give, a base that leans, a link that
is longer than stated.  Rows are those of the fit: columns with jumps are low-passed and thinned out as the regressor is, smooth
ones are worked out on the thinned motion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.equations import Equations, on_arrays
from inertica.dynamics.recursions import inverse_dynamics
from inertica.estimators.base import Problem
from inertica.experiment.sensors import played
from inertica.preprocessing.motion import Motion
from inertica.robot.kinematics import poses
from inertica.robot.layout import Layout
from inertica.robot.model import Robot, vector
from inertica.robot.natural import longest_link
from inertica.scalars import Scalar

SLOW = 0.1
"""Part of a joint's rms velocity below which its motion counts as slow."""

PLAY = 0.05
"""Share of the torque's range at which hysteresis is looked for."""

APART = 1e-6
"""Lengths of the longest link below which two joints are in one place."""

STEP = 1e-4
"""Lean (rad) and relative change of length of the difference quotients; both act all but linearly."""


@dataclass(frozen=True)
class Direction:
    """One error of the model.

    Args:
        family: the test it belongs to.
        joint: it sits at, from 0; None for an error of the whole robot.
        what: which of the family's errors.
    """

    family: str
    joint: int | None
    what: str


@dataclass(frozen=True, eq=False)
class Columns:
    """Directions and their torque: (m, n, p) on the rows of the fit."""

    directions: tuple[Direction, ...]
    torque: Array

    @classmethod
    def joined(cls, parts: list[Columns]) -> Columns:
        return cls(tuple(d for p in parts for d in p.directions), np.concatenate([p.torque for p in parts], axis=2))


def model_errors(problem: Problem, motion: Motion, chi: Array) -> Columns:
    """Every direction along one motion of a problem.

    Args:
        problem: whose fit is questioned.
        motion: one of its motions.
        chi: (P,) standard parameters of the estimate.
    """
    thin = motion.decimated()
    shapes = None if problem.prior is None else problem.prior.shapes
    tau = problem.engine.inverse_dynamics(motion.q, motion.dq, motion.ddq, chi, shapes)
    weight = problem.engine.inverse_dynamics(motion.q, 0.0 * motion.dq, 0.0 * motion.ddq, chi, shapes)
    smooth = low_passed(motion, tau)
    rates = [np.gradient(smooth, motion.dt, axis=0)]
    rates.append(np.gradient(rates[0], motion.dt, axis=0))
    smooth, rate, bend = (motion.decimator.decimate(x) for x in (smooth, *rates))
    slopes = problem.engine.torque_derivatives(thin.q, thin.dq, thin.ddq, chi, shapes)
    rigid = _Rigid(problem.base.layout, chi)
    return Columns.joined(
        [
            _of_time(motion),
            _of_load(motion, weight),
            _of_velocity(motion),
            _own("reversal", {"hysteresis": (played(smooth, PLAY * np.ptp(smooth, axis=0)) - smooth) / PLAY}),
            _own("delay", {"lag": -rate}),
            _elastic(slopes, (smooth, rate, bend)),
            _lean(rigid, thin),
            _lengths(rigid, thin),
        ]
    )


def low_passed(motion: Motion, values: Array) -> Array:
    """(N, n) with the bandwidth of the rows, at the full rate."""
    return motion.decimator.filtered(values) if motion.decimator.ratio > 1 else motion.recipe.filter.smoothed(values, motion.dt)


def elapsed(motion: Motion) -> Array:
    """(N,) time from -1/2 to 1/2 over the record."""
    return np.asarray((motion.t - 0.5 * (motion.t[0] + motion.t[-1])) / (motion.t[-1] - motion.t[0]))


def _own(family: str, columns: dict[str, Array]) -> Columns:
    """Errors that act on their own joint only, from (m, n) torques."""
    m, n = next(iter(columns.values())).shape
    torque = np.zeros((m, n, n * len(columns)))
    for i, values in enumerate(columns.values()):
        torque[:, np.arange(n), i * n + np.arange(n)] = values
    return Columns(tuple(Direction(family, j, what) for what in columns for j in range(n)), torque)


def _thinned(motion: Motion, family: str, columns: dict[str, Array]) -> Columns:
    return _own(family, {what: motion.decimator.decimate(x) for what, x in columns.items()})


def _of_time(motion: Motion) -> Columns:
    """Friction that changes over the record, by so much from its beginning to its end."""
    s = elapsed(motion)[:, None]
    return _thinned(motion, "time", {"viscous": s * motion.dq, "coulomb": s * np.sign(motion.dq)})


def _of_load(motion: Motion, weight: Array) -> Columns:
    return _thinned(motion, "load", {"load": np.abs(weight) * np.sign(motion.dq)})


def _of_velocity(motion: Motion) -> Columns:
    v = motion.dq
    slow = np.exp(-((v / np.maximum(SLOW * np.sqrt(np.mean(v**2, axis=0)), np.finfo(float).tiny)) ** 2))
    columns = {"slow": np.sign(v) * slow, "fast": v * np.abs(v), "offset": np.ones_like(v), "sided": np.abs(v)}
    return _thinned(motion, "velocity", columns)


def _elastic(slopes: tuple[Array, ...], torque: tuple[Array, ...]) -> Columns:
    """Gears that give: the position measured is ahead of the link's by compliance times torque, in all derivatives."""
    n = slopes[0].shape[1]
    x = -sum(D * s[:, None, :] for D, s in zip(slopes, torque, strict=True))
    return Columns(tuple(Direction("elasticity", j, "compliance") for j in range(n)), np.asarray(x))


@dataclass(frozen=True, eq=False)
class _Rigid:
    """Torques of the links alone, for a robot that may differ from the layout's in gravity or geometry."""

    layout: Layout
    chi: Array

    def torque(self, robot: Robot, q: Array, dq: Array, ddq: Array) -> Array:
        inertia = Equations(self.layout).link_inertia(list(self.chi))

        def evaluate(q: list[Array], dq: list[Array], ddq: list[Array]) -> list[Scalar]:
            return inverse_dynamics(poses(robot, q), dq, ddq, inertia, robot.gravity)

        columns = on_arrays(evaluate, q, dq, ddq)
        return np.column_stack([np.broadcast_to(np.asarray(x, float), len(q)) for x in columns])


def _lean(rigid: _Rigid, thin: Motion) -> Columns:
    """A base that leans: gravity turned about two axes across it; per rad."""
    robot = rigid.layout.robot
    g, still = np.array(robot.gravity), np.zeros_like(thin.q)
    if not g.any():
        return Columns((), np.zeros((*thin.q.shape, 0)))
    # two directions normal to gravity, in which a mount may lean
    across = np.linalg.svd(g[None])[2][1:]
    upright = rigid.torque(robot, thin.q, still, still)
    turned = [rigid.torque(robot.with_gravity(g + STEP * np.cross(a, g)), thin.q, still, still) for a in across]
    names = tuple(Direction("tilt", None, f"about ({a[0]:.2g}, {a[1]:.2g}, {a[2]:.2g})") for a in across)
    return Columns(names, np.stack([(t - upright) / STEP for t in turned], axis=2))


def _lengths(rigid: _Rigid, thin: Motion) -> Columns:
    """Distances between joints that are longer than stated; relative."""
    robot = rigid.layout.robot
    least = APART * longest_link(robot)
    moving = [j for j, joint in enumerate(robot.joints) if joint.parent >= 0 and np.linalg.norm(joint.position) > least]
    if not moving:
        return Columns((), np.zeros((*thin.q.shape, 0)))
    stated = rigid.torque(robot, thin.q, thin.dq, thin.ddq)
    columns = [(rigid.torque(longer(robot, j, STEP), thin.q, thin.dq, thin.ddq) - stated) / STEP for j in moving]
    return Columns(tuple(Direction("length", j, "length") for j in moving), np.stack(columns, axis=2))


def longer(robot: Robot, joint: int, share: float) -> Robot:
    """The robot with one joint further from the one that carries it, by a share of the distance."""
    joints = list(robot.joints)
    joints[joint] = replace(joints[joint], position=vector((1.0 + share) * np.array(joints[joint].position)))
    return replace(robot, joints=tuple(joints))
