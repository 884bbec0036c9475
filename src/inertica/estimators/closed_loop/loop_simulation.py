"""The problem's own control loop, simulated with trial parameters, as it would have been logged.

The simulation runs at the loop's control rate along the reference that the robot followed, from the reference's first state (DIDIM
paper, section IV.B); the motion is read off at the instants of the log and goes through the same decimation as the measured
torque.  It carries no noise, so nothing is filtered.  Many parameter vectors are lanes of one batch.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.engine import Engine
from inertica.dynamics.simulate import Simulation
from inertica.errors import InerticaError, InputError
from inertica.estimators.base import Problem
from inertica.estimators.closed_loop.loop_gains import torque_gains
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.logs.log import Log
from inertica.preprocessing.motion import Motion
from inertica.robot.control import LAWS

Array = NDArray[np.float64]

TRANSIENT = "transient"
LOST = 10.0
"""A joint that strays this many times its reference's range (plus one unit) has lost the reference: the simulation is unstable."""

RESTLESS = 5.0
"""A joint whose rms velocity is this many times the reference's rattles: bounded, but no motion to learn from."""

ENOUGH = 1000
"""Samples by which a run is judged stable."""

AT_ONCE = 16
"""Lanes simulated together when only some of their signals are kept."""

ON_STEP = 1e-3
"""Instants this close to a control step, in control periods, are taken from that step."""

LONGEST = 0.5
"""A transient takes at most this part of a record."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Simulated motion on the clock of a log: (B, N, n) each."""

    q: Array
    dq: Array
    ddq: Array
    tau: Array

    def motion(self, like: Motion, lane: int = 0) -> Motion:
        """One lane in the place of a measured motion; torque, masks and decimation stay.

        Without a measured position it is the simulated velocity that tells when a joint rests.
        """
        dq, resting = self.dq[lane].copy(), like.resting
        if "q" not in like.log.signals and like.recipe.standstill is not None:
            resting = np.abs(dq) <= like.recipe.standstill * np.sqrt(np.mean(dq**2, axis=0))
        return replace(like, q=self.q[lane].copy(), dq=dq, ddq=self.ddq[lane].copy(), resting=np.array(resting))


@dataclass(frozen=True, eq=False)
class Track:
    """What the controller followed during one log, and when the log was written.

    Args:
        reference: q, dq, ddq (T, n) at the control rate.
        keep: control steps to record.
        before, after: (N,) rows of the recording on either side of every sample.
        share: (N,) how far towards `after`.
    """

    reference: Mapping[str, Array]
    keep: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    share: Array

    @classmethod
    def of(cls, motion: Motion, loop: ControlLoop, trajectory: Trajectory | None) -> Track:
        later = float(motion.recipe.period or 0.0) if motion.recipe.average else 0.0  # the second period has no transient
        return cls.along(motion.log, motion.t + later, loop, trajectory)

    @classmethod
    def along(cls, log: Log, instants: Array, loop: ControlLoop, trajectory: Trajectory | None) -> Track:
        """Of a log, read off at these instants; the first control step is the log's first usable sample."""
        start = float(log.t[~log.mask & np.isfinite(log.t)][0])
        at = (instants - start) * loop.rate
        steps = int(np.ceil(at[-1] - ON_STEP)) + 1
        near = np.rint(at)
        exact = bool(np.abs(at - near).max() < ON_STEP)
        left = (near if exact else np.floor(at)).astype(np.int64)
        right = left if exact else np.minimum(left + 1, steps - 1)
        keep = np.unique(np.concatenate([left, right]))
        times: Array = start + np.arange(steps, dtype=float) * loop.dt
        samples = _from_log(log, times, loop.feedforward) if trajectory is None else trajectory(times)
        q, dq, ddq = (np.asarray(x) for x in samples)
        q, dq = loop.clipped(q, dq)
        share = np.zeros(len(at)) if exact else at - left
        return cls({"q": q, "dq": dq, "ddq": ddq}, keep, np.searchsorted(keep, left), np.searchsorted(keep, right), share)

    def at(self, rows: slice) -> Track:
        """At some samples of the log; the simulation still begins where the log does."""
        used = np.unique(np.concatenate([self.before[rows], self.after[rows]]))
        before, after = np.searchsorted(used, self.before[rows]), np.searchsorted(used, self.after[rows])
        return Track(self.reference, self.keep[used], before, after, self.share[rows])

    def sampled(self, recorded: Array) -> Array:
        """(B, K, n) at the recorded control steps -> (B, N, n) at the samples of the log."""
        left = recorded[:, self.before]
        if not self.share.any():
            return left
        return np.asarray(left + self.share[:, None] * (recorded[:, self.after] - left))


def _from_log(log: Log, times: Array, accelerations: bool) -> tuple[Array, ...]:
    """q, dq, ddq of the reference at control times, from the reference columns of the log; ddq is zero unless asked for."""
    from scipy.interpolate import CubicSpline

    qr = log.need("qr")
    use = ~log.mask & np.isfinite(log.t) & np.isfinite(qr).all(axis=1)
    if np.count_nonzero(use) < 4:
        raise InputError(f"{log.origin} has fewer than four samples of the reference")
    curve = CubicSpline(log.t[use], qr[use])
    rates, order = curve, 1
    if "dqr" in log.signals and np.isfinite(log.signals["dqr"][use]).all():
        rates, order = CubicSpline(log.t[use], log.signals["dqr"][use]), 0
    q, dq = curve(times), rates(times, order)
    return q, dq, rates(times, order + 1) if accelerations else np.zeros_like(q)


class LoopSimulator:
    """Simulates the loop of a problem.

    Args:
        problem: with loop and reference.
        integrator: euler, rk2 or rk4, one step per control period.
    """

    def __init__(self, problem: Problem, integrator: str = "rk4") -> None:
        if problem.loop is None:
            raise InputError("the problem states no control loop to simulate")
        self.problem, self.loop, self.integrator = problem, problem.loop, integrator
        given = problem.references
        own = [given[min(k, len(given) - 1)] if given else None for k in range(len(problem.motions))]
        self.tracks = [Track.of(m, self.loop, r) for m, r in zip(problem.motions, own, strict=True)]
        self.simulations = 0
        self.feedforward = [self._feedforward_torque(track) for track in self.tracks]

    @property
    def n(self) -> int:
        return self.problem.base.layout.robot.n

    def coarser(self, samples: int, integrator: str | None = None) -> LoopSimulator:
        """The same loop with logs thinned to about so many samples, and half the work per step unless an integrator is stated."""
        other = copy.copy(self)
        other.integrator = integrator or ("rk2" if self.integrator == "rk4" else self.integrator)
        rows = [slice(None, None, max(1, len(m) // samples)) for m in self.problem.motions]
        other.tracks = [track.at(r) for track, r in zip(self.tracks, rows, strict=True)]
        motions = tuple(at_rows(m, r) for m, r in zip(self.problem.motions, rows, strict=True))
        other.problem = replace(self.problem, motions=motions)
        return other

    def chi(self, betas: ArrayLike) -> Array:
        """(B, P) standard parameters with these base parameters (B, b); motion depends on nothing else."""
        beta = np.atleast_2d(np.asarray(betas, float))
        values = np.tile(self.problem.fixed_values, (len(beta), 1))
        values[:, self.problem.base.kept] = beta
        return values

    def __call__(self, betas: ArrayLike, gains: Mapping[str, Array] | None = None) -> tuple[list[Replay], NDArray[np.bool_]]:
        """Replays of every motion for parameters (B, b), and which of the lanes are stable in all of them.

        Args:
            betas: (b,) or (B, b).
            gains: name -> (n,) or (B, n); the loop's own when not given.
        """
        chi = self.chi(betas)
        replays, stable = [], np.ones(len(chi), bool)
        for track, extra in zip(self.tracks, self.feedforward, strict=True):
            run = self._simulate(chi, track, extra, gains)
            signals = [track.sampled(x) for x in (run.q, run.dq, run.ddq, run.tau)]
            replays.append(Replay(*signals))
            stable = stable[: len(run.q)] if len(run.q) == len(stable) else np.ones(len(run.q), bool)
            stable = stable & follows(signals, track)
        self.simulations += len(stable) * len(self.tracks)
        return replays, stable

    def batches(
        self, betas: Array, gains: Mapping[str, Array] | None = None
    ) -> Iterator[tuple[slice, list[Replay], NDArray[np.bool_]]]:
        """The same a few lanes at a time, for callers that keep only a part of the signals."""
        for first in range(0, len(betas), AT_ONCE):
            where = slice(first, min(first + AT_ONCE, len(betas)))
            own = None if gains is None else {k: g[where] if np.ndim(g) == 2 else g for k, g in gains.items()}
            yield where, *self(betas[where], own)

    def _simulate(self, chi: Array, track: Track, extra: Array | None, gains: Mapping[str, Array] | None) -> Simulation:
        loop, prior = self.loop, self.problem.prior
        reference = dict(track.reference) | ({} if extra is None else {"tau": extra})
        with np.errstate(all="ignore"):
            return self.problem.engine.simulate(
                chi,
                reference,
                loop.all_gains | dict(gains or {}),
                loop.dt,
                law=loop.compiled_law,
                integrator=self.integrator,
                shapes=None if prior is None else prior.shapes,
                difference_velocity=True if loop.difference_velocity is None else loop.difference_velocity,
                keep=track.keep,
                start=(track.reference["q"][0], track.reference["dq"][0]),
            )

    def _feedforward_torque(self, track: Track) -> Array | None:
        if not self.loop.feedforward:
            return None
        prior = self.problem.prior
        if prior is None:
            raise InputError("the loop feeds forward the torque of the prior parameters, and no prior was given")
        r = track.reference
        return Engine(prior.layout, threads=1).inverse_dynamics(r["q"], r["dq"], r["ddq"], prior)

    @cached_property
    def _poses(self) -> Array:
        """Positions over which the largest inertia is looked for: along the references, and anywhere within the limits."""
        along = np.vstack([t.reference["q"][:: max(1, len(t.reference["q"]) // 200)] for t in self.tracks])
        limits = self.problem.base.layout.robot.limits
        if limits is None:
            return along
        low, high = np.array(limits.lower, float), np.array(limits.upper, float)
        low, high = np.where(np.isfinite(low), low, -np.pi), np.where(np.isfinite(high), high, np.pi)
        return np.vstack([along, low + (high - low) * np.random.default_rng(0).random((400, self.n))])

    def inertia(self, beta: Array) -> Array:
        """(n,) J_j = max_q M_jj(q), the largest inertia about every joint axis (DIDIM paper, eq. 51)."""
        shapes = None if self.problem.prior is None else self.problem.prior.shapes
        M = self.problem.engine.mass_matrix(self._poses, self.chi(beta)[0], shapes)
        return np.asarray(np.max(np.diagonal(M, axis1=1, axis2=2), axis=0))

    def retuned(self, beta: Array, tuned_for: Array) -> dict[str, Array]:
        """Gains of the simulated loop that keep natural frequency and damping for these parameters (DIDIM paper, eq. 59).

        Args:
            beta: current estimate.
            tuned_for: (n,) inertias that the loop's own gains belong to.
        """
        J = self.inertia(beta)
        ratio = np.where(J > 0.0, J, tuned_for) / tuned_for
        return {name: np.asarray(self.loop.gains[name]) * ratio for name in torque_gains(self.loop)}

    def settle(self, J: Array) -> None:
        """Leave out the first samples of every log, until the loop has forgotten where it began.

        5 / wn at critical damping (DIDIM paper, section IV.B); in general five time constants of the slowest pole, at most half of a
        record.  They are cut off, not masked, since decimation would spread them.  Averaged periods have no beginning.

        Args:
            J: (n,) inertia about every joint.
        """
        seconds = settling_time(self.loop, J)
        motions = []
        for k, motion in enumerate(self.problem.motions):
            start = float(motion.log.t[~motion.log.mask & np.isfinite(motion.log.t)][0])
            end = start + min(seconds, LONGEST * (motion.t[-1] - start))
            first = 0 if motion.recipe.average else int(np.searchsorted(motion.t, end))
            motions.append(_without_first(motion, first))
            self.tracks[k] = self.tracks[k].at(slice(first, None))
        self.problem = replace(self.problem, motions=tuple(motions))


def _without_first(motion: Motion, count: int) -> Motion:
    """The motion less its first samples, with a border where decimation now begins."""
    if count == 0:
        return motion
    rest = at_rows(motion, slice(count, None))
    edge = 2 * motion.decimator.ratio if motion.decimator.ratio > 1 else 0
    return replace(rest, masks={**rest.masks, TRANSIENT: np.arange(len(rest)) < edge})


def at_rows(motion: Motion, rows: slice) -> Motion:
    """Some samples of a motion."""
    masks = {reason: mask[rows] for reason, mask in motion.masks.items()}
    arrays = {name: getattr(motion, name)[rows].copy() for name in ("t", "q", "dq", "ddq", "tau", "tau_raw", "resting")}
    return replace(motion, masks=masks, **arrays)


def replayed(problem: Problem, beta: Array, gains: Mapping[str, Array] | None = None) -> list[Motion]:
    """The motions of a problem with simulated positions, velocities and accelerations, for logs that lack them.

    Args:
        problem: with loop and reference.
        beta: what to simulate with.
        gains: name -> (n,); the loop's own where not given.
    """
    replays, stable = LoopSimulator(problem)(beta, gains)
    if not stable[0]:
        raise InerticaError("the loop simulated with the identified parameters is unstable; there is no motion to validate on")
    return [r.motion(m) for m, r in zip(problem.motions, replays, strict=True)]


def follows(signals: list[Array], track: Track) -> NDArray[np.bool_]:
    """(B,) lanes that stayed finite and near the reference."""
    thin = max(1, signals[0].shape[1] // ENOUGH)
    q, dq = signals[0][:, ::thin], signals[1][:, ::thin]
    finite = np.isfinite(signals[2][:, -1]).all(axis=1)  # what is not finite once, stays so; positions show it below
    some = slice(None, None, max(1, len(track.reference["q"]) // ENOUGH))
    reference, moving = (track.reference[name][some] for name in ("q", "dq"))
    middle, reach = 0.5 * (reference.max(axis=0) + reference.min(axis=0)), LOST * (np.ptp(reference, axis=0) + 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        near = ((q.max(axis=1) < middle + reach) & (q.min(axis=1) > middle - reach)).all(axis=1)
        asked = np.sqrt(np.mean(moving**2, axis=0))
        calm = (np.sqrt(np.mean(dq**2, axis=1)) < RESTLESS * np.maximum(asked, 0.01 * asked.max())).all(axis=1)
    return np.asarray(finite & near & calm)


def poles(loop: ControlLoop, J: Array) -> tuple[Array, Array]:
    """(n,) natural frequencies and damping of every joint taken by itself with inertia J (DIDIM paper, eq. 56)."""
    stiffness, damping = LAWS[loop.law].stiffness_damping(loop.gains)
    wn = np.sqrt(np.maximum(stiffness, 1e-12) / J)
    return wn, damping / (2.0 * wn * J)


def settling_time(loop: ControlLoop, J: Array) -> float:
    """Seconds until the slowest joint has settled: five time constants of its slowest pole, 5 / wn at critical damping."""
    wn, zeta = poles(loop, np.maximum(J, 1e-12))
    slow = np.where(zeta <= 1.0, zeta, zeta - np.sqrt(np.maximum(zeta**2 - 1.0, 0.0)))
    return float(np.max(5.0 / np.maximum(wn * slow, 1e-9)))
