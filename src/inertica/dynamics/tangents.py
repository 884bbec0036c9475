"""Exact derivatives of a closed-loop simulation with respect to parameters and gains: every lane carries the run and one tangent.

The kernels of `simulate` are traced as ever and differentiated on their graphs, so a step advances state and tangent together.
This is the derivative of the discrete map: the sign of Coulomb friction counts as constant, and the shift of the instants at which a
velocity reverses is not in it.  Give friction a smooth sign where that matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.lanes import Lanes
from inertica.dynamics.laws import PD, Law
from inertica.dynamics.rows import LANES, Rows
from inertica.dynamics.simulate import INTEGRATORS, _Batch, _Program, _reference_table, _run_block, _Variant, _Writer
from inertica.dynamics.trace import Graph, Key, Symbol, differentiate
from inertica.errors import InputError, nearest

if TYPE_CHECKING:
    from inertica.dynamics.engine import Engine

Array = NDArray[np.float64]

_MOVING = ("q", "dq", "ddq", "tau", "q_before", "q_measured", "chi", "q0", "dq0", "sum_q", "sum_dq", "friction")


@dataclass(frozen=True, eq=False)
class Tangents:
    """A run and its derivatives: (K, n), and (D, K, n) for D directions."""

    q: Array
    dq: Array
    ddq: Array
    tau: Array
    q_rate: Array
    dq_rate: Array
    ddq_rate: Array
    tau_rate: Array


class _TangentWriter(_Writer):
    """Kernels of a variant with the rates of everything they store."""

    def __init__(self, engine: Engine, variant: _Variant, gains: tuple[str, ...]) -> None:
        super().__init__(engine, variant)
        plain, n = self.rows, engine.n
        self.moving = (*_MOVING, *(f"memory {m}" for m in variant.law.memory), *gains)
        rows = Rows(variant.lanes)
        for name in ("q", "dq", "ddq", "tau"):
            rows.add(name, n)
        for name in ("q", "dq", "ddq", "tau"):
            rows.add(f"{name} rate", n)
        sizes = {"friction": len(engine.layout.memory), "chi": len(self.kept)}
        for name in plain.start:
            if name not in rows.start:
                rows.add(name, _size(plain, name))
            if name in self.moving and f"{name} rate" not in rows.start:
                rows.add(f"{name} rate", sizes.get(name, n))
        self.rows, self.recorded = rows, 8 * n

    def _store(
        self, lanes: Lanes, graph: Graph, groups: Mapping[str, Sequence[object]], given: Mapping[Key, str] | None = None
    ) -> None:
        flat = [graph.symbol(s) for symbols in groups.values() for s in symbols]
        seeds = {}
        for index in graph.live(flat):
            node = graph.nodes[index]
            key: Key = node[1] if node[0] == "in" else ("", 0)  # type: ignore[assignment]
            if key[0] in self.moving:
                seeds[Symbol(graph, index)] = graph.input((f"{key[0]} rate", key[1]))
        rates = iter(differentiate(flat, seeds))
        moved = {f"{name} rate": [next(rates) for _ in symbols] for name, symbols in groups.items()}
        super()._store(lanes, graph, dict(groups) | moved, given)


def _size(rows: Rows, name: str) -> int:
    """Rows of a group: up to where the next one starts."""
    later = [start for start in rows.start.values() if start > rows.start[name]]
    return (min(later) if later else rows.count) - rows.start[name]


def simulate_tangents(
    engine: Engine,
    chi: ArrayLike,
    directions: ArrayLike,
    reference: Mapping[str, ArrayLike],
    gains: Mapping[str, ArrayLike],
    dt: float,
    *,
    law: Law | None = None,
    integrator: str = "rk4",
    shapes: ArrayLike | None = None,
    difference_velocity: bool = False,
    keep: ArrayLike | int = 1,
    start: tuple[ArrayLike, ArrayLike] | None = None,
    gain_directions: Mapping[str, ArrayLike] | None = None,
) -> Tangents:
    """Simulate one run without noise, and its derivatives along directions of the parameters and gains.

    Args:
        engine, reference, gains, dt, law, integrator, shapes, difference_velocity, keep, start: as for `simulate`, of one run.
        chi: (P,) parameters.
        directions: (D, P), each a rate of change of the parameters.
        gain_directions: name -> (D, n), how fast gains change along the same directions; those not named do not.
    """
    law = law or PD()
    if integrator not in INTEGRATORS:
        raise InputError(f"unknown integrator '{integrator}'; {nearest(integrator, INTEGRATORS)}")
    table = _reference_table(engine, law, reference)
    rates = np.atleast_2d(np.asarray(directions, float))
    batch = _Batch(engine, law, np.tile(np.asarray(chi, float), (len(rates), 1)), gains, shapes, None, None, start, table)
    batch.values["chi rate"] = rates if engine.reduction is None else engine.reduction.apply(rates)
    moving = {name: np.atleast_2d(np.asarray(values, float)) for name, values in (gain_directions or {}).items()}
    for name, values in moving.items():
        if name not in law.gains or values.shape != (len(rates), engine.n):
            raise InputError(
                f"rates of the gain '{name}' have shape {values.shape}; expected ({len(rates)}, {engine.n}) of one of "
                f"{', '.join(law.gains)}"
            )
        batch.values[f"{name} rate"] = values
    variant = _Variant(law, integrator, False, difference_velocity, LANES)
    program = _program(engine, variant, tuple(sorted(moving)))
    steps = np.arange(0, len(table), keep) if isinstance(keep, int) else np.asarray(keep, np.int64)
    blocks = [batch.lanes(b, LANES) for b in range(-(-batch.size // LANES))]
    out = np.empty((len(blocks), len(steps), program.recorded * LANES))

    def run(b: int) -> None:
        _run_block(program, batch, blocks[b], dt, table, steps, out[b])

    with ThreadPoolExecutor(max(1, min(engine.threads, len(blocks)))) as pool:
        list(pool.map(run, range(len(blocks))))
    signals = out.reshape(len(out), len(steps), 8, engine.n, LANES).transpose(2, 0, 4, 1, 3)
    joined = signals.reshape(8, -1, len(steps), engine.n)[:, : batch.size]
    return Tangents(*(np.array(x[0]) for x in joined[:4]), *(np.ascontiguousarray(x) for x in joined[4:]))


def _program(engine: Engine, variant: _Variant, gains: tuple[str, ...]) -> _Program:
    known = engine._simulators
    key = ("tangents", variant, gains)
    if key not in known:
        known[key] = _TangentWriter(engine, variant, gains).program()
    return known[key]  # type: ignore[return-value]
