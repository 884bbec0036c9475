"""What output-error methods compare: signals of the log and of the simulation, decimated, masked, weighted, in one vector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.resident import MemorySpace
from inertica.errors import InputError, nearest
from inertica.estimators.base import Problem
from inertica.excitation.kinematics import frames
from inertica.experiment.track import Replay
from inertica.preprocessing.filters import noise_gains
from inertica.robot.model import Robot

Use = list[NDArray[np.bool_]]

STEP = 1e-5
"""rad or m by which joints are moved to differentiate the kinematics; its square is the relative error."""

OBSERVED = ("position", "velocity", "both", "cartesian")


class Output(ABC):
    """An output of the robot; vectors hold, motion by motion and channel by channel, the samples in use."""

    def width(self, problem: Problem) -> int:
        """Channels."""
        return problem.base.layout.robot.n

    def weights(self, problem: Problem) -> Array:
        """One factor per channel."""
        return np.ones(self.width(problem))

    def use(self, problem: Problem) -> Use:
        """Per motion (m, channels): samples in use, after decimation."""
        return [np.repeat(~m.decimated_mask[:, None], self.width(problem), axis=1) for m in problem.motions]

    @abstractmethod
    def signal(self, robot: Robot, replay: Replay) -> Array:
        """(B, N, channels)"""

    def rate(self, robot: Robot, run: Replay, rate: Replay) -> Array:
        """(D, N, channels) derivative of the signal from those of the motion, D lanes of rates beside one lane of the run."""
        return self.signal(robot, rate)

    def measured(self, problem: Problem, weights: Array, use: Use) -> Array:
        """(M,) of the log."""
        recorded = [Replay(m.q[None], m.dq[None], m.ddq[None], m.tau[None]) for m in problem.motions]
        return self.simulated(problem, recorded, weights, use)[0]

    def simulated(self, problem: Problem, replays: list[Replay], weights: Array, use: Use) -> Array:
        """(B, M) of a simulation."""
        return _gathered([self.signal(problem.base.layout.robot, r) for r in replays], problem, weights, use)

    def moved(self, problem: Problem, runs: list[Replay], rates: list[Replay], weights: Array, use: Use) -> Array:
        """(D, M) derivatives of a simulation from those of its signals."""
        pairs = zip(runs, rates, strict=True)
        return _gathered([self.rate(problem.base.layout.robot, *pair) for pair in pairs], problem, weights, use)


@dataclass(frozen=True)
class Torque(Output):
    """Joint torques."""

    def use(self, problem: Problem) -> Use:
        return [~m.decimated_mask[:, None] & ~m.resting[m.decimator.kept(len(m))] for m in problem.motions]

    def signal(self, robot: Robot, replay: Replay) -> Array:
        return replay.tau


@dataclass(frozen=True)
class Position(Output):
    """Joint positions, velocities, both (weighed by what noise of the position makes of each), or the last link's origin in space."""

    observed: Literal["position", "velocity", "both", "cartesian"] = "position"

    def __post_init__(self) -> None:
        if self.observed not in OBSERVED:
            raise InputError(f"unknown output '{self.observed}'; {nearest(self.observed, OBSERVED)}")

    def width(self, problem: Problem) -> int:
        n = problem.base.layout.robot.n
        return {"both": 2 * n, "cartesian": 3}.get(self.observed, n)

    def weights(self, problem: Problem) -> Array:
        if self.observed != "both":
            return super().weights(problem)
        gains, n = [noise_gains(m.recipe.filter, m.dt) for m in problem.motions], problem.base.layout.robot.n
        return np.concatenate([np.ones(n), np.full(n, float(np.mean([g[0] / g[1] for g in gains])))])

    def signal(self, robot: Robot, replay: Replay) -> Array:
        q, dq = replay.q, replay.dq
        if self.observed != "cartesian":
            return {"position": q, "velocity": dq}[self.observed] if self.observed != "both" else np.concatenate([q, dq], axis=2)
        B, N, n = q.shape
        if not np.isfinite(q).all():
            return np.full((B, N, 3), np.nan)
        return frames(robot, q.reshape(-1, n)).point(n - 1).reshape(B, N, 3)

    def rate(self, robot: Robot, run: Replay, rate: Replay) -> Array:
        if self.observed != "cartesian":
            return self.signal(robot, rate)
        return np.stack([_point_rate(robot, run.q[0], dq) for dq in rate.q])


def _point_rate(robot: Robot, q: Array, rate: Array) -> Array:
    """(N, 3) velocity of the last link's origin at q (N, n) moving with `rate`, by central differences of the exact kinematics."""
    size = np.maximum(np.abs(rate).max(), 1e-300)
    h, last = STEP / size, robot.n - 1
    ahead, behind = (frames(robot, q + s * h * rate).point(last) for s in (1.0, -1.0))
    return np.asarray((ahead - behind) / (2.0 * h))


def _gathered(signals: list[Array], problem: Problem, weights: Array, use: Use) -> Array:
    """(B, M) from signals (B, N, channels) of every motion, where these lie."""
    signals_by_motion = list(_decimated(signals, problem))
    place = MemorySpace.of(*signals_by_motion)
    picked = [(place.to_device(x), place.to_device(rows)) for x, rows in zip(signals_by_motion, use, strict=True)]
    parts = [x[:, rows[:, j], j] * float(weights[j]) for x, rows in picked for j in range(x.shape[2])]
    return place.resident(place.xp.concatenate(parts, axis=1))


def _decimated(signals: list[Array], problem: Problem) -> Iterator[Array]:
    """(B, M, channels) of every motion."""
    for x, motion in zip(signals, problem.motions, strict=True):
        B, N, width = x.shape
        memory = MemorySpace.of(x).memory or problem.engine.target.memory
        if motion.decimator.ratio > 1 and memory is not None:
            place = MemorySpace(memory)
            flat = place.to_device(x).transpose(1, 0, 2).reshape(N, B * width)
            good = place.xp.isfinite(flat).all(axis=0)
            flat = motion.decimator.decimate_on_device(place.xp.where(good, flat, 0.0), memory)
            yield place.resident(flat.reshape(-1, B, width).transpose(1, 0, 2))
        elif motion.decimator.ratio > 1:
            flat = x.transpose(1, 0, 2).reshape(N, B * width)
            bad = ~np.isfinite(flat).all(axis=0)
            flat = motion.decimator.decimate(np.where(bad, 0.0, flat))
            yield flat.reshape(-1, B, width).transpose(1, 0, 2)
        else:
            yield x
