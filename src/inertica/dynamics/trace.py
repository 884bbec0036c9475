"""Tracer: run the recursions on symbols and record what they compute.

Every operation becomes a node of a graph.  Equal operations are the same node (value numbering), constants fold, products with
zero and sums with zero vanish, so the graph of a robot holds only what its structure needs.  `differentiate` adds exact derivatives
to the same graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Node = tuple[object, ...]
"""(operation, operands): ("in", key), ("c", value), ("+", i, j), ("sin", i), ..."""

Key = tuple[str, int]
"""Names an input: ("dq", 3)."""

SMALLEST = 1e-300
"""Bases of powers are kept above this, so that 0 ** e is 0 without a branch."""


class Graph:
    """Nodes of one trace; a node's operands always come before it."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}

    def input(self, key: Key) -> Symbol:
        """The symbol of an input; its key, a name and a number, is what its place in memory is found by."""
        return self.node("in", key)

    def inputs(self, name: str, count: int) -> list[Symbol]:
        """Symbols with keys (name, 0), (name, 1), ..."""
        return [self.input((name, i)) for i in range(count)]

    def constant(self, value: float) -> Symbol:
        return self.node("c", float(value) + 0.0)  # + 0.0: no negative zero, which would be a different key

    def node(self, *node: object) -> Symbol:
        # value numbering: an operation on the same operands is the node that is already there
        index = self._known.get(node)
        if index is None:
            index = self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return Symbol(self, index)

    def symbol(self, value: object) -> Symbol:
        return value if isinstance(value, Symbol) else self.constant(float(value))  # type: ignore[arg-type]

    def live(self, outputs: Iterable[Symbol]) -> list[int]:
        """Indices of the nodes the outputs need, in order."""
        seen: set[int] = set()
        stack = [s.index for s in outputs]
        while stack:
            i = stack.pop()
            if i not in seen:
                seen.add(i)
                stack.extend(operands(self.nodes[i]))
        return sorted(seen)


def operands(node: Node) -> tuple[int, ...]:
    """Indices of the nodes this one is computed from."""
    return () if node[0] in ("in", "c") else node[1:]  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Symbol:
    """A traced scalar."""

    graph: Graph
    index: int

    @property
    def value(self) -> float | None:
        """Its value if it is a constant."""
        node = self.graph.nodes[self.index]
        return node[1] if node[0] == "c" else None  # type: ignore[return-value]

    def _negated(self) -> Symbol | None:
        """x if this is -x."""
        node = self.graph.nodes[self.index]
        return Symbol(self.graph, node[1]) if node[0] == "neg" else None  # type: ignore[arg-type]

    def __neg__(self) -> Symbol:
        if self.value is not None:
            return self.graph.constant(-self.value)
        return self._negated() or self.graph.node("neg", self.index)

    def __add__(self, other: object) -> Symbol:
        y = self.graph.symbol(other)
        a, b = self.value, y.value
        if a is not None and b is not None:
            return self.graph.constant(a + b)
        if a == 0.0:
            return y
        if b == 0.0:
            return self
        if (positive := y._negated()) is not None:
            return self - positive
        if (positive := self._negated()) is not None:
            return y - positive
        # sorted: a + b and b + a are one node
        return self.graph.node("+", *sorted((self.index, y.index)))

    __radd__ = __add__

    def __sub__(self, other: object) -> Symbol:
        y = self.graph.symbol(other)
        a, b = self.value, y.value
        if a is not None and b is not None:
            return self.graph.constant(a - b)
        if b == 0.0:
            return self
        if a == 0.0:
            return -y
        if self.index == y.index:
            return self.graph.constant(0.0)
        if (positive := y._negated()) is not None:
            return self + positive
        return self.graph.node("-", self.index, y.index)

    def __rsub__(self, other: object) -> Symbol:
        return self.graph.symbol(other) - self

    def __mul__(self, other: object) -> Symbol:
        y = self.graph.symbol(other)
        x, a, b = self, self.value, y.value
        if a is not None and b is not None:
            return self.graph.constant(a * b)
        if b is not None:
            x, y, a = y, x, b
        if a == 0.0:
            return self.graph.constant(0.0)
        if a == 1.0:
            return y
        if a == -1.0:
            return -y
        u, v = x._negated(), y._negated()
        if u is not None and v is not None:
            return u * v
        if u is not None:
            return -(u * y)
        if v is not None:
            return -(x * v)
        return self.graph.node("*", *sorted((x.index, y.index)))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Symbol:
        y = self.graph.symbol(other)
        # a division by a constant becomes a product with its reciprocal; rounding differs in the last place, alike in all targets
        if y.value is not None:
            return self * (1.0 / y.value)
        if self.value == 0.0:
            return self
        return self.graph.node("/", self.index, y.index)

    def __rtruediv__(self, other: object) -> Symbol:
        return self.graph.symbol(other) / self

    def __pow__(self, exponent: object) -> Symbol:
        return self.power(exponent)

    def sin(self) -> Symbol:
        return self._function("sin", math.sin)

    def cos(self) -> Symbol:
        return self._function("cos", math.cos)

    def exp(self) -> Symbol:
        return self._function("exp", math.exp)

    def log(self) -> Symbol:
        return self._function("log", math.log)

    def sqrt(self) -> Symbol:
        return self._function("sqrt", math.sqrt)

    def tanh(self) -> Symbol:
        return self._function("tanh", math.tanh)

    def absolute(self) -> Symbol:
        return self._function("absolute", abs)

    def sign(self) -> Symbol:
        return self._function("sign", lambda v: float((v > 0.0) - (v < 0.0)))

    def minimum(self, other: object) -> Symbol:
        return self._choice("minimum", min, other)

    def maximum(self, other: object) -> Symbol:
        return self._choice("maximum", max, other)

    def power(self, exponent: object) -> Symbol:
        """self ** exponent; whole constants by multiplication, all others for self >= 0 through exp and log."""
        e = self.graph.symbol(exponent)
        if e.value is not None and e.value == int(e.value) and abs(e.value) <= 8:
            whole = self.graph.constant(1.0)
            for _ in range(abs(int(e.value))):
                whole = whole * self
            return whole if e.value >= 0 else 1.0 / whole
        return (e * self.maximum(SMALLEST).log()).exp()

    def rpower(self, base: object) -> Symbol:
        """base ** self"""
        return self.graph.symbol(base).power(self)

    def _function(self, name: str, plain: object) -> Symbol:
        if self.value is not None:
            return self.graph.constant(plain(self.value))  # type: ignore[operator]
        return self.graph.node(name, self.index)

    def _choice(self, name: str, plain: object, other: object) -> Symbol:
        y = self.graph.symbol(other)
        if self.value is not None and y.value is not None:
            return self.graph.constant(plain(self.value, y.value))  # type: ignore[operator]
        return self if self.index == y.index else self.graph.node(name, self.index, y.index)


def differentiate(outputs: Sequence[Symbol], seeds: Mapping[Symbol, Symbol]) -> list[Symbol]:
    """Directional derivatives of the outputs when every seeded symbol moves at its given rate.

    Signs, and the choices of minimum and maximum, are taken as locally constant: this is the derivative of the discrete map,
    without the shift of switching instants.
    """
    graph = outputs[0].graph
    zero = graph.constant(0.0)
    rate: dict[int, Symbol] = {}
    seed_rates = {s.index: r for s, r in seeds.items()}
    for i in graph.live(outputs):
        node = graph.nodes[i]
        if i in seed_rates:
            rate[i] = seed_rates[i]
        elif node[0] in ("in", "c", "sign"):
            rate[i] = zero
        else:
            y = Symbol(graph, i)
            parts = [Symbol(graph, k) for k in operands(node)]
            rate[i] = _rate(str(node[0]), y, parts, [rate[p.index] for p in parts])
    return [rate[s.index] for s in outputs]


def _rate(operation: str, y: Symbol, x: list[Symbol], dx: list[Symbol]) -> Symbol:
    """Rate of y = operation(x) when x moves at dx."""
    match operation:
        case "+":
            return dx[0] + dx[1]
        case "-":
            return dx[0] - dx[1]
        case "*":
            return x[0] * dx[1] + x[1] * dx[0]
        case "/":
            return (dx[0] - y * dx[1]) / x[1]
        case "neg":
            return -dx[0]
        case "sin":
            return x[0].cos() * dx[0]
        case "cos":
            return -(x[0].sin() * dx[0])
        case "exp":
            return y * dx[0]
        case "log":
            return dx[0] / x[0]
        case "sqrt":
            return 0.5 * dx[0] / y
        case "tanh":
            return (1.0 - y * y) * dx[0]
        case "absolute":
            return x[0].sign() * dx[0]
        case "minimum" | "maximum":
            # weight of the first argument: 1 where it is chosen, 0 where not, 1/2 at a tie
            first = 0.5 - 0.5 * (x[0] - x[1]).sign() * (1.0 if operation == "minimum" else -1.0)
            return first * dx[0] + (1.0 - first) * dx[1]
    raise AssertionError(operation)
