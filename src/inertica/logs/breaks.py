"""Breaks of a clock: pauses and jumps too long to be filled in, and the time that runs on across them.

A recorder that paused, or a clock that was set while it recorded, leaves a gap of any length.  An even clock that filled it would take
memory by the length of the gap instead of by the number of samples.  So whatever lays out an even clock works on a time in which a
break lasts as long as the longest gap that is filled; stamps, slices and messages keep the recorded time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array

LONGEST = 100.0
"""Usual intervals up to which a gap is filled: ten times the longest dropout of the records at hand (9 intervals), and since no more
than every other interval can be a gap, never more than 50 filled samples to a recorded one."""

REGULAR = 1.5
"""Intervals up to this many times the median form the mean interval; longer ones are gaps and would distort it."""


def regular_intervals(t: Array) -> Array:
    """Intervals of a clock without its gaps."""
    steps = np.diff(t)
    return np.asarray(steps[steps <= REGULAR * np.median(steps)])


def recordings(clocks: Sequence[Array]) -> NDArray[np.intp]:
    """(k,) number of the recording that each of some logs belongs to: one that begins where the log before it ends goes on with it.

    Files of a recorder that begins a new one every minute are one motion; where one stops and the next begins is no event of it.

    Args:
        clocks: (N,) each, stamps in s.
    """
    goes_on = [0.0 < b[0] - a[-1] <= LONGEST * np.median(np.diff(a)) for a, b in pairwise(clocks)]
    return np.cumsum([0, *(not x for x in goes_on)])


@dataclass(frozen=True, eq=False)
class Breaks:
    """Where a clock breaks off and goes on later.

    Args:
        before, after: (k,) s, the last time before each break and the first one behind it.
        resumed: (k,) s of the running time at `after`.
        interval: s, the usual one.
    """

    before: Array
    after: Array
    resumed: Array
    interval: float

    @classmethod
    def of(cls, t: Array) -> Breaks:
        """Of the ascending times of usable samples (N,)."""
        with np.errstate(over="ignore"):
            steps = np.diff(t)
        interval = float(np.mean(regular_intervals(t))) if len(t) > 2 else np.inf
        longest = LONGEST * interval
        k = np.flatnonzero(steps > longest)
        before, after = t[k], t[k + 1]
        # piece by piece: differences of times on both sides of a large jump would lose the digits of the small ones
        pieces = before - np.concatenate([[0.0], after[:-1]]) if len(k) else before
        return cls(before, after, np.cumsum(pieces + longest) if len(k) else before, interval)

    def __len__(self) -> int:
        return len(self.before)

    def running(self, t: Array) -> Array:
        """The time that runs on: recorded times with every break as long as the longest gap that is filled."""
        if not len(self):
            return t
        passed = np.searchsorted(self.after, t, side="right")
        since, at = np.append(0.0, self.after)[passed], np.append(0.0, self.resumed)[passed]
        ends = np.append(self.resumed, np.inf)
        return np.asarray(np.minimum(at + (t - since), ends[passed]))  # masked samples may lie inside a break

    def recorded(self, running: Array) -> Array:
        """The recorded time of running times; inside a break that of the samples before it, running on."""
        if not len(self):
            return running
        # what an even clock has at `resumed` may lie before it by rounding
        passed = np.searchsorted(self.resumed - 0.5 * self.interval, running, side="right")
        return np.asarray(np.append(0.0, self.after)[passed] + (running - np.append(0.0, self.resumed)[passed]))

    def ways(self, t: Array, q: Array) -> Array:
        """(N, n) how far each joint went since the sample before, positions (N, n) at recorded times; nobody knows of a break."""
        out = np.abs(np.diff(q, axis=0, prepend=q[:1]))
        if len(self):
            out[1:][np.diff(np.searchsorted(self.after, t, side="right")) > 0] = 0.0
        return out
