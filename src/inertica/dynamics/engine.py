"""Engine: the dynamics of one layout on batches of samples, compiled for this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics.arrays import ArraySamples, regressor_function
from inertica.dynamics.flow import momentum, momentum_flow
from inertica.dynamics.kernels import Array, SampleFunction, Symbols, nonzero, traced
from inertica.dynamics.model import Model, Reduction
from inertica.dynamics.products import InstrumentProducts, MotionPair
from inertica.dynamics.simulate import RunOptions, Simulation, simulate
from inertica.dynamics.trace import Symbol, differentiate
from inertica.dynamics.tsqr import Factoriser, Factors
from inertica.errors import InputError
from inertica.robot.loops import require_tree

__all__ = ["Engine", "Reduction"]


class Engine(Model):
    """Dynamics of a robot with its terms, on batches.

    Arrays are (N, n), time first.  `chi` is (P,) for all samples or (N, P) for each its own.  Kernels are compiled on first use
    (a fraction of a second each) and kept on disk.

    Args:
        layout, reduction, threads, target, device: as for `Model`.
    """

    def regressor(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, shapes: ArrayLike | None = None, out: Array | None = None
    ) -> Array:
        """(N, n, P) with tau = Y chi at every sample.  `out`, zero where the structure is zero, is filled in place when given."""
        kernel, entries = self._regressor
        motion = self.motion(q=q, dq=dq, ddq=ddq)
        N = len(motion["q"])
        if out is None:
            out = np.zeros((N, self.n, self.layout.size))
        columns = np.array([i * self.layout.size + k for i, k in entries], np.int64)
        kernel({**motion, "shapes": self.shape_values(shapes)}, out.reshape(N, -1), columns)
        return out

    def regressor_entries(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, shapes: ArrayLike | None = None, out: Array | None = None
    ) -> Array:
        """(N, E): only the entries that are not zero by structure, `entries[e]` = (joint, parameter)."""
        kernel, entries = self._regressor
        motion = self.motion(q=q, dq=dq, ddq=ddq)
        if out is None:
            out = np.empty((len(motion["q"]), len(entries)))
        kernel({**motion, "shapes": self.shape_values(shapes)}, out, np.arange(len(entries)))
        return out

    def regressor_chunks(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, shapes: ArrayLike | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """The same entries chunk by chunk, while they are in the cache: (samples, (E, count) view).

        The view is overwritten by the next chunk; what it leaves is a matter of microseconds, what memory takes is not.
        """
        return self._regressor[0].chunks({**self.motion(q=q, dq=dq, ddq=ddq), "shapes": self.shape_values(shapes)})

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(joint, parameter) of the regressor entries that are not zero by structure."""
        return self._regressor[1]

    def inverse_dynamics(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None
    ) -> Array:
        """(N, n) joint torques."""
        self.equations.require_linear("inverse dynamics")
        return self._evaluate(self._inverse, self.motion(q=q, dq=dq, ddq=ddq) | self._values(chi, shapes))

    def bias_forces(self, q: ArrayLike, dq: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None) -> Array:
        """(N, n) torques without acceleration: Coriolis, gravity, friction."""
        return self.inverse_dynamics(q, dq, np.zeros(np.shape(dq)), chi, shapes)

    def mass_matrix(self, q: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None) -> Array:
        """(N, n, n)"""
        flat = self._evaluate(self._mass, self.motion(q=q) | self._values(chi, shapes))
        M = np.empty((len(flat), self.n, self.n))
        for e, (i, j) in enumerate(_lower(self.n)):
            M[:, i, j] = M[:, j, i] = flat[:, e]
        return M

    def momentum_and_flow(
        self, q: ArrayLike, dq: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """(N, n) generalised momentum p = M dq, and (N, n) what bodies add: tau = dp/dt + flow + friction and other terms."""
        require_tree(self.layout.robot, "an observer of external torques")
        both = self._evaluate(self._momentum, self.motion(q=q, dq=dq) | self._values(chi, shapes))
        return both[:, : self.n], both[:, self.n :]

    def forward_dynamics(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None
    ) -> Array:
        """(N, n) joint accelerations."""
        self.equations.require_linear("forward dynamics of single samples")
        return self._evaluate(self._forward, self.motion(q=q, dq=dq, tau=tau) | self._values(chi, shapes))

    def torque_derivatives(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, chi: ArrayLike, shapes: ArrayLike | None = None
    ) -> tuple[Array, Array, Array]:
        """d tau / d q, d tau / d dq, d tau / d ddq, each (N, n, n) with the torque's joint first; sharp signs count as constant."""
        self.equations.require_linear("the derivative of torques")
        inputs = self.motion(q=q, dq=dq, ddq=ddq) | self._values(chi, shapes)
        N, n = inputs["q"].shape
        out = np.empty((N, 3 * n, n))
        # one pass per unit rate of q, dq and ddq
        directions = [
            {f"{name}_rate": row[k * n : (k + 1) * n] for k, name in enumerate(("q", "dq", "ddq"))} for row in np.eye(3 * n)
        ]
        self._tangent(inputs, out.reshape(N, -1), np.arange(n), directions)
        by_joint = np.swapaxes(out, 1, 2)
        return by_joint[:, :, :n], by_joint[:, :, n : 2 * n], by_joint[:, :, 2 * n :]

    def regressor_rates(self, motion: Sequence[ArrayLike], rates: Sequence[ArrayLike], shapes: ArrayLike | None = None) -> Array:
        """(N, E): how fast `regressor_entries` change when (q, dq, ddq) move at the given rates; sharp signs count as constant."""
        names = ("q", "dq", "ddq")
        inputs = self.motion(**dict(zip((*names, *(f"{name}_rate" for name in names)), (*motion, *rates), strict=True)))
        return self._evaluate(self._regressor_tangent, {**inputs, "shapes": self.shape_values(shapes)})

    def factors(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, tau: ArrayLike, columns: Sequence[int] | None = None,
        shapes: ArrayLike | None = None, weights: ArrayLike | None = None,
    ) -> Factors:  # fmt: skip
        """R factors of the observation matrix, joint by joint; see `inertica.dynamics.tsqr`."""
        return self._factoriser(columns)(q, dq, ddq, tau, shapes=shapes, weights=weights)

    def _factoriser(self, columns: Sequence[int] | None) -> Factoriser:
        key = None if columns is None else tuple(columns)
        return self.once(("factors", key), lambda: Factoriser(self, key))

    def products(self, pair: MotionPair, columns: Sequence[int], shapes: ArrayLike | None = None) -> list[Array]:
        """Products of the rows of two motions, joint by joint, over these columns; see `inertica.dynamics.products`."""
        values, chosen_columns = self.shape_values(shapes), tuple(columns)
        if (by_target := self._factoriser(chosen_columns).products(pair, values)) is not None:
            return by_target

        def compile_products() -> InstrumentProducts:
            kernel, entries = self._regressor
            entries_of = [[e for e, (i, k) in enumerate(entries) if i == j and k in set(chosen_columns)] for j in range(self.n)]
            return InstrumentProducts(self, kernel, [np.array(joint_entries, np.intp) for joint_entries in entries_of], values)

        return self.once(("products", chosen_columns, values.tobytes()), compile_products)(pair)

    def simulate(
        self, chi: ArrayLike, reference: Mapping[str, ArrayLike], gains: Mapping[str, ArrayLike], dt: float, **options: Any
    ) -> Simulation:
        """Closed-loop simulation of one or many runs; see `inertica.dynamics.simulate`, options are those of its `RunOptions`."""
        require_tree(self.layout.robot, "simulation in a control loop")
        return simulate(self, chi, reference, gains, dt, RunOptions(**options))

    @cached_property
    def _inverse(self) -> SampleFunction:
        e = self.equations
        return self._function(
            "inverse",
            lambda x: e.inverse_dynamics(x["q"], x["dq"], x["ddq"], x["chi"], x["shapes"]),
            "q dq ddq chi shapes",
            self.n,
        )

    @cached_property
    def _forward(self) -> SampleFunction:
        e = self.equations
        return self._function(
            "forward",
            lambda x: e.forward_dynamics(x["q"], x["dq"], x["tau"], x["chi"], x["shapes"]),
            "q dq tau chi shapes",
            self.n,
        )

    @cached_property
    def _mass(self) -> SampleFunction:
        def lower(x: Symbols) -> list[Symbol]:
            M = self.equations.mass_matrix(x["q"], x["chi"], x["shapes"])
            return [M[i][j] for i, j in _lower(self.n)]

        return self._function("mass", lower, "q chi shapes", len(_lower(self.n)))

    @cached_property
    def _momentum(self) -> SampleFunction:
        def both(x: Symbols) -> list[Symbol]:
            p, flow = (f(self.equations, x["q"], x["dq"], x["chi"], x["shapes"]) for f in (momentum, momentum_flow))
            return [x["q"][0].graph.symbol(value) for value in (*p, *flow)]

        return self._kernel("momentum", both, "q dq chi shapes")

    @cached_property
    def _tangent(self) -> SampleFunction:
        """Rate of the torques when q, dq, ddq move at given rates."""

        def rates(x: Symbols) -> list[Symbol]:
            return _rates(self.equations.inverse_dynamics(x["q"], x["dq"], x["ddq"], x["chi"], x["shapes"]), x)

        return self._kernel("tangent", rates, "q dq ddq chi shapes q_rate dq_rate ddq_rate")

    @cached_property
    def _regressor_tangent(self) -> SampleFunction:
        def rates(x: Symbols) -> list[Symbol]:
            Y = self.equations.regressor(x["q"], x["dq"], x["ddq"], x["shapes"])
            return _rates([Y[i][k] for i, k in self.entries], x)

        return self._kernel("regressor_tangent", rates, "q dq ddq shapes q_rate dq_rate ddq_rate")

    @cached_property
    def _regressor(self) -> tuple[SampleFunction, list[tuple[int, int]]]:
        e, inputs = self.equations, "q dq ddq shapes"
        if self.loops_over_bodies:
            return regressor_function(e, inputs.split())
        return self._entries("regressor", lambda x: e.regressor(x["q"], x["dq"], x["ddq"], x["shapes"]), inputs)

    def _entries(
        self, name: str, matrix: Callable[[Symbols], Sequence[Sequence[object]]], inputs: str
    ) -> tuple[SampleFunction, list[tuple[int, int]]]:
        """The entries of a matrix that are not zero by structure, and where they stand."""
        nonzero_entries: dict[tuple[int, int], Symbol] = {}

        def entries(x: Symbols) -> list[Symbol]:
            nonzero_entries.update(nonzero(x["q"][0].graph, matrix(x)))
            return list(nonzero_entries.values())

        return self._kernel(name, entries, inputs), list(nonzero_entries)

    def _function(self, name: str, build: Callable[[Symbols], list[Symbol]], inputs: str, outputs: int) -> SampleFunction:
        """The same where no derivative of symbols is in it, so that arrays do as well."""
        return ArraySamples(build, outputs) if self.loops_over_bodies else self._kernel(name, build, inputs)

    def _kernel(self, name: str, build: Callable[[Symbols], list[Symbol]], inputs: str) -> SampleFunction:
        special = {"chi": self.layout.size, "shapes": len(self.layout.shapes), "gravity": 3}
        sizes = {key: special.get(key, self.n) for key in inputs.split()}
        return self.target.samples(traced(name, sizes, lambda x: {"out": build(x)}))

    def _evaluate(self, kernel: SampleFunction, inputs: Mapping[str, Array]) -> Array:
        # inputs with one dimension are the same for all samples
        N = max(len(v) for v in inputs.values() if v.ndim == 2)
        out = np.empty((N, kernel.outputs))
        kernel(inputs, out, np.arange(kernel.outputs))
        return out

    def _values(self, chi: ArrayLike, shapes: ArrayLike | None) -> dict[str, Array]:
        # Parameters carry the values of their nonlinear parameters along
        if shapes is None and hasattr(chi, "shapes"):
            shapes = chi.shapes  # Parameters carry their own
        values = np.ascontiguousarray(np.asarray(chi, float))
        if values.shape[-1] != self.layout.size:
            raise InputError(f"chi has {values.shape[-1]} values; {self.layout.robot.name} has {self.layout.size} parameters")
        return {"chi": values, "shapes": self.shape_values(shapes)}


def _lower(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(i + 1)]


def _rates(outputs: Sequence[object], x: Symbols) -> list[Symbol]:
    """How fast outputs change when q, dq, ddq move at their rates."""
    seeds = {s: r for name in ("q", "dq", "ddq") for s, r in zip(x[name], x[f"{name}_rate"], strict=True)}
    return differentiate([x["q"][0].graph.symbol(value) for value in outputs], seeds)
