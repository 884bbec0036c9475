"""A causal low-pass of order one that is exact for signals in straight lines from sample to sample, whatever the clock does."""

from __future__ import annotations

import numpy as np

from inertica.arrays import Array
from inertica.compiled import njit


@njit()
def _advance(pole: float, dt: Array, u: Array, y: Array, last: Array, out: Array) -> None:
    for k in range(len(dt)):
        x = pole * dt[k]
        decay = np.exp(-x)
        # (1 - exp(-x)) / x without cancellation; one where no time passes
        mean = -np.expm1(-x) / x if x > 0.0 else 1.0
        for j in range(u.shape[1]):
            y[j] = decay * y[j] + (mean - decay) * last[j] + (1.0 - mean) * u[k, j]
            last[j] = u[k, j]
            out[k, j] = y[j]


class LowPass:
    """y with dy/dt = pole (u - y), for samples that come in blocks.

    It begins settled on the first sample; the first `ramps` columns are then taken for straight lines through the first two samples,
    and the first `from_zero` begin at zero.

    Args:
        pole: 1/s.
        ramps, from_zero: numbers of columns.
    """

    def __init__(self, pole: float, ramps: int = 0, from_zero: int = 0) -> None:
        self.pole = pole
        self._ramps, self._from_zero, self._seen = ramps, from_zero, 0
        self._state, self._last = np.zeros(0), np.zeros(0)

    def __call__(self, dt: Array, u: Array) -> Array:
        """(N, m) of u (N, m), dt (N,) seconds since the sample before each; that of the very first sample does not count."""
        u, dt = np.ascontiguousarray(u, float), np.ascontiguousarray(dt, float)
        out = np.empty_like(u)
        first = 0
        if len(u) and self._seen == 0:
            self._state, self._last = u[0].copy(), u[0].copy()
            self._state[: self._from_zero] = 0.0
            out[0] = self._state
            first = 1
        if len(u) > first and self._seen + first == 1:
            slope = (u[first] - self._last) / dt[first]
            self._state[: self._ramps] -= slope[: self._ramps] / self.pole
        self._seen += len(u)
        _advance(self.pole, dt[first:], u[first:], self._state, self._last, out[first:])
        return out
