"""A kernel on samples, on the card: a thread takes a sample; and the R factors of rows that a kernel writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.cuda.device import Device, Module
from inertica.dynamics.cuda.write import body, resource
from inertica.dynamics.kernels import Array, Kernel
from inertica.dynamics.resident import MemorySpace, Resident
from inertica.dynamics.trace import Key
from inertica.dynamics.triangle import column_factors, stacked_factor

BLOCK = 128

MAX_SAMPLES = 1 << 18
"""Samples of one launch, at most; fewer where the outputs of so many would not fit."""

USED = 0.4
"""Share of the free memory that inputs and outputs of one launch may fill."""


class CudaSamples:
    """Compiled function of samples.

    Args:
        kernel: any outputs; the contract's single `out` for calls with `columns`.
        device: where it runs.
    """

    def __init__(self, kernel: Kernel, device: Device) -> None:
        self.kernel, self.device = kernel, device
        self.outputs = sum(len(symbols) for symbols in kernel.outputs.values())
        self._modules: dict[tuple[str, ...], Module] = {}
        self._turn = Lock()

    def __call__(
        self,
        inputs: Mapping[str, Array],
        out: Array,
        columns: NDArray[np.int64],
        directions: Sequence[Mapping[str, Array]] = ({},),
    ) -> None:
        for d, direction in enumerate(directions):
            for samples, values in self.launched({**inputs, **direction}, len(out)):
                out[samples, columns + d * self.outputs] = self.device.host(values).T

    def chunks(self, inputs: Mapping[str, Array]) -> Iterator[tuple[slice, Array]]:
        N = max(len(values) for values in inputs.values() if values.ndim == 2)
        stay = any(isinstance(values, Resident) for values in inputs.values())
        for samples, values in self.launched(inputs, N):
            yield samples, Resident.signal(self.device, values) if stay else self.device.host(values)

    def launched(self, inputs: Mapping[str, Array], N: int) -> Iterator[tuple[slice, Any]]:
        """(samples, (outputs, count) on the device), part by part."""
        sizes = {name: size for name, size in self.kernel.sizes.items() if size}
        varying = tuple(name for name in sizes if inputs[name].ndim == 2)
        with self._turn:
            module = self._module(varying, sizes)
        common = np.concatenate([*(np.ravel(inputs[name]) for name in sizes if name not in varying), [0.0]])
        xp, width = self.device.arrays, sum(sizes[name] for name in varying)
        fits = int(USED * self.device.free) // (8 * (self.outputs + 2 * width + 1))
        samples = max(1, min(MAX_SAMPLES, fits, N))
        for first in range(0, N, samples):
            part = slice(first, min(first + samples, N))
            count = part.stop - part.start
            weights = xp.zeros(1)
            if varying:
                here = MemorySpace(self.device)
                weights = xp.ascontiguousarray(xp.concatenate([here.to_device(inputs[name][part]).T for name in varying]))
            values = xp.empty((self.outputs, count))
            with self._turn:  # between the two nobody else's constants may come
                module.constant("common", common)
                module.launch("samples", count, BLOCK, 0, (np.int64(count), weights, values))
            yield part, values

    def _module(self, varying: tuple[str, ...], sizes: Mapping[str, int]) -> Module:
        if varying not in self._modules:
            place: dict[Key, str] = {}
            for name in varying:
                place |= {(name, i): f"in[{len(place) + i} * count]" for i in range(sizes[name])}
            first = 0
            for name in (name for name in sizes if name not in varying):
                place |= {(name, i): f"common[{first + i}]" for i in range(sizes[name])}
                first += sizes[name]
            outs = {key: f"out[{e} * count]" for e, key in enumerate(self.kernel.places)}
            head = "INLINE void evaluate(const double *__restrict__ in, double *__restrict__ out, long long count)"
            text = f"{head} {{\n{body(self.kernel, place.__getitem__, outs.__getitem__)}\n}}\n"
            constants = f"__constant__ double common[{first + 1}];\n#define BLOCK {BLOCK}\n"
            self._modules[varying] = self.device.compile(
                "\n".join([resource("shell.cu"), constants, text, resource("samples.cu")])
            )
        return self._modules[varying]


class CudaFactors:
    """R factors of the rows that a kernel writes, part by part: qr([R; new rows]), never all rows at once.

    Args:
        kernel: every output is one row per sample of a matrix of its own.
        device: where it runs.
    """

    def __init__(self, kernel: Kernel, device: Device) -> None:
        self.samples, self.device = CudaSamples(kernel, device), device
        self.widths = [len(symbols) for symbols in kernel.outputs.values()]

    def __call__(self, inputs: Mapping[str, Array], weights: Array | None) -> list[Array]:
        place, ends = MemorySpace(self.device), np.cumsum(self.widths)
        N = max(len(values) for values in inputs.values() if values.ndim == 2)
        factors: list[Array] = []
        for samples, values in self.samples.launched(inputs, N):
            scale = None if weights is None else place.to_device(np.ascontiguousarray(weights[samples].T))
            columns = [values[end - width : end] for end, width in zip(ends, self.widths, strict=True)]
            new = column_factors(place, columns if scale is None else [A * w for A, w in zip(columns, scale, strict=True)])
            factors = [stacked_factor(R, more) for R, more in zip(factors, new, strict=True)] if factors else new
        return [np.triu(R) for R in factors]
