"""Ordinary and weighted least squares: the direct methods."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeGuard

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Capability, Estimate, Estimator, Need, Problem
from inertica.estimators.covariance import scores_of
from inertica.estimators.evidence import Evidence, Scores, Solution
from inertica.estimators.observe import Observations
from inertica.estimators.solve import Composed, FitErrors, LinearSolve, Unconstrained, estimated

MEASURED: frozenset[Need] = frozenset({Need.MOTION, Need.TORQUE})
ROWS: frozenset[Capability] = frozenset({Capability.LINEAR, Capability.COVARIANCE})


class Linear(Estimator, Protocol):
    """A method with the capability LINEAR."""

    @property
    def solve(self) -> LinearSolve: ...

    def weighted(self, system: Observations, estimate: Estimate) -> tuple[Observations, Array]:
        """The rows as its estimate weighs them, and the factors (n,) on those of each joint."""


def linear(method: Estimator) -> TypeGuard[Linear]:
    """Whether a method is weighted least squares, so that parts of its rows can be left out."""
    return Capability.LINEAR in method.capabilities


@dataclass(frozen=True)
class Ols(Composed):
    """min |W beta - y|^2, all joints alike.

    Needs filtered motion: noise in W biases the result.  Joints with large torques dominate; `wls` weighs them.

    Args:
        solve: how the linear problem is solved; a consistent strategy makes this PC-OLS.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    solve: LinearSolve = field(default_factory=Unconstrained)
    hac: bool = True

    kind: ClassVar[str] = "ols"
    needs: ClassVar[frozenset[Need]] = MEASURED
    method_capabilities: ClassVar[frozenset[Capability]] = ROWS

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        return weighted_fit(self, problem, self.solve, None)

    def weighted(self, system: Observations, estimate: Estimate) -> tuple[Observations, Array]:
        return system, np.ones(system.n)


@dataclass(frozen=True)
class Wls(Composed):
    """min sum_j |W_j beta - y_j|^2 / sigma_j^2, sigma_j from the joint's own fit (survey, eqs. 20-21 corrected).

    sigma_j^2 = |r_j|^2 / (N_j - p_j), r_j the residual of joint j fitted alone, p_j the rank of its own columns.

    Args:
        solve: how the linear problem is solved; a consistent strategy makes this PC-WLS.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    solve: LinearSolve = field(default_factory=Unconstrained)
    hac: bool = True

    kind: ClassVar[str] = "wls"
    needs: ClassVar[frozenset[Need]] = MEASURED
    method_capabilities: ClassVar[frozenset[Capability]] = ROWS

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        return weighted_fit(self, problem, self.solve, problem.observations.sigmas)

    def weighted(self, system: Observations, estimate: Estimate) -> tuple[Observations, Array]:
        return system, joint_weights(estimate)


def joint_weights(estimate: Estimate) -> Array:
    """(n,) 1 / sigma_j of the residuals that an estimate leaves."""
    return np.asarray(1.0 / np.maximum(estimate.sigma, 1e-300))


class Weighted(Estimator, Protocol):
    """A method whose covariance can account for serial correlation."""

    @property
    def hac(self) -> bool: ...


def weighted_fit(
    method: Weighted,
    problem: Problem,
    solve: Callable[[Stacked, Problem], Solution],
    sigma: Array | None,
    start: float | None = None,
    system: Observations | None = None,
) -> Estimate:
    """Solve the rows of a problem with joint weights 1 / sigma and work out the covariances.

    Args:
        method: whose fit it is.
        problem: what is solved.
        solve: the strategy.
        sigma: (n,) per joint; None weighs all joints alike.
        start: `time.perf_counter()` when the method began.
        system: the rows, where they are not the problem's as they are.
    """
    start = time.perf_counter() if start is None else start
    system = observed(method, problem) if system is None else system
    weights = np.ones(system.n) if sigma is None else 1.0 / sigma
    stacked = system.stacked(weights)
    solution = solve(stacked, problem)
    sigmas = system.residual_sigmas(solution.beta)
    white: Scores | None = None
    plain = solution.spread
    if sigma is None:  # unweighted rows with their own variances: A (sum sigma_j^2 W_j'W_j) A
        G = np.asarray(sum(s**2 * f.gram(len(solution.beta)) for s, f in zip(sigmas, system.factors, strict=True)))
        white, plain = Scores(G, G), solution.sensitivity @ G @ solution.sensitivity
    scores = scores_of(system, solution.beta, weights) if method.hac else white
    covariance = scores.through(solution.sensitivity) if method.hac and scores is not None else plain
    evidence = Evidence(stacked.R, stacked.z, scores, solution.strategy, stacked.rest)
    return estimated(method.name, problem, solution, FitErrors(sigmas, covariance, plain), start, evidence=evidence)


def observed(method: Estimator, problem: Problem) -> Observations:
    """The rows of a problem that has what the method needs."""
    problem.require(method)
    return problem.observations.checked()
