"""From one sample to the next: a few steps of a closed loop as a map of state and parameters, with its derivative.

    z = (dq, q, beta) -> (dq', q'),    F = d(dq', q') / dz

The kernels are those of the simulation, so a step gives the same bytes.  The derivative is exact but for the instants at which
friction changes its sign (see `tangents`): every lane carries one direction.  Filters run this map sample by sample in compiled
loops (`llvm.stepping`); here it is called for many points at once, on any target.

A controller remembers more than the state: the position of the last step, from which it takes differences, and its integrals.  These
follow from the data and are carried from sample to sample beside the state, the same for all points; the last position as the lag of
the measured velocity behind the true one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics.closed_loop import VARIABLE, ClosedLoop
from inertica.dynamics.kernels import Array, Loop, LoopFunction, Runs, Symbols, Target, traced
from inertica.dynamics.model import Model
from inertica.errors import InputError
from inertica.scalars import Scalar

MOVING = ("q", "dq", "ddq", "tau", "q_before", "way", "chi", "q0", "dq0", "sum_q", "sum_dq", "friction")
LAG = "lag"


@dataclass(frozen=True, eq=False)
class Transition:
    """A map from sample to sample.

    Args:
        target: what compiles it.
        loop: the kernels of one step.
        n: joints.
        fields: name -> (size,) of what is constant: gains, step, values of all parameters.
        parameters: places of beta in the field `parameter`.
        memory: fields that the controller remembers, n numbers each.
        parameter: the field that beta is written to.
    """

    target: Target
    loop: Loop
    n: int
    fields: Mapping[str, Array]
    parameters: tuple[int, ...]
    memory: tuple[str, ...] = ()
    parameter: str = "chi"

    @classmethod
    def of(
        cls, model: Model, closed: ClosedLoop, dt: float, chi: ArrayLike, parameters: Sequence[int],
        gains: Mapping[str, ArrayLike] | None = None, shapes: ArrayLike | None = None,
    ) -> Transition:  # fmt: skip
        """Of a robot under a control law.

        Args:
            model: the robot.
            closed: law, integrator (euler, rk2 or rk4), and whether the law sees the backward difference of positions; no noise.
            dt: of one step.
            chi: (P,) all parameters; those that are not estimated keep these values.
            parameters: numbers of the parameters in chi that are.
            gains: name -> number or (n,).
            shapes: values of nonlinear parameters; the layout's when not given.
        """
        n = model.n
        if closed.integrator == VARIABLE:
            raise InputError("a filter goes from sample to sample in steps of one length; choose euler, rk2 or rk4")
        loop = replace(closed.described(model.equations, model.retained), recorded=("dq", "q"))
        fields = {name: np.broadcast_to(np.asarray(value, float), (n,)) for name, value in (gains or {}).items()}
        fields |= {"dt": np.array([dt]), "idt": np.array([1.0 / dt]), "shapes": model.shape_values(shapes)}
        fields["chi"] = model.reduced(np.asarray(chi, float)[None])[0]
        index = {k: i for i, k in enumerate(model.retained)}
        memory = tuple(f"memory {m}" for m in closed.law.memory)
        if closed.difference:
            inputs = {"q": n, "dq": n, LAG: n, "dt": 1}
            loop, memory = replace(loop, start=traced("start", inputs, last_position)), (LAG, *memory)
        return cls(model.target, loop, n, fields, tuple(index[int(k)] for k in parameters), memory)

    @property
    def size(self) -> int:
        """Of z."""
        return 2 * self.n + len(self.parameters)

    def __call__(self, z: ArrayLike, table: Array, memory: Mapping[str, Array] | None = None) -> Array:
        """(B, 2n) states (dq, q) after as many steps as the table has rows, from points (B, size)."""
        return np.concatenate(
            list(self._run(self._plain, np.atleast_2d(np.asarray(z, float)), table, memory, {}).values()), axis=1
        )

    def jacobian(self, z: ArrayLike, table: Array, memory: Mapping[str, Array] | None = None) -> tuple[Array, Array]:
        """(2n,) state after those steps, and (2n, size) its derivative."""
        # one lane per direction, all at the same point
        points = np.tile(np.asarray(z, float), (self.size, 1))
        rates = {f"{name} rate": value for name, value in self._fields(np.eye(self.size), 0.0).items()}
        out = self._run(self._both, points, table, memory, rates)
        whole = np.concatenate(list(out.values()), axis=1)
        return whole[0, : 2 * self.n], whole[:, 2 * self.n :].T

    @cached_property
    def rates(self) -> Loop:
        """State and tangent together."""
        return self.loop.with_rates((*MOVING, self.parameter, *(name for name in self.memory if name != LAG)))

    @cached_property
    def _plain(self) -> LoopFunction:
        return self.target.loop(self.loop)

    @cached_property
    def _both(self) -> LoopFunction:
        return self.target.loop(self.rates)

    def _fields(self, z: Array, others: Array | float) -> dict[str, Array]:
        """Points as fields; parameters that are not in z take their values from `others`."""
        values = np.zeros((len(z), len(self.fields[self.parameter]))) + others
        values[:, list(self.parameters)] = z[:, 2 * self.n :]
        return {"dq": z[:, : self.n], "q": z[:, self.n : 2 * self.n], self.parameter: values}

    def _run(
        self, function: LoopFunction, z: Array, table: Array, memory: Mapping[str, Array] | None, rates: Mapping[str, Array]
    ) -> dict[str, Array]:
        constants = {**self.fields, **(memory or {})}
        fields = {name: np.broadcast_to(value, (len(z), len(value))) for name, value in constants.items()}
        fields |= self._fields(z, self.fields[self.parameter]) | dict(rates)
        # the state behind the last row of the table is recorded, for which the run needs one row more
        steps = np.array([len(table)])
        runs = Runs(fields, np.arange(len(z), dtype=np.uint64), 0, np.vstack([table, table[-1:]]), steps)
        return {name: x[:, 0] for name, x in function(runs).items()}


def last_position(x: Symbols) -> dict[str, list[Scalar]]:
    """The last measured position, from the velocity and its lag."""
    (dt,) = x["dt"]
    step = [dt * (v - s) for v, s in zip(x["dq"], x[LAG], strict=True)]  # stored, so that it is rounded before it is taken off
    return {"way": [*step], "q_before": [a - b for a, b in zip(x["q"], step, strict=True)]}
