"""Generalised momentum of a robot, and the torque that does not change it, as traced functions of position and velocity."""

from __future__ import annotations

from collections.abc import Sequence

from inertica.dynamics import recursions
from inertica.dynamics.equations import Equations
from inertica.dynamics.trace import Symbol, differentiate
from inertica.scalars import Scalar


def momentum(e: Equations, q: list[Symbol], dq: list[Symbol], chi: Sequence[Scalar], shapes: Sequence[Scalar]) -> list[Scalar]:
    """p = M(q) dq, drives included."""
    M = e.mass_matrix(q, chi, shapes)
    return [sum((row[j] * dq[j] for j in range(1, len(dq))), row[0] * dq[0]) for row in M]


def momentum_flow(
    e: Equations, q: list[Symbol], dq: list[Symbol], chi: Sequence[Scalar], shapes: Sequence[Scalar]
) -> list[Scalar]:
    """c + g - dM/dt dq: the torque of rigid bodies that does not change the momentum, tau = dp/dt + flow + friction."""
    rest: list[Scalar] = [0.0] * len(dq)
    bodies = recursions.inverse_dynamics(recursions.poses(e.robot, q), dq, rest, e.link_inertia(chi), e.robot.gravity)
    (rate,) = rates([momentum(e, q, dq, chi, shapes)], q, dq)
    return [a - b for a, b in zip(bodies, rate, strict=True)]


def rates(rows: Sequence[Sequence[Scalar]], q: list[Symbol], dq: list[Symbol]) -> list[list[Scalar]]:
    """Rates of rows when q moves at dq and dq stays."""
    graph = q[0].graph
    flat = [graph.symbol(value) for row in rows for value in row]
    values = iter(differentiate(flat, dict(zip(q, dq, strict=True))))
    return [[next(values) for _ in row] for row in rows]
