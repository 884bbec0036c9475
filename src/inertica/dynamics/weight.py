"""`Weight`: how torques change with the direction of gravity, compiled from the same recursions as everything else.

Torques are affine in gravity, so that with the regressor Y of a robot under the gravity g_0 of its description

    Y(g) = Y + sum_k (g_k - g_0k) G_k(q),      k = x, y, z of the base frame.

G_k has entries in the columns of masses and first moments only and depends on positions alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.arrays import regressor_function
from inertica.dynamics.engine import Engine
from inertica.dynamics.equations import Equations
from inertica.dynamics.kernels import Array, SampleFunction, Symbols, Target
from inertica.robot.layout import Layout
from inertica.scalars import Scalar

GENERIC, ZERO = 8, 1e-12
"""Positions at which an entry is looked at, and the share of the largest one below which it is rounding of zero."""


class Weight(Engine):
    """Regressor of the weight of all bodies per unit of gravity along x, y and z of the base.

    Args:
        layout: whose parameters the columns are; its terms do not feel gravity.
        threads, target: as for `Model`.
    """

    def __init__(self, layout: Layout, threads: int | None = None, target: Target | None = None) -> None:
        super().__init__(Layout(layout.robot, payloads=layout.payloads), threads=threads, target=target)
        self.of = layout

    @property
    def pulls(self) -> list[tuple[int, int, int]]:
        """(joint, parameter of the layout, axis of the base) of the entries that are not always zero."""
        return self._pulls[0]

    def slopes(self, q: ArrayLike) -> Array:
        """(N, E) entries of G at positions (N, n), in the order of `pulls`."""
        return self._slopes(self.motion(q=q)["q"])[:, self._pulls[1]]

    # torques are linear in gravity, so that unit gravity along each axis gives the derivative exactly
    def _slopes(self, q: Array) -> Array:
        """(N, 3 E) of all entries under unit gravity along x, then along y, then along z."""
        kernel = self._weight[0]
        out = np.empty((len(q), 3 * kernel.outputs))
        kernel({"q": q}, out, np.arange(kernel.outputs), [{"gravity": unit} for unit in np.eye(3)])
        return out

    @cached_property
    def _pulls(self) -> tuple[list[tuple[int, int, int]], NDArray[np.intp]]:
        """Entries that are not zero along an axis, and where `_slopes` has them."""
        entries = [(i, self.of.index(self.layout.names[k])) for i, k in self._weight[1]]
        # the kernel has the entries of all axes; at generic positions those that are always zero for one axis show
        values = np.abs(self._slopes(np.random.default_rng(7).normal(size=(GENERIC, self.n)))).max(axis=0)
        used = np.flatnonzero(values > ZERO * values.max(initial=0.0))
        return [(*entries[e % len(entries)], int(e) // len(entries)) for e in used], used

    @cached_property
    def _weight(self) -> tuple[SampleFunction, list[tuple[int, int]]]:
        if self.loops_over_bodies:
            return regressor_function(self.equations, ("q", "gravity"))
        # weight does not depend on velocity or acceleration
        still = [0.0] * self.n

        def regressor(x: Symbols) -> list[list[Scalar]]:
            pulled = replace(self.layout.robot, gravity=tuple(x["gravity"]))  # type: ignore[arg-type]
            return Equations(replace(self.layout, robot=pulled)).regressor(x["q"], still, still, [])

        return self._entries("weight", regressor, "q gravity")
