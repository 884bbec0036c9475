"""Breaks of a clock: pauses and jumps too long to be filled in, and the time that runs on across them.

A recorder that paused, or a clock that was set while it recorded, leaves a gap of any length.  An even clock that filled it would take
memory by the length of the gap instead of by the number of samples.  So whatever lays out an even clock works on a time in which a
break lasts as long as the longest gap that is filled; stamps, slices and messages keep the recorded time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LONGEST = 100.0
"""Usual intervals up to which a gap is filled: ten times the longest dropout of the records at hand (9 intervals), and since no more
than every other interval can be a gap, never more than 50 filled samples to a recorded one."""

REGULAR = 1.5
"""Intervals up to this many times the median form the mean interval; longer ones are gaps and would distort it."""


def regular_intervals(t: Array) -> Array:
    """Intervals of a clock without its gaps."""
    steps = np.diff(t)
    return np.asarray(steps[steps <= REGULAR * np.median(steps)])


@dataclass(frozen=True, eq=False)
class Breaks:
    """Where a clock breaks off and goes on later.

    Args:
        before, after: (k,) s, the last time before each break and the first one behind it.
        removed: (k + 1,) s by which the running time is behind the recorded one, behind so many breaks.
    """

    before: Array
    after: Array
    removed: Array

    @classmethod
    def of(cls, t: Array) -> Breaks:
        """Of the ascending times of usable samples (N,)."""
        steps = np.diff(t)
        longest = LONGEST * float(np.mean(regular_intervals(t))) if len(t) > 2 else np.inf
        k = np.flatnonzero(steps > longest)
        return cls(t[k], t[k + 1], np.concatenate([[0.0], np.cumsum(steps[k] - longest)]))

    def __len__(self) -> int:
        return len(self.before)

    def running(self, t: Array) -> Array:
        """The time that runs on: recorded times with every break as long as the longest gap that is filled."""
        if not len(self):
            return t
        passed = np.searchsorted(self.after, t, side="right")
        ends = np.append(self.after - self.removed[1:], np.inf)
        return np.asarray(np.minimum(t - self.removed[passed], ends[passed]))  # masked samples may lie inside a break

    def recorded(self, running: Array) -> Array:
        """The recorded time of running times; inside a break that of the samples before it, running on."""
        if not len(self):
            return running
        return np.asarray(running + self.removed[np.searchsorted(self.after - self.removed[1:], running, side="right")])
