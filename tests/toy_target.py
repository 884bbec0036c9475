"""A target in one file: kernels evaluated node by node with NumPy.  Slow, and all a target has to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import add, mul, neg, sub, truediv

import numpy as np
from numpy.typing import NDArray

from inertica import scalars
from inertica.arrays import Array
from inertica.dynamics.kernels import Kernel, Loop, Normals, Reference, Runs
from inertica.dynamics.trace import operands
from philox import normals

OPERATIONS: dict[str, Callable[..., Array]] = {"+": add, "-": sub, "*": mul, "/": truediv, "neg": neg}


def evaluate(kernel: Kernel, given: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs (size, B) from inputs (size, B) or (size, 1)."""
    nodes = kernel.graph.nodes
    value: dict[int, Array] = {}
    for i in kernel.graph.live(kernel.places.values()):
        operation, first = nodes[i][0], nodes[i][1]
        if operation == "c":
            value[i] = np.array([first], float)
        elif operation == "in":
            name, number = first  # type: ignore[misc]
            value[i] = given[name][number]
        else:
            function = OPERATIONS.get(str(operation)) or getattr(scalars, str(operation))
            value[i] = function(*(value[k] for k in operands(nodes[i])))
    width = max(v.shape[-1] for v in given.values())
    return {
        name: np.array([np.broadcast_to(value[s.index], width) for s in symbols]).reshape(len(symbols), width)
        for name, symbols in kernel.outputs.items()
    }


def columns_of(inputs: Mapping[str, Array]) -> dict[str, Array]:
    return {name: v.T if v.ndim == 2 else v[:, None] for name, v in inputs.items()}


@dataclass(frozen=True)
class Samples:
    kernel: Kernel

    @property
    def outputs(self) -> int:
        return len(self.kernel.outputs["out"])

    def __call__(
        self,
        inputs: Mapping[str, Array],
        out: Array,
        columns: NDArray[np.int64],
        directions: Sequence[Mapping[str, Array]] = ({},),
    ) -> None:
        for d, direction in enumerate(directions):
            out[:, columns + d * self.outputs] = evaluate(self.kernel, columns_of({**inputs, **direction}))["out"].T

    def chunks(self, inputs: Mapping[str, Array]) -> Iterator[tuple[slice, Array]]:
        out = evaluate(self.kernel, columns_of(inputs))["out"]
        yield slice(0, out.shape[1]), out


@dataclass(frozen=True)
class Factors:
    kernel: Kernel

    def __call__(self, inputs: Mapping[str, Array], weights: Array | None) -> list[Array]:
        out = []
        for j, rows in enumerate(evaluate(self.kernel, columns_of(inputs)).values()):
            scaled = rows.T if weights is None else rows.T * weights[:, j, None]
            out.append(np.linalg.qr(np.vstack([scaled, np.zeros((len(rows), len(rows)))]), mode="r"))
        return out


@dataclass(frozen=True)
class Simulation:
    loop: Loop

    def __call__(self, runs: Runs) -> dict[str, Array]:
        B, loop = len(runs.numbers), self.loop
        state = {name: np.zeros((size, B)) for name, size in loop.fields.items()}
        state |= {name: v.T.copy() for name, v in runs.fields.items() if name in state}
        recorded: dict[str, list[Array]] = {name: [] for name in loop.recorded}

        def run(kernel: Kernel | None, k: int) -> None:
            if kernel is None:
                return
            given = {name: state[name] for name in kernel.sizes}
            for name, kind in kernel.inputs.items():
                if isinstance(kind, Reference):
                    given[name] = runs.table[k, kind.column : kind.column + kind.size, None]
                elif isinstance(kind, Normals):
                    given[name] = normals(runs.seed, runs.numbers, [k], kind.size, kind.first_call)[:, 0].T
            state.update(evaluate(kernel, given))

        run(loop.start, 0)
        for k in range(len(runs.table)):
            run(loop.begin, k)
            run(loop.forward, k)
            if k in runs.steps:
                run(loop.output, k)
                for name, values in recorded.items():
                    values.append(state[name].T.copy())
            run(loop.finish, k)
            for stage in loop.stages[:-1]:
                run(stage, k)
                run(loop.forward, k)
            run(loop.stages[-1], k)
        return {name: np.stack(values, axis=1) for name, values in recorded.items()}


@dataclass(frozen=True)
class Scan:
    kernel: Kernel

    def __call__(self, rows: Array, state: Array, shared: Array, backward: bool) -> None:
        (reference,) = (name for name, kind in self.kernel.inputs.items() if isinstance(kind, Reference))
        carried = state.reshape(-1, rows.shape[1])
        for row in rows[::-1] if backward else rows:
            out = evaluate(self.kernel, {"row": row[None], "state": carried, reference: shared[:, None]})
            row[:], carried[:] = out["row"][0], out["state"]


class Toy:
    """The interface."""

    @property
    def memory(self) -> None:
        return None

    @property
    def parallel_runs(self) -> int:
        return 1

    def samples(self, kernel: Kernel) -> Samples:
        return Samples(kernel)

    def factors(self, kernel: Kernel) -> Factors:
        return Factors(kernel)

    def loop(self, loop: Loop) -> Simulation:
        return Simulation(loop)

    def scan(self, kernel: Kernel, columns: int) -> Scan:
        return Scan(kernel)
