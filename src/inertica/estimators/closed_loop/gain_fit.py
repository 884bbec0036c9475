"""Gains of the loop from the log itself, one Gauss-Newton step, and which of them the log tells apart.

What the log shows beyond the simulation is regressed on the simulation's answers to the base parameters and to the unknown gains x,

    (tau - tau_s, q - q_s) = d(tau_s, q_s)/d beta * delta_beta + d(tau_s, q_s)/d x * delta_x + noise,

positions where they were recorded.  Rows are divided by their noise, so the singular values of what remains of the columns of x, once
the parameters have taken their share, are one over the standard deviations of combinations of gains.  While there is a combination
that the log does not tell to 10 %, the gain with the largest part in it is kept at its stated value.

Answers are exact tangents, in which the sign of friction is constant: torques next to a velocity reversal take no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.triangle import stacked_factor
from inertica.estimators.base import Need, Problem
from inertica.estimators.closed_loop.loop_gains import DRIVE, LoopGains
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator
from inertica.estimators.closed_loop.tangent_outputs import tangent_replays
from inertica.estimators.covariance import correlation_time
from inertica.experiment.track import Replay
from inertica.preprocessing.motion import Motion
from inertica.threads import one_thread

KNOWN = 0.1
"""Relative standard deviation from which a combination of gains counts as not told by the log."""

FLOOR = 0.01
"""Relative standard deviation that no gain is better than: reversals of friction and noise inside the loop are not in the answers."""

DEPENDENT = 1e-7
"""Singular values below this share of the largest are rounding."""

ENOUGH, ENOUGH_TORQUE = 2000, 4000
"""Samples that are compared, with and without positions; longer records are thinned out."""

REVERSAL = 0.05
"""Torques at which a joint is slower than this part of its rms velocity are next to a reversal."""

ALIKE = 0.9
"""Of gains whose parts in a combination differ by less than this ratio the first is kept, so that it is the same at every step."""

STRETCHES = 20
"""Parts of a log over which the scatter of the scores is taken."""

LONGEST = 0.7
"""Most that a logarithm changes in one step: a factor of two."""


@dataclass(frozen=True, eq=False)
class GainStep:
    """One step of the unknown gains.

    Args:
        change: (g,) of their logarithms; zero for those that stay as they are.
        std: (g,) of the logarithms; infinite for those.
        unresolved: unknowns that this log does not determine.
    """

    change: Array
    std: Array
    unresolved: tuple[int, ...]

    @property
    def free(self) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(self.std))


def recorded_signals(problem: Problem) -> tuple[str, ...]:
    """What a log says of its gains."""
    return ("tau", "q") if problem.has(Need.MOTION) else ("tau",)


class GainSearch:
    """Steps of the unknown gains of one problem.

    The answers to the parameters, which only take their share, are simulated once and then kept.

    Args:
        simulator: of the loop, transients cut off.
        gains: the unknown ones.
        signals: tau, q or both.
    """

    def __init__(self, simulator: LoopSimulator, gains: LoopGains, signals: Sequence[str]) -> None:
        self.gains, self.signals = gains, tuple(signals)
        self.coarse = simulator.coarser(ENOUGH if "q" in signals else ENOUGH_TORQUE, simulator.run.integrator)
        self.answers: list[Replay] = []

    def step(self, beta: Array, x: Array) -> GainStep | None:
        """One step from x; None when the loop cannot be simulated there.

        Args:
            beta: (b,) parameters, which take part in the regression but are not moved.
            x: (g,) logarithms of the gains.
        """
        if not self.gains.size:
            return GainStep(np.zeros(0), np.zeros(0), ())
        if DRIVE in self.gains.names:
            self.answers = []  # recorded torques scale with the drive gains, and so do the answers
        groups = self._groups(beta, x)
        if not all(np.isfinite(rows).all() for group in groups for rows in group):
            self.answers = []
            return None
        return gain_step(groups, len(beta))

    def _groups(self, beta: Array, x: Array) -> list[list[Array]]:
        """Per signal and joint (rows, b + g + 1): answers, and what the log shows beyond the simulation."""
        pairs = tangent_replays(self.coarse, beta, self.gains, x, parameters=not self.answers)
        b = len(beta)
        if not self.answers:
            self.answers = [rate.lanes(slice(None, b)) for _, rate in pairs]
            pairs = [(run, rate.lanes(slice(b, None))) for run, rate in pairs]
        return [self._channels(pairs, signal) for signal in self.signals]

    def _channels(self, pairs: Sequence[tuple[Replay, Replay]], signal: str) -> list[Array]:
        known = [getattr(answer, signal).transpose(1, 2, 0) for answer in self.answers]
        return channels(self.coarse.problem.motions, pairs, known, signal)


def channels(
    motions: Sequence[Motion], pairs: Sequence[tuple[Replay, Replay]], known: Sequence[Array], signal: str
) -> list[Array]:
    """Per joint (rows, b + g + 1): answers to parameters and gains, and what the log shows beyond the simulation.

    Args:
        motions: as recorded.
        pairs: of each, the run and its derivatives along the gains.
        known: of each (N, n, b), answers to the parameters.
        signal: tau or q.
    """
    out = []
    seen = [motion.tau if signal == "tau" else recorded_position(motion) for motion in motions]
    for j in range(motions[0].n):
        parts = []
        for motion, recorded, position, (run, rate) in zip(motions, seen, known, pairs, strict=True):
            speed = np.abs(run.dq[0, :, j])
            apart = (speed > REVERSAL * np.sqrt(np.mean(speed**2))) & ~motion.resting[:, j] if signal == "tau" else True
            use = ~motion.mask & apart
            error = recorded[use, j] - getattr(run, signal)[0, use, j]
            parts.append(np.column_stack([position[use, j], getattr(rate, signal)[:, use, j].T, error]))
        out.append(np.concatenate(parts))
    return [rows for rows in out if len(rows) > rows.shape[1]]


def recorded_position(motion: Motion) -> Array:
    """Positions as recorded, at the samples of the motion: a filter would round the corners that friction makes."""
    log = motion.log
    if motion.recipe.average:
        return motion.q
    use = ~log.mask & np.isfinite(log.t) & np.isfinite(log.need("q")).all(axis=1)
    return np.column_stack([np.interp(motion.t, log.running[use], q) for q in log.need("q")[use].T])


def gain_step(groups: Sequence[Sequence[Array]], b: int) -> GainStep:
    """The step that the rows of several signals call for, with b parameters to take their share first."""
    blocks = [rows for group in groups for rows in group]
    with one_thread():
        factors = [stacked_factor(rows) for rows in blocks]
        noise = np.array([np.sqrt(np.mean(rows[:, -1] ** 2)) for rows in blocks])
        for _ in range(2):  # noise is what the regression leaves, and correlated in time
            step = _solved(factors, _inverse(noise))
            noise = np.concatenate([_noise(group, step) for group in groups])
        R = stacked_factor(*(w * f for w, f in zip(_inverse(noise), factors, strict=True)))
        return _widened(separated(R[b:-1, b:-1], R[b:-1, -1]), R, blocks, _inverse(noise), b)


def _widened(step: GainStep, R: Array, blocks: Sequence[Array], weights: Array, b: int) -> GainStep:
    """Standard deviations that also allow for what the scores do from one stretch of the log to the next.

    Misfits that come and go with the motion, such as those behind a reversal, are no stationary noise; they show in the scatter of the
    scores over stretches of the log.
    """
    free = np.flatnonzero(step.free)
    if not len(free):
        return step
    share, first = np.zeros((b, len(free))), np.zeros(b)
    if b:
        scale = np.maximum(np.linalg.norm(R[:, :b], axis=0), 1e-300)
        wanted = np.column_stack([R[:b, b + free], R[:b, -1] - R[:b, b:-1] @ step.change])
        combination = np.linalg.lstsq(R[:b, :b] / scale, wanted, rcond=1e-9)[0] / scale[:, None]
        share, first = combination[:, :-1], combination[:, -1]
    whole = np.concatenate([first, step.change])
    scores = np.zeros((STRETCHES, len(free)))
    for rows, weight in zip(blocks, weights, strict=True):
        left = rows[:, -1] - rows[:, :-1] @ whole
        alone = rows[:, b:-1][:, free] - rows[:, :b] @ share
        for k, part in enumerate(np.array_split(np.arange(len(rows)), STRETCHES)):
            scores[k] += weight**2 * (left[part] @ alone[part])
    inverse = np.linalg.pinv(R[b:-1, b:-1][:, free])
    scatter = np.sqrt(np.sum((scores @ (inverse @ inverse.T)) ** 2, axis=0) * STRETCHES / (STRETCHES - 1.0))
    std = step.std.copy()
    std[free] = np.maximum(std[free], np.hypot(scatter, FLOOR))
    return replace(step, std=std)


def _noise(group: Sequence[Array], step: Array) -> Array:
    """Noise of every channel of one signal, as if it were white: the signal's longest correlation counts for all of them."""
    left = [rows[:, -1] - rows[:, :-1] @ step for rows in group]
    longest = max(correlation_time(r[:, None]) for r in left)
    return np.array([np.sqrt(np.mean(r**2) * longest) for r in left])


def _inverse(noise: Array) -> Array:
    return np.asarray(1.0 / np.maximum(noise, max(1e-12 * noise.max(), 1e-300)))


def _solved(factors: Sequence[Array], weights: Array) -> Array:
    """Least squares over all unknowns, with columns of one scale; directions that nothing tells stay at zero."""
    stacked = np.vstack([w * f for w, f in zip(weights, factors, strict=True)])
    A, y = stacked[:, :-1], stacked[:, -1]
    scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    return np.asarray(np.linalg.lstsq(A / scale, y, rcond=1e-9)[0] / scale)


def separated(R: Array, z: Array) -> GainStep:
    """The step min |R x - z| over the gains that R tells apart; R has unit noise and holds what parameters leave of the gains."""
    g = R.shape[1]
    free = list(range(g))
    while free:
        _, s, Vt = np.linalg.svd(R[:, free], full_matrices=False)
        if s[-1] > max(1.0 / KNOWN, DEPENDENT * s[0]):
            break
        share = np.abs(Vt[-1])
        free.pop(int(np.argmax(share > ALIKE * share.max())))
    change, std = np.zeros(g), np.full(g, np.inf)
    if free:
        inverse = np.linalg.pinv(R[:, free])
        change[free] = np.clip(inverse @ z, -LONGEST, LONGEST)
        std[free] = np.hypot(np.sqrt(np.sum(inverse**2, axis=1)), FLOOR)
    return GainStep(change, std, tuple(k for k in range(g) if k not in free))
