"""Constrained least squares as a cone program, solved by Clarabel on data that are built once per robot.

    min |A chi - z|^2 + |W (chi - chi_0)|^2    such that    F chi + f in K

in scaled variables x = chi / scale.  The unknowns given to the solver are residuals r = M (x - x_u), M the triangular factor of
[A; W] in scaled columns and x_u its unconstrained minimum: what the constraints cost is exactly |r|^2.  The squares are never
formed as P = M'M, which squares the condition number.  All sizes are those of the parameter vector, whatever the length
of the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from inertica.errors import InerticaError
from inertica.physical.conflict import InfeasibleError, conflict_error, smallest_conflict
from inertica.physical.constraints import PHYSICAL, Block, Constraint, assembled, cone_slack
from inertica.physical.fit import Fit
from inertica.physical.priors import Quadratic
from inertica.physical.pseudo import side
from inertica.physical.scales import Reference
from inertica.threads import one_thread

__all__ = ["Accuracy", "InfeasibleError", "Metric", "Outcome", "Program", "SolveError"]

Array = NDArray[np.float64]

ACTIVE = 1e-6
"""A constraint counts as active when its slack (margin taken off) is below this, in units of the reference size."""

HELD = 1e-8
"""By how much a constraint (margin included) may be missed, in reference sizes; beyond it a solve does not count as solved."""

_ATTEMPTS = ((1.0, True), (1.0, False), (10.0, False), (0.1, True), (10.0, True), (0.1, False))
"""How a problem is given to Clarabel, one after the other until it reaches its accuracy: the unit of the constraints, and whether
Clarabel scales it further."""


class SolveError(InerticaError):
    """A solver did not reach its accuracy; nothing is put in its place."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a constrained solve found.

    Args:
        chi: (P,).
        objective: squares of data and prior.
        squares: of the data alone.
        free_squares: of the data at the minimum without constraints, prior included.
        active: names of the constraints that hold the solution back.
        iterations: of the solver.
        status: in its words; "unconstrained minimum" when no solver was needed.
        solver: which.
    """

    chi: Array
    objective: float
    squares: float
    free_squares: float
    active: tuple[Block, ...]
    iterations: int
    status: str
    solver: str


@dataclass(frozen=True)
class Accuracy:
    """Of Clarabel: relative and absolute duality gap and feasibility."""

    gap: float = 1e-8
    feasibility: float = 1e-9
    steps: int = 100


@dataclass(frozen=True, eq=False)
class Metric:
    """Data and prior in scaled free variables: |M (x - x_u)|^2 + constant."""

    M: Array
    x: Array

    @classmethod
    def of(cls, program: Program, fit: Fit, penalty: Quadratic) -> Metric:
        free, scale = program.free, program.scale
        stacked = np.vstack([fit.A[:, free], penalty.W[:, free]]) * scale
        known = np.where(program.reference.free, 0.0, program.reference.values)
        right = np.concatenate([fit.z - fit.A @ known, penalty.W @ (penalty.centre - known)])
        with one_thread():
            R = np.asarray(np.linalg.qr(np.column_stack([stacked, right]), mode="r"))
        k = len(scale)
        M = np.zeros((k, k + 1))
        M[: len(R)] = R[:k]
        if np.abs(np.diag(M)).min() <= 1e-15 * np.abs(np.diag(M)).max():
            raise SolveError("neither data nor prior say anything about some parameters; use a prior with a positive strength")
        return cls(M[:, :k], solve_triangular(M[:, :k], M[:, k]))


class Program:
    """Prebuilt cone data of a robot and a set of constraints.

    Args:
        reference: parameters, their scales and the values of fixed ones.
        constraints: the set.
        accuracy: of the solver.
    """

    def __init__(
        self, reference: Reference, constraints: Sequence[Constraint] = PHYSICAL, accuracy: Accuracy | None = None
    ) -> None:
        self.reference, self.accuracy = reference, accuracy or Accuracy()
        self.free = np.flatnonzero(reference.free)
        self.scale = reference.scale[self.free]
        self.blocks = assembled(constraints, reference)

    def solve(self, fit: Fit, penalty: Quadratic) -> Outcome:
        """The constrained minimum.

        Raises:
            InfeasibleError: no parameters satisfy the constraints; the sentence names a smallest group that contradicts itself.
            SolveError: the solver did not reach its accuracy.
        """
        metric = Metric.of(self, fit, penalty)
        best = self.chi(metric.x)
        if all(value >= 0.0 for value in self.slacks(best).values()):
            return self._outcome(best, fit, penalty, fit.squares(best), 0, "unconstrained minimum")
        x, iterations, status = self.nearest(metric)
        return self._outcome(self.chi(x), fit, penalty, fit.squares(best), iterations, status)

    def nearest(self, metric: Metric) -> tuple[Array, int, str]:
        """min |M (x - x_u)|^2 within the cones: x, iterations, status.

        The variables are r = M (x - x_u): the objective is |r|^2, and what the data know exactly drops out of the constraints by
        itself.  When Clarabel stops short of its accuracy, the same problem is given to it in other units; when none of them
        gets there, that is the result.
        """
        iterations, status = 0, ""
        rows = solve_triangular(metric.M, self._cone_rows.T, trans="T").T
        inside = self._cone_rows @ metric.x + self._cone_right
        factor = self._row_factors(inside)
        rows, inside = factor[:, None] * rows, factor * inside
        size = float(np.linalg.norm(rows))
        for unit, equilibrate in _ATTEMPTS:
            A, b = sp.csc_matrix(-rows / (unit * size)), inside / unit
            settings = self._settings[equilibrate]
            answer = clarabel.DefaultSolver(self._squares, np.zeros(len(metric.x)), A, b, self._cones, settings).solve()
            iterations, status = iterations + int(answer.iterations), str(answer.status)
            if status == "Solved":
                x = metric.x + solve_triangular(metric.M, np.array(answer.x) / size)
                missed = -min(self.slacks(self.chi(x)).values())
                if missed <= HELD:
                    return x, iterations, status
                status = f"Solved, but a constraint missed by {missed:.1g}"
            elif status in ("PrimalInfeasible", "AlmostPrimalInfeasible"):
                conflict = smallest_conflict(self)
                if conflict:
                    raise conflict_error(self, conflict)
        raise SolveError(
            f"{self.reference.layout.robot.name}: Clarabel ended with '{status}' after {iterations} iterations, "
            "so there is no result; loosen its accuracy or use a stronger prior"
        )

    def _row_factors(self, inside: Array) -> Array:
        """Factors that bring large values of constraints down to one; scaling a cone changes nothing."""
        out, start = np.empty(len(inside)), 0
        for block in self.ordered:
            part = inside[start : start + len(block.f)]
            single = block.cone in ("zero", "nonnegative")
            value = np.abs(part) if single else np.full(len(part), np.linalg.norm(part))
            out[start : start + len(part)] = 1.0 / np.maximum(value, 1.0)
            start += len(part)
        return out

    def chi(self, x: ArrayLike) -> Array:
        """All parameters from scaled free ones."""
        out = np.array(self.reference.values)
        out[self.free] = self.scale * np.asarray(x, float)
        return out

    def slacks(self, chi: Array) -> dict[Block, float]:
        """How far inside its cone every block is; see `constraints.slack`."""
        values = self._cone_rows @ (chi[self.free] / self.scale) + self._cone_right
        out, start = {}, 0
        for block in self.ordered:
            out[block] = cone_slack(block.cone, values[start : start + len(block.f)])
            start += len(block.f)
        return out

    def active(self, chi: Array) -> tuple[Block, ...]:
        """Constraints that hold with (almost) nothing to spare; equations always do."""
        return tuple(block for block, value in self.slacks(chi).items() if value < ACTIVE)

    def _outcome(self, chi: Array, fit: Fit, penalty: Quadratic, free: float, iterations: int, status: str) -> Outcome:
        squares = fit.squares(chi)
        active = self.active(chi)
        return Outcome(chi, squares + penalty.value(chi), squares, free, active, iterations, status, "clarabel")

    @cached_property
    def ordered(self) -> tuple[Block, ...]:
        """Blocks in the order of the cone data: equations, inequalities, second order, semidefinite."""
        order = ("zero", "nonnegative", "second order", "semidefinite")
        return tuple(b for cone in order for b in self.blocks if b.cone == cone)

    @cached_property
    def _cones(self) -> list[object]:
        return cones_of(self.ordered)

    @cached_property
    def _cone_rows(self) -> Array:
        """F of all blocks in scaled free variables."""
        return np.vstack([b.F[:, self.free] for b in self.ordered] or [np.zeros((0, len(self.free)))]) * self.scale

    @cached_property
    def _cone_right(self) -> Array:
        known = np.where(self.reference.free, 0.0, self.reference.values)
        return np.concatenate([b.value(known) for b in self.ordered] or [np.zeros(0)])

    @cached_property
    def _squares(self) -> sp.csc_matrix:
        return sp.csc_matrix(2.0 * sp.eye(len(self.scale)))

    @cached_property
    def _settings(self) -> dict[bool, clarabel.DefaultSettings]:
        out = {equilibrate: settings_of(self.accuracy) for equilibrate in (True, False)}
        out[False].equilibrate_enable = False
        return out


def cones_of(blocks: Sequence[Block]) -> list[object]:
    """Clarabel's cones of blocks in their order; neighbours of the linear kinds are merged."""
    out: list[object] = []
    for kind, make in (("zero", clarabel.ZeroConeT), ("nonnegative", clarabel.NonnegativeConeT)):
        rows = sum(len(b.f) for b in blocks if b.cone == kind)
        if rows:
            out.append(make(rows))
    out.extend(clarabel.SecondOrderConeT(len(b.f)) for b in blocks if b.cone == "second order")
    out.extend(clarabel.PSDTriangleConeT(side(len(b.f))) for b in blocks if b.cone == "semidefinite")
    return out


def settings_of(accuracy: Accuracy) -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = accuracy.gap
    settings.tol_feas = accuracy.feasibility
    settings.max_iter = accuracy.steps
    settings.max_threads = 1
    settings.direct_solve_method = "qdldl"
    return settings
