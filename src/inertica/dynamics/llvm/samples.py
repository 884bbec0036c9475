"""A kernel on samples: chunks of them into rows of lanes, the kernel, rows into the output; threads take different chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.kernels import Array, Kernel
from inertica.dynamics.llvm.parallel import for_all
from inertica.dynamics.llvm.rows import LANES, RowLayout, Work
from inertica.dynamics.llvm.scatter import scatter
from inertica.dynamics.llvm.write import on_lanes

CHUNK = 512
"""Samples a kernel works on at a time: their rows fit the second-level cache."""

STRIDE = CHUNK + LANES
"""Of rows; not a power of two, whose strides would fall on the same cache lines."""

OUT = "out"


class NativeSamples:
    """Compiled function of samples.

    Args:
        kernel: with the output `out`.
        threads: chunks worked on at the same time.
    """

    def __init__(self, kernel: Kernel, threads: int) -> None:
        self.threads, self.outputs = threads, len(kernel.outputs[OUT])
        self.rows = RowLayout(STRIDE, {**kernel.sizes, OUT: self.outputs})
        self._call = on_lanes(kernel, self.rows.offset)

    def __call__(
        self,
        inputs: Mapping[str, Array],
        out: Array,
        columns: NDArray[np.int64],
        directions: Sequence[Mapping[str, Array]] = ({},),
    ) -> None:
        def piece(start: int) -> None:
            work = Work(self.rows, inputs)
            values = self.rows.of(work.array, OUT)
            for a in range(start, min(start + share, N), CHUNK):
                count = min(CHUNK, start + share - a, N - a)
                padded = work.fill(a, count)
                for d, direction in enumerate(directions):
                    for name, value in direction.items():
                        work.set(name, value)
                    self._call(work.address, padded)
                    scatter(values, out[a : a + count], columns + d * self.outputs)

        N = len(out)
        share = max(1, -(-N // max(1, min(self.threads, N // (4 * CHUNK)))))
        for_all(range(0, N, share), piece, self.threads)

    def chunks(self, inputs: Mapping[str, Array]) -> Iterator[tuple[slice, Array]]:
        work = Work(self.rows, inputs)
        outputs = self.rows.of(work.array, OUT)
        N = max(len(values) for values in inputs.values() if values.ndim == 2)
        for first in range(0, N, CHUNK):
            count = min(CHUNK, N - first)
            self._call(work.address, work.fill(first, count))
            yield slice(first, first + count), outputs[:, :count]
