"""A transition in lanes, for compiled filters: a block of points or of directions at a time, sample after sample.

`Stepper` holds addresses and work arrays; `advance_points`, `advance_rates` and `advance_directions` are called from other compiled
loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from inertica.compiled import njit
from inertica.dynamics.llvm.loops import _OPTIONS, advance
from inertica.dynamics.llvm.rows import LANES, aligned
from inertica.dynamics.llvm.simulation import RunBlock
from inertica.dynamics.transition import LAG, Transition


class Stepper(NamedTuple):
    """What compiled loops need of a transition.

    Args:
        kernels, stages: addresses.
        work: rows of lanes, constants filled in.
        state: (size,) rows of z.
        rates: (size,) rows of its directions; empty without tangents.
        memory: (m,) rows of what the controller remembers.
        before: (n,) rows of its last position; empty where it takes no differences.
        out: (2n,) rows of the derivative afterwards; empty without tangents.
        dt: of one step.
    """

    kernels: Any
    stages: Any
    work: Any
    state: Any
    rates: Any
    memory: Any
    before: Any
    out: Any
    dt: float


def stepper(transition: Transition, tangents: bool) -> tuple[Stepper, RunBlock]:
    """Addresses and work array; the block, which owns the code, must live as long."""
    block = RunBlock(transition.rates if tangents else transition.loop, LANES)
    work = aligned(block.rows.count * LANES)
    for name, values in transition.fields.items():
        if name in block.rows.place:
            block.rows.of(work, name)[:] = np.asarray(values)[:, None]

    def rows(*names: str) -> Any:
        places = [np.arange(block.rows.count)[block.rows.place[name]] for name in names if name in block.rows.place]
        return np.concatenate([np.zeros(0, np.int64), *places]).astype(np.int64)

    def of_z(kind: str) -> Any:
        parameters = rows(f"{transition.parameter}{kind}")
        return np.concatenate([rows(f"dq{kind}", f"q{kind}"), parameters[list(transition.parameters)]])

    differences = LAG in transition.memory
    return Stepper(
        block.kernels, block.stages, work, of_z(""), of_z(" rate") if tangents else rows(), rows(*transition.memory),
        rows("q_before") if differences else rows(), rows("dq rate", "q rate") if tangents else rows(),
        float(transition.fields["dt"][0]),
    ), block  # fmt: skip


@njit(**_OPTIONS)
def advance_points(s: Any, table: Any, first: int, last: int, Z: Any, memory: Any, out: Any) -> None:
    """Points (L, size) -> out (L, 2n); what the controller remembers is that of the first point afterwards."""
    L, size, states = Z.shape[0], Z.shape[1], out.shape[1]
    for start in range(0, L, 8):
        for k in range(size):
            at = s.state[k] * 8
            for i in range(8):
                s.work[at + i] = Z[min(start + i, L - 1), k]
        _remember(s, memory)
        advance(s.kernels, s.stages, s.work, table, first, last)
        for k in range(states):
            at = s.state[k] * 8
            for i in range(min(8, L - start)):
                out[start + i, k] = s.work[at + i]
        if start == 0:
            after = _remembered(s, memory.shape[0])
    memory[:] = after


@njit(**_OPTIONS)
def advance_rates(s: Any, table: Any, first: int, last: int, z: Any, memory: Any, out: Any, F: Any) -> None:
    """A point (size,) -> out (2n,), and F (2n, size) its derivative."""
    size, states = z.shape[0], out.shape[0]
    for start in range(0, size, 8):
        for k in range(size):
            at, moving = s.state[k] * 8, s.rates[k] * 8
            for i in range(8):
                s.work[at + i] = z[k]
                s.work[moving + i] = 1.0 if start + i == k else 0.0
        _remember(s, memory)
        advance(s.kernels, s.stages, s.work, table, first, last)
        for k in range(states):
            at = s.out[k] * 8
            for i in range(min(8, size - start)):
                F[k, start + i] = s.work[at + i]
        if start == 0:
            after = _remembered(s, memory.shape[0])
            for k in range(states):
                out[k] = s.work[s.state[k] * 8]
    memory[:] = after


@njit(**_OPTIONS)
def advance_directions(s: Any, table: Any, first: int, last: int, z: Any, D: Any, memory: Any, out: Any) -> None:
    """Derivatives out (L, 2n) of the map at a point (size,) along directions D (L, size)."""
    L, size, states = D.shape[0], z.shape[0], out.shape[1]
    for start in range(0, L, 8):
        for k in range(size):
            at, moving = s.state[k] * 8, s.rates[k] * 8
            for i in range(8):
                s.work[at + i] = z[k]
                s.work[moving + i] = D[min(start + i, L - 1), k]
        _remember(s, memory)
        advance(s.kernels, s.stages, s.work, table, first, last)
        for k in range(states):
            at = s.out[k] * 8
            for i in range(min(8, L - start)):
                out[start + i, k] = s.work[at + i]


@njit(**_OPTIONS)
def _remember(s: Any, memory: Any) -> None:
    for k in range(memory.shape[0]):
        at = s.memory[k] * 8
        for i in range(8):
            s.work[at + i] = memory[k]


@njit(**_OPTIONS)
def _remembered(s: Any, count: int) -> Any:
    """What the controller of the first lane remembers: the lag of its velocity, its integrals."""
    out, n = np.zeros(count), s.before.shape[0]
    for k in range(count):
        if k < n:
            dq, q = s.work[s.state[k] * 8], s.work[s.state[n + k] * 8]
            out[k] = dq - (q - s.work[s.before[k] * 8]) / s.dt
        else:
            out[k] = s.work[s.memory[k] * 8]
    return out
