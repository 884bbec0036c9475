"""What a filter sees of a problem: measured positions, sample by sample, and what drives the model between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.closed_loop import ClosedLoop
from inertica.dynamics.laws import Recorded, TorqueDriven
from inertica.dynamics.transition import Transition
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.closed_loop.gain_fit import recorded_position
from inertica.experiment.track import ON_STEP, Track
from inertica.logs.noise import FOURTH, MAD, position_noise
from inertica.preprocessing.edge import motion_band
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.motion import Motion
from inertica.robot.loops import require_tree

Between = Literal["auto", "interpolated", "held"]

EVERY_STEP = 0.99
"""Control periods in a sample period from which on the log has every control step."""

EASE = 0.005
"""s between the poses at which the inertia is looked at."""

WIDE = 0.25
"""Of the sampling rate: cut-offs from here on take away half of the noise at most."""

CLEAR = 3.0
"""Standard deviations of its noise that a torque may be away from a lower low-pass."""

NOISY = 0.1
"""Of what looks like noise of a torque: where its own noise is less than this, the rest was commanded and has driven the robot."""

EXACT = 1e-3
"""Of a torque, to which it is known at best what drove a robot between two samples, in a log without noise, too."""

SILENT = 1e-9
"""rad or m: least standard deviation of measured positions, so that data without noise can be filtered, too."""


@dataclass(frozen=True, eq=False)
class Record:
    """One log for a filter.

    Args:
        t: (N,) samples.
        q: (N, n) measured positions, unfiltered.
        used: (N,) whether a position counts.
        table: (T, m) torque or reference of every step.
        steps: (N,) steps at which the samples are.
        start: (2n,) velocity and position to begin with.
        ease: (K, n, n) inverse inertia along the way, which says what noise of torques does to the joints together, or empty;
        thinned: samples between its rows, and
        behind: samples of a longer record before the first one, where its rows begin.
        calm: (T, m) torques along which parameters act (`drive`); empty where those are the table's.
    """

    t: Array
    q: Array
    used: NDArray[np.bool_]
    table: Array
    steps: NDArray[np.int64]
    start: Array
    ease: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    thinned: int = 1
    behind: int = 0
    calm: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def stretches(self, count: int, seconds: float, least: int = 10) -> list[Record]:
        """So many stretches of so many seconds, or of `least` samples, spread over the record; the whole one where they overlap.

        Each begins with the recorded position and the velocity around it, in which no acceleration is left.
        """
        size = max(least, round(seconds / float(self.t[1] - self.t[0])))
        if count * size >= len(self.t):
            return [self]
        return [self._part(slice(int(f), int(f) + size)) for f in np.linspace(0, len(self.t) - size, count)]

    def _part(self, rows: slice) -> Record:
        start = self.start
        if rows.start:
            at = min(max(rows.start, 2), len(self.t) - 3)
            around, dt = self.q[at - 2 : at + 3], float(self.t[1] - self.t[0])
            start = np.concatenate([np.array([1.0, -8.0, 0.0, 8.0, -1.0]) @ around / (12.0 * dt), self.q[rows.start]])
        return replace(
            self, t=self.t[rows], q=self.q[rows], used=self.used[rows], steps=self.steps[rows], start=start,
            behind=self.behind + rows.start,
        )  # fmt: skip

    def eased(self, problem: Problem, motion: Motion, beta: Array) -> Record:
        """With the inverse inertia of a robot with these parameters."""
        chi, shapes = problem.fixed_values.copy(), None if problem.prior is None else problem.prior.shapes
        chi[problem.base.retained] = beta
        require_tree(problem.base.layout.robot, "a filter of positions")
        thinned = max(1, int(EASE / motion.dt))
        return replace(
            self, ease=np.asarray(np.linalg.inv(problem.engine.mass_matrix(motion.q[::thinned], chi, shapes))), thinned=thinned
        )


def decimated(problem: Problem) -> Problem:
    """The problem with motions at their decimated rate."""
    return replace(problem, motions=tuple(m.decimated() for m in problem.motions))


def driven_by_torque(
    problem: Problem, step: float, between: Between, recorded: bool = True, calm: bool = False
) -> tuple[list[Record], float]:
    """Records driven by the measured torque, and the length of their steps.

    Args:
        problem: with motions of one sampling rate.
        step: s, longest step of integration; a sample period is divided into equal ones.
        between: torque between samples: on a straight line, taken in the middle of each step, or held; `auto` holds it where the
            controller is known to be no faster than the log.
        recorded: positions are those of the log; else those of the motions, which may be decimated.
        calm: with torques beside them in which hardly any noise is left.

    A torque is recorded when a control period begins and acts until it ends, so on average half a control period later.
    """
    dt = max(m.dt for m in problem.motions)
    if any(abs(m.dt / dt - 1.0) > 1e-3 for m in problem.motions):
        raise InputError("a filter needs logs of one sampling rate; resample them to the slowest one")
    each = max(1, int(np.ceil(dt / step - 1e-6)))
    noisy = drive_noises(problem) > NOISY * torque_noises(problem) if calm else np.zeros(0, bool)
    out = []
    for motion in problem.motions:
        tau = motion.tau if motion.recipe.average else motion.tau_raw
        periods = 0.0 if problem.loop is None else problem.loop.dt / motion.dt
        held = between == "held" or (between == "auto" and periods > EVERY_STEP)
        share = np.zeros(each) if held else (np.arange(each) + 0.5) / each - min(0.5 * periods, 0.5)
        record = _record(motion, _divided(tau, share), each * np.arange(len(motion)), recorded)
        if calm:
            record = replace(record, calm=_divided(np.where(noisy, calm_torque(record.q, tau, motion.dt), tau), share))
        out.append(record)
    return out, dt / each


def _divided(tau: Array, share: Array) -> Array:
    """(T, n) torque of every step, each at its share of the way from one sample to the next."""
    return np.ascontiguousarray((tau[:-1, None] + share[:, None] * np.diff(tau, axis=0)[:, None]).reshape(-1, tau.shape[1]))


def calm_torque(q: Array, tau: Array, dt: float) -> Array:
    """(N, n) torques without their noise: every sample behind the lowest low-pass that hides nothing.

    Low-passes without delay begin with the band of the motion, each twice as wide as the last one, up to the torque as it is; taken is
    the lowest that differs from every wider one by no more than that one's noise explains (Lepski's rule).  Where friction jumps that
    is a wide one, elsewhere a narrow one.

    Args:
        q: (N, n) measured positions.
        tau: (N, n) measured torques.
        dt: sampling period.
    """
    cutoff, noise = motion_band(q, dt), position_noise(tau)
    levels: list[tuple[Array, Array]] = []
    while 0.0 < cutoff * dt < WIDE:
        levels.append((Butterworth(cutoff=cutoff).smoothed(tau, dt), np.sqrt(2.0 * cutoff * dt) * noise))
        cutoff *= 2.0
    wider, calm, lower = [(tau, noise)], tau, np.ones(tau.shape, bool)
    for level in reversed(levels):
        lower &= np.all([np.abs(level[0] - other) <= CLEAR * sigma for other, sigma in wider], axis=0)
        calm = np.where(lower, level[0], calm)
        wider.append(level)
    return calm


def driven_by_loop(problem: Problem, recorded: bool = True, sees_log: bool = True) -> list[Record]:
    """Records driven by the control loop, which follows its reference at its own rate; positions as above.

    Args:
        problem: with a control loop.
        recorded: positions are those of the log.
        sees_log: they are what the controller saw, where a sample of the log falls on a control step (`laws.Recorded`).
    """
    loop, references = problem.loop, problem.references
    assert loop is not None
    out = []
    for k, motion in enumerate(problem.motions):
        trajectory = references[min(k, len(references) - 1)] if references else None
        track = Track.along(motion.log, motion.t, loop, trajectory)
        table = np.hstack([track.reference[name] for name in loop.compiled_law.references])
        record = _record(motion, np.ascontiguousarray(table), track.keep[track.before], recorded)
        seen = record.used & _as_logged(motion) & (track.share == 0.0) & (sees_log and recorded)
        out.append(replace(record, table=np.ascontiguousarray(np.hstack([table, _sight(record, seen)]))))
    return out


def _as_logged(motion: Motion) -> NDArray[np.bool_]:
    """(N,) samples of a motion that are samples of its log, not interpolated between them."""
    t = motion.log.running[~motion.log.mask & np.isfinite(motion.log.t)]
    at = np.clip(np.searchsorted(t, motion.t), 1, len(t) - 1)
    away = np.minimum(np.abs(t[at] - motion.t), np.abs(t[at - 1] - motion.t))
    return np.asarray((away < ON_STEP * motion.dt) & (not motion.recipe.average))


def _sight(record: Record, seen: NDArray[np.bool_]) -> Array:
    """(T, 4n) what the controller sees at every control step, as `laws.Recorded` reads it."""
    T, n = len(record.table), record.q.shape[1]
    now, before = record.steps[seen], record.steps[seen] + 1
    out = np.zeros((T, 4, n))
    out[:, 1], out[:, 3] = 1.0, 1.0
    out[now, 0], out[now, 1] = record.q[seen], 0.0
    inside = before < T
    out[before[inside], 2], out[before[inside], 3] = record.q[seen][inside], 0.0
    return out.reshape(T, 4 * n)


def hidden(record: Record) -> float:
    """Of the control steps of a record driven by its loop, the share at which the controller saw what no log tells."""
    n = record.q.shape[1]
    return float(np.mean(record.table[record.steps[0] : record.steps[-1], -3 * n]))


def _record(motion: Motion, table: Array, steps: NDArray[np.int64], recorded: bool) -> Record:
    q = np.array(
        recorded_position(motion) if recorded else motion.q, order="C"
    )  # a frozen array would have filters compiled anew
    return Record(motion.t, q, ~motion.spoiled, table, steps.astype(np.int64), np.concatenate([motion.dq[0], q[0]]))


def transition(problem: Problem, beta: Array, dt: float | None, integrator: str) -> Transition:
    """From sample to sample, driven by a torque with steps of dt, or by the control loop when none is given."""
    chi, shapes = problem.fixed_values.copy(), None if problem.prior is None else problem.prior.shapes
    chi[problem.base.retained] = beta
    engine, retained, loop = problem.engine, [int(k) for k in problem.base.retained], problem.loop
    if dt is not None:
        return Transition.of(engine, ClosedLoop(TorqueDriven(), integrator), dt, chi, retained, shapes=shapes)
    assert loop is not None
    differences = loop.difference_velocity is not False
    closed = ClosedLoop(Recorded(loop.compiled_law, differences), integrator, difference=differences)
    return Transition.of(engine, closed, loop.dt, chi, retained, loop.all_gains, shapes)


def position_noises(problem: Problem, records: list[Record]) -> Array:
    """(n,) standard deviations of measured positions: stated, or what the fourth differences of the records show."""
    if problem.noise is not None:
        return np.maximum(problem.noise.q, SILENT)
    return np.maximum(np.sqrt(np.mean([position_noise(r.q) ** 2 for r in records], axis=0)), SILENT)


def torque_noises(problem: Problem) -> Array:
    """(n,) standard deviations of measured torques, likewise."""
    if problem.noise is not None:
        return np.asarray(problem.noise.tau)
    return np.asarray(np.sqrt(np.mean([position_noise(m.tau_raw) ** 2 for m in problem.motions], axis=0)))


def has_every_step(problem: Problem) -> bool:
    """Whether logs have every step of a known controller, so that measured torques are those that acted, but for their own noise."""
    loop = problem.loop
    return loop is not None and all(loop.dt / m.dt > EVERY_STEP for m in problem.motions)


def drive_noises(problem: Problem) -> Array:
    """(n,) standard deviations by which measured torques differ from those that drove the robot.

    Noise of positions that the controller fed back is in the torque, but drove the robot, where the log has every control step:
    taken for noise of the torque, it is most of it and biases a filter.  It is what the fourth differences of the positions of
    this sample and the last one explain of those of the torque.
    """
    least = EXACT * np.sqrt(np.mean([np.mean(m.tau_raw**2, axis=0) for m in problem.motions], axis=0))
    raw = np.maximum(torque_noises(problem), least)
    if problem.noise is not None or not has_every_step(problem):
        return raw
    variances = []
    for m in problem.motions:
        tau, q = np.diff(m.tau_raw, 4, axis=0)[1:], np.diff(recorded_position(m), 4, axis=0)
        left = [
            y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
            for y, X in ((tau[:, j], np.column_stack([q[1:, j], q[:-1, j]])) for j in range(m.n))
        ]
        variances.append(MAD * np.median(np.abs(left), axis=1) / FOURTH)
    return np.maximum(np.minimum(raw, np.sqrt(np.mean(np.square(variances), axis=0))), least)
