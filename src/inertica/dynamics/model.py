"""Model: a layout with its equations and the target that computes them, and the checks of inputs of functions on batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics.arrays import is_large
from inertica.dynamics.equations import Equations
from inertica.dynamics.kernels import Array, Target
from inertica.dynamics.resident import Resident
from inertica.dynamics.targets import Device, runs_on_gpu, target_for
from inertica.errors import InputError
from inertica.robot.layout import Layout

T = TypeVar("T")


@dataclass(frozen=True)
class Reduction:
    """Base parameters as a simulation kernel uses them: the retained parameters, the others being zero.

    Args:
        retained: indices of the parameters that are not eliminated.
        matrix: (len(retained), P), their base parameters from all parameters.
    """

    retained: tuple[int, ...]
    matrix: Array

    def apply(self, chi: Array) -> Array:
        """(B, P) -> (B, len(kept)), summed column by column: a product by BLAS would round differently for other batch sizes."""
        out = np.zeros((len(chi), len(self.retained)))
        for k in np.flatnonzero(np.any(self.matrix != 0.0, axis=0)):
            out += chi[:, k, None] * self.matrix[:, k]
        return out


class Model:
    """What engine, simulation and factors have in common: equations, target, and checks of their inputs.

    Args:
        layout: robot, terms and the order of parameters.
        reduction: base parameters for the simulation; optional, makes it faster.
        threads: blocks of samples or simulations worked on at the same time; all cores when not given.
        target: what compiles and runs the kernels; that of the device by default.
        device: `cpu`, `cuda`, or `auto`: the GPU for batches of simulations that it computes faster.
    """

    def __init__(
        self,
        layout: Layout,
        reduction: Reduction | None = None,
        threads: int | None = None,
        target: Target | None = None,
        device: Device = "cpu",
    ) -> None:
        self.layout, self.reduction = layout, reduction
        self.equations = Equations(layout)
        self.equations.check_terms()
        self.threads = threads or os.cpu_count() or 1
        self.target: Target = target or target_for(device, self.threads)
        self.loops_over_bodies = is_large(layout.robot) and not runs_on_gpu(self.target)
        self._made: dict[Hashable, Any] = {}

    @property
    def n(self) -> int:
        return self.layout.robot.n

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """The object compiled under this key; compiled now when it is asked for the first time."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    @property
    def retained(self) -> tuple[int, ...]:
        """Indices of the parameters that the simulation takes."""
        return tuple(range(self.layout.size)) if self.reduction is None else self.reduction.retained

    def reduced(self, chi: Array) -> Array:
        """(B, P) -> (B, len(kept))"""
        return chi if self.reduction is None else self.reduction.apply(chi)

    def motion(self, **signals: ArrayLike) -> dict[str, Array]:
        """Signals as (N, n) arrays of equal length; an InputError names the one whose shape does not fit."""
        arrays = {name: _rows(values) for name, values in signals.items()}
        N = len(next(iter(arrays.values())))
        for name, a in arrays.items():
            if a.shape != (N, self.n):
                raise InputError(f"{name} has shape {a.shape}; expected ({N}, {self.n}) for {self.layout.robot.name}")
        return arrays

    def shape_values(self, shapes: ArrayLike | None) -> Array:
        """Values of the nonlinear parameters, those of the layout when none are given."""
        default = np.array([s.value for s in self.layout.shapes])
        values = default if shapes is None else np.asarray(shapes, float)
        if values.shape[-1:] != default.shape:
            raise InputError(f"shapes has shape {values.shape}; {self.layout.robot.name} has {len(default)} shape parameters")
        return values


def _rows(signal: ArrayLike) -> Array:
    if isinstance(signal, Resident) and signal.ndim == 2:
        return cast(Array, signal)
    return np.ascontiguousarray(np.atleast_2d(np.asarray(signal, float)))
