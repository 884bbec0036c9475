"""Long series at the detail that a screen can show: of every stretch of samples its lowest and its highest value."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array

WIDEST = 8000
"""Stretches at most, whatever a page asks for."""


STRIDE = 32
"""Samples of a stretch of the coarse copy from which wide windows are thinned."""


@dataclass(frozen=True, eq=False)
class Series:
    """A long series to look at.

    Args:
        t: (N,) ascending.
        values: (N, k); NaN where there is no value.
    """

    t: Array
    values: NDArray[np.floating]

    def window(self, start: float, end: float, width: int) -> tuple[Array, NDArray[np.floating]]:
        """What a window of so many pixels shows, see `thinned`; wide ones come from a coarse copy that is made once."""
        first, last = np.searchsorted(self.t, [start, end])
        if last - first > 4 * STRIDE * max(width, 1):
            return thinned(*self.coarse, start, end, width)
        return thinned(self.t, self.values, start, end, width)

    @cached_property
    def coarse(self) -> tuple[Array, NDArray[np.floating]]:
        return thinned_by(self.t, self.values, STRIDE)


def thinned(t: Array, values: NDArray[np.floating], start: float, end: float, width: int) -> tuple[Array, NDArray[np.floating]]:
    """At most two points for each of `width` stretches between two times, the extremes of every column kept.

    Args:
        t: (N,) ascending.
        values: (N, k); NaN where there is no value.
        start, end: shown; one sample further on either side is taken along, so that lines reach the edges.
        width: stretches.

    Returns:
        (M,) times and (M, k) values.  In a stretch the two extremes stand in the order in which they come.
    """
    first = max(int(np.searchsorted(t, start)) - 1, 0)
    last = min(int(np.searchsorted(t, end, side="right")) + 1, len(t))
    t, values = t[first:last], values[first:last]
    return thinned_by(t, values, -(-len(t) // min(max(width, 1), WIDEST)))


def thinned_by(t: Array, values: NDArray[np.floating], size: int) -> tuple[Array, NDArray[np.floating]]:
    """Two points for every so many samples."""
    if size <= 2:
        return t, values
    full = len(t) // size
    parts = [_extremes(t[: full * size].reshape(full, size), values[: full * size].reshape(full, size, -1))]
    if full * size < len(t):
        parts.append(_extremes(t[None, full * size :], values[None, full * size :]))
    times = np.concatenate([p[0] for p in parts])
    times[-1] = t[-1]
    return times, np.concatenate([p[1] for p in parts])


def _extremes(t: Array, values: NDArray[np.floating]) -> tuple[Array, NDArray[np.floating]]:
    """(b, size) times and (b, size, k) values -> (2 b,) and (2 b, k)."""
    count, size, k = values.shape
    low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
    rising = np.argmax(values == high[:, None], axis=1) >= np.argmax(values == low[:, None], axis=1)
    out = np.empty((count, 2, k), values.dtype)
    out[:, 0], out[:, 1] = np.where(rising, low, high), np.where(rising, high, low)
    times = np.column_stack([t[:, 0], t[:, size // 2]])
    return times.reshape(-1), out.reshape(-1, k)


def packed(t: Array, values: NDArray[np.floating]) -> bytes:
    """Little-endian: number of points, number of columns (uint32), times (float64), then column by column (float32)."""
    n, k = values.shape
    head = struct.pack("<II", n, k)
    return head + t.astype("<f8").tobytes() + np.ascontiguousarray(values.T.astype("<f4")).tobytes()
