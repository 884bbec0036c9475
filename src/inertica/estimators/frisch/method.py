"""`Frisch`: a box of parameters that noise on every variable leaves possible, and the point chosen inside it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.consistent.strategy import PreparedStrategy
from inertica.estimators.covariance import scores_of
from inertica.estimators.evidence import Evidence, ScaledSvd, Scores, Solution
from inertica.estimators.frisch.experiments import common, piecewise
from inertica.estimators.frisch.recursive import Bbrf
from inertica.estimators.frisch.scheme import Scheme
from inertica.estimators.frisch.selection import Select, selected, sign_bounds, within
from inertica.estimators.linear.least_squares import MEASURED, observed
from inertica.estimators.observe import Observations
from inertica.estimators.solve import Composed, FitErrors, LinearSolve, Unconstrained, estimated
from inertica.physical.conflict import InfeasibleError
from inertica.physical.constraints import Block, Custom

EXACT = 1e-9
"""Residuals below this share of the torque count as this share: data without noise have one vertex, not none."""

NAMED = 6
"""Parameters that a sentence lists."""


@dataclass(frozen=True)
class Frisch(Composed):
    """argmin |W beta - y| + |beta|  over l <= beta <= u, the box of the Frisch scheme (Frisch paper, section 3.4 and eq. 24).

    The scheme assumes independent noise of unknown size on the torque and on every column of W.  Each variable alone could carry
    all of it; the p + 1 fits that follow from this are the vertices, and the box encloses them.  `bbrf` intersects the boxes of all
    windows of rows with each other and with what signs the layout states.

    What holds: nothing but the paper's own assumption says that the box contains the true values, and in simulation it hardly ever
    does (docs/methods/frisch.md): columns made of one noisy motion do not have independent errors, and each window adds its chance
    to cut the truth off.  Held by such bounds, the point is worse than least squares.  The simplex statement applies only where no
    parameter changes its sign over the vertices; a warning says so where it does not.  Units matter: |beta| adds kilograms to newton
    metres.

    Standard deviations are those of least squares on the same rows; box and pull do not enter.

    Args:
        bounds: `bbrf`, or `box` for the vertices of all data at once.
        select: `norm` as printed, `squared`: |W beta - y|^2 + |beta|^2, or `experiments`: the relation that logs with different motion
            and the same noise have in common, (Sigma_k - Sigma_l) [beta; 1] = 0, without a box (`experiments.py`).
        window: rows in a window of `bbrf`; one row is one joint at one sample.  Shorter records count as one window.
        stride: rows between windows; 0 for one sample of all joints.
        signs: keep to the signs that the layout states (friction, drives).
        solve: `Consistent()` chooses among links that could exist (`pc-frisch`).
        hac: covariance that accounts for serial correlation of the residuals.
    """

    bounds: Literal["bbrf", "box"] = "bbrf"
    select: Literal[Select, "experiments"] = "norm"
    window: int = 1000
    stride: int = 0
    signs: bool = True
    solve: LinearSolve = field(default_factory=Unconstrained)
    hac: bool = True

    kind: ClassVar[str] = "frisch"
    needs: ClassVar[frozenset[Need]] = MEASURED
    method_capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ORDER_IN_TIME, Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        start = time.perf_counter()
        if self.select == "experiments":
            return self._common(problem, start)
        system = observed(self, problem)
        stacked = system.stacked()
        svd = _determined(stacked, problem)
        scheme = Scheme.of_factor(_factor(stacked))
        box, notes, counts = self._box(system, scheme)
        beta, chosen, solves = self._chosen(stacked, problem, *box)
        sigma = system.residual_sigmas(beta)
        spread = svd.half @ svd.half.T
        G = np.asarray(sum(s**2 * f.gram(len(beta)) for s, f in zip(sigma, system.factors, strict=True)))
        scores = scores_of(system, beta, np.ones(system.n)) if self.hac else Scores(G, G)
        free = None if chosen is None else self.solve.prepared(problem)  # what intervals may rely on: all but the box
        warnings = (*_premise(scheme, problem), *notes, *(() if chosen is None else chosen.warnings))
        chi = None if chosen is None else chosen.chi
        solution = Solution(beta, spread @ G @ spread, svd.condition, svd.unresolved, chi, warnings)
        evidence = Evidence(stacked.R, stacked.z, scores, free if isinstance(free, PreparedStrategy) else None, stacked.rest)
        settings = {**_record(scheme, box), **counts}
        errors = FitErrors(sigma, scores.through(spread))
        estimate = estimated(self.name, problem, solution, errors, start, evidence=evidence, settings=settings)
        reason = "direct solution" if self.select == "squared" else "balance of misfit and size settled"
        return replace(estimate, iterations=solves, stop_reason=reason)

    def _common(self, problem: Problem, start: float) -> Estimate:
        if Capability.TAKES_CONSTRAINTS in self.solve.capabilities:
            raise InputError("select=experiments takes no constraints; choose the method frisch")
        system = observed(self, problem)
        each = [observed(self, replace(problem, motions=(motion,), built=None)) for motion in problem.motions]
        point = common([piecewise(np.concatenate(list(data_rows(one)))) for one in each])
        sigma = system.residual_sigmas(point.beta)
        solution = Solution(point.beta, point.covariance, point.condition, np.zeros((len(point.beta), 0)))
        errors = FitErrors(sigma, point.covariance, point.covariance)
        estimate = estimated(self.name, problem, solution, errors, start, settings={"experiments": len(each)})
        return replace(estimate, iterations=1, stop_reason="direct solution")

    def _box(self, system: Observations, scheme: Scheme) -> tuple[tuple[Array, Array], tuple[str, ...], dict[str, object]]:
        known = sign_bounds(system.base) if self.signs else np.full(system.base.rank, -np.inf)
        rows = int(system.counts.sum())
        if self.bounds == "box" or rows < self.window:
            lower, upper = np.maximum(known, scheme.lower), scheme.upper
            against = [n for n, bad in zip(system.base.names, upper < lower, strict=True) if bad]
            note = (
                ""
                if self.bounds == "box"
                else f"{rows} rows are fewer than a window of {self.window}; all of them are one window"
            )
            notes = [
                note,
                f"every vertex gives {_listed(against)} a sign that it cannot have; it is set to its limit" if against else "",
            ]
            return (lower, np.maximum(lower, upper)), tuple(n for n in notes if n), {}
        bbrf = Bbrf(system.base.rank, self.window, known, stride=self.stride or system.n)
        for X in data_rows(system):
            bbrf.extend(X)
        share = bbrf.refused / max(bbrf.windows, 1)
        notes = []
        if share > 0.0:
            notes = [
                f"{100.0 * share:.3g} % of {bbrf.windows} windows contradict the box of those before and were left out: "
                "the true values need not lie inside the box"
            ]
        return (bbrf.lower, bbrf.upper), tuple(notes), {"windows": bbrf.windows, "windows_refused": bbrf.refused}

    def _chosen(self, stacked: Stacked, problem: Problem, lower: Array, upper: Array) -> tuple[Array, Solution | None, int]:
        assert self.select != "experiments"
        if Capability.TAKES_CONSTRAINTS not in self.solve.capabilities:
            beta, solves = selected(stacked, self.select, within(lower, upper))
            return beta, None, solves
        boxed = replace(problem, constraints=(*problem.constraints, box_constraint(problem, lower, upper)))
        solve, last = self.solve.prepared(boxed), list[Solution]()

        def consistent(rows: Stacked) -> Array:
            last[:] = [solve(rows)]
            return last[0].beta

        try:
            beta, solves = selected(stacked, self.select, consistent)
        except InfeasibleError as error:
            wider = "; 'bounds=box' takes the wider box of all data" if self.bounds == "bbrf" else ""
            raise InfeasibleError(f"no links that could exist lie inside the box of the Frisch scheme: {error}{wider}") from None
        return beta, last[0], solves


def data_rows(system: Observations) -> Iterator[Array]:
    """Rows [W_jk, -y_jk] (m, b + 1) of all joints, sample by sample."""
    b = system.base.rank
    for rows in system.rows():
        X = np.zeros((len(rows.y), system.n, b + 1))
        for j, (W, columns) in enumerate(zip(rows.W, system.columns, strict=True)):
            X[:, j, columns] = W
        X[:, :, b] = -rows.y
        yield X[rows.use]


def box_constraint(problem: Problem, lower: Array, upper: Array) -> Custom:
    """lower <= T chi <= upper as blocks on standard parameters."""
    blocks, base = [], problem.base
    for i, name in enumerate(base.names):
        for sign, bound, word in ((1.0, lower[i], "at least"), (-1.0, upper[i], "at most")):
            if np.isfinite(bound):
                size = max(abs(float(bound)), 1e-9)
                F, f = sign * base.T[i : i + 1] / size, np.array([-sign * bound / size])
                blocks.append(Block(f"base parameter {name} {word} {bound:g} (Frisch box)", "nonnegative", F, f))
    return Custom(tuple(blocks))


def _determined(stacked: Stacked, problem: Problem) -> ScaledSvd:
    svd = ScaledSvd.of(stacked.R)
    if not svd.known.all():
        weak = [n for n, v in zip(problem.base.names, np.abs(svd.unresolved).max(axis=1), strict=True) if v > 1e-3]
        raise InputError(
            f"method 'frisch' needs data that determine every base parameter, and these leave {_listed(weak)} open; add "
            "logs with other motion, or take a method that keeps the prior there (wls, pc-wls)"
        )
    return svd


def _factor(stacked: Stacked) -> Array:
    """R factor of [W, -y]."""
    rest = max(stacked.rest, EXACT * float(np.linalg.norm(stacked.z)), 1e-300)
    return Stacked(stacked.R, -stacked.z, rest).triangle


def _premise(scheme: Scheme, problem: Problem) -> tuple[str, ...]:
    """What Kalman's condition says of these data."""
    if scheme.simplex_holds:
        return ()
    changing = [n for n, c in zip(problem.base.names, scheme.sign_changes, strict=True) if c]
    count = scheme.relations.count
    more = f"; the data are compatible with {count} independent relations at once (Maxcor at least {count})" if count > 1 else ""
    return (
        f"{_listed(changing)} change{'s' * (len(changing) == 1)} sign over the vertices of the Frisch scheme, so that the "
        f"simplex of the vertices need not hold the solution (Kalman's condition){more}; the box is a heuristic here",
    )


def _record(scheme: Scheme, box: tuple[Array, Array]) -> Mapping[str, object]:
    lists: dict[str, Array] = {"lower": box[0], "upper": box[1], "vertex_lower": scheme.lower, "vertex_upper": scheme.upper}
    out: dict[str, object] = {name: tuple(float(x) for x in values) for name, values in lists.items()}
    return {**out, "simplex_holds": scheme.simplex_holds, "relations": 1 if scheme.simplex_holds else scheme.relations.count}


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
