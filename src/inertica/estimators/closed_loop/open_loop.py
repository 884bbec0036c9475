"""The robot without its controller: the measured torque drives the model over short horizons, each begun at the measured state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.laws import FeedForward, Law
from inertica.dynamics.tangents import simulate_tangents
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator, Replay, follows
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.resample import interpolant
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
        replays, stable = [], np.ones(len(chi), bool)
        for motion, track in zip(self.problem.motions, self.tracks, strict=True):
            signals = [np.empty((len(chi), len(motion), self.n)) for _ in range(4)]
            for where, reference, dt, options in self._horizons(motion):
                with np.errstate(all="ignore"):
                    run = self.problem.engine.simulate(chi, reference, {}, dt, **options)
                for total, part in zip(signals, (run.q, run.dq, run.ddq, run.tau), strict=True):
                    total[:, where] = part
            replays.append(Replay(*signals))
            stable &= follows(signals, track)
        self.simulations += len(chi) * len(self.tracks)
        return replays, stable

    def tangents(self, beta: Array, directions: Array) -> list[tuple[Replay, Replay]]:
        """Every motion replayed at beta, and its derivatives along directions (D, P) of the parameters."""
        out = []
        for motion in self.problem.motions:
            signals = [np.empty((1 if k < 4 else len(directions), len(motion), self.n)) for k in range(8)]
            for where, reference, dt, options in self._horizons(motion):
                t = simulate_tangents(self.problem.engine, self.chi(beta)[0], directions, reference, {}, dt, **options)
                found = (t.q, t.dq, t.ddq, t.tau, t.q_rate, t.dq_rate, t.ddq_rate, t.tau_rate)
                for total, part in zip(signals, found, strict=True):
                    total[:, where] = part
            out.append((Replay(*signals[:4]), Replay(*signals[4:])))
        self.simulations += len(directions) * len(self.tracks)
        return out

    def _horizons(self, motion: Motion) -> Iterator[tuple[slice, dict[str, Array], float, dict[str, Any]]]:
        """Samples, reference, step and options of every short simulation."""
        each = max(1, round(self.loop.rate * motion.dt))  # integration steps per sample
        dt, samples, prior = motion.dt / each, max(2, round(self.horizon / motion.dt)), self.problem.prior
        torque = interpolant(motion.t, motion.tau, "linear")
        common = {"law": self.law, "integrator": self.integrator, "shapes": None if prior is None else prior.shapes}
        for first in range(0, len(motion), samples):
            count = min(samples, len(motion) - first)
            at = motion.t[first] + dt * np.arange((count - 1) * each + 1)
            reference = {"q": np.zeros((len(at), self.n)), "tau": torque(np.minimum(at, motion.t[-1]))}
            start = (motion.q[first], motion.dq[first])
            yield (
                slice(first, first + count),
                reference,
                dt,
                common | {"keep": each, "start": start, "difference_velocity": False},
            )
