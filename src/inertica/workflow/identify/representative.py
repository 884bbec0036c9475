"""The part of long logs that choices are made on: stretches spread over them in which every joint moves.

A hundred seconds of a usual motion tell filter, delay, mount, friction and method as well as a thousand; only the fit gains from more.
Time is counted in crossings: how long the joints take to travel as far as their range is wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.structure.delay_search import busiest
from inertica.logs.log import Log

LONG = 200_000
"""Samples of all logs together up to which choices are made on all of them."""

CROSSINGS = 32.0
"""Of the stretches that are taken otherwise, all together; of a sine, two make a period."""

FEWEST, SHORTEST = 5, 3.2
"""Stretches, one for each joint if that is more, and crossings of each: long enough for filters, and for noise correlated in time."""

CHECKED = 10.0
"""Crossings of a long log that are checked."""

THINNED = 20_000
"""Samples by which crossings are told."""

CANDIDATES = 40
"""Places of a stretch that are compared."""

FULL = 0.9
"""Part of a stretch that must have been recorded."""


@dataclass(frozen=True, eq=False)
class Part:
    """What choices are made on.

    Args:
        logs: the logs themselves, or stretches of them.
        numbers: which log each comes from.
        whole: whether they are all of the data.
        sentence: which part it is; empty for all.
    """

    logs: tuple[Log, ...]
    numbers: tuple[int, ...]
    whole: bool = True
    sentence: str = ""

    @property
    def seconds(self) -> float:
        return sum(log.duration for log in self.logs)


def representative(logs: Sequence[Log]) -> Part:
    """All of the logs, or stretches of those that are long.

    A log becomes stretches when all logs together have more than `LONG` samples and it lasts more than twice as long as its
    stretches would.

    Args:
        logs: to fit; those without positions are never cut.
    """
    total = sum(len(log) for log in logs)
    if total <= LONG or any("q" not in log.signals for log in logs):
        return Part(tuple(logs), tuple(range(len(logs))))
    most = max(FEWEST, logs[0].n)
    crossings = max(CROSSINGS / most, SHORTEST)
    parts: list[tuple[int, Log]] = []
    for k, log in enumerate(logs):
        count, span = max(1, round(most * len(log) / total)), crossings * crossing_time(log)
        cut = stretches(log, count, span) if log.duration > 2.0 * count * span else []
        parts += [(k, part) for part in cut or [log]]
    if len(parts) == len(logs) and all(part is log for (_, part), log in zip(parts, logs, strict=True)):
        return Part(tuple(logs), tuple(range(len(logs))))
    chosen = Part(tuple(part for _, part in parts), tuple(k for k, _ in parts), False)
    whole = sum(log.duration for log in logs)
    words = (
        f"{len(parts)} stretches, {chosen.seconds:.0f} of {whole:.0f} s, spread over the logs so that every joint moves in them"
    )
    return Part(chosen.logs, chosen.numbers, False, words)


def in_one_piece(logs: Sequence[Log]) -> list[Log]:
    """Of every log the stretch that moves most: what a log says wrongly, it says all the time."""
    return [busiest(log, CHECKED * crossing_time(log)) for log in logs]


def crossing_time(log: Log) -> float:
    """s that a joint takes on average to travel as far as its range is wide: of the joints in the middle, or the busier of two.

    Joints that move seldom take long, and must not stretch the time of all.  The whole log, where nothing moves.
    """
    rows = _usable(log)
    q = log.need("q")[rows[:: max(1, len(rows) // THINNED)]]
    width, way = np.ptp(q, axis=0), np.abs(np.diff(q, axis=0)).sum(axis=0)
    crossings = np.sort((way / np.where(width > 0.0, width, 1.0))[width > 0.0])
    return log.duration / float(crossings[len(crossings) // 2]) if len(crossings) else log.duration


def stretches(log: Log, count: int, span: float) -> list[Log]:
    """One stretch of each of `count` equal sections of a log: the one that adds most to the ways of the joints so far.

    A joint's way counts by the square root of its share, so that a joint that moves seldom is not missed for one that always does.

    Args:
        log: with positions, longer than its stretches.
        count: of sections.
        span: of a stretch in s.
    """
    rows = _usable(log)
    thinned = rows[:: max(1, round(0.01 * span * log.rate))]
    t, q, running = log.running[thinned], log.need("q")[thinned], log.running[rows]
    way = np.cumsum(log.breaks.ways(log.t[thinned], q), axis=0)
    way /= np.maximum(way[-1], 1e-300)
    expected = FULL * span * log.rate
    covered, out = np.zeros(log.n), []
    edges = np.linspace(running[0], running[-1], count + 1)
    for low, high in pairwise(edges):
        starts = np.linspace(low, max(low, high - span), CANDIDATES)
        recorded = np.searchsorted(running, starts + span) - np.searchsorted(running, starts)
        starts = starts[recorded >= expected]
        if not len(starts):
            continue
        gained = np.column_stack([np.interp(starts + span, t, w) - np.interp(starts, t, w) for w in way.T])
        best = int(np.argmax(np.sum(np.sqrt(covered + gained) - np.sqrt(covered), axis=1)))
        covered = covered + gained[best]
        out.append(log.sliced(*log.breaks.recorded(np.array([starts[best], starts[best] + span])).tolist()))
    return out


def _usable(log: Log) -> NDArray[np.intp]:
    """Samples that are not masked and have a time and all positions."""
    return np.flatnonzero(~log.mask & np.isfinite(log.t) & np.isfinite(log.need("q")).all(axis=1))
