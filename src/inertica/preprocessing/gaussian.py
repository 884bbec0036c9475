"""A low-pass of finite length: a Gaussian that ends, so that what happens at one instant stays near it.

The recursive filters of the papers ring: sticking at a reversal is carried over the whole record.  Here every smoothed value knows
exactly which samples it is made of, and rows within that reach of an event can be left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array

REACH = 3.0
"""Standard deviations at which the Gaussian ends; its value there is taken off, so that it ends without a step."""

_WIDTH = 0.1325  # standard deviation times the frequency at which 3 dB are lost


@dataclass(frozen=True)
class CompactGaussian:
    """Smoothing of samples at a rate, evaluated at some instants only.

    Args:
        cutoff: Hz at which 3 dB are lost.
        rate: of the samples, Hz.
    """

    cutoff: float
    rate: float

    @property
    def sigma(self) -> float:
        """Standard deviation in samples."""
        return _WIDTH / self.cutoff * self.rate

    @property
    def half(self) -> int:
        """Samples on either side that a smoothed value is made of."""
        return max(1, int(np.ceil(REACH * self.sigma)))

    def smooth(self, x: Array, rows: NDArray[np.intp], shift: float = 0.0) -> Array:
        """(M, k) columns of x (N, k) smoothed about the samples `rows`, read `shift` seconds later (any part of a sample)."""
        whole = round(shift * self.rate)
        return self._summed(x, rows + whole, self._weights(shift * self.rate - whole))

    def slope(self, x: Array, rows: NDArray[np.intp]) -> Array:
        """(M, k) time derivative of the smoothed columns."""
        offsets = np.arange(-self.half, self.half + 1) / self.sigma
        weights = np.where(np.abs(offsets) <= REACH, offsets * np.exp(-0.5 * offsets**2), 0.0)
        return self._summed(x, rows, weights / (self._bell(0.0).sum() * self.sigma) * self.rate)

    def _bell(self, shift: float) -> Array:
        offsets = (np.arange(-self.half - 1, self.half + 2) - shift) / self.sigma
        return np.asarray(np.maximum(np.exp(-0.5 * offsets**2) - np.exp(-0.5 * REACH**2), 0.0))

    def _weights(self, shift: float) -> Array:
        bell = self._bell(shift)
        return np.asarray(bell / bell.sum())

    @staticmethod
    def _summed(x: Array, rows: NDArray[np.intp], weights: Array) -> Array:
        """Sum of neighbours of each row; beyond the ends the last sample holds."""
        half = len(weights) // 2
        out = np.zeros((len(rows), x.shape[1]))
        step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
        first, last = int(rows[0]) - half, int(rows[-1]) + half
        before, after = max(0, -first), max(0, last - len(x) + 1)
        held = np.concatenate([np.repeat(x[:1], before, axis=0), x, np.repeat(x[-1:], after, axis=0)]) if before or after else x
        start = first + before
        for k, weight in enumerate(weights):
            if weight:
                out += weight * held[start + k : start + k + step * (len(rows) - 1) + 1 : step]
        return out
