"""What one row of a linear fit says: a torque, a rate of momentum, or a power.

    torque     tau     =  Y(q, dq, ddq) chi
    momentum   tau     =  (d/dt P + B) chi       P(q, dq) chi = M dq, the momentum
    power      dq' tau =  (d/dt E + D) chi       E(q, dq) chi = dq' M dq / 2, the kinetic energy

The last two take no acceleration: columns of momentum and energy are differentiated as signals, and the decimation that follows
low-passes them, the other columns and the torque alike, so that what is fitted is a filtered momentum.  Where velocity and
acceleration come from the same filter the first two say the same, sample by sample; power says less, one row for all joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from inertica.arrays import Array, Mask
from inertica.dynamics.engine import Engine
from inertica.dynamics.momentum import Balance, balance
from inertica.errors import InputError
from inertica.preprocessing.motion import Motion

CENTRAL = (
    (1.0 / 2.0,),
    (2.0 / 3.0, -1.0 / 12.0),
    (3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0),
    (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0),
)
"""Weights of (y[k+i] - y[k-i]), i = 1, 2, ..: derivatives of order 2 to 8; the last is wrong by 2e-7 at a twentieth of the rate."""

END = ((-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -1.0 / 4.0), (-1.0 / 4.0, -5.0 / 6.0, 3.0 / 2.0, -1.0 / 2.0, 1.0 / 12.0))
"""The same at the first and the second sample of a record, from the first five, of order 4."""

PART = 4096
"""Samples whose columns are differentiated at a time."""


class Form(Protocol):
    """Rows of one kind."""

    @property
    def count(self) -> int:
        """Rows of one sample."""

    @property
    def entries(self) -> Sequence[tuple[int, int]]:
        """(row, parameter) of the columns that are not zero by structure."""

    def chunks(self, motion: Motion, where: slice, shapes: Array | None) -> Iterator[tuple[slice, Array]]:
        """(samples counted from the start of `where`, (E, count) view that the next chunk overwrites)."""

    def measured(self, motion: Motion, where: slice) -> Array:
        """(N, count) what the rows are fitted to, a new array."""

    def idle(self, joints: Mask) -> Mask:
        """(N, count) rows to leave out when (N, n) says where joints rest or turn."""


@dataclass(frozen=True, eq=False)
class TorqueRows:
    """The inverse dynamics, joint by joint."""

    engine: Engine

    @property
    def count(self) -> int:
        return self.engine.n

    @property
    def entries(self) -> Sequence[tuple[int, int]]:
        return self.engine.entries

    def chunks(self, motion: Motion, where: slice, shapes: Array | None) -> Iterator[tuple[slice, Array]]:
        return self.engine.regressor_chunks(motion.q[where], motion.dq[where], motion.ddq[where], shapes)

    def measured(self, motion: Motion, where: slice) -> Array:
        return np.array(motion.tau[where])

    def idle(self, joints: Mask) -> Mask:
        return joints


@dataclass(frozen=True, eq=False)
class MomentumRows(TorqueRows):
    """Rate of momentum, joint by joint."""

    stored: ClassVar[Literal["momentum", "energy"]] = "momentum"

    @property
    def entries(self) -> Sequence[tuple[int, int]]:
        return balance(self.engine, self.stored).entries

    def chunks(self, motion: Motion, where: slice, shapes: Array | None) -> Iterator[tuple[slice, Array]]:
        return _balanced(balance(self.engine, self.stored), motion, where, shapes)


@dataclass(frozen=True, eq=False)
class PowerRows(MomentumRows):
    """Rate of energy, all joints together; friction of a joint that rests or turns has no power there, so that no row is idle."""

    stored: ClassVar[Literal["momentum", "energy"]] = "energy"

    @property
    def count(self) -> int:
        return 1

    def measured(self, motion: Motion, where: slice) -> Array:
        return np.asarray(np.sum(motion.dq[where] * motion.tau[where], axis=1, keepdims=True))

    def idle(self, joints: Mask) -> Mask:
        return np.zeros((len(joints), 1), bool)


FORMS: dict[str, Callable[[Engine], Form]] = {"torque": TorqueRows, "momentum": MomentumRows, "power": PowerRows}
"""Name as recipes state it -> rows."""


def row_form(engine: Engine, motions: Sequence[Motion]) -> Form:
    """The kind of rows that the recipes of all motions ask for."""
    stated = {motion.recipe.regressor for motion in motions}
    if len(stated) > 1:
        raise InputError(f"logs of one fit have rows of one kind, not {' and '.join(sorted(stated))}")
    return FORMS[stated.pop() if stated else "torque"](engine)


def rates(values: Array, dt: float) -> Array:
    """(N, k) time derivative of columns, of order 8; of lower order, down to 4, within four samples of the ends."""
    N = len(values)
    if len(END[0]) > N:
        raise InputError(f"the rate of momentum needs {len(END[0])} samples or more; this record has {N}")
    out = np.empty(values.shape)
    for k, weights in enumerate(END):
        out[k] = np.dot(weights, values[: len(weights)])
        out[N - 1 - k] = -np.dot(weights, values[: -len(weights) - 1 : -1])
    # the widest formula that fits overwrites what narrower ones left towards the middle
    for reach in range(2, min(len(CENTRAL), (N - 1) // 2) + 1):
        inside = np.zeros((N - 2 * reach, values.shape[1]))
        for i, weight in enumerate(CENTRAL[reach - 1], 1):
            inside += weight * (values[reach + i : N - reach + i] - values[reach - i : N - reach - i])
        out[reach : N - reach] = inside
    return out / dt


def _balanced(of: Balance, motion: Motion, where: slice, shapes: Array | None) -> Iterator[tuple[slice, Array]]:
    start, stop, step = where.indices(len(motion))
    if step != 1:
        raise InputError("rates of momentum and energy need all samples of a motion, not every other one")
    reach, count = len(CENTRAL), len(of.entries)
    for first in range(start, stop, PART):
        last = min(first + PART, stop)
        # neighbours within reach of the differences, so that parts join without a seam
        a, z = max(0, first - reach), min(len(motion), last + reach)
        stored, flow = np.empty((z - a, count)), np.empty((z - a, count))
        for part, stored_rows, flow_rows in of.chunks(motion.q[a:z], motion.dq[a:z], shapes):
            stored[part], flow[part] = stored_rows.T, flow_rows.T
        flow += rates(stored, motion.dt)
        yield slice(first - start, last - start), flow[first - a : last - a].T
