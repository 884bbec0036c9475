"""`Consistent`: the linear solve that returns only parameters a real robot can have.

It is a strategy like the others, so any method that takes one becomes physically consistent with it: `Wls(solve=Consistent())`.
The unknowns are all standard parameters that are not fixed; directions the data say nothing about are unknowns like the others,
decided by the constraints and the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Estimator, Problem
from inertica.estimators.consistent.mild import MildStrength, correlation, mild_strength
from inertica.estimators.evidence import ScaledSvd, Solution
from inertica.estimators.solve import Composed, LinearSolve
from inertica.physical.active import response
from inertica.physical.cholesky import cholesky_solve
from inertica.physical.cone import ConeSolution, Program
from inertica.physical.conesets import Accuracy
from inertica.physical.conflict import InfeasibleError
from inertica.physical.constraints import PHYSICAL, Constraint, RealBody, combined
from inertica.physical.fit import Fit
from inertica.physical.logdet import newton_solve
from inertica.physical.pointmass import pointmass_solve
from inertica.physical.priors import (
    BaseRidge,
    Entropic,
    Euclidean,
    Penalty,
    Plain,
    Prior,
    Pullback,
    Quadratic,
    Riemannian,
    chosen_strength,
    metric_notes,
)
from inertica.physical.scales import Reference
from inertica.physical.uncertainty import Intervals, profile_intervals
from inertica.physical.untouched import COSTLY, holdable, moved_sentence, untouched

Solver = Literal["auto", "cone", "newton", "cholesky", "points"]

EXACT = 1e-9
"""Residuals below this share of the torque count as this share: no data are better than rounding."""

DOUBTFUL = 1e-2
"""Gap of a solve, in noise variances, that is worth a word: a tenth of a standard deviation."""

STRENGTHS = tuple(10.0**k for k in range(-3, 5))
"""Of a prior, for cross-validation to choose from."""

BLOCKS = 5
"""Parts of every record of which cross-validation leaves one out at a time."""


PRIORS: dict[str, Prior] = {
    "euclidean": Euclidean(1.0),
    "entropic": Entropic(),
    "pullback": Pullback(),
    "riemann": Riemannian(),
    "plain": Plain(),
}
"""What may follow the name of a consistent method and a plus; their strength is chosen by cross-validation, but for `MILD` and plain,
whose strength is in units of parameters and given."""

MILD = "entropic"
"""The prior whose strength is mild (see `mild`): it keeps every link near the model where data do not decide, at no cost to them."""


@dataclass(frozen=True)
class Consistent(LinearSolve):
    """min |R T chi - z|^2 + strength sigma^2 d(chi, chi_0)^2 over all chi that satisfy the constraints.

    Args:
        constraints: what holds; real bodies, signs and shares of coupled drives by default.  Those of the problem come on top.
        prior: distance d and strength; by default a Euclidean pull that only decides where data are silent.
        solver: cone (Clarabel; quadratic priors), newton (all priors), cholesky or points (an approximation whose error is told;
            quadratic priors), or auto: the first that fits.
        accuracy: of the cone solver.
        strength: that given with the prior; the one that predicts parts of the data best when each is left out in turn; or mild (see
            `mild`; mildest without a search), for priors on the cone.  A chosen one is chosen once for a problem, with the weights
            of plain WLS, and kept while a method iterates (`PreparedStrategy`).  Intervals still rely on the stated prior only, and
            on no mild prior at all.
    """

    constraints: tuple[Constraint, ...] = PHYSICAL
    prior: Prior = field(default_factory=Euclidean)
    solver: Solver = "auto"
    accuracy: Accuracy = field(default_factory=Accuracy)
    strength: Literal["given", "cross-validated", "mild", "mildest"] = "given"

    @property
    def mild(self) -> bool:
        """Whether the prior's strength is one that data hardly notice."""
        return self.strength in ("mild", "mildest")

    @classmethod
    def towards(cls, prior: str) -> Consistent:
        """With a pull towards the prior, by the name of its distance: what `+entropic` behind the name of a method means."""
        if prior == "plain":
            return cls(prior=PRIORS[prior])
        return cls(prior=PRIORS[prior], strength="mild" if prior == MILD else "cross-validated")

    @property
    def pulls(self) -> bool:
        """Whether the prior does more than decide where data are silent."""
        return self.strength != "given" or self.prior != Euclidean()

    @property
    def capabilities(self) -> frozenset[Capability]:
        out = {Capability.TAKES_CONSTRAINTS, Capability.TAKES_PRIOR}
        out |= {Capability.PULLED} if self.pulls else set()
        real = any(isinstance(c, RealBody) and c.links is None for c in self.constraints)
        return frozenset(out | {Capability.CONSISTENT} if real else out)

    def named(self, kind: str) -> str:
        if isinstance(self.prior, BaseRidge) and kind == "wls":
            return "pc-ridge"
        word = next((w for w, p in PRIORS.items() if type(p) is type(self.prior)), type(self.prior).__name__.lower())
        return f"pc-{kind}+{word}" if self.pulls else f"pc-{kind}"

    def __call__(self, system: Stacked, problem: Problem) -> Solution:
        return self.prepared(problem)(system)

    def prepared(self, problem: Problem) -> PreparedStrategy:
        """Cone data of the robot, and the strength for these data; methods that iterate ask for it once."""
        alone = replace(self, strength="given")
        ready = PreparedStrategy(self, alone, problem, self.program(problem))
        if self.strength == "given":
            return ready
        if self.mild:
            choice = mild_strength(ready, problem, searched=self.strength == "mild")
            used = replace(alone, prior=Euclidean()) if choice.strength is None else self.with_strength(choice.strength)
            return replace(ready, used=used, scores=choice.left_out, mildness=choice)
        system = problem.observations
        blocks = [block.stacked(weights=1.0 / system.sigmas) for block in system.blocks(BLOCKS)]
        used, scores = cross_validated(alone, blocks, problem)
        return replace(ready, used=used, scores=scores)

    def program(self, problem: Problem) -> Program:
        """Own constraints and the problem's as cone data."""
        values = None if problem.prior is None else problem.prior.values
        reference = Reference.of(problem.base.layout, values)
        return Program(reference, combined(self.constraints, problem.constraints), self.accuracy)

    def fit(self, system: Stacked, problem: Problem) -> Fit:
        return Fit(system.R, system.z, problem.base.T, _noise(system, problem))

    def solve(self, program: Program, fit: Fit, penalty: Penalty) -> ConeSolution:
        if isinstance(penalty, Quadratic):
            if self.solver in ("auto", "cone"):
                return program.solve(fit, penalty)
            if self.solver == "cholesky":
                return cholesky_solve(program, fit, penalty)
            if self.solver == "points":
                return pointmass_solve(program, fit, penalty).outcome
        elif self.solver not in ("auto", "newton"):
            raise InputError(
                f"the solver '{self.solver}' takes quadratic priors only; use newton for {type(self.prior).__name__}"
            )
        return newton_solve(program, fit, penalty)

    def with_strength(self, strength: float) -> Consistent:
        """The same with another strength, given."""
        return replace(self, prior=replace(self.prior, strength=strength), strength="given")  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class PreparedStrategy:
    """A consistent strategy at work on the data of one problem; a solution carries it along, for intervals and repetitions.

    Args:
        stated: as the user stated it.
        used: with the strength that it has here: the one stated, or the one chosen.
        problem: whose data.
        program: constraints and prior values, all parameters that are not fixed free.
        scores: strength -> error on blocks left out.
        mildness: how a mild strength was found.
        held: programs with some parameters at the prior, made when first needed.
        rows: how many say as much as one independent one; likewise.
    """

    stated: Consistent
    used: Consistent
    problem: Problem
    program: Program
    scores: Mapping[float, float] = field(default_factory=dict)
    mildness: MildStrength | None = None
    held: dict[bytes, Program] = field(default_factory=dict, repr=False)
    rows: list[float] = field(default_factory=list, repr=False)

    @property
    def mild(self) -> bool:
        return self.stated.mild

    def fit(self, system: Stacked) -> Fit:
        return self.stated.fit(system, self.problem)

    def prior(self, strength: float) -> Prior:
        """The prior of its kind with a strength."""
        return self.stated.with_strength(strength).prior

    def __call__(self, system: Stacked) -> Solution:
        program, fit = self.program, self.fit(system)
        outcome, sentences = self.kept(fit, self.used.prior, self._correlation)
        solution = _solution(program, fit, self.believed.penalty(program.reference, fit), outcome, system)
        notes = (*metric_notes(self.stated.prior, program.reference), *sentences, *self._chosen_note())
        settings: dict[str, object] = {}
        if self.stated.strength != "given":
            settings = {"strength": self.used.prior.strength, "left_out": dict(self.scores)}
        if self.mildness is not None:
            settings["prior"] = self.mildness.sentence
        return replace(solution, warnings=(*solution.warnings, *notes), settings=settings, strategy=self)

    def kept(self, fit: Fit, prior: Prior, correlation: Callable[[], float]) -> tuple[ConeSolution, tuple[str, ...]]:
        """The constrained minimum with everything that no data touch left at the prior, and sentences on what could not be left.

        Args:
            fit: the data.
            prior: distance and strength.
            correlation: rows that say as much as one independent one; asked for only where held values stand against the data.
        """
        program = self.program
        silent = untouched(program, fit)
        # the plain pull is there for the published minimum, in which nothing is held
        holds = self.used.solver in ("auto", "cone", "newton") and not isinstance(prior, Plain)
        holding = holdable(program, silent) if holds else np.zeros_like(silent)
        penalty = prior.penalty(program.reference, fit)
        if not isinstance(penalty, Quadratic):
            # such a prior keeps bodies strictly inside: nothing is ever tight, whatever held values cost; what a quadratic one
            # holds without cost is held
            quadratic = Euclidean().penalty(program.reference, fit)
            holding, _ = self._holding_without_cost(fit, quadratic, holding, correlation)
        holding, outcome = self._holding_without_cost(fit, penalty, holding, correlation)
        outcome = outcome or self.used.solve(program, fit, penalty)
        return outcome, moved_sentence(program, silent, outcome.chi)

    def _holding_without_cost(
        self,
        fit: Fit,
        penalty: Penalty,
        holding: NDArray[np.bool_],
        correlation: Callable[[], float],
    ) -> tuple[NDArray[np.bool_], ConeSolution | None]:
        """What of the values to be held can be, without a significant rise of the squares of the data, and the solution.

        The solution is None where nothing was to be held, or where held and stated values contradict each other.
        """
        solve, free = self.used.solve, None
        while holding.any():
            try:
                outcome = solve(self._holding(holding), fit, penalty)
            except InfeasibleError:  # what is held and what is stated do not go together
                return np.zeros_like(holding), None
            tight = [b for b in outcome.active if b.cone != "zero" and np.any(b.F[:, holding] != 0.0)]
            if not tight:
                return holding, outcome
            limit = COSTLY * correlation() * fit.noise
            if outcome.squares > limit:  # otherwise nothing that is let go could save as much
                free = free or solve(self.program, fit, penalty)
            if outcome.squares <= limit or (free is not None and outcome.squares - free.squares <= limit):
                return holding, outcome
            holding = holding & ~np.any([np.any(b.F != 0.0, axis=0) for b in tight], axis=0)
        return holding, free

    def _correlation(self) -> float:
        if self.mildness is not None:
            return self.mildness.kappa
        if not self.rows:
            system = self.problem.observations
            self.rows.append(correlation(system, system.stacked(1.0 / system.sigmas)))
        return self.rows[0]

    def _holding(self, holding: NDArray[np.bool_]) -> Program:
        """The same with some parameters at the prior."""
        key, program = holding.tobytes(), self.program
        if key not in self.held:
            self.held[key] = Program(replace(program.reference, held=holding), program.constraints, self.stated.accuracy)
        return self.held[key]

    @property
    def believed(self) -> Prior:
        """The prior that intervals may rely on: never stronger than it was given.

        Cross-validation asks what predicts well, and a pull far stronger than the prior is good predicts well where data say little.
        What it chose counts here only when it is weaker.  A mild prior decides between values that data do not tell apart, and is
        no knowledge: intervals do not rely on it at all.
        """
        if self.mild:
            return Euclidean()
        return min(self.used.prior, self.stated.prior, key=lambda prior: prior.strength)

    def intervals(self, system: Stacked, chi: Array, level: float = 0.95, inflation: float = 1.0) -> Intervals:
        """Intervals of all standard parameters around a solution of this system.

        Args:
            system: as in the solve.
            chi: its solution.
            level: 0.95 for 95 %.
            inflation: factor on the variance of the rows, for residuals that are correlated in time.
        """
        fit = self.fit(system)
        penalty = self.believed.penalty(self.program.reference, fit)
        return profile_intervals(self.program, fit, penalty, chi, level=level, variance=inflation * fit.noise)

    def _chosen_note(self) -> tuple[str, ...]:
        if self.mildness is not None:
            return (self.mildness.sentence,) if self.mildness.weakened else ()
        if not self.scores:
            return ()
        best = max(min(self.scores.values()), 1e-300)
        more = ", ".join(f"{s:g}: {100.0 * (np.sqrt(v / best) - 1.0):.2g} %" for s, v in self.scores.items() if np.isfinite(v))
        note = f"the prior's strength {self.used.prior.strength:g} was chosen by cross-validation"
        return (f"{note} (error on data left out above the least, by strength: {more})",)


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
    rests = [Stacked.joined([s for k, s in enumerate(blocks) if k != i]) for i in range(len(blocks))]
    program = solve.program(problem)

    def score(strength: float) -> float:
        candidate, total = solve.with_strength(strength), 0.0
        for left_out, rest in zip(blocks, rests, strict=True):
            fit = candidate.fit(rest, problem)
            chi = candidate.solve(program, fit, candidate.prior.penalty(program.reference, fit)).chi
            total += float(np.sum((left_out.R @ (fit.T @ chi) - left_out.z) ** 2)) + left_out.rest**2
        return total

    best, scores = chosen_strength(strengths, score)
    return solve.with_strength(best), scores


def settled(method: Estimator, problem: Problem, estimate: Estimate | None = None) -> Estimator:
    """The method with the strength of the prior that it has in an estimate, or would have for a problem, as a given one."""
    if not isinstance(method, Composed) or not isinstance(method.solve, Consistent) or method.solve.strength == "given":
        return method
    known = None if estimate is None or estimate.evidence is None else estimate.evidence.strategy
    ready = known if isinstance(known, PreparedStrategy) else method.solve.prepared(problem)
    return replace(method, solve=ready.used)  # type: ignore[type-var]


def _noise(system: Stacked, problem: Problem) -> float:
    """Variance of a row: 1 when rows were divided by their standard deviation, that of the residuals otherwise."""
    n = problem.base.layout.robot.n
    rows = sum(-(-int(np.count_nonzero(~m.mask)) // m.decimator.ratio) for m in problem.motions) * n
    left = max(system.rest, EXACT * float(np.hypot(np.linalg.norm(system.z), system.rest)))
    return max(left**2 / max(rows - len(system.z), 1), 1e-300)


def _solution(program: Program, fit: Fit, penalty: Penalty, outcome: ConeSolution, system: Stacked) -> Solution:
    # whether an active inequality holds exactly is not known, so it takes away no uncertainty
    answer = response(program, fit, penalty, outcome.chi, held=False)
    T = fit.T
    bread = T @ answer.inverse @ T.T
    svd = ScaledSvd.of(system.R)
    least = float(np.sum((svd.U.T @ system.z)[~svd.known] ** 2)) + system.rest**2
    return Solution(
        beta=T @ outcome.chi,
        spread=bread @ (system.R.T @ system.R) @ bread,
        condition=svd.condition,
        unresolved=svd.unresolved,
        chi=outcome.chi,
        warnings=_warnings(outcome, least, system, ~svd.known),
        bread=bread,
    )


def _warnings(outcome: ConeSolution, least: float, system: Stacked, unknown: NDArray[np.bool_]) -> tuple[str, ...]:
    """What the constraints did, in one sentence each; `least` is the sum of squares that plain least squares leaves."""
    out = [outcome.status] if outcome.solver == "points" else []
    if outcome.gap > DOUBTFUL:
        out.append(f"the fit is exact to {np.sqrt(outcome.gap):.2g} standard deviations of the parameters only")
    held = [b.name for b in outcome.active if b.cone != "zero"]
    if held:
        now = system.rest**2 + outcome.squares
        price = f"by {100.0 * (np.sqrt(now / least) - 1.0):.2g} %" if least > 1e-18 * float(system.z @ system.z) else "from zero"
        names = ", ".join(held[:6]) + (f" and {len(held) - 6} more" if len(held) > 6 else "")
        out.append(f"the fit is held back by: {names}; its residual rises {price}")
    if unknown.any():
        count = int(np.count_nonzero(unknown))
        out.append(f"{count} combinations of parameters are not determined by these data; there prior and constraints decide")
    return tuple(out)
