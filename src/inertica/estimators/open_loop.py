"""The robot without its controller: the measured torque drives the model over short horizons, each begun at the measured state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.laws import FeedForward, Law
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.loop_simulation import LoopSimulator, Replay, follows
from inertica.logs.resample import interpolant
from inertica.scalars import Scalar

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Idle:
    """A law that does nothing, for a feed-forward torque to be added to."""

    gains: tuple[str, ...] = ()
    references: tuple[str, ...] = ("q",)
    memory: tuple[str, ...] = ()

    def torque(
        self,
        reference: Mapping[str, Scalar],
        q: Scalar,
        dq: Scalar,
        gain: Mapping[str, Scalar],
        memory: Mapping[str, Scalar],
        dt: Scalar,
    ) -> tuple[Scalar, dict[str, Scalar]]:
        return 0.0 * q, {}


class OpenLoopSimulator(LoopSimulator):
    """Like `LoopSimulator`, driven by the measured torque.

    Args:
        problem: with measured motion.
        integrator: euler, rk2 or rk4.
        horizon: s after which the simulation starts anew from the measured state.
    """

    def __init__(self, problem: Problem, integrator: str, horizon: float) -> None:
        super().__init__(problem, integrator)
        if not horizon > 0.0:
            raise InputError(f"the horizon should be greater than zero, not {horizon:g} s")
        self.horizon = horizon
        self.law: Law = FeedForward(Idle())

    def __call__(self, betas: ArrayLike, gains: Mapping[str, Array] | None = None) -> tuple[list[Replay], NDArray[np.bool_]]:
        chi = self.chi(betas)
        prior = self.problem.prior
        replays, stable = [], np.ones(len(chi), bool)
        for motion, track in zip(self.problem.motions, self.tracks, strict=True):
            each = max(1, round(self.loop.rate * motion.dt))  # integration steps per sample
            dt = motion.dt / each
            samples = max(2, round(self.horizon / motion.dt))
            torque = interpolant(motion.t, motion.tau, "linear")
            signals = [np.empty((len(chi), len(motion), self.n)) for _ in range(4)]
            for first in range(0, len(motion), samples):
                count = min(samples, len(motion) - first)
                at = motion.t[first] + dt * np.arange((count - 1) * each + 1)
                with np.errstate(all="ignore"):
                    run = self.problem.engine.simulate(
                        chi, {"q": np.zeros((len(at), self.n)), "tau": torque(np.minimum(at, motion.t[-1]))}, {}, dt,
                        law=self.law, integrator=self.integrator, shapes=None if prior is None else prior.shapes,
                        keep=each, start=(motion.q[first], motion.dq[first]), difference_velocity=False,
                    )  # fmt: skip
                for total, part in zip(signals, (run.q, run.dq, run.ddq, run.tau), strict=True):
                    total[:, first : first + count] = part
            replays.append(Replay(*signals))
            stable &= follows(signals, track)
        self.simulations += len(chi) * len(self.tracks)
        return replays, stable
