"""What a filter estimates: base parameters, or coordinates of all bodies of which every value is a robot that can exist.

With coordinates the transition begins with a kernel theta -> beta, so that it is compiled and differentiated with the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.equations import weighted_sum
from inertica.dynamics.kernels import Kernel, Symbols, traced
from inertica.dynamics.transition import LAG, Transition, last_position
from inertica.estimators.base import Problem
from inertica.estimators.consistent.charts import ConsistentChart
from inertica.estimators.recursive.passes import FilterHistory
from inertica.estimators.recursive.tuning import OFF, Variances
from inertica.physical.bodies import BodyCoordinates
from inertica.physical.moments import PrincipalMoments
from inertica.scalars import Scalar

Coordinates = Literal["log-cholesky", "principal-moments"]


class Unknowns(Protocol):
    """Unknowns x of a filter beside the state."""

    @property
    def start(self) -> Array: ...

    def transition(self, plain: Transition) -> Transition:
        """In these unknowns."""

    def variances(self, v: Variances) -> Variances:
        """For these unknowns."""

    def beta(self, x: Array) -> tuple[Array, Array]:
        """(b,) and its derivative (b, p)."""

    def chi(self, x: Array) -> Array | None:
        """Standard parameters, when these are known."""

    def history(self, h: FilterHistory) -> dict[str, Array]:
        """Its columns in base parameters."""


@dataclass(frozen=True, eq=False)
class PlainUnknowns:
    """x = beta"""

    start: Array

    def transition(self, plain: Transition) -> Transition:
        return plain

    def variances(self, v: Variances) -> Variances:
        return v

    def beta(self, x: Array) -> tuple[Array, Array]:
        return x, np.eye(len(x))

    def chi(self, x: Array) -> None:
        return None

    def history(self, h: FilterHistory) -> dict[str, Array]:
        return {}


@dataclass(frozen=True, eq=False)
class ConsistentUnknowns:
    """x = theta, log-Cholesky coordinates of all parameters that are free, or bounded principal moments.

    Args:
        chart: of all parameters.
        T: (b, P) base parameters from standard ones.
        whole: (P,) theta of the start.
        free: numbers of the coordinates that are estimated.
        n: joints.
    """

    chart: BodyCoordinates
    T: Array
    whole: Array
    free: tuple[int, ...]
    n: int

    @classmethod
    def of(cls, problem: Problem, beta: Array, coordinates: Coordinates = "log-cholesky") -> ConsistentUnknowns:
        search = ConsistentChart.of(problem)
        theta = search.coordinates(problem, beta)
        chart: BodyCoordinates = search.chart
        if coordinates == "principal-moments":
            chart = PrincipalMoments(chart.reference, chart.margin)
            theta = chart.theta(search.chart.chi(theta)[0])
        free = _telling(chart, problem.base.T, theta)
        return cls(chart, problem.base.T, theta, free, problem.base.layout.robot.n)

    @property
    def start(self) -> Array:
        return self.whole[list(self.free)]

    def transition(self, plain: Transition) -> Transition:
        loop, fields = replace(plain.loop, start=_parameters(self, plain)), {**plain.fields, "theta": self.whole}
        return replace(plain, loop=loop, fields=fields, parameters=self.free, parameter="theta")

    def variances(self, v: Variances) -> Variances:
        """Coordinates are logarithms or nearly so, or of the size of the references: 15 % is the same for all of them."""
        quiet = np.zeros(len(self.free))
        first = np.concatenate([v.first[: 2 * self.n], (OFF * self.chart.sizes[list(self.free)]) ** 2])
        return replace(v, first=first, parameter=quiet, floor=quiet)

    def _theta(self, x: Array) -> Array:
        """All coordinates from the free ones; the others keep the values of the start."""
        theta = self.whole.copy()
        theta[list(self.free)] = x
        return theta

    def beta(self, x: Array) -> tuple[Array, Array]:
        chi, J = self.chart.chi(self._theta(x))
        return self.T @ chi, (self.T @ J)[:, list(self.free)]

    def chi(self, x: Array) -> Array:
        return self.chart.chi(self._theta(x))[0]

    def history(self, h: FilterHistory) -> dict[str, Array]:
        betas = [self.beta(x) for x in h.beta]
        # to first order and without correlations, which the history does not keep
        std = [np.sqrt(np.sum((J * s) ** 2, axis=1)) for (_, J), s in zip(betas, h.std, strict=True)]
        return {"beta": np.array([b for b, _ in betas]), "std": np.array(std)}


def _telling(chart: BodyCoordinates, T: Array, theta: Array) -> tuple[int, ...]:
    """As many coordinates as there are base parameters, chosen so that these tell them best; the others keep their first values.

    With all of them the data leave directions open, and these turn with the estimate: a filter that linearises at every sample
    takes each turn for information, and ends with a wrong estimate that it is sure of (as in mapping by robots that move).
    """
    from scipy.linalg import qr

    free = np.flatnonzero(chart.reference.free)
    J = (T @ chart.chi(theta)[1])[:, free] * chart.sizes[free]
    # rows of unit length: no base parameter counts more because its unit is small
    scale = np.linalg.norm(J, axis=1, keepdims=True)
    pivots = qr(J / np.where(scale > 0.0, scale, 1.0), mode="r", pivoting=True)[1]
    return tuple(sorted(int(k) for k in free[pivots[: len(T)]]))


def _parameters(unknowns: ConsistentUnknowns, plain: Transition) -> Kernel:
    """theta -> chi as the simulation takes it, and whatever else the transition begins with."""
    fixed, first = plain.fields["chi"], plain.loop.start is not None

    def build(x: Symbols) -> dict[str, list[Scalar]]:
        values = unknowns.chart.scalars(x["theta"])
        chi: list[Scalar] = [float(v) for v in fixed]
        for row, place in zip(unknowns.T, plain.parameters, strict=True):
            chi[place] = weighted_sum(row, values)
        return {"chi": chi} | (last_position(x) if first else {})

    inputs = {"theta": len(unknowns.whole)} | ({"q": unknowns.n, "dq": unknowns.n, LAG: unknowns.n, "dt": 1} if first else {})
    return traced("parameters", inputs, build)
