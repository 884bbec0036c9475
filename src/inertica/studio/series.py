"""Long series at the detail that a screen can show: of every stretch of samples its lowest and its highest value."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WIDEST = 8000
"""Stretches at most, whatever a page asks for."""


def thinned(t: Array, values: Array, start: float, end: float, width: int) -> tuple[Array, Array]:
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
    width = min(max(width, 1), WIDEST)
    size = -(-len(t) // width)
    if size <= 2:
        return t, values
    full = len(t) // size
    parts = [_extremes(t[: full * size].reshape(full, size), values[: full * size].reshape(full, size, -1))]
    if full * size < len(t):
        parts.append(_extremes(t[None, full * size :], values[None, full * size :]))
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _extremes(t: Array, values: Array) -> tuple[Array, Array]:
    """(b, size) times and (b, size, k) values -> (2 b,) and (2 b, k)."""
    count, size, k = values.shape
    low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
    rising = np.argmax(np.where(np.isnan(values), -np.inf, values), axis=1) >= np.argmin(
        np.where(np.isnan(values), np.inf, values), axis=1
    )
    out = np.empty((count, 2, k))
    out[:, 0], out[:, 1] = np.where(rising, low, high), np.where(rising, high, low)
    times = np.column_stack([t[:, 0], t[:, size // 2]])
    return times.reshape(-1), out.reshape(-1, k)


def packed(t: Array, values: Array) -> bytes:
    """Little-endian: number of points, number of columns (uint32), times (float64), then column by column (float32)."""
    n, k = values.shape
    head = struct.pack("<II", n, k)
    return head + t.astype("<f8").tobytes() + np.ascontiguousarray(values.T.astype("<f4")).tobytes()
