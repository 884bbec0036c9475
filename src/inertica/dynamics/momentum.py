"""Equations of motion without accelerations, linear in the parameters: as a rate of momentum, and as a rate of energy.

    tau = d/dt (P chi) + B chi,           P = P(q, dq) with M(q) dq = P chi
    dq' tau = d/dt (E chi) + D chi,       E = dq' P / 2, the kinetic energy

B is what torque is besides the rate of momentum (Coriolis, gravity, friction), D what power is besides the rate of kinetic energy
(gravity, friction).  Both follow from the regressor Y of the torque and from exact derivatives of P along the motion; acceleration
drops out because M is symmetric:

    B = Y(q, dq, 0) - dP/dq dq,           D = dq' Y(q, dq, 0) - dE/dq dq.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from numpy.typing import ArrayLike

from inertica.dynamics.equations import Equations
from inertica.dynamics.flow import rates
from inertica.dynamics.kernels import Array, Kernel, SampleFunction, Symbols, traced
from inertica.dynamics.trace import Symbol
from inertica.scalars import Scalar

if TYPE_CHECKING:
    from inertica.dynamics.engine import Engine

Stored = Literal["momentum", "energy"]


@dataclass(frozen=True, eq=False)
class Balance:
    """What is stored and what flows, as compiled functions of q and dq.

    Args:
        engine: the robot.
        entries: (row, parameter) of the columns that are not zero by structure; rows are joints, or the one row of energy.
        kernel: q, dq -> the stored entries, then those of the flow.
    """

    engine: Engine
    entries: tuple[tuple[int, int], ...]
    kernel: SampleFunction

    def chunks(self, q: ArrayLike, dq: ArrayLike, shapes: ArrayLike | None = None) -> Iterator[tuple[slice, Array, Array]]:
        """(samples, stored (E, count), flow (E, count)), chunk by chunk; the views are overwritten by the next one."""
        count = len(self.entries)
        inputs = {**self.engine.motion(q=q, dq=dq), "shapes": self.engine.shape_values(shapes)}
        for samples, values in self.kernel.chunks(inputs):
            yield samples, values[:count], values[count:]


def balance(engine: Engine, stored: Stored) -> Balance:
    """The balance of momentum or energy of a robot, compiled on first use."""
    return engine.once(("balance", stored), lambda: _balance(engine, stored))


def _balance(engine: Engine, stored: Stored) -> Balance:
    entries, kernel = balance_kernel(engine, stored)
    return Balance(engine, entries, engine.target.samples(kernel))


def balance_kernel(engine: Engine, stored: Stored) -> tuple[tuple[tuple[int, int], ...], Kernel]:
    """(row, parameter) of the entries, and the kernel q, dq -> stored entries, then those of the flow."""
    entries: list[tuple[int, int]] = []

    def build(x: Symbols) -> dict[str, list[Symbol]]:
        rows, flow = (momentum_form if stored == "momentum" else energy_form)(engine.equations, x["q"], x["dq"], x["shapes"])
        graph = x["q"][0].graph
        pairs = {
            (i, k): (graph.symbol(a), graph.symbol(b))
            for i, (stored_row, flow_row) in enumerate(zip(rows, flow, strict=True))
            for k, (a, b) in enumerate(zip(stored_row, flow_row, strict=True))
        }
        pairs = {entry: (a, b) for entry, (a, b) in pairs.items() if a.value != 0.0 or b.value != 0.0}
        entries.extend(pairs)
        return {"out": [a for a, _ in pairs.values()] + [b for _, b in pairs.values()]}

    sizes = {"q": engine.n, "dq": engine.n, "shapes": len(engine.layout.shapes)}
    kernel = traced(f"{stored}_balance", sizes, build)
    return tuple(entries), kernel


Rows = list[list[Scalar]]


def momentum_form(e: Equations, q: list[Symbol], dq: list[Symbol], shapes: list[Symbol]) -> tuple[Rows, Rows]:
    """P and B, n rows each."""
    P = momentum_regressor(e, q, dq, shapes)
    rest = e.regressor(q, dq, [0.0] * len(dq), shapes)
    return P, [[y - rate for y, rate in zip(*rows, strict=True)] for rows in zip(rest, rates(P, q, dq), strict=True)]


def energy_form(e: Equations, q: list[Symbol], dq: list[Symbol], shapes: list[Symbol]) -> tuple[Rows, Rows]:
    """E and D, one row each.

    Rigid bodies at constant velocity feel Coriolis torques whose power is the rate of energy at ddq = 0, so that gravity alone is
    left of them; it is written that way instead of as a difference of equals.
    """
    n = len(dq)
    P = momentum_regressor(e, q, dq, shapes)
    E: Rows = [[0.5 * _sum(dq[i] * P[i][k] for i in range(n)) for k in range(e.layout.size)]]
    with_velocity, at_rest = (e.regressor(q, rate, [0.0] * n, shapes) for rate in (dq, [0.0] * n))
    inertial = {k for _, where in e.layout.bodies for k in range(where.start, where.stop)}
    (stored_rates,) = rates(E, q, dq)
    flow: list[Scalar] = []
    # columns of rigid bodies by gravity alone, the others by the difference of power and rate of energy
    for k in range(e.layout.size):
        rows = at_rest if k in inertial else with_velocity
        power = _sum(dq[i] * rows[i][k] for i in range(n))
        flow.append(power if k in inertial else power - stored_rates[k])
    return E, [flow]


def momentum_regressor(e: Equations, q: Sequence[Scalar], dq: Sequence[Scalar], shapes: Sequence[Scalar]) -> Rows:
    """P with M(q) dq = P chi: the torque of dq taken as an acceleration, from rest and without gravity."""
    # without gravity and velocity only M dq is left of the torque
    weightless = Equations(replace(e.layout, robot=replace(e.robot, gravity=(0.0, 0.0, 0.0))))
    zero = [0.0] * len(dq)
    accelerated, rest = (weightless.regressor(q, zero, rate, shapes) for rate in (dq, zero))
    return [[a - b for a, b in zip(*rows, strict=True)] for rows in zip(accelerated, rest, strict=True)]


def _sum(values: Iterator[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for value in values:
        total = total + value
    return total
