"""Linear solves as strategies: how a method turns R beta = z into an estimate."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Capability, Diagnostics, Estimate, Problem
from inertica.estimators.evidence import RESOLVED, Evidence, ScaledSvd, Solution


class LinearSolve(Protocol):
    """Solves the weighted problem min |R beta - z|; rows are expected to have unit variance when `spread` is used."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it adds to those of the method that uses it."""
        return frozenset()

    def named(self, kind: str) -> str:
        """Name of a kind of method that uses it: wls -> pc-wls."""
        return kind

    def prepared(self, problem: Problem) -> Callable[[Stacked], Solution]:
        """Itself with what it needs to know of a problem, for methods that solve several times."""
        return partial(self.__call__, problem=problem)

    def __call__(self, system: Stacked, problem: Problem) -> Solution: ...


class Composed:
    """A method that leaves its linear problems to a strategy `solve`, which has a part in its name and in what it can do."""

    solve: LinearSolve
    kind: ClassVar[str]
    method_capabilities: ClassVar[frozenset[Capability]]

    @property
    def name(self) -> str:
        return self.solve.named(self.kind)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.method_capabilities | self.solve.capabilities


@dataclass(frozen=True)
class Unconstrained(LinearSolve):
    """Plain least squares by SVD of the column-scaled R.

    Directions the data do not resolve keep the prior's value (zero without a prior) instead of noise.
    """

    resolved: float = RESOLVED

    def __call__(self, system: Stacked, problem: Problem) -> Solution:
        svd = ScaledSvd.of(system.R, self.resolved)
        before, half = _before(problem), svd.half
        warnings: tuple[str, ...] = ()
        if count := int(np.count_nonzero(~svd.known)):
            warning = f"{count} of {len(before)} combinations of parameters are not determined by these data"
            warnings = (f"{warning}; there the prior's values hold",)
        # the change from the prior is solved for, so that it is zero along directions that data do not determine
        beta = before + svd.solve(system.z - system.R @ before)
        return Solution(beta, half @ half.T, svd.condition, svd.unresolved, None, warnings)


@dataclass(frozen=True)
class Ridge(LinearSolve):
    """min |R beta - z|^2 + strength |D (beta - beta_0)|^2, D the column norms of R: a pull towards the prior, scale-free.

    Args:
        strength: weight of the pull relative to the data; 1e-4 moves well-determined parameters by about 0.01 %.
    """

    strength: float = 1e-4

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.PULLED})

    def named(self, kind: str) -> str:
        return f"{kind}+ridge"

    def __call__(self, system: Stacked, problem: Problem) -> Solution:
        svd = ScaledSvd.of(system.R)
        U, s, Vt, scale = svd.U, svd.s, svd.Vt, svd.scale
        before = _before(problem)
        # filter factors of Tikhonov's regularisation in unit columns, s of order one for what the data determine
        damped = s / (s**2 + self.strength)
        step = Vt.T @ (damped * (U.T @ (system.z - system.R @ before)))
        half = Vt.T * damped / scale[:, None]
        # beta moves by bread times a change of R'z; the covariance uses it on both sides of the scores
        bread = (Vt.T / (s**2 + self.strength)) @ Vt / np.outer(scale, scale)
        condition = float(s[0] / s[-1]) if s[-1] > 0.0 else np.inf
        return Solution(before + step / scale, half @ half.T, condition, np.zeros((len(scale), 0)), bread=bread)


def _before(problem: Problem) -> Array:
    """(b,) what holds where data are silent."""
    return np.zeros(problem.base.rank) if problem.prior is None else problem.prior_beta


@dataclass(frozen=True, eq=False)
class FitErrors:
    """How uncertain a linear fit is.

    Args:
        sigma: (n,) standard deviation of the residual torque per joint.
        covariance: (b, b) of beta; None when nothing is known of its errors.
        plain: (b, b) covariance for white residuals; the solution's spread when not given.
    """

    sigma: Array
    covariance: Array | None
    plain: Array | None = None


def estimated(
    method: str, problem: Problem, solution: Solution, errors: FitErrors, start: float, *, evidence: Evidence | None = None,
    settings: Mapping[str, object] | None = None,
) -> Estimate:  # fmt: skip
    """The estimate that a linear solve comes to.

    Args:
        method: its name.
        problem: what was solved.
        solution: how.
        errors: of the solution.
        start: `time.perf_counter()` when the method began.
        evidence: what the data alone say.
        settings: for the record, besides those of the solve.
    """
    plain = solution.spread if errors.plain is None else errors.plain
    return Estimate(
        method, problem.base, solution.beta, errors.covariance,
        Diagnostics(errors.sigma, solution.condition, solution.unresolved, plain), solution.chi,
        evidence=evidence, seconds=time.perf_counter() - start,
        settings={**(settings or {}), **solution.settings}, warnings=solution.warnings,
    )  # fmt: skip
