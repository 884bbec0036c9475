"""Kernels: functions to be computed on many samples or runs at once, and the interface of the targets that compute them.

A kernel is a traced graph with named inputs and outputs.  A target turns kernels into functions on arrays; `dynamics/llvm` is the one
for processors.  Everything above (recursions, equations, laws, tangents) only describes kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.trace import Graph, Key, Symbol, differentiate

T = TypeVar("T")
Symbols = Mapping[str, list[Symbol]]


@dataclass(frozen=True)
class Input:
    """`size` numbers that every sample or run has for itself; given the same to all, they are only copied."""

    size: int


@dataclass(frozen=True)
class Reference(Input):
    """Numbers that all runs share: columns of the table's row for the present step, from `column` on."""

    column: int = 0


@dataclass(frozen=True)
class Normals(Input):
    """Standard normal numbers as `inertica.dynamics.noise` defines them for the seed, the run and the step, from `first_call` on."""

    first_call: int = 0


@dataclass(frozen=True, eq=False)
class Kernel:
    """A function of samples or runs.

    Args:
        name: a word.
        graph: the trace; its inputs have keys (name, number).
        inputs: name -> kind and size.
        outputs: name -> symbols; an output with the name of an input takes its place after all inputs were read.
    """

    name: str
    graph: Graph
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Sequence[Symbol]]

    @property
    def sizes(self) -> dict[str, int]:
        """Of the inputs that every sample or run has for itself."""
        # exact type: the derived Reference and Normals are shared by all runs and have no field of a run
        return {name: kind.size for name, kind in self.inputs.items() if type(kind) is Input}

    @property
    def places(self) -> dict[Key, Symbol]:
        """Every output symbol by its name and number."""
        return {(name, i): symbol for name, symbols in self.outputs.items() for i, symbol in enumerate(symbols)}


def traced(name: str, inputs: Mapping[str, int | Input], build: Callable[[Symbols], Mapping[str, Sequence[object]]]) -> Kernel:
    """The kernel of a function on symbols.

    Args:
        name: of the kernel.
        inputs: name -> kind; a number stands for as many values of each sample or run.
        build: outputs by name from the inputs' symbols.
    """
    graph = Graph()
    kinds = {key: Input(kind) if isinstance(kind, int) else kind for key, kind in inputs.items()}
    outputs = build({key: graph.inputs(key, kind.size) for key, kind in kinds.items()})
    return Kernel(name, graph, kinds, {key: [graph.symbol(s) for s in symbols] for key, symbols in outputs.items()})


def nonzero(graph: Graph, matrix: Sequence[Sequence[object]]) -> dict[tuple[int, int], Symbol]:
    """Entries of a traced matrix that are not zero by structure, by row and column."""
    symbols = {(i, k): graph.symbol(value) for i, row in enumerate(matrix) for k, value in enumerate(row)}
    return {entry: symbol for entry, symbol in symbols.items() if symbol.value != 0.0}


def with_rates(kernel: Kernel, moving: Collection[str]) -> Kernel:
    """The same kernel with the rate of every output, `NAME rate`, when the `moving` inputs change at theirs."""
    graph, places = kernel.graph, kernel.places
    seeds, inputs = {}, dict(kernel.inputs)
    # only inputs that an output depends on get a rate; the others would be loaded for nothing
    for index in graph.live(places.values()):
        node = graph.nodes[index]
        key: Key = node[1] if node[0] == "in" else ("", 0)  # type: ignore[assignment]
        if key[0] in moving:
            inputs[f"{key[0]} rate"] = kernel.inputs[key[0]]
            seeds[Symbol(graph, index)] = graph.input((f"{key[0]} rate", key[1]))
    rates_in_order = iter(differentiate(list(places.values()), seeds))
    rates_of = {f"{name} rate": [next(rates_in_order) for _ in symbols] for name, symbols in kernel.outputs.items()}
    return replace(kernel, inputs=inputs, outputs={**kernel.outputs, **rates_of})


@dataclass(frozen=True)
class Variable:
    """Steps within a control period that follow an estimate of their error (an embedded Runge-Kutta pair).

    The stages read the step as field `step`, keep state and acceleration of its beginning (`q0`, `dq0`, `ddq0`) and gather their share
    of the error (`error_q`, `error_dq`); the share of the rates at the end is added by the time loop.

    Args:
        last: weight of the rates at the end of the step in its error.
        order: of the error, as a power of the step.
        relative, absolute: that the error of each joint's position and velocity may have in one step.
        finest: the shortest step, in parts of the control period; taken whatever its error, as at a reversal of dry friction.
    """

    last: float
    order: int
    relative: float = 1e-7
    absolute: float = 1e-9
    finest: float = 1.0 / 256


@dataclass(frozen=True, eq=False)
class Loop:
    """A closed loop as kernels that share their fields.  One step is

        begin, forward, [output, record], finish, then for every stage but the last: stage, forward; last stage.

    Args:
        begin: measures and controls; may read the reference and normal numbers.
        forward: torque -> acceleration.
        stages: of the integrator.
        recorded: fields that are kept at recorded steps, all of one size.
        start: runs once before the first step, as step 0.
        finish: inner states of friction.
        output: sensor noise of what is recorded; runs at recorded steps only.
        variable: how steps within a control period are chosen; one step when not given.
    """

    begin: Kernel
    forward: Kernel
    stages: tuple[Kernel, ...]
    recorded: tuple[str, ...]
    start: Kernel | None = None
    finish: Kernel | None = None
    output: Kernel | None = None
    variable: Variable | None = None

    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(k for k in (self.start, self.begin, self.forward, *self.stages, self.finish, self.output) if k is not None)

    @property
    def fields(self) -> dict[str, int]:
        """Name -> size of everything a run holds: the recorded first, then what kernels read and write."""
        sizes: dict[str, int] = {}
        for kernel in self.kernels():
            sizes |= kernel.sizes | {name: len(symbols) for name, symbols in kernel.outputs.items()}
        # recorded fields first, next to each other: the time loop copies them as one block
        return {name: sizes[name] for name in dict.fromkeys((*self.recorded, *sizes))}

    def with_rates(self, moving: Collection[str]) -> Loop:
        """The loop of state and tangent together."""

        def both(kernel: Kernel | None) -> Kernel | None:
            return None if kernel is None else with_rates(kernel, moving)

        return Loop(
            with_rates(self.begin, moving), with_rates(self.forward, moving), tuple(with_rates(k, moving) for k in self.stages),
            (*self.recorded, *(f"{name} rate" for name in self.recorded)), both(self.start), both(self.finish), both(self.output),
            self.variable,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Runs:
    """B runs of a loop along one reference.

    Args:
        fields: name -> (B, size) at the start; those not given are zero, those a loop does not have are passed over.
        numbers: (B,) for the noise.
        seed: of the noise.
        table: (T, m), one row of the reference per step.
        steps: to record, ascending.
        on_device: signals may stay in the memory of the device (`Resident`), since what follows is computed there, too.
    """

    fields: dict[str, Array]
    numbers: NDArray[np.uint64]
    seed: int
    table: Array
    steps: NDArray[np.int64]
    on_device: bool = False


class SampleFunction(Protocol):
    """A kernel with the single output `out`, on samples.

    Inputs are (N, size), or (size,) for all samples alike.
    """

    @property
    def outputs(self) -> int:
        """Numbers per sample."""

    def __call__(
        self,
        inputs: Mapping[str, Array],
        out: Array,
        columns: NDArray[np.int64],
        directions: Sequence[Mapping[str, Array]] = ({},),
    ) -> None:
        """Output e of every sample into column columns[e] of `out`, (N, ...).

        With several `directions` the kernel runs once for each, with those further inputs, (size,), into the next `outputs` columns.
        """

    def chunks(self, inputs: Mapping[str, Array]) -> Iterator[tuple[slice, Array]]:
        """(samples, (outputs, count) view), chunk by chunk; the view holds until the next chunk; resident if inputs are."""


class FactorFunction(Protocol):
    """A kernel each of whose outputs is one row per sample, as the R factors of those rows."""

    def __call__(self, inputs: Mapping[str, Array], weights: Array | None) -> list[Array]:
        """Upper triangular (k, k) for every output of size k.

        Args:
            inputs: (N, size), or (size,) for all samples alike.
            weights: (N, outputs) factors on the rows.
        """


@runtime_checkable
class CrossedFunction(FactorFunction, Protocol):
    """The same where products of the rows of two sets of inputs are quicker than with the rows handed out."""

    def crossed(self, inputs: Mapping[str, Array], others: Mapping[str, Array], use: Array) -> list[tuple[Array, Array]]:
        """(k, k) A'A and A'B of every output, A of the first inputs and B of the others.

        Args:
            inputs, others: of the same samples.
            use: (N, outputs) 0 for rows that take no part, 1 for the others.
        """


class LoopFunction(Protocol):
    """A closed loop of many runs."""

    def __call__(self, runs: Runs) -> dict[str, Array]:
        """(B, len(steps), n) of every recorded field.  A run gives the same bytes alone and among others."""


class ScanFunction(Protocol):
    """A recursion in time: a kernel of `row` (1), `state` and a `Reference` that gives the next `row` and `state`."""

    def __call__(self, rows: Array, state: Array, shared: Array, backward: bool) -> None:
        """Works in place.

        Args:
            rows: (N, columns), each column a signal of its own.
            state: (size, columns) before the first row; after the last one on return.
            shared: the values of the reference.
            backward: from the last row to the first.
        """


class DeviceMemory(Protocol):
    """The memory of a device."""

    @property
    def arrays(self) -> Any:
        """The module of array functions, as NumPy has them."""

    def host(self, array: Any) -> Array:
        """A copy in the processor's memory."""

    def in_library_thread(self, work: Callable[[], T]) -> T:
        """What `work` returns, called in the one thread that uses the device's libraries of linear algebra.

        CuPy's keep a handle with its memory for every thread that does, and fits side by side have a thread each.
        """

    def scan(self, kernel: Kernel) -> ScanFunction:
        """A recursion on arrays in this memory."""


class Target(Protocol):
    """Where kernels run: four functions, each from a description to a function on NumPy arrays; and how many runs it takes.

    A further target (a graphics card, say) is one folder with a class like this; give it to an `Engine` as `target`.  `Plan` has the
    order of operations with fused products that the others use.  tests/toy_target.py is a complete target in NumPy.
    """

    @property
    def parallel_runs(self) -> int:
        """Runs that are simulated at the same time; a batch with fewer leaves a part of the device idle."""

    @property
    def memory(self) -> DeviceMemory | None:
        """The memory that its arrays may stay in; None for the processor's."""

    def samples(self, kernel: Kernel) -> SampleFunction: ...

    def factors(self, kernel: Kernel) -> FactorFunction: ...

    def loop(self, loop: Loop) -> LoopFunction: ...

    def scan(self, kernel: Kernel, columns: int) -> ScanFunction: ...
