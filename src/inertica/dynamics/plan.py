"""From a traced graph to a list of instructions.

Sums are flattened and their products become fused multiply-adds; a product used only inside a few sums is recomputed in each of
them, which costs nothing when fused.  Terms are added in the order in which they become ready, so that the chain of dependent
operations stays short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from inertica.dynamics.trace import Graph, Key, Symbol, operands

Value = int | float
"""The result of an instruction (its number) or a constant."""

_RECOMPUTE_AT_MOST = 3  # sums a product may be fused into before it is cheaper to compute it once
_DIVISION_DEPTH = 8  # multiplications a division takes as long as


@dataclass(frozen=True)
class Instruction:
    """`result = operation(arguments)`; operations: load, mul, fma (a b + c), fnma (c - a b), add, sub, neg, div and functions."""

    result: int
    operation: str
    arguments: tuple[object, ...]


class _Term(NamedTuple):
    depth: int
    positive: bool
    product: tuple[Value, Value] | None
    value: Value | None


class Plan:
    """Instructions that compute the outputs.

    Args:
        graph: the trace.
        outputs: symbols to compute; constants are allowed.
    """

    def __init__(self, graph: Graph, outputs: Sequence[Symbol]) -> None:
        self.instructions: list[Instruction] = []
        self._graph = graph
        self._value: dict[int, Value] = {}
        self._depth: dict[int, int] = {}
        live = graph.live(outputs)
        self._uses = dict.fromkeys(live, 0)
        self._sum_uses = dict.fromkeys(live, 0)
        for i in live:
            for k in operands(graph.nodes[i]):
                self._uses[k] += 1
                self._sum_uses[k] += graph.nodes[i][0] in ("+", "-")
        for s in outputs:
            self._uses[s.index] += 2 * _RECOMPUTE_AT_MOST  # an output must exist on its own
        for i in live:
            if not self._absorbed(i):
                self._need(i)
        self.outputs = [self._need(s.index) for s in outputs]

    def _absorbed(self, i: int) -> bool:
        """Whether node i appears only inside sums that include it, so that nobody needs it by itself."""
        operation = self._graph.nodes[i][0]
        if operation in ("in", "c", "neg"):
            return True
        return self._fusable(i) or (operation in ("+", "-") and self._uses[i] == 1 and self._sum_uses[i] == 1)

    def _fusable(self, i: int) -> bool:
        is_product = self._graph.nodes[i][0] == "*"
        return is_product and self._uses[i] == self._sum_uses[i] and self._uses[i] <= _RECOMPUTE_AT_MOST

    def _put(self, operation: str, *arguments: object) -> int:
        self.instructions.append(Instruction(len(self.instructions), operation, arguments))
        return len(self.instructions) - 1

    def _need(self, i: int) -> Value:
        """The value of node i, computed now if it was not yet."""
        if i not in self._value:
            node = self._graph.nodes[i]
            match node[0]:
                case "c":
                    self._value[i], self._depth[i] = float(node[1]), 0  # type: ignore[arg-type]
                case "in":
                    self._value[i], self._depth[i] = self._put("load", node[1]), 0
                case "+" | "-" | "neg":
                    self._value[i], self._depth[i] = self._sum(i)
                case operation:
                    parts = operands(node)
                    values = [self._need(k) for k in parts]
                    name = {"*": "mul", "/": "div"}.get(str(operation), str(operation))
                    cost = 1 if name == "mul" else _DIVISION_DEPTH
                    self._value[i] = self._put(name, *values)
                    self._depth[i] = cost + max(self._depth[k] for k in parts)
        return self._value[i]

    def _terms(self, i: int, positive: bool, top: bool) -> list[tuple[bool, int]]:
        """The signed terms of the sum at node i, nested sums that nobody else uses included."""
        node = self._graph.nodes[i]
        inside = top or self._uses[i] == 1
        if node[0] in ("+", "-") and inside:
            first, second = operands(node)
            return self._terms(first, positive, False) + self._terms(second, positive == (node[0] == "+"), False)
        if node[0] == "neg" and (inside or self._graph.nodes[operands(node)[0]][0] != "*"):
            return self._terms(operands(node)[0], not positive, False)
        return [(positive, i)]

    def _sum(self, i: int) -> tuple[Value, int]:
        terms = []
        for positive, k in self._terms(i, True, True):
            if self._fusable(k):
                a, b = operands(self._graph.nodes[k])
                pair = (self._need(a), self._need(b))
                terms.append(_Term(max(self._depth[a], self._depth[b]), positive, pair, None))
            else:
                value = self._need(k)
                terms.append(_Term(self._depth[k], positive, None, value))
        # early terms first: the chain of dependent additions then waits for late terms only once
        terms.sort(key=lambda t: t.depth)
        plain = [t for t in terms if t.product is None]
        # start from a term without product, so that every product is fused; a positive one needs no negation
        first = next((t for t in plain if t.positive), plain[0] if plain else terms[0])
        terms.remove(first)
        total, depth = self._start(first)
        for t in terms:
            if t.product is not None:
                total = self._put("fma" if t.positive else "fnma", *t.product, total)
            else:
                total = self._put("add" if t.positive else "sub", total, t.value)
            depth = max(depth, t.depth) + 1
        return total, depth

    def _start(self, term: _Term) -> tuple[Value, int]:
        value = term.value if term.product is None else self._put("mul", *term.product)
        assert value is not None
        if not term.positive:
            value = -value if isinstance(value, float) else self._put("neg", value)
        return value, term.depth + (term.product is not None)


class Writer(Protocol):
    """Text in which instructions are written: besides this a function of the name of every operation, from names to a name."""

    def constant(self, value: float) -> str: ...


def evaluate(writer: Writer, graph: Graph, symbols: Sequence[Symbol], read: Callable[[Key], str]) -> list[str]:
    """Append the instructions that compute symbols; returns the names of their values.

    Args:
        writer: where to write.
        graph: the trace.
        symbols: what to compute.
        read: name of an input by its key; may write the instructions that load it.
    """
    plan = Plan(graph, symbols)
    names: dict[int, str] = {}

    def operand(value: Value) -> str:
        return writer.constant(value) if isinstance(value, float) else names[value]

    for step in plan.instructions:
        if step.operation == "load":
            names[step.result] = read(step.arguments[0])  # type: ignore[arg-type]
        else:
            arguments = [operand(a) for a in step.arguments]  # type: ignore[arg-type]
            names[step.result] = getattr(writer, step.operation)(*arguments)
    return [operand(value) for value in plan.outputs]
