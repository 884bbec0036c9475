"""The problem's own control loop, simulated with trial parameters, as it would have been logged.

The simulation runs at the loop's control rate along the reference that the robot followed, from the reference's first state (DIDIM
paper, section IV.B); the motion is read off at the instants of the log and goes through the same decimation as the measured
torque.  It carries no noise, so nothing is filtered.  Many parameter vectors are lanes of one batch.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.dynamics.resident import MemorySpace
from inertica.dynamics.simulate import Simulation
from inertica.errors import InerticaError, InputError
from inertica.estimators.base import Problem
from inertica.estimators.closed_loop.loop_gains import torque_gains
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.experiment.run import LoopRun
from inertica.experiment.track import Replay, Track
from inertica.preprocessing.motion import Motion
from inertica.robot.control import LAWS

TRANSIENT, SETTLING = "transient", "transient behind a break of the clock"
LOST = 10.0
"""A joint that strays this many times its reference's range (plus one unit) has lost the reference: the simulation is unstable."""

RESTLESS = 5.0
"""A joint whose rms velocity is this many times the reference's rattles: bounded, but no motion to learn from."""

ENOUGH = 1000
"""Samples by which a run is judged stable."""

MIN_LANES = 16
"""Lanes simulated together, or as many as the target takes, when only some of their signals are kept."""

LONGEST = 0.5
"""A transient takes at most this part of a record."""


class LoopSimulator:
    """Simulates the loop of a problem.

    Args:
        problem: with loop and reference.
        integrator: euler, rk2 or rk4, one step per control period, or `variable`.
    """

    def __init__(self, problem: Problem, integrator: str = "rk4") -> None:
        if problem.loop is None:
            raise InputError("the problem states no control loop to simulate")
        shapes = None if problem.prior is None else problem.prior.shapes
        self.problem, self.run = problem, LoopRun(problem.loop, problem.engine, shapes, integrator, batch=problem.batch)
        references = problem.references
        trajectories = [references[min(k, len(references) - 1)] if references else None for k in range(len(problem.motions))]
        self.tracks = [_followed(m, problem, r) for m, r in zip(problem.motions, trajectories, strict=True)]

    @property
    def n(self) -> int:
        return self.problem.base.layout.robot.n

    @property
    def loop(self) -> ControlLoop:
        return self.run.loop

    @property
    def simulations(self) -> int:
        """Runs of records so far, by this simulator and by those made of it."""
        return self.run.count.simulations

    def by(self, integrator: str) -> LoopSimulator:
        """The same loop with another integrator."""
        other = copy.copy(self)
        other.run = replace(self.run, integrator=integrator)
        return other

    def coarser(self, samples: int, integrator: str | None = None) -> LoopSimulator:
        """The same loop with logs thinned to about so many samples, and half the work per step unless an integrator is stated."""
        other = self.by(integrator or ("rk2" if self.run.integrator == "rk4" else self.run.integrator))
        rows = [slice(None, None, max(1, len(m) // samples)) for m in self.problem.motions]
        other.tracks = [track.at(r) for track, r in zip(self.tracks, rows, strict=True)]
        motions = tuple(at_rows(m, r) for m, r in zip(self.problem.motions, rows, strict=True))
        other.problem = replace(self.problem, motions=motions)
        return other

    def stretches(self, k: int) -> list[Track]:
        """Of the k-th record, simulated one after the other; a loop needs only one."""
        return [self.tracks[k]]

    def chi(self, betas: ArrayLike) -> Array:
        """(B, P) standard parameters with these base parameters (B, b); motion depends on nothing else."""
        beta = np.atleast_2d(np.asarray(betas, float))
        values = np.tile(self.problem.fixed_values, (len(beta), 1))
        values[:, self.problem.base.retained] = beta
        return values

    def __call__(self, betas: ArrayLike, gains: Mapping[str, Array] | None = None) -> tuple[list[Replay], NDArray[np.bool_]]:
        """Replays of every motion for parameters (B, b), and which of the lanes are stable in all of them.

        Args:
            betas: (b,) or (B, b).
            gains: name -> (n,) or (B, n); the loop's own when not given.
        """
        chi = self.chi(betas)
        replays = [self.run.replay(chi, self.stretches(k), gains) for k in range(len(self.tracks))]
        stable = [follows(replay, track) for replay, track in zip(replays, self.tracks, strict=True)]
        return replays, np.asarray(np.logical_and.reduce(stable))

    def tangents(
        self, beta: Array, directions: Array, gains: Mapping[str, Array], rates: Mapping[str, Array]
    ) -> list[tuple[Replay, Replay]]:
        """Replays of every motion at beta, and their derivatives; see `LoopRun.tangents`."""
        chi = self.chi(beta)[0]
        return [self.run.tangents(chi, directions, self.stretches(k), gains, rates) for k in range(len(self.tracks))]

    def batches(
        self, betas: Array, gains: Mapping[str, Array] | None = None
    ) -> Iterator[tuple[slice, list[Replay], NDArray[np.bool_]]]:
        """The same a few lanes at a time, for callers that keep only a part of the signals."""
        lanes = max(MIN_LANES, self.problem.engine.target.parallel_runs)
        for first in range(0, len(betas), lanes):
            part = slice(first, min(first + lanes, len(betas)))
            batch_gains = None if gains is None else {k: g[part] if np.ndim(g) == 2 else g for k, g in gains.items()}
            yield part, *self(betas[part], batch_gains)

    @cached_property
    def _poses(self) -> Array:
        """Positions over which the largest inertia is looked for: along the references, and anywhere within the limits."""
        along = np.vstack([t.reference["q"][:: max(1, len(t.reference["q"]) // 200)] for t in self.tracks])
        limits = self.problem.base.layout.robot.limits
        if limits is None:
            return along
        low, high = np.array(limits.lower, float), np.array(limits.upper, float)
        # inertia has a period of a turn in joints without limits
        low, high = np.where(np.isfinite(low), low, -np.pi), np.where(np.isfinite(high), high, np.pi)
        return np.vstack([along, low + (high - low) * np.random.default_rng(0).random((400, self.n))])

    def inertia(self, beta: Array) -> Array:
        """(n,) J_j = max_q M_jj(q), the largest inertia about every joint axis (DIDIM paper, eq. 51)."""
        M = self.problem.engine.mass_matrix(self._poses, self.chi(beta)[0], self.run.shapes)
        return np.asarray(np.max(np.diagonal(M, axis1=1, axis2=2), axis=0))

    def retuned(self, beta: Array, tuned_for: Array) -> dict[str, Array]:
        """Gains of the simulated loop that keep natural frequency and damping for these parameters (DIDIM paper, eq. 59).

        Args:
            beta: current estimate.
            tuned_for: (n,) inertias that the loop's own gains belong to.
        """
        # gains proportional to the inertia keep wn = sqrt(kp / J) and zeta = kd / (2 sqrt(kp J))
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
            start = float(motion.log.running[~motion.log.mask & np.isfinite(motion.log.t)][0])
            end = start + min(seconds, LONGEST * (motion.t[-1] - start))
            first = 0 if motion.recipe.average else int(np.searchsorted(motion.t, end))
            motions.append(_without_first(_settling_behind_breaks(motion, seconds), first))
            self.tracks[k] = self.tracks[k].at(slice(first, None))
        self.problem = replace(self.problem, motions=tuple(motions))


def _followed(motion: Motion, problem: Problem, trajectory: Trajectory | None) -> Track:
    """What the controller followed during a motion."""
    assert problem.loop is not None
    delay = float(motion.recipe.period or 0.0) if motion.recipe.average else 0.0  # the second period has no transient
    return Track.along(motion.log, motion.t + delay, problem.loop, trajectory)


def _settling_behind_breaks(motion: Motion, seconds: float) -> Motion:
    """The motion with so many s masked behind every break of the clock: what the loop did in between is not known."""
    resumed = motion.log.breaks.resumed
    if not len(resumed):
        return motion
    since = motion.t - np.append(-np.inf, resumed)[np.searchsorted(resumed, motion.t, side="right")]
    return replace(motion, masks={**motion.masks, SETTLING: since < seconds})


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
    first, _, step = rows.indices(len(motion))
    cuts = tuple(-(-(cut - first) // step) for cut in motion.decimator.cuts if cut > first)
    return replace(motion, masks=masks, decimator=replace(motion.decimator, cuts=cuts), **arrays)


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


def follows(run: Replay | Simulation, track: Track) -> NDArray[np.bool_]:
    """(B,) lanes that stayed finite and near the reference."""
    thin = max(1, run.q.shape[1] // ENOUGH)
    place = MemorySpace.of(run.q)
    xp, q, dq = place.xp, place.to_device(run.q[:, ::thin]), place.to_device(run.dq[:, ::thin])
    finite = xp.isfinite(place.to_device(run.ddq[:, -1])).all(
        axis=1
    )  # what is not finite once, stays so; positions show it below
    some = slice(None, None, max(1, len(track.reference["q"]) // ENOUGH))
    reference, moving = (track.reference[name][some] for name in ("q", "dq"))
    middle, reach = 0.5 * (reference.max(axis=0) + reference.min(axis=0)), LOST * (np.ptp(reference, axis=0) + 1.0)
    reference_speed = np.sqrt(np.mean(moving**2, axis=0))
    low, high, most = (
        xp.asarray(x)
        for x in (middle - reach, middle + reach, RESTLESS * np.maximum(reference_speed, 0.01 * reference_speed.max()))
    )
    with np.errstate(invalid="ignore", over="ignore"):
        near = ((q.max(axis=1) < high) & (q.min(axis=1) > low)).all(axis=1)
        calm = (xp.sqrt((dq**2).mean(axis=1)) < most).all(axis=1)
    return place.to_host(finite & near & calm)


def poles(loop: ControlLoop, J: Array) -> tuple[Array, Array]:
    """(n,) natural frequencies and damping of every joint taken by itself with inertia J (DIDIM paper, eq. 56)."""
    law = LAWS[loop.law]
    stiffness, damping = law.stiffness_damping(loop.gains)
    # the controller's model multiplies such gains by the inertia
    J = np.ones_like(J) if law.commands_acceleration else J
    wn = np.sqrt(np.maximum(stiffness, 1e-12) / J)
    return wn, damping / (2.0 * wn * J)


def settling_time(loop: ControlLoop, J: Array) -> float:
    """Seconds until the slowest joint has settled: five time constants of its slowest pole, 5 / wn at critical damping, and
    five of the integral where the law has one."""
    wn, zeta = poles(loop, np.maximum(J, 1e-12))
    # real part of the slower pole over wn; an overdamped pair has one slow real pole
    slow = np.where(zeta <= 1.0, zeta, zeta - np.sqrt(np.maximum(zeta**2 - 1.0, 0.0)))
    slowest = np.minimum(wn * slow, LAWS[loop.law].integral_rate(loop.gains))
    return float(np.max(5.0 / np.maximum(slowest, 1e-9)))
