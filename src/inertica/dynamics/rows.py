"""Rows of lanes: where named signals lie in the one flat array a kernel works on, and the arrays themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

LANES = 8
"""Samples or simulations side by side in one vector."""

FEW = 16
"""Columns up to which NumPy transposes about as quickly as a compiled loop, whose compiler takes long to import."""


@dataclass
class Rows:
    """Named groups of rows, each row `stride` doubles long; keys of traced inputs are (name, number)."""

    stride: int
    start: dict[str, int] = field(default_factory=dict)
    count: int = 0

    def add(self, name: str, rows: int) -> int:
        """Reserve rows; returns the first one's number."""
        self.start[name] = self.count
        self.count += rows
        return self.start[name]

    def offset(self, key: tuple[str, int]) -> int:
        """Where the row of a signal starts."""
        name, number = key
        return self.stride * (self.start[name] + number)

    def of(self, work: NDArray[np.float64], name: str, rows: int) -> NDArray[np.float64]:
        """The rows of a group as a (rows, stride) view."""
        first = self.start[name]
        return work[: self.count * self.stride].reshape(self.count, self.stride)[first : first + rows]


def aligned(size: int) -> NDArray[np.float64]:
    """Zeros on a 64-byte boundary, so that no vector crosses a cache line."""
    block = np.zeros(size + 8)
    first = (-block.ctypes.data % 64) // 8
    return block[first : first + size]


def fill(work: NDArray[np.float64], offset: int, stride: int, padded: int, values: NDArray[np.float64]) -> None:
    """Rows of lanes from an array (count, k); the last sample fills up to `padded`."""
    count, k = values.shape
    rows = work[offset : offset + k * stride].reshape(k, stride)
    rows[:, :count] = values.T
    rows[:, count:padded] = rows[:, count - 1 : count]


def scatter(work: NDArray[np.float64], offset: int, stride: int, out: NDArray[np.float64], columns: NDArray[np.int64]) -> None:
    """An array (count, ...) from rows of lanes, row j into column columns[j]."""
    if len(columns) <= FEW:
        out[:, columns] = work[offset : offset + len(columns) * stride].reshape(-1, stride)[:, : len(out)].T
        return
    from inertica.dynamics import loops

    loops.scatter(work, offset, stride, out, columns)
