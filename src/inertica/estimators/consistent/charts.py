"""Coordinates in which output-error methods search: base parameters, or ones in which every point is physically possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.standard import nearest_prior
from inertica.physical.cholesky import LogCholesky
from inertica.physical.constraints import MARGIN, RealBody
from inertica.physical.scales import Reference


class Chart(Protocol):
    """Coordinates x of base parameters."""

    @property
    def size(self) -> int: ...

    @property
    def spread(self) -> Array | None:
        """(b, p) derivative last used; None for the identity."""

    @property
    def longest(self) -> Array:
        """(p,) the most a coordinate may change in one step."""

    def coordinates(self, problem: Problem, beta: Array) -> Array:
        """x of a starting point."""

    def beta(self, x: Array) -> tuple[Array, Array]:
        """Base parameters and their derivative (b, p)."""

    def chi(self, x: Array) -> Array | None:
        """Standard parameters, when the chart knows them."""

    def scale(self, sizes: Array) -> Array:
        """(p,) typical change of x, from that of beta."""


@dataclass(frozen=True)
class BaseChart:
    """x = beta."""

    size: int
    spread: None = None

    @property
    def longest(self) -> Array:
        return np.full(self.size, np.inf)

    def coordinates(self, problem: Problem, beta: Array) -> Array:
        return np.array(beta)

    def beta(self, x: Array) -> tuple[Array, Array]:
        return np.array(x), np.eye(self.size)

    def chi(self, x: Array) -> None:
        return None

    def scale(self, sizes: Array) -> Array:
        return sizes


@dataclass(eq=False)
class ConsistentChart:
    """x = theta, log-Cholesky coordinates of all standard parameters, less those that are fixed."""

    chart: LogCholesky
    T: Array
    spread: Array | None = None

    @classmethod
    def of(cls, problem: Problem) -> ConsistentChart:
        if problem.prior is None:
            raise InputError("a physically consistent search starts from prior values of the bodies, and none were given")
        layout = problem.base.layout
        return cls(LogCholesky(Reference.of(layout, problem.prior.values), margin=_margin(problem)), problem.base.T)

    @property
    def size(self) -> int:
        return int(self.T.shape[1])

    @property
    def longest(self) -> Array:
        return np.ones(self.size)

    def coordinates(self, problem: Problem, beta: Array) -> Array:
        """theta of the consistent point nearest to beta on the way there from the prior."""
        assert problem.prior is not None
        prior = problem.prior.values
        goal = nearest_prior(problem.base, beta, problem.prior)
        for share in (1.0, 0.5, 0.25, 0.1):
            try:
                return self.chart.theta(prior + share * (goal - prior))
            except InputError:
                continue
        return self.chart.theta(prior)

    def beta(self, x: Array) -> tuple[Array, Array]:
        chi, J = self.chart.chi(x)
        self.spread = self.T @ J
        return self.T @ chi, self.spread

    def chi(self, x: Array) -> Array:
        return self.chart.chi(x)[0]

    def scale(self, sizes: Array) -> Array:
        return np.full(self.size, 0.3)


def _margin(problem: Problem) -> float:
    """Of bodies; the only one of a user's constraints that log-Cholesky coordinates can keep."""
    margins = [c.margin for c in problem.constraints if isinstance(c, RealBody) and c.links is None]
    if len(margins) < len(problem.constraints):
        raise InputError(
            "a search in log-Cholesky coordinates keeps every body real but cannot keep other constraints stated for the robot; "
            "use pc-didim or pc-wls, or leave them out"
        )
    return max(margins, default=MARGIN)
