"""`Consistent`: the linear solve that returns only parameters a real robot can have.

It is a strategy like the others, so any method that takes one becomes physically consistent with it: `Wls(solve=Consistent())`.
The unknowns are all standard parameters that are not fixed; directions the data say nothing about are unknowns like the others,
decided by the constraints and the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError
from inertica.estimators.base import Estimator, Problem
from inertica.estimators.observe import Stacked
from inertica.estimators.solve import RESOLVED, Solution
from inertica.identifiability.base import BaseModel
from inertica.physical.active import response
from inertica.physical.cholesky import cholesky_solve
from inertica.physical.cone import Accuracy, Outcome, Program
from inertica.physical.constraints import PHYSICAL, Constraint
from inertica.physical.fit import Fit
from inertica.physical.logdet import newton_solve
from inertica.physical.priors import Euclidean, Penalty, Prior, Quadratic, chosen_strength
from inertica.physical.scales import Reference
from inertica.physical.uncertainty import Intervals, profile_intervals
from inertica.robot.layout import Parameters
from inertica.threads import one_thread

Array = NDArray[np.float64]

EXACT = 1e-9
"""Residuals below this share of the torque count as this share: no data are better than rounding."""

STRENGTHS = tuple(10.0**k for k in range(-3, 5))
"""Of a prior, for cross-validation to choose from."""


@dataclass
class _Memory:
    """Cone data of the robot solved last; methods that iterate solve for the same one again and again."""

    base: BaseModel | None = None
    prior: Parameters | None = None
    program: Program | None = None


@dataclass(frozen=True)
class Consistent:
    """min |R T chi - z|^2 + strength sigma^2 d(chi, chi_0)^2 over all chi that satisfy the constraints.

    Args:
        constraints: what holds; real bodies, signs and shares of coupled drives by default.
        prior: distance d and strength; by default a Euclidean pull that only decides where data are silent.
        solver: cone (Clarabel; quadratic priors), newton (all priors), cholesky (quadratic priors), or auto: the first that fits.
        accuracy: of the cone solver.
    """

    constraints: tuple[Constraint, ...] = PHYSICAL
    prior: Prior = field(default_factory=Euclidean)
    solver: Literal["auto", "cone", "newton", "cholesky"] = "auto"
    accuracy: Accuracy = field(default_factory=Accuracy)
    _memory: _Memory = field(default_factory=_Memory, compare=False, repr=False)

    def __call__(self, system: Stacked, problem: Problem) -> Solution:
        program, fit = self.program(problem), self.fit(system, problem)
        penalty = self.prior.penalty(program.reference, fit)
        outcome = self.solve(program, fit, penalty)
        return _solution(program, fit, penalty, outcome, system)

    def program(self, problem: Problem) -> Program:
        """Constraints of the problem's robot as cone data; kept for the next call."""
        m = self._memory
        if m.program is None or m.base is not problem.base or m.prior is not problem.prior:
            values = None if problem.prior is None else problem.prior.values
            m.program = Program(Reference.of(problem.base.layout, values), self.constraints, self.accuracy)
            m.base, m.prior = problem.base, problem.prior
        return m.program

    def fit(self, system: Stacked, problem: Problem) -> Fit:
        return Fit(system.R, system.z, problem.base.T, _noise(system, problem))

    def solve(self, program: Program, fit: Fit, penalty: Penalty) -> Outcome:
        if isinstance(penalty, Quadratic):
            if self.solver in ("auto", "cone"):
                return program.solve(fit, penalty)
            if self.solver == "cholesky":
                return cholesky_solve(program, fit, penalty)
        elif self.solver not in ("auto", "newton"):
            raise InputError(
                f"the solver '{self.solver}' takes quadratic priors only; use newton for {type(self.prior).__name__}"
            )
        return newton_solve(program, fit, penalty)

    def intervals(self, system: Stacked, problem: Problem, chi: Array, level: float = 0.95, inflation: float = 1.0) -> Intervals:
        """Intervals of all standard parameters around a solution of this system.

        Args:
            system, problem: as in the solve.
            chi: its solution.
            level: 0.95 for 95 %.
            inflation: factor on the variance of the rows, for residuals that are correlated in time.
        """
        program, fit = self.program(problem), self.fit(system, problem)
        penalty = self.prior.penalty(program.reference, fit)
        return profile_intervals(program, fit, penalty, chi, level=level, variance=inflation * fit.noise)

    def with_strength(self, strength: float) -> Consistent:
        return replace(self, prior=replace(self.prior, strength=strength), _memory=_Memory())  # type: ignore[type-var]


def cross_validated(
    solve: Consistent, blocks: Sequence[Stacked], problem: Problem, strengths: Sequence[float] = STRENGTHS
) -> tuple[Consistent, dict[float, float]]:
    """The strength of the prior that predicts blocks of the data best when each is left out in turn, and the error of each strength.

    Args:
        solve: constraints and kind of prior.
        blocks: factors of blocks of the data, rows of unit variance.
        problem: what they belong to.
        strengths: to choose from.
    """
    rests = [_joined([s for k, s in enumerate(blocks) if k != i]) for i in range(len(blocks))]

    def score(strength: float) -> float:
        candidate = solve.with_strength(strength)
        betas = [candidate(rest, problem).beta for rest in rests]
        return sum(float(np.sum((b.R @ beta - b.z) ** 2)) + b.rest**2 for b, beta in zip(blocks, betas, strict=True))

    best, scores = chosen_strength(strengths, score)
    return solve.with_strength(best), scores


def named(name: str, kind: type, **options: Any) -> Callable[[], Estimator]:
    """A method under another name with other options: `named("pc-wls", Wls, solve=Consistent())`."""
    renamed = type(kind.__name__, (kind,), {"name": name, "__module__": kind.__module__, "__doc__": kind.__doc__})

    def make() -> Estimator:
        method: Estimator = renamed(**options)
        return method

    return make


def _joined(parts: Sequence[Stacked]) -> Stacked:
    b = parts[0].R.shape[1]
    with one_thread():
        R = np.asarray(np.linalg.qr(np.vstack([np.column_stack([s.R, s.z]) for s in parts]), mode="r"))
    square = np.zeros((b + 1, b + 1))
    square[: len(R)] = R[: b + 1]
    rest = float(np.sqrt(square[b, b] ** 2 + sum(s.rest**2 for s in parts)))
    return Stacked(square[:b, :b], square[:b, b], rest)


def _noise(system: Stacked, problem: Problem) -> float:
    """Variance of a row: 1 when rows were divided by their standard deviation, that of the residuals otherwise."""
    n = problem.base.layout.robot.n
    rows = sum(-(-int(np.count_nonzero(~m.mask)) // m.decimator.ratio) for m in problem.motions) * n
    left = max(system.rest, EXACT * float(np.hypot(np.linalg.norm(system.z), system.rest)))
    return max(left**2 / max(rows - len(system.z), 1), 1e-300)


def _solution(program: Program, fit: Fit, penalty: Penalty, outcome: Outcome, system: Stacked) -> Solution:
    answer = response(program, fit, penalty, outcome.chi)
    T = fit.T
    bread = T @ answer.inverse @ T.T
    scale = np.linalg.norm(system.R, axis=0)
    scale[scale == 0.0] = 1.0
    with one_thread():
        U, s, Vt = np.linalg.svd(system.R / scale)
    known = s > RESOLVED * s[0] if s[0] > 0.0 else np.zeros(len(s), bool)
    condition = float(s[known][0] / s[known][-1]) if known.any() else np.inf
    return Solution(
        beta=T @ outcome.chi,
        spread=bread @ (system.R.T @ system.R) @ bread,
        condition=condition,
        unresolved=Vt[~known].T,
        chi=outcome.chi,
        warnings=_said(outcome, float(np.sum((U.T @ system.z)[~known] ** 2)) + system.rest**2, system, ~known),
        bread=bread,
    )


def _said(outcome: Outcome, least: float, system: Stacked, unknown: NDArray[np.bool_]) -> tuple[str, ...]:
    """What the constraints did, in one sentence each; `least` is the sum of squares that plain least squares leaves."""
    out = []
    held = [b.name for b in outcome.active if b.cone != "zero"]
    if held:
        now = system.rest**2 + outcome.squares
        price = f"by {100.0 * (np.sqrt(now / least) - 1.0):.2g} %" if least > 1e-18 * float(system.z @ system.z) else "from zero"
        listed = ", ".join(held[:6]) + (f" and {len(held) - 6} more" if len(held) > 6 else "")
        out.append(f"the fit is held back by: {listed}; its residual rises {price}")
    if unknown.any():
        count = int(np.count_nonzero(unknown))
        out.append(f"{count} combinations of parameters are not determined by these data; there prior and constraints decide")
    return tuple(out)
