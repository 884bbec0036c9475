"""The functions of a robot as traced graphs, for programs in other languages.

    tau = M(q) ddq + c(q, dq) + g(q) + f(q, dq)

with drive inertia in M, Coriolis and centrifugal torques c = C dq, gravity g, and f for friction, offsets, springs and every other
term.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from inertica.dynamics import recursions
from inertica.dynamics.equations import Equations
from inertica.dynamics.flow import momentum, momentum_flow
from inertica.dynamics.kernels import Array, Kernel, Symbols, traced
from inertica.dynamics.trace import Symbol, differentiate
from inertica.robot.layout import Layout
from inertica.robot.loops import require_tree
from inertica.scalars import Scalar

WEIGHTLESS = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Function:
    """One function of a program.

    Args:
        kernel: its name, inputs and the output `out`, row by row.
        result: what to call the output.
        shape: of the output.
        summary: what it gives, one line.
    """

    kernel: Kernel
    result: str
    shape: tuple[int, ...]
    summary: str

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def inputs(self) -> dict[str, int]:
        return self.kernel.sizes

    @property
    def symbols(self) -> list[Symbol]:
        return list(self.kernel.outputs["out"])


@dataclass(frozen=True, eq=False)
class CodeModel:
    """What the functions of a program compute with.

    Args:
        layout: robot and terms.
        retained: parameters that are an argument, in this order; the others are zero (eliminated by regrouping), if there are any.
        values: (len(retained),) of them.
        shapes: values of parameters that enter nonlinearly; they are part of the text.
        baked: the values are part of the text too, and no argument.
    """

    layout: Layout
    retained: tuple[int, ...]
    values: Array
    shapes: Array
    baked: bool = False

    @property
    def n(self) -> int:
        return self.layout.robot.n

    def chi(self, x: Symbols) -> list[Scalar]:
        """All parameters of the layout."""
        out: list[Scalar] = [0.0] * self.layout.size
        for k, value in zip(self.retained, self.values.tolist() if self.baked else x["p"], strict=True):
            out[k] = value
        return out


def functions(model: CodeModel) -> list[Function]:
    """Everything a program offers; terms with an inner state are refused with a sentence."""
    equations, n, P = Equations(model.layout), model.n, len(model.retained)
    equations.require_linear("code of its dynamics")
    require_tree(model.layout.robot, "code of its dynamics")
    shapes = model.shapes.tolist()
    rest: list[Scalar] = [0.0] * n
    bodies = {k for _, where in model.layout.bodies for k in range(where.start, where.stop)}

    def rigid(x: Symbols, dq: Sequence[Scalar], gravity: Sequence[float]) -> list[Scalar]:
        links = equations.link_inertia(model.chi(x))
        return recursions.inverse_dynamics(recursions.poses(model.layout.robot, x["q"]), dq, rest, links, gravity)

    def friction(x: Symbols) -> list[Scalar]:
        drives = [0.0 if k in bodies else value for k, value in enumerate(model.chi(x))]
        return equations.bias(x["q"], x["dq"], drives, shapes)

    def coriolis_matrix(x: Symbols) -> list[Scalar]:
        """c is quadratic in dq, so that half its derivative is the matrix of Christoffel symbols, with dM/dt - 2 C skew."""
        graph = x["q"][0].graph
        c = [graph.symbol(value) for value in rigid(x, x["dq"], WEIGHTLESS)]
        columns = [differentiate(c, {rate: graph.constant(1.0)}) for rate in x["dq"]]
        return [0.5 * columns[j][i] for i in range(n) for j in range(n)]

    def regressor(x: Symbols) -> list[Scalar]:
        return [row[k] for row in equations.regressor(x["q"], x["dq"], x["ddq"], shapes) for k in model.retained]

    def function(
        name: str, inputs: str, result: str, shape: tuple[int, ...], summary: str, build: Callable[[Symbols], Sequence[Scalar]]
    ) -> Function:
        names = [key for key in inputs.split() if not (key == "p" and model.baked)]
        sizes = {key: P if key == "p" else n for key in names}
        return Function(traced(name, sizes, lambda x: {"out": build(x)}), result, shape, summary)

    return [
        function(
            "inverse_dynamics", "q dq ddq p", "tau", (n,), "joint torques of a motion",
            lambda x: equations.inverse_dynamics(x["q"], x["dq"], x["ddq"], model.chi(x), shapes),
        ),
        function("gravity", "q p", "tau", (n,), "torques of gravity", lambda x: rigid(x, rest, model.layout.robot.gravity)),
        function("coriolis", "q dq p", "tau", (n,), "Coriolis and centrifugal torques", lambda x: rigid(x, x["dq"], WEIGHTLESS)),
        function("friction", "q dq p", "tau", (n,), "torques of friction, offsets, springs and all other terms", friction),
        function(
            "mass_matrix", "q p", "M", (n, n), "inertia matrix, drives included",
            lambda x: [value for row in equations.mass_matrix(x["q"], model.chi(x), shapes) for value in row],
        ),
        function(
            "coriolis_matrix", "q dq p", "C", (n, n), "C(q, dq) of Christoffel symbols: coriolis = C dq, dM/dt - 2 C is skew",
            coriolis_matrix,
        ),
        function("regressor", "q dq ddq", "Y", (n, P), "matrix with inverse_dynamics = Y p", regressor),
        function(
            "momentum", "q dq p", "momentum", (n,), "generalised momentum M dq",
            lambda x: momentum(equations, x["q"], x["dq"], model.chi(x), shapes),
        ),
        function(
            "momentum_flow", "q dq p", "flow", (n,), "coriolis + gravity - dM/dt dq: torque = d(momentum)/dt + flow + friction",
            lambda x: momentum_flow(equations, x["q"], x["dq"], model.chi(x), shapes),
        ),
        function(
            "forward_dynamics", "q dq tau p", "ddq", (n,), "joint accelerations under torques",
            lambda x: equations.forward_dynamics(x["q"], x["dq"], x["tau"], model.chi(x), shapes),
        ),
    ]  # fmt: skip


def states(n: int, count: int, seed: int = 7) -> tuple[Array, Array, Array]:
    """Random motions (count, n) at which a program is held against the engine."""
    rng = np.random.default_rng(seed)
    q, dq, ddq = (rng.uniform(-size, size, (count, n)) for size in (np.pi, 2.0, 10.0))
    return q, dq, ddq
