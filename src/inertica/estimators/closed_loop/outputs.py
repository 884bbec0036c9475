"""What output-error methods compare: signals of the log and of the simulation, decimated, masked, weighted, in one vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError, nearest
from inertica.estimators.base import Problem
from inertica.estimators.closed_loop.loop_simulation import Replay
from inertica.excitation.kinematics import frames
from inertica.preprocessing.filters import noise_gains
from inertica.preprocessing.motion import Motion
from inertica.robot.model import Robot

Array = NDArray[np.float64]
Use = list[NDArray[np.bool_]]

STEP = 1e-5
"""rad or m by which joints are moved to differentiate the kinematics; its square is the relative error."""

OBSERVED = ("position", "velocity", "both", "cartesian")


class Output(Protocol):
    """An output of the robot; vectors hold, motion by motion and channel by channel, the samples in use."""

    def width(self, problem: Problem) -> int:
        """Channels."""

    def weights(self, problem: Problem) -> Array:
        """One factor per channel."""

    def use(self, problem: Problem) -> Use:
        """Per motion (m, channels): samples in use, after decimation."""

    def measured(self, problem: Problem, weights: Array, use: Use) -> Array:
        """(M,) of the log."""

    def simulated(self, problem: Problem, replays: list[Replay], weights: Array, use: Use) -> Array:
        """(B, M) of a simulation."""

    def moved(self, problem: Problem, runs: list[Replay], rates: list[Replay], weights: Array, use: Use) -> Array:
        """(D, M) derivatives of a simulation from those of its signals, D lanes of rates beside one lane of the run."""


@dataclass(frozen=True)
class Torque:
    """Joint torques."""

    def width(self, problem: Problem) -> int:
        return problem.base.layout.robot.n

    def weights(self, problem: Problem) -> Array:
        return np.ones(self.width(problem))

    def use(self, problem: Problem) -> Use:
        return [_usable(m)[:, None] & ~m.resting[m.decimator.kept(len(m))] for m in problem.motions]

    def measured(self, problem: Problem, weights: Array, use: Use) -> Array:
        return _gathered([m.tau[None] for m in problem.motions], problem, weights, use)[0]

    def simulated(self, problem: Problem, replays: list[Replay], weights: Array, use: Use) -> Array:
        return _gathered([r.tau for r in replays], problem, weights, use)

    def moved(self, problem: Problem, runs: list[Replay], rates: list[Replay], weights: Array, use: Use) -> Array:
        return self.simulated(problem, rates, weights, use)


@dataclass(frozen=True)
class Position:
    """Joint positions, velocities, both (weighed by what noise of the position makes of each), or the last link's origin in space."""

    observed: Literal["position", "velocity", "both", "cartesian"] = "position"

    def __post_init__(self) -> None:
        if self.observed not in OBSERVED:
            raise InputError(f"unknown output '{self.observed}'; {nearest(self.observed, OBSERVED)}")

    def width(self, problem: Problem) -> int:
        n = problem.base.layout.robot.n
        return {"both": 2 * n, "cartesian": 3}.get(self.observed, n)

    def weights(self, problem: Problem) -> Array:
        n = problem.base.layout.robot.n
        if self.observed != "both":
            return np.ones(self.width(problem))
        gains = [noise_gains(m.recipe.filter, m.dt) for m in problem.motions]
        return np.concatenate([np.ones(n), np.full(n, float(np.mean([g[0] / g[1] for g in gains])))])

    def use(self, problem: Problem) -> Use:
        return [np.repeat(_usable(m)[:, None], self.width(problem), axis=1) for m in problem.motions]

    def measured(self, problem: Problem, weights: Array, use: Use) -> Array:
        signals = [self._signal(problem, m.q[None], m.dq[None]) for m in problem.motions]
        return _gathered(signals, problem, weights, use)[0]

    def simulated(self, problem: Problem, replays: list[Replay], weights: Array, use: Use) -> Array:
        return _gathered([self._signal(problem, r.q, r.dq) for r in replays], problem, weights, use)

    def moved(self, problem: Problem, runs: list[Replay], rates: list[Replay], weights: Array, use: Use) -> Array:
        if self.observed != "cartesian":
            return self.simulated(problem, rates, weights, use)
        robot = problem.base.layout.robot
        signals = [np.stack([_point_rate(robot, run.q[0], dq) for dq in rate.q]) for run, rate in zip(runs, rates, strict=True)]
        return _gathered(signals, problem, weights, use)

    def _signal(self, problem: Problem, q: Array, dq: Array) -> Array:
        match self.observed:
            case "position":
                return q
            case "velocity":
                return dq
            case "both":
                return np.concatenate([q, dq], axis=2)
        B, N, n = q.shape
        if not np.isfinite(q).all():
            return np.full((B, N, 3), np.nan)
        return frames(problem.base.layout.robot, q.reshape(-1, n)).point(n - 1).reshape(B, N, 3)


def _point_rate(robot: Robot, q: Array, rate: Array) -> Array:
    """(N, 3) velocity of the last link's origin at q (N, n) moving with `rate`, by central differences of the exact kinematics."""
    size = np.maximum(np.abs(rate).max(), 1e-300)
    h, last = STEP / size, robot.n - 1
    ahead, behind = (frames(robot, q + s * h * rate).point(last) for s in (1.0, -1.0))
    return np.asarray((ahead - behind) / (2.0 * h))


def _usable(motion: Motion) -> NDArray[np.bool_]:
    return ~motion.decimated_mask


def _gathered(signals: list[Array], problem: Problem, weights: Array, use: Use) -> Array:
    """(B, M) from signals (B, N, channels) of every motion."""
    parts = []
    for x, motion, there in zip(signals, problem.motions, use, strict=True):
        B, N, width = x.shape
        if motion.decimator.ratio > 1:
            flat = x.transpose(1, 0, 2).reshape(N, B * width)
            bad = ~np.isfinite(flat).all(axis=0)
            flat = motion.decimator.decimate(np.where(bad, 0.0, flat))
            x = flat.reshape(-1, B, width).transpose(1, 0, 2)
        parts += [x[:, there[:, j], j] * weights[j] for j in range(width)]
    return np.concatenate(parts, axis=1)
