"""Delays of torque that differ clearly from what is expected without looking: what `check` says and `identify` takes out.

A controller holds its torque over a control period, so recorded torque leads its effect by half of it; nothing is expected where the
loop is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array, Mask
from inertica.estimators.structure.bandwidth import HARMONICS
from inertica.estimators.structure.delay import FINE, DelayEstimate, DelayFit, FoundDelays, find_delays
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.logs.noise import position_noise
from inertica.preprocessing.bandwidth import widest_position_band
from inertica.preprocessing.edge import noise_edge
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description

BELOW_EDGE = 3.0
"""The search looks below the edge of the motion divided by this: noise that went through the controller looks like a lead."""

ABOVE_BAND = 10.0
"""It looks at most this many times above the band of the motion: what lies beyond is noise, ripple and elasticity."""

NARROW = 3.0
"""Times the band of the motion that its edge must reach for a search; else noise is taken for delays."""

CLEAR, CLEAR_OWN = 4.5, 3.3
"""Standard deviations by which a delay must differ from what is expected without looking: that of all joints, whose error is small
and whose bias counts, and that of a joint which differs from the others already."""

SAME = 0.2
"""Part of a delay by which half the band may disagree before it is no pure delay."""

LOOKED_AT = 100_000
"""Samples of a log whose spectrum is looked at."""

SAMPLES = 20_000
"""Samples of the regressor that the search may cost, all logs together."""

SHORTEST = 150.0
"""Periods of the cut-off of each log that take part at least."""


@dataclass(frozen=True, eq=False)
class _Verdict:
    """What is taken out.

    Args:
        taken: (n,) delays in s.
        stated: (n,) joints whose delay was found in the data; the others take what is expected without looking.
        mixed: (n,) joints that seemed delayed, but by another time in another band.
    """

    taken: Array
    stated: Mask
    mixed: Mask


@dataclass(frozen=True, eq=False)
class SearchedDelays:
    """The outcome of a search.

    Args:
        taken: (n,) delays in s to be taken out.
        expected: the delay in s that is taken where the data say nothing else.
        sentence: what was found or assumed, and how well it is known.
        each: the delay of every joint on its own; None when motion and noise are too near to look.
        level_known: whether the delay that all joints share is known well enough to be compared.
        stated: (n,) joints whose delay was found in the data.
        mixed: (n,) joints that seem delayed, but by another time in another band.
        left: (n,) each, standard deviations in s of what may be left of delays: one that joints share, those of single joints.
    """

    taken: Array
    expected: float
    sentence: str
    each: DelayEstimate | None
    level_known: bool
    stated: Mask
    mixed: Mask
    left: tuple[Array, ...] = ()


def held_lead(description: Description) -> float:
    """s, the delay that is expected without looking: minus half the control period, 0 where the loop's rate is not stated."""
    loop = description.loop
    return -0.5 / float(loop["rate"]) if loop is not None and loop.get("rate") else 0.0


def search_delays(description: Description, base: BaseModel, logs: Sequence[Log], widest: float = np.inf) -> SearchedDelays:
    """What logs say of delays between torque and motion.

    Args:
        description: robot with friction as assumed for now (`assumed_friction`).
        base: its base parameters.
        logs: with positions and torques; all count together.
        widest: Hz up to which torque follows from the motion, the bandwidth of a fit where it is known.
    """
    return _JointDelays(description, base, logs, widest).run()


class _JointDelays:
    def __init__(self, description: Description, base: BaseModel, logs: Sequence[Log], widest: float) -> None:
        self.description, self.base, self.logs, self.n = description, base, logs, description.robot.n
        self.widest = widest
        self.expected = held_lead(description)
        self.period = -2.0 * self.expected or None

    def run(self) -> SearchedDelays:
        band, edge = self._bands()
        if not edge > NARROW * band > 0.0:
            why = (
                f"not searched for, since motion of up to {band:.2g} Hz drowns in position noise at {edge:.2g} Hz, too near to "
                "tell a delay from noise"
                if band > 0.0
                else "not searched for, since no motion stands out of the noise"
            )
            sentence, none = f"{why}; {self._assumption()}", np.zeros(self.n, bool)
            left = self._of_joints(np.ones(self.n, bool), self._unseen)
            return SearchedDelays(np.full(self.n, self.expected), self.expected, sentence, None, False, none, none, left)
        cutoff = min(edge / BELOW_EDGE, ABOVE_BAND * band, self.widest)
        delays = find_delays(self._fit(cutoff), self.expected)
        verdict = self._judged(delays)
        if verdict.stated.any():
            verdict = self._checked(verdict, delays, self._fit(0.5 * cutoff))
        sentence = self._sentence(delays, verdict, cutoff)
        return SearchedDelays(
            verdict.taken, self.expected, sentence, delays.each, delays.level_known, verdict.stated, verdict.mixed,
            self._left(delays, verdict),
        )  # fmt: skip

    @property
    def _unseen(self) -> float:
        """s that a delay may have which cannot be seen: where the loop is unknown, the lead of a torque held from sample to sample."""
        return 0.0 if self.period is not None else 0.5 * max(1.0 / log.rate for log in self.logs)

    def _of_joints(self, which: Mask, seconds: float) -> tuple[Array, ...]:
        """One shift of some joints together, if there is any."""
        return (np.where(which, seconds, 0.0),) if seconds > 0.0 and which.any() else ()

    def _left(self, delays: FoundDelays, verdict: _Verdict) -> tuple[Array, ...]:
        """What delays may be left, by one standard deviation.

        Of one that was taken out its error; of one that is not clear enough to be taken out all that the data say of it, unless the
        loop tells what to expect.
        """
        out: list[Array] = []
        shared, sd = ~delays.apart, delays.each.sd
        if (shared & verdict.stated).any():
            out += self._of_joints(shared & verdict.stated, delays.error)
        elif self.period is None:
            unclear = float(np.hypot(delays.error, delays.level)) if delays.level_known else self._unseen
            out += self._of_joints(shared, unclear)
        for j in np.flatnonzero(delays.apart & np.isfinite(sd)):
            off = 0.0 if verdict.stated[j] else float(delays.each.values[j]) - self.expected
            out += self._of_joints(np.arange(self.n) == j, float(np.hypot(sd[j], off)))
        return tuple(out)

    def _bands(self) -> tuple[float, float]:
        """Hz up to which the logs move, and at which the first joint drowns in noise."""
        band, edge = 0.0, np.inf
        for log in self.logs:
            part = busiest(log, LOOKED_AT / log.rate)
            motion = prepare(part, Recipe(filter=Unfiltered(), standstill=None, border=0))
            as_recorded = np.array_equal(motion.q, part.need("q"))  # then a log looks at its noise only once
            sigma = part.position_noise if as_recorded else position_noise(motion.q)
            edges = noise_edge(motion.q, motion.dt, sigma)
            band = max(band, HARMONICS * widest_position_band(motion.q, motion.dt, sigma))
            edge = min(edge, float(np.min(edges[edges > 0.0], initial=np.inf)), 0.39 * motion.rate)
        return band, edge

    def _fit(self, cutoff: float) -> DelayFit:
        span = max(SHORTEST, SAMPLES / (FINE * len(self.logs))) / cutoff
        return DelayFit(self.base, self.description.prior, [busiest(log, span) for log in self.logs], cutoff)

    def _judged(self, delays: FoundDelays) -> _Verdict:
        """Those that differ from what is expected by more than their errors."""
        each, sd = delays.each.values, delays.each.sd
        common = delays.level_known and abs(delays.level - self.expected) > CLEAR * delays.error
        level = delays.level if common else self.expected
        distinct = delays.apart & (np.abs(each - self.expected) > CLEAR_OWN * np.where(np.isfinite(sd), sd, np.inf))
        taken = np.where(distinct, each, np.where(delays.apart, self.expected, level))
        return _Verdict(taken, distinct | (common & ~delays.apart), np.zeros(self.n, bool))

    def _checked(self, verdict: _Verdict, delays: FoundDelays, lower: DelayFit) -> _Verdict:
        """Half the band must agree: a pure delay is the same at all frequencies, elasticity and filters are not."""
        shared = verdict.stated & ~delays.apart
        again = lower.each(verdict.taken)
        together = lower.together(verdict.taken)
        shift = np.where(shared, together.values - verdict.taken, again.values - verdict.taken)
        sd = np.where(shared, together.sd, again.sd)
        much = np.maximum(CLEAR_OWN * sd, SAME * np.abs(verdict.taken - self.expected))
        mixed = verdict.stated & (sd < lower.most_sd) & (np.abs(shift) > much)
        return _Verdict(np.where(mixed, self.expected, verdict.taken), verdict.stated & ~mixed, mixed)

    def _assumption(self) -> str:
        """What is taken where the data say nothing."""
        if self.period is None:
            return (
                "none is taken out (a torque held over a control period leads by half of it; state the loop's rate in the card to "
                "have that taken out)"
            )
        return (
            f"half of the control period of {1e3 * self.period:.3g} ms is taken as the lead that a held torque has (state the option "
            "delay if torque was not recorded as the controller put it out)"
        )

    def _sentence(self, delays: FoundDelays, verdict: _Verdict, cutoff: float) -> str:
        parts, sd = [], delays.each.sd
        shared = verdict.stated & ~delays.apart
        if shared.any():
            which = (
                "all joints" if not delays.apart.any() else "the other joints" if delays.apart.sum() < self.n - 1 else "the rest"
            )
            parts.append(f"{_timing(delays.level, delays.error)} on {which}")
        parts += [f"{_timing(verdict.taken[j], sd[j])} on joint {j + 1}" for j in np.flatnonzero(verdict.stated & delays.apart)]
        if verdict.mixed.any():
            parts.append(
                f"joint {_listed(verdict.mixed)} seems delayed by another time at {0.5 * cutoff:.2g} Hz than at {cutoff:.2g} Hz, so "
                "this is not a pure delay (elasticity, a filter in the drive or friction) and is not taken out"
            )
        if not shared.any():
            measured = (
                f"{1e3 * delays.level:.2g} ± {1e3 * delays.error:.2g} ms below {cutoff:.2g} Hz"
                if np.isfinite(delays.error)
                else f"too few samples away from reversals below {cutoff:.2g} Hz"
            )
            least = f"less than {1e3 * CLEAR * delays.error:.2g} ms more or less would not be noticed"
            known = (
                f"the data ({measured}) do not contradict, {least}"
                if delays.level_known
                else f"the data cannot tell ({measured})"
            )
            parts.append(f"{self._assumption()}; {known}" if not parts else self._assumption())
        if unknown := [j for j in range(self.n) if not delays.known[j]]:
            joints = ", ".join(str(j + 1) for j in unknown)
            parts.append(f"joint {joints}: an own delay cannot be told, the common value is used")
        return "; ".join(parts)


def busiest(log: Log, span: float) -> Log:
    """The `span` seconds of a log in which its joints travel furthest, each measured by its whole way; the log when it is shorter."""
    if log.duration <= span:
        return log
    rows = np.flatnonzero(~log.mask)
    rows = rows[:: max(1, len(rows) // 5000)]
    t, q = log.running[rows], log.need("q")[rows]
    way = np.nancumsum(log.breaks.ways(log.t[rows], q), axis=0)
    share = np.sum(way / np.maximum(way[-1], 1e-300), axis=1)
    starts = t[t <= t[-1] - span]
    gained = np.interp(starts + span, t, share) - share[: len(starts)]
    first = float(starts[int(np.argmax(gained))])
    return log.sliced(*log.breaks.recorded(np.array([first, first + span])).tolist())


def _timing(delay: float, sd: float) -> str:
    how = "torque comes later than motion by" if delay > 0.0 else "torque leads motion by"
    return f"{how} {1e3 * abs(delay):.3g} ± {1e3 * sd:.2g} ms"


def _listed(which: Mask) -> str:
    return ", ".join(str(j + 1) for j in np.flatnonzero(which))
