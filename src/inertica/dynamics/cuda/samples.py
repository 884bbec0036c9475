"""A kernel on samples, on the card: a thread takes a sample; and the R factors of rows that a kernel writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.cuda.batches import crossed, filled, filled_weights, groups, triangles, whole
from inertica.dynamics.cuda.device import Device, Module
from inertica.dynamics.cuda.write import body, resource
from inertica.dynamics.kernels import Array, Kernel
from inertica.dynamics.sums import Pair
from inertica.dynamics.trace import Key

BLOCK = 128

AT_ONCE = 1 << 18
"""Samples of one launch, at most; fewer where the outputs of so many would not fit."""

USED = 0.4
"""Share of the free memory that inputs and outputs of one launch may fill."""


class Samples:
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
        for samples, values in self.launched(inputs, N):
            yield samples, self.device.host(values)

    def launched(self, inputs: Mapping[str, Array], N: int) -> Iterator[tuple[slice, Any]]:
        """(samples, (outputs, count) on the device), part by part."""
        sizes = {name: size for name, size in self.kernel.sizes.items() if size}
        varying = tuple(name for name in sizes if inputs[name].ndim == 2)
        module = self._module(varying, sizes)
        common = np.concatenate([*(np.ravel(inputs[name]) for name in sizes if name not in varying), [0.0]])
        xp, width = self.device.arrays, sum(sizes[name] for name in varying)
        fits = int(USED * self.device.free) // (8 * (self.outputs + 2 * width + 1))
        at_once = max(1, min(AT_ONCE, fits, N))
        for first in range(0, N, at_once):
            part = slice(first, min(first + at_once, N))
            count = part.stop - part.start
            given = (
                xp.ascontiguousarray(xp.asarray(np.hstack([inputs[name][part] for name in varying])).T)
                if varying
                else xp.zeros(1)
            )
            values = xp.empty((self.outputs, count))
            with self._turn:  # what samples have in common is the card's own, and other threads set it, too
                module.constant("common", common)
                module.launch("samples", count, BLOCK, 0, (np.int64(count), given, values))
            yield part, values

    def crossed(self, pairs: Sequence[Pair], entries: Sequence[NDArray[np.intp]], shapes: Array) -> list[list[Array]]:
        """Products of the rows of many pairs of motions, of which the outputs are entries."""
        out: list[list[Array]] = []
        for some in groups([len(pair.tau) for pair in pairs], AT_ONCE):
            found = crossed(self.device.arrays, self.launched, pairs[some], entries, shapes)
            out += [list(own) for own in zip(*(self.device.host(x) for x in found), strict=True)]
        return out

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


class Panels:
    """R factors of the rows that a kernel writes, part by part: qr([R; new rows]), never all rows at once.

    Args:
        kernel: every output is one row per sample of a matrix of its own.
        device: where it runs.
    """

    def __init__(self, kernel: Kernel, device: Device) -> None:
        self.samples, self.device = Samples(kernel, device), device
        self.widths = [len(symbols) for symbols in kernel.outputs.values()]

    def __call__(self, inputs: Mapping[str, Array], weights: Array | None) -> list[Array]:
        xp = self.device.arrays
        N = max(len(values) for values in inputs.values() if values.ndim == 2)
        ends = np.cumsum(self.widths)
        factors = [xp.zeros((width, width)) for width in self.widths]
        for samples, values in self.samples.launched(inputs, N):
            scale = None if weights is None else xp.asarray(weights[samples])
            for j, (end, width) in enumerate(zip(ends, self.widths, strict=True)):
                rows = values[end - width : end].T
                rows = rows if scale is None else rows * scale[:, j, None]
                factors[j] = xp.linalg.qr(xp.vstack([factors[j], rows]), mode="r")[:width]
        return [np.triu(self.device.host(R)) for R in factors]

    def many(self, given: Sequence[tuple[Mapping[str, Array], Array | None]]) -> list[list[Array]]:
        """The same of many motions at once; those for which products lose too many digits one by one."""
        common = [{name: x.tobytes() for name, x in inputs.items() if x.ndim == 1} for inputs, _ in given]
        if any(other != common[0] for other in common):
            return [self(*one) for one in given]
        out: list[list[Array]] = []
        for some in groups([len(inputs["q"]) for inputs, _ in given], AT_ONCE):
            out += self._together(given[some])
        fine = [all(np.isfinite(R).all() for R in own) for own in out]
        return [own if good else self(*one) for own, good, one in zip(out, fine, given, strict=True)]

    def _together(self, given: Sequence[tuple[Mapping[str, Array], Array | None]]) -> list[list[Array]]:
        xp, B, (first, _) = self.device.arrays, len(given), given[0]
        lengths = [len(inputs["q"]) for inputs, _ in given]
        length, count = max(lengths), len(self.widths)
        inputs = {name: x if x.ndim == 1 else filled([own[name] for own, _ in given], length) for name, x in first.items()}
        stated = [np.ones((N, count)) if w is None else w for N, (_, w) in zip(lengths, given, strict=True)]
        weights = xp.asarray(filled_weights(stated, length))
        values = whole(xp, self.samples.launched, inputs, B * length).reshape(-1, B, length)
        found = []
        for j, (end, width) in enumerate(zip(np.cumsum(self.widths), self.widths, strict=True)):
            rows = values[end - width : end].transpose(1, 0, 2) * weights[j]
            found.append(np.triu(self.device.host(triangles(xp, rows))))
        return [list(own) for own in zip(*found, strict=True)]
