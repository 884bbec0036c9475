"""Engine: the dynamics of one layout on batches of samples, compiled for this machine."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics import lanes as lane_code
from inertica.dynamics import native
from inertica.dynamics.equations import Equations
from inertica.dynamics.rows import LANES, Rows, aligned, fill, scatter
from inertica.dynamics.simulate import Simulation, simulate
from inertica.dynamics.trace import Graph, Symbol, differentiate
from inertica.dynamics.tsqr import Factoriser, Factors
from inertica.errors import InputError
from inertica.robot.layout import Layout

Array = NDArray[np.float64]

CHUNK = 512
"""Samples a kernel works on at a time: their rows fit the second-level cache."""


@dataclass(frozen=True)
class Reduction:
    """Base parameters as a simulation kernel uses them: the kept ones, the others being zero.

    Args:
        kept: indices of the parameters that stay.
        matrix: (len(kept), P), kept values from all values.
    """

    kept: tuple[int, ...]
    matrix: Array

    def apply(self, chi: Array) -> Array:
        """(B, P) -> (B, len(kept)), summed column by column: a product by BLAS would round differently for other batch sizes."""
        out = np.zeros((len(chi), len(self.kept)))
        for k in np.flatnonzero(np.any(self.matrix != 0.0, axis=0)):
            out += chi[:, k, None] * self.matrix[:, k]
        return out


@dataclass(frozen=True)
class BatchKernel:
    """A compiled function of samples.

    Args:
        call: the machine code.
        rows: where its inputs and its outputs (`out`) lie.
        sizes: rows of each input.
        outputs: number of output rows.
    """

    call: Callable[[int, int], None]
    rows: Rows
    sizes: Mapping[str, int]
    outputs: int


class Engine:
    """Dynamics of a robot with its terms, on batches.

    Arrays are (N, n), time first.  `chi` is (P,) for all samples or (N, P) for each its own.  Kernels are compiled on first use
    (a fraction of a second each) and kept on disk.

    Args:
        layout: robot, terms and the order of parameters.
        reduction: base parameters for the simulation; optional, makes it faster.
        threads: blocks of samples or simulations worked on at the same time; all cores when not given.
    """

    def __init__(self, layout: Layout, reduction: Reduction | None = None, threads: int | None = None) -> None:
        self.layout, self.reduction = layout, reduction
        self.equations = Equations(layout)
        self.equations.check_terms()
        self.threads = threads or os.cpu_count() or 1
        self._simulators: dict[object, object] = {}
        self._factorisers: dict[tuple[int, ...] | None, Factoriser] = {}

    @property
    def n(self) -> int:
        return self.layout.robot.n

    def regressor(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, shapes: ArrayLike | None = None, out: Array | None = None
    ) -> Array:
        """(N, n, P) with tau = Y chi at every sample.  `out`, zero where the structure is zero, is filled in place when given."""
        kernel, entries = self._regressor
        given = self._motion(q=q, dq=dq, ddq=ddq)
        N = len(given["q"])
        if out is None:
            out = np.zeros((N, self.n, self.layout.size))
        columns = np.array([i * self.layout.size + k for i, k in entries], np.int64)
        self._run(kernel, {**given, "shapes": self._shapes(shapes)}, out.reshape(N, -1), columns)
        return out

    def regressor_entries(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, shapes: ArrayLike | None = None, out: Array | None = None
    ) -> Array:
        """(N, E): only the entries that are not zero by structure, `entries[e]` = (joint, parameter)."""
        kernel, entries = self._regressor
        given = self._motion(q=q, dq=dq, ddq=ddq)
        if out is None:
            out = np.empty((len(given["q"]), len(entries)))
        self._run(kernel, {**given, "shapes": self._shapes(shapes)}, out, np.arange(len(entries)))
        return out

    def regressor_chunks(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, shapes: ArrayLike | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """The same entries chunk by chunk, while they are in the cache: (samples, (E, count) view).

        The view is overwritten by the next chunk; what it leaves is a matter of microseconds, what memory takes is not.
        """
        kernel, _ = self._regressor
        given = self._motion(q=q, dq=dq, ddq=ddq)
        N = len(given["q"])
        piece = _Piece(kernel, {**given, "shapes": self._shapes(shapes)})
        entries = kernel.rows.of(piece.work, "out", kernel.outputs)
        for first in range(0, N, CHUNK):
            count = min(CHUNK, N - first)
            piece.call(first, count)
            yield slice(first, first + count), entries[:, :count]

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(joint, parameter) of the regressor entries that are not zero by structure."""
        return self._regressor[1]

    def inverse_dynamics(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None
    ) -> Array:
        """(N, n) joint torques."""
        self.equations.require_linear("inverse dynamics")
        return self._evaluate(self._inverse, self._motion(q=q, dq=dq, ddq=ddq) | self._values(chi, shapes))

    def bias_forces(self, q: ArrayLike, dq: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None) -> Array:
        """(N, n) torques without acceleration: Coriolis, gravity, friction."""
        return self.inverse_dynamics(q, dq, np.zeros(np.shape(dq)), chi, shapes)

    def mass_matrix(self, q: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None) -> Array:
        """(N, n, n)"""
        flat = self._evaluate(self._mass, self._motion(q=q) | self._values(chi, shapes))
        M = np.empty((len(flat), self.n, self.n))
        for e, (i, j) in enumerate(_lower(self.n)):
            M[:, i, j] = M[:, j, i] = flat[:, e]
        return M

    def forward_dynamics(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None
    ) -> Array:
        """(N, n) joint accelerations."""
        self.equations.require_linear("forward dynamics of single samples")
        return self._evaluate(self._forward, self._motion(q=q, dq=dq, tau=tau) | self._values(chi, shapes))

    def torque_derivatives(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None
    ) -> tuple[Array, Array, Array]:
        """d tau / d q, d tau / d dq, d tau / d ddq, each (N, n, n) with the torque's joint first; sharp signs count as constant."""
        self.equations.require_linear("the derivative of torques")
        given = self._motion(q=q, dq=dq, ddq=ddq) | self._values(chi, shapes)
        N, n = given["q"].shape
        out = np.empty((N, 3 * n, n))
        directions = [
            {f"{name}_rate": row[k * n : (k + 1) * n] for k, name in enumerate(("q", "dq", "ddq"))} for row in np.eye(3 * n)
        ]
        self._run(self._tangent, given, out.reshape(N, -1), np.arange(n), directions)
        by_joint = np.swapaxes(out, 1, 2)
        return by_joint[:, :, :n], by_joint[:, :, n : 2 * n], by_joint[:, :, 2 * n :]

    def regressor_rates(self, motion: Sequence[ArrayLike], rates: Sequence[ArrayLike], shapes: ArrayLike | None = None) -> Array:
        """(N, E): how fast `regressor_entries` change when (q, dq, ddq) move at the given rates; sharp signs count as constant."""
        names = ("q", "dq", "ddq")
        given = self._motion(**dict(zip((*names, *(f"{name}_rate" for name in names)), (*motion, *rates), strict=True)))
        return self._evaluate(self._regressor_tangent, {**given, "shapes": self._shapes(shapes)})

    def factors(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, tau: ArrayLike, columns: Sequence[int] | None = None,
        shapes: ArrayLike | None = None, weights: ArrayLike | None = None,
    ) -> Factors:  # fmt: skip
        """R factors of the observation matrix, joint by joint; see `inertica.dynamics.tsqr`."""
        key = None if columns is None else tuple(columns)
        if key not in self._factorisers:
            self._factorisers[key] = Factoriser(self, key)
        return self._factorisers[key](q, dq, ddq, tau, shapes=shapes, weights=weights)

    def simulate(
        self, chi: ArrayLike, reference: Mapping[str, ArrayLike], gains: Mapping[str, ArrayLike], dt: float, **options: Any
    ) -> Simulation:
        """Closed-loop simulation of one or many runs; see `inertica.dynamics.simulate.simulate`."""
        return simulate(self, chi, reference, gains, dt, **options)

    @cached_property
    def _inverse(self) -> BatchKernel:
        e = self.equations
        return self._kernel(
            "inverse", lambda x: e.inverse_dynamics(x["q"], x["dq"], x["ddq"], x["chi"], x["shapes"]), "q dq ddq chi shapes"
        )

    @cached_property
    def _forward(self) -> BatchKernel:
        e = self.equations
        return self._kernel(
            "forward", lambda x: e.forward_dynamics(x["q"], x["dq"], x["tau"], x["chi"], x["shapes"]), "q dq tau chi shapes"
        )

    @cached_property
    def _mass(self) -> BatchKernel:
        def lower(x: Mapping[str, list[Symbol]]) -> list[Symbol]:
            M = self.equations.mass_matrix(x["q"], x["chi"], x["shapes"])
            return [M[i][j] for i, j in _lower(self.n)]

        return self._kernel("mass", lower, "q chi shapes")

    @cached_property
    def _tangent(self) -> BatchKernel:
        """Rate of the torques when q, dq, ddq move at given rates."""

        def rates(x: Mapping[str, list[Symbol]]) -> list[Symbol]:
            tau = self.equations.inverse_dynamics(x["q"], x["dq"], x["ddq"], x["chi"], x["shapes"])
            seeds = {s: r for name in ("q", "dq", "ddq") for s, r in zip(x[name], x[f"{name}_rate"], strict=True)}
            return differentiate([x["q"][0].graph.symbol(t) for t in tau], seeds)

        return self._kernel("tangent", rates, "q dq ddq chi shapes q_rate dq_rate ddq_rate")

    @cached_property
    def _regressor_tangent(self) -> BatchKernel:
        def rates(x: Mapping[str, list[Symbol]]) -> list[Symbol]:
            graph = x["q"][0].graph
            Y = self.equations.regressor(x["q"], x["dq"], x["ddq"], x["shapes"])
            seeds = {s: r for name in ("q", "dq", "ddq") for s, r in zip(x[name], x[f"{name}_rate"], strict=True)}
            return differentiate([graph.symbol(Y[i][k]) for i, k in self.entries], seeds)

        return self._kernel("regressor_tangent", rates, "q dq ddq shapes q_rate dq_rate ddq_rate")

    @cached_property
    def _regressor(self) -> tuple[BatchKernel, list[tuple[int, int]]]:
        entries: list[tuple[int, int]] = []

        def nonzero(x: Mapping[str, list[Symbol]]) -> list[Symbol]:
            graph = x["q"][0].graph
            Y = self.equations.regressor(x["q"], x["dq"], x["ddq"], x["shapes"])
            found = [((i, k), graph.symbol(v)) for i, row in enumerate(Y) for k, v in enumerate(row)]
            kept = [(where, symbol) for where, symbol in found if symbol.value != 0.0]
            entries.extend(where for where, _ in kept)
            return [symbol for _, symbol in kept]

        return self._kernel("regressor", nonzero, "q dq ddq shapes"), entries

    def _sizes(self, names: Sequence[str]) -> dict[str, int]:
        known = {"chi": self.layout.size, "shapes": len(self.layout.shapes)}
        return {name: known.get(name, self.n) for name in names}

    def _kernel(self, name: str, build: Callable[[Mapping[str, list[Symbol]]], list[Symbol]], inputs: str) -> BatchKernel:
        sizes = self._sizes(inputs.split())
        graph = Graph()
        outputs = [graph.symbol(s) for s in build({key: graph.inputs(key, size) for key, size in sizes.items()})]
        rows = Rows(CHUNK + LANES)  # not a power of two, whose strides would fall on the same cache lines
        for key, size in sizes.items():
            rows.add(key, size)
        rows.add("out", len(outputs))
        code = lane_code.Lanes(LANES, native.has_fma())
        lane_code.write_program(code, graph, {rows.offset(("out", e)): s for e, s in enumerate(outputs)}, rows.offset)
        compiled = native.compiled(code.declarations() + lane_code.function(name, code))
        return BatchKernel(compiled.function(name, ctypes.c_void_p, ctypes.c_int64), rows, sizes, len(outputs))

    def _evaluate(self, kernel: BatchKernel, inputs: Mapping[str, Array]) -> Array:
        N = max(len(v) for v in inputs.values() if v.ndim == 2)
        out = np.empty((N, kernel.outputs))
        self._run(kernel, inputs, out, np.arange(kernel.outputs))
        return out

    def _run(
        self, kernel: BatchKernel, inputs: Mapping[str, Array], out: Array, columns: NDArray[np.int64],
        directions: Sequence[Mapping[str, Array]] = ({},),
    ) -> None:  # fmt: skip
        """Chunk by chunk, over threads: samples into rows, kernel, rows into the output.

        With several `directions` the kernel runs once for each, with those inputs set, into the next columns of the output.
        """
        N = len(out)
        share = -(-N // max(1, min(self.threads, N // (4 * CHUNK))))
        pieces = [(a, min(a + share, N)) for a in range(0, N, share)] if N else []
        if len(pieces) == 1:
            _run_piece(kernel, inputs, out, columns, directions, *pieces[0])
            return
        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(lambda piece: _run_piece(kernel, inputs, out, columns, directions, *piece), pieces))

    def _motion(self, **signals: ArrayLike) -> dict[str, Array]:
        """Signals as (N, n) arrays of equal length, or a sentence that says what does not fit."""
        arrays = {name: np.ascontiguousarray(np.atleast_2d(np.asarray(v, float))) for name, v in signals.items()}
        N = len(next(iter(arrays.values())))
        for name, a in arrays.items():
            if a.shape != (N, self.n):
                raise InputError(f"{name} has shape {a.shape}; expected ({N}, {self.n}) for {self.layout.robot.name}")
        return arrays

    def _shapes(self, shapes: ArrayLike | None) -> Array:
        default = np.array([s.value for s in self.layout.shapes])
        values = default if shapes is None else np.asarray(shapes, float)
        if values.shape[-1:] != default.shape:
            raise InputError(f"shapes has shape {values.shape}; {self.layout.robot.name} has {len(default)} shape parameters")
        return values

    def _values(self, chi: ArrayLike, shapes: ArrayLike | None) -> dict[str, Array]:
        if shapes is None and hasattr(chi, "shapes"):
            shapes = chi.shapes  # Parameters carry their own
        values = np.ascontiguousarray(np.asarray(chi, float))
        if values.shape[-1] != self.layout.size:
            raise InputError(f"chi has {values.shape[-1]} values; {self.layout.robot.name} has {self.layout.size} parameters")
        return {"chi": values, "shapes": self._shapes(shapes)}


class _Piece:
    """A kernel with its own work array and the inputs it reads from."""

    def __init__(self, kernel: BatchKernel, inputs: Mapping[str, Array]) -> None:
        self.kernel, rows = kernel, kernel.rows
        self.work = aligned(rows.count * rows.stride)
        self.address = self.work.ctypes.data
        for name, values in inputs.items():
            if values.ndim == 1:
                self.set(name, values)
        self.varying = [(rows.offset((name, 0)), values) for name, values in inputs.items() if values.ndim == 2]

    def set(self, name: str, values: Array) -> None:
        """The same values for all samples."""
        self.kernel.rows.of(self.work, name, self.kernel.sizes[name])[:] = values[:, None]

    def fill(self, first: int, count: int) -> int:
        """Samples into rows; returns how many lanes that fills."""
        padded = -(-count // LANES) * LANES
        for offset, values in self.varying:
            fill(self.work, offset, self.kernel.rows.stride, padded, values[first : first + count])
        return padded

    def call(self, first: int, count: int) -> None:
        self.kernel.call(self.address, self.fill(first, count))


def _run_piece(
    kernel: BatchKernel,
    inputs: Mapping[str, Array],
    out: Array,
    columns: NDArray[np.int64],
    directions: Sequence[Mapping[str, Array]],
    start: int,
    stop: int,
) -> None:
    piece = _Piece(kernel, inputs)
    first_out, stride = kernel.rows.offset(("out", 0)), kernel.rows.stride
    for a in range(start, stop, CHUNK):
        count = min(CHUNK, stop - a)
        padded = piece.fill(a, count)
        for d, direction in enumerate(directions):
            for name, value in direction.items():
                piece.set(name, value)
            kernel.call(piece.address, padded)
            scatter(piece.work, first_out, stride, out[a : a + count], columns + d * kernel.outputs)


def _lower(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(i + 1)]
