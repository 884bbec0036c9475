"""The lag of one signal behind another that it should equal up to a factor, such as a recorded velocity behind that of positions.

The residual of the best multiple is smallest at the lag.  Both are low-passed alike first.  Its uncertainty comes from leaving out
one tenth of the record after the other (jackknife), which takes the colour of the errors as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array, Mask

BLOCKS = 10
FEWEST = 100
"""Rows below which no lag is stated: tenths of the record would differ by chance."""

STEPS = 60
"""Lags tried on either side."""


@dataclass(frozen=True)
class ResidualLag:
    """A lag with its standard deviation, in s; NaN when the residual has no minimum within reach."""

    value: float
    sd: float

    @property
    def found(self) -> bool:
        return bool(np.isfinite(self.value))


NOT_FOUND = ResidualLag(np.nan, np.nan)


def scan(t: Array, use: Mask, leader: Array, follower: Callable[[Array], Array], reach: float) -> ResidualLag:
    """The lag of a signal.

    Args:
        t: (M,) times of the rows.
        use: (M,) rows that count.
        leader: (M,) the other signal at those times.
        follower: the signal as a function of time, low-passed like the leader.
        reach: largest lag tried, s.
    """
    rows = use & (t >= t[0] + reach) & (t <= t[-1] - reach)
    size = float(np.linalg.norm(leader[rows]))
    if np.count_nonzero(rows) < FEWEST or not size > 0.0:
        return NOT_FOUND
    lags = np.linspace(-reach, reach, 2 * STEPS + 1)
    unit = leader[rows] / size
    Y = follower(t[rows][:, None] + lags)
    squares = (Y - np.outer(unit, unit @ Y)) ** 2
    blocks = np.array([part.sum(axis=0) for part in np.array_split(squares, BLOCKS)])
    total = blocks.sum(axis=0)
    whole = float(np.sum(Y[:, STEPS] ** 2))
    best = _minimum(lags, total)
    if not np.isfinite(best) or not total[STEPS] > 1e-24 * whole:
        return NOT_FOUND
    without = np.array([_minimum(lags, total - block) for block in blocks])
    return ResidualLag(best, float(np.sqrt((BLOCKS - 1) / BLOCKS * np.sum((without - without.mean()) ** 2))))


def _minimum(lags: Array, cost: Array) -> float:
    """Where a parabola through the smallest value and its neighbours is lowest; NaN at the ends of the scan."""
    k = int(np.argmin(cost))
    if k in (0, len(cost) - 1):
        return float("nan")
    left, middle, right = cost[k - 1 : k + 2]
    bend = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0.0 else 0.0
    return float(lags[k] + shift * (lags[1] - lags[0]))
