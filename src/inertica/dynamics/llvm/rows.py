"""Rows of lanes: where named signals lie in the one flat array a kernel works on, and the arrays themselves."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from inertica.arrays import Array

LANES = 8
"""Samples or simulations side by side in one vector."""

TURNED = 4096
"""Samples that are turned from columns into rows at a time."""


class RowLayout:
    """Named groups of rows, each row `stride` doubles long; keys of traced inputs are (name, number).

    Args:
        stride: of the rows.
        sizes: name -> rows.
    """

    def __init__(self, stride: int, sizes: Mapping[str, int]) -> None:
        self.stride, ends = stride, list(accumulate(sizes.values(), initial=0))
        self.place = {name: slice(*ends[k : k + 2]) for k, name in enumerate(sizes)}
        self.count = ends[-1]

    def offset(self, key: tuple[str, int]) -> int:
        """Where the row of a signal starts."""
        name, number = key
        return self.stride * (self.place[name].start + number)

    def of(self, work: Array, name: str) -> Array:
        """The rows of a group as a (rows, stride) view."""
        return work[: self.count * self.stride].reshape(self.count, self.stride)[self.place[name]]


class Work:
    """A work array with the inputs it is filled from.

    Args:
        rows: where they lie.
        inputs: (N, size), or (size,) for all samples alike.
        size: of the array; the rows by default.
    """

    def __init__(self, rows: RowLayout, inputs: Mapping[str, Array], size: int | None = None) -> None:
        self.rows, self.array = rows, aligned(rows.count * rows.stride if size is None else size)
        self.address = self.array.ctypes.data
        self.varying = {name: values for name, values in inputs.items() if values.ndim == 2}
        self._views = [(rows.of(self.array, name), values) for name, values in self.varying.items()]
        self._turned, self._known = [np.zeros((0, 0))] * len(self._views), range(0)
        for name, values in inputs.items():
            if values.ndim == 1:
                self.set(name, values)

    def set(self, name: str, values: Array) -> None:
        """The same values for all samples."""
        self.rows.of(self.array, name)[:] = values[:, None]

    def fill(self, first: int, count: int) -> int:
        """Samples into rows, the last one repeated up to a whole vector; returns how many lanes that fills."""
        if first not in self._known or first + count > self._known.stop:  # turned a long stretch at a time
            self._known = range(first, first + max(count, TURNED))
            self._turned = [np.ascontiguousarray(values[first : self._known.stop].T) for _, values in self._views]
        padded, at = -(-count // LANES) * LANES, first - self._known.start
        for (rows, _), turned in zip(self._views, self._turned, strict=True):
            rows[:, :count] = turned[:, at : at + count]
            if padded > count:
                rows[:, count:padded] = rows[:, count - 1 : count]
        return padded


def aligned(size: int) -> Array:
    """Zeros on a 64-byte boundary, so that no vector crosses a cache line."""
    block = np.zeros(size + 8)
    first = (-block.ctypes.data % 64) // 8
    return block[first : first + size]
