"""Ordinary and weighted least squares: the direct methods."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.tsqr import JointFactor
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Estimator, Need, Problem
from inertica.estimators.covariance import Scores, scores_of
from inertica.estimators.evidence import Evidence
from inertica.estimators.observe import Stacked, System
from inertica.estimators.solve import Composed, LinearSolve, Solution, Unconstrained

Array = NDArray[np.float64]

ROUNDING = 1e-13
"""Columns of a joint below this share of its largest are zero by structure, left over from cancellation."""

MEASURED: frozenset[Need] = frozenset({Need.MOTION, Need.TORQUE})
ROWS: frozenset[Capability] = frozenset({Capability.LINEAR, Capability.COVARIANCE})


class Linear(Estimator, Protocol):
    """A method with the capability LINEAR."""

    @property
    def solve(self) -> LinearSolve: ...

    def weighted(self, system: System, estimate: Estimate) -> tuple[System, Array]:
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
    own: ClassVar[frozenset[Capability]] = ROWS

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        return weighted_fit(self.name, problem, System(problem), self.solve, None, self.hac)

    def weighted(self, system: System, estimate: Estimate) -> tuple[System, Array]:
        return system, np.ones(system.n)


@dataclass(frozen=True)
class Wls(Composed):
    """min sum_j |W_j beta - y_j|^2 / sigma_j^2, sigma_j from the joint's own fit (survey, eqs. 21-22 corrected).

    sigma_j^2 = |r_j|^2 / (N_j - p_j), r_j the residual of joint j fitted alone, p_j the rank of its own columns.

    Args:
        solve: how the linear problem is solved; a consistent strategy makes this PC-WLS.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    solve: LinearSolve = field(default_factory=Unconstrained)
    hac: bool = True

    kind: ClassVar[str] = "wls"
    needs: ClassVar[frozenset[Need]] = MEASURED
    own: ClassVar[frozenset[Capability]] = ROWS

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        system = System(problem)
        return weighted_fit(self.name, problem, system, self.solve, joint_sigmas(system), self.hac)

    def weighted(self, system: System, estimate: Estimate) -> tuple[System, Array]:
        return system, 1.0 / np.maximum(estimate.sigma, 1e-300)


def weighted_fit(
    name: str,
    problem: Problem,
    system: System,
    solve: Callable[[Stacked, Problem], Solution],
    sigma: Array | None,
    use_hac: bool,
    start: float | None = None,
) -> Estimate:
    """Solve the system with joint weights 1 / sigma and work out the covariances.

    Args:
        name: of the method.
        problem, system: what is solved.
        solve: the strategy.
        sigma: (n,) per joint; None weighs all joints alike.
        use_hac: whether serial correlation is accounted for.
        start: `time.perf_counter()` when the method began.
    """
    start = time.perf_counter() if start is None else start
    check_counts(system)
    weights = np.ones(system.n) if sigma is None else 1.0 / sigma
    stacked = system.stacked(weights)
    solution = solve(stacked, problem)
    found = residual_sigmas(system, solution.beta)
    white: Scores | None = None
    plain = solution.spread
    if sigma is None:  # unweighted rows with their own variances: A (sum sigma_j^2 W_j'W_j) A
        G = np.asarray(sum(s**2 * gram(f, len(solution.beta)) for s, f in zip(found, system.factors, strict=True)))
        white, plain = Scores(G, G), solution.sensitivity @ G @ solution.sensitivity
    scores = scores_of(system, solution.beta, weights) if use_hac else white
    covariance = scores.through(solution.sensitivity) if use_hac and scores is not None else plain
    return Estimate(
        method=name,
        base=problem.base,
        beta=solution.beta,
        covariance=covariance,
        plain_covariance=plain,
        sigma=found,
        condition=solution.condition,
        unresolved=solution.unresolved,
        chi=solution.chi,
        seconds=time.perf_counter() - start,
        settings=solution.settings,
        warnings=solution.warnings,
        evidence=Evidence(stacked.R, stacked.z, scores, solution.strategy, stacked.rest),
    )


def observed(method: Estimator, problem: Problem) -> System:
    """The rows of a problem that has what the method needs."""
    problem.require(method)
    system = System(problem)
    check_counts(system)
    return system


def check_counts(system: System) -> None:
    """Refuse data of which masks leave nothing."""
    if np.any(system.counts() < 2):
        raise InputError("no samples are left to fit after masking; the log is all standstill, or masked as unusable")


def joint_sigmas(system: System) -> Array:
    """(n,) residual standard deviation of every joint fitted alone; joints that fit exactly get a floor instead of zero."""
    return own_sigmas(system.factors, system.counts())


def own_sigmas(factors: Sequence[JointFactor], counts: Array) -> Array:
    """The same from R factors of the joints and the numbers of their rows."""
    out = np.empty(len(factors))
    for j, (factor, count) in enumerate(zip(factors, counts, strict=True)):
        residual, rank = _own_residual(factor)
        out[j] = residual / np.sqrt(max(count - rank, 1.0))
    size = np.array([np.hypot(np.linalg.norm(f.z), f.rest) for f in factors]) / np.sqrt(np.maximum(counts, 1.0))
    floor = 1e-9 * max(float(size.max()), 1e-300)
    return np.maximum(out, floor)


def residual_sigmas(system: System, beta: Array) -> Array:
    """(n,) root mean square residual per joint, degrees of freedom shared over the joints."""
    lost = len(beta) / system.n
    out = np.empty(system.n)
    for j, (factor, count) in enumerate(zip(system.factors, system.counts(), strict=True)):
        misfit = factor.z - factor.R @ beta[list(factor.columns)]
        out[j] = np.hypot(np.linalg.norm(misfit), factor.rest) / np.sqrt(max(count - lost, 1.0))
    return out


def _own_residual(factor: JointFactor) -> tuple[float, int]:
    """Residual norm of a joint fitted alone, and the rank of its columns; some are dependent within one joint."""
    scale = np.linalg.norm(factor.R, axis=0)
    scale[scale <= ROUNDING * scale.max(initial=0.0)] = np.inf  # a column of rounding errors would fit noise
    U, s, _ = np.linalg.svd(factor.R / scale)
    rank = int(np.count_nonzero(s > 1e-9 * s[0])) if len(s) and s[0] > 0.0 else 0
    outside = (U.T @ factor.z)[rank:]
    return float(np.hypot(np.linalg.norm(outside), factor.rest)), rank


def gram(factor: JointFactor, size: int) -> Array:
    """(b, b) W_j'W_j of one joint."""
    out = np.zeros((size, size))
    out[np.ix_(factor.columns, factor.columns)] = factor.R.T @ factor.R
    return out
