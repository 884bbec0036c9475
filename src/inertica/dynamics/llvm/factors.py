"""R factors of what a kernel writes: roots of products of columns, or the rows of a chunk straight under the R found so far."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from inertica.dynamics.kernels import Array, Kernel
from inertica.dynamics.llvm.products import Products
from inertica.dynamics.llvm.rows import LANES, RowLayout, Work
from inertica.dynamics.llvm.samples import CHUNK, STRIDE
from inertica.dynamics.llvm.write import on_lanes
from inertica.dynamics.trace import Key
from inertica.dynamics.triangle import cholesky_factor
from inertica.threads import one_thread


class NativeFactors:
    """R factors; memory is one chunk, whatever the number of samples.

    R is the root of A'A, which is four times as quick as reflections, unless columns are so nearly dependent, or the torque so nearly
    explained, that products would lose digits which the data have.

    Args:
        kernel: every output is one row per sample of a matrix of its own.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._products = kernel, Products(kernel)

    @cached_property
    def _reflections(self) -> Reflections:
        return Reflections(self._kernel)

    def __call__(self, inputs: Mapping[str, Array], weights: Array | None) -> list[Array]:
        by_products = [cholesky_factor(G) for G in self._products(inputs, weights)]
        if not any(R is None for R in by_products):
            return [R for R in by_products if R is not None]
        return [
            by_reflections if R is None else R
            for R, by_reflections in zip(by_products, self._reflections(inputs, weights), strict=True)
        ]

    def crossed(self, inputs: Mapping[str, Array], others: Mapping[str, Array], use: Array) -> list[tuple[Array, Array]]:
        return self._products.crossed(inputs, others, use)


class Reflections:
    """Chunked QR.

    Args:
        kernel: every output is one row per sample of a matrix of its own.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.rows = RowLayout(STRIDE, kernel.sizes)
        self._end = self.rows.count * self.rows.stride
        self._panels: list[tuple[int, int, int]] = []  # offset, height, width
        place: dict[Key, int] = {}
        for name, symbols in kernel.outputs.items():
            width = len(symbols)
            height = width + CHUNK
            place |= {(name, t): self._end + t * height + width for t in range(width)}
            self._panels.append((self._end, height, width))
            self._end += -(-height * width // LANES) * LANES
        self._call = on_lanes(kernel, lambda key: place[key] if key in place else self.rows.offset(key))

    def __call__(self, inputs: Mapping[str, Array], weights: Array | None) -> list[Array]:
        work = Work(self.rows, inputs, self._end)
        N = max(len(values) for values in work.varying.values())
        panels = [work.array[a : a + h * w].reshape((h, w), order="F") for a, h, w in self._panels]
        with one_thread():  # two BLAS threads make factorisations of this size many times slower
            for first in range(0, N, CHUNK):
                count = min(CHUNK, N - first)
                self._call(work.address, work.fill(first, count))
                for j, panel in enumerate(panels):
                    _absorb(panel, count, None if weights is None else weights[first : first + count, j])
        return [np.triu(panel[: panel.shape[1]]) for panel in panels]


def _absorb(panel: Array, count: int, weights: Array | None) -> None:
    """Replace [R; new rows] by the new R, in place."""
    width = panel.shape[1]
    panel[width + count :] = 0.0  # a short last chunk
    if weights is not None:
        panel[width : width + count] *= weights[:, None]
    factored, _, _, info = lapack.dgeqrf(panel, overwrite_a=1)
    assert info == 0
    assert np.shares_memory(factored, panel), "LAPACK worked on a copy, the running R would be lost"
    for k in range(width - 1):
        panel[k + 1 : width, k] = 0.0  # Householder vectors under the kept R
