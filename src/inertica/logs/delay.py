"""Delays between signals, found by scanning fractions of a sample for the smallest residual of a linear fit.

For a joint with regressor rows W and torque y, the residual of the best fit of y(t + d) by W(t) is smallest at the delay d of the
torque.  Both are low-passed alike first.  Its uncertainty comes from leaving out one tenth of the record after the other (jackknife),
which takes the colour of the errors as it is, and from how far half and twice the bandwidth disagree: friction at reversals that the
model lacks moves the estimate with the bandwidth, a true delay stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

BLOCKS = 10
FEWEST = 100
"""Rows below which no delay is stated: tenths of the record would differ by chance."""

STEPS = 60
"""Delays tried on either side."""


@dataclass(frozen=True)
class Delay:
    """A delay with its uncertainty, in s; positive when the signal comes later than the regressors.

    Args:
        value: NaN when the residual has no minimum within reach.
        sd: standard deviation.
        residual: relative residual without delay.
        gain: residual with the delay over the residual without.
        leverage: part of the signal's rate of change that the regressors cannot imitate; near 0 a delay hides in the parameters,
            as it does in motion of a single frequency.
    """

    value: float
    sd: float
    residual: float
    gain: float
    leverage: float = 0.0

    @property
    def told(self) -> bool:
        return bool(np.isfinite(self.value))


UNTOLD = Delay(np.nan, np.nan, np.nan, 1.0)


def scan(t: Array, use: Mask, W: Array, later: Callable[[Array], Array], reach: float) -> Delay:
    """The delay of a signal against regressors.

    Args:
        t: (M,) times of the rows.
        use: (M,) rows that count.
        W: (M, k) regressors at those times.
        later: the signal as a function of time, low-passed like W.
        reach: largest delay tried, s.
    """
    rows = use & (t >= t[0] + reach) & (t <= t[-1] - reach)
    A = W[rows]
    size = np.linalg.norm(A, axis=0)
    A = A[:, size > 1e-12 * size.max(initial=0.0)] / size[size > 1e-12 * size.max(initial=0.0)]
    if len(A) < max(3 * A.shape[1], FEWEST) or not A.shape[1]:
        return UNTOLD
    delays = np.linspace(-reach, reach, 2 * STEPS + 1)
    Q = np.linalg.qr(A)[0]
    Y = later(t[rows][:, None] + delays)
    squares = (Y - Q @ (Q.T @ Y)) ** 2
    blocks = np.array([part.sum(axis=0) for part in np.array_split(squares, BLOCKS)])
    total = blocks.sum(axis=0)
    size_of_signal = float(np.sum(Y[:, STEPS] ** 2))
    if not size_of_signal > 0.0 or not total[STEPS] > 1e-24 * size_of_signal:
        return UNTOLD
    best = _minimum(delays, total)
    residual = float(np.sqrt(total[STEPS] / size_of_signal))
    if not np.isfinite(best):
        return Delay(np.nan, np.nan, residual, 1.0)
    without = np.array([_minimum(delays, total - block) for block in blocks])
    spread = float(np.sqrt((BLOCKS - 1) / BLOCKS * np.sum((without - without.mean()) ** 2)))
    rate = Y[:, STEPS + 1] - Y[:, STEPS - 1]
    leverage = float(np.linalg.norm(rate - Q @ (Q.T @ rate)) / max(float(np.linalg.norm(rate)), 1e-300))
    return Delay(best, spread, residual, float(np.sqrt(total.min() / total[STEPS])), leverage)


def combined(middle: Delay, others: list[Delay]) -> Delay:
    """The delay found in one band with the disagreement of other bands in its uncertainty."""
    told = [other.value for other in others if other.told]
    if not middle.told or not np.isfinite(middle.sd) or not told:
        return Delay(np.nan, np.nan, middle.residual, 1.0)
    off = float(np.sqrt(np.mean([(value - middle.value) ** 2 for value in told])))
    return Delay(middle.value, float(np.hypot(middle.sd, off)), middle.residual, middle.gain, middle.leverage)


def _minimum(delays: Array, cost: Array) -> float:
    """Where a parabola through the smallest value and its neighbours is lowest; NaN at the ends of the scan."""
    k = int(np.argmin(cost))
    if k in (0, len(cost) - 1):
        return float("nan")
    left, middle, right = cost[k - 1 : k + 2]
    bend = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0.0 else 0.0
    return float(delays[k] + shift * (delays[1] - delays[0]))
