"""Constrained least squares as a cone program on data that are built once per robot.

    min |A chi - z|^2 + |W (chi - chi_0)|^2    such that    F chi + f in K

in scaled variables x = chi / scale, M the triangular factor of [A; W] in scaled columns and x_u its unconstrained minimum: what the
constraints cost is exactly |M (x - x_u)|^2.  The squares are never formed as P = M'M, which squares the condition number.
Equations are eliminated.  A solve ends with a feasible point and a proof of how near the exact solution it is (`certified`), or
with the smallest group of statements that contradict each other (`conflict`).  All sizes are those of the parameter vector,
whatever the length of the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.errors import InerticaError
from inertica.physical.certified import GOOD, Nearest, certified
from inertica.physical.conesets import Accuracy, ConeSet, Plane, in_order
from inertica.physical.conflict import HELD, InfeasibleError, conflict_error, smallest_conflict
from inertica.physical.constraints import PHYSICAL, Block, Constraint, assembled, cone_slack, slack
from inertica.physical.fit import Fit
from inertica.physical.interior import near, strictly_inside
from inertica.physical.priors import Quadratic
from inertica.physical.pseudo import smat
from inertica.physical.scales import Reference
from inertica.physical.triangular import back_substituted
from inertica.threads import one_thread

__all__ = ["Accuracy", "ConeSolution", "InfeasibleError", "Metric", "Program", "SolveError"]

Index = NDArray[np.intp]

ACTIVE = 1e-6
"""A constraint counts as active when its slack (margin taken off) is below this, in units of the reference size."""

_SILENT = 1e-13
"""A direction of which data and prior say less than this part of what they say of the best known is held near the prior."""


class SolveError(InerticaError):
    """No point was found where there should be one; nothing is put in its place."""

    kind = "solve"


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """Result of a constrained solve.

    Args:
        chi: (P,).
        objective: squares of data and prior.
        squares: of the data alone.
        free_squares: of the data at the minimum without constraints, prior included.
        active: names of the constraints that hold the solution back.
        iterations: of the solver.
        status: how the point was found; "unconstrained minimum" when no solver was needed.
        solver: which.
        gap: proven bound on the distance to the exact solution, squared, in noise variances: every combination of parameters is
            within sqrt(gap) of its own standard deviations.  For a cost that is not convex (Riemannian) it holds near the solution.
    """

    chi: Array
    objective: float
    squares: float
    free_squares: float
    active: tuple[Block, ...]
    iterations: int
    status: str
    solver: str
    gap: float = 0.0


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
            M = _triangular(np.column_stack([stacked, right]))
            size = np.abs(np.diag(M)).max()
            if np.abs(np.diag(M)).min() <= _SILENT * size:
                # a pull that data and prior do not feel, so that there is one solution
                k, centre = len(scale), program.reference.values[free] / scale
                # times sqrt(k), so that the smallest diagonal entry clears the threshold though the pull is spread over all columns
                floor = max(_SILENT * size, 1e-300) * np.sqrt(k)
                M = _triangular(np.vstack([M, floor * np.column_stack([np.eye(k), centre])]))
        return cls(M[:, :-1], back_substituted(M[:, :-1], M[:, -1]))


def _triangular(rows: Array) -> Array:
    """(k, k + 1) upper triangular factor of (m, k + 1) rows, without what no solution reaches."""
    k = rows.shape[1] - 1
    R = np.asarray(np.linalg.qr(rows, mode="r"))
    out = np.zeros((k, k + 1))
    # the last row of R is the norm that no solution explains; fewer rows than columns leave zeros
    out[: min(len(R), k)] = R[:k]
    return out


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
        self.reference, self.accuracy, self.constraints = reference, accuracy or Accuracy(), tuple(constraints)
        self.free = np.flatnonzero(reference.free)
        self.scale = reference.scale[self.free]
        self.blocks = assembled(constraints, reference)

    def solve(self, fit: Fit, penalty: Quadratic) -> ConeSolution:
        """The constrained minimum.

        Raises:
            InfeasibleError: no parameters satisfy the constraints; the sentence names a smallest group that contradicts itself.
        """
        metric = Metric.of(self, fit, penalty)
        best = self.chi(metric.x)
        # the usual case with good data: no solver is started
        if all(value >= 0.0 for value in self.slacks(best).values()):
            return self._outcome(best, fit, penalty, fit.squares(best), 0, "unconstrained minimum", 0.0)
        with one_thread():
            solution = self.nearest(metric, GOOD * fit.noise)
        # squares of M are in units of the weighted rows; divided by their noise variance they count standard deviations
        gap = solution.gap / max(fit.noise, 1e-300)
        return self._outcome(self.chi(solution.x), fit, penalty, fit.squares(best), solution.iterations, solution.way, gap)

    def nearest(self, metric: Metric, good: float = GOOD) -> Nearest:
        """min |M (x - x_u)|^2 within the constraints; `good` is the gap that is good enough, in the same squares."""
        plane = self.plane
        # no equations: nothing to eliminate
        if plane.N.shape[1] == len(metric.x):
            M, w_u = metric.M, metric.x
        else:
            rows = _triangular(np.column_stack([metric.M @ plane.N, metric.M @ (metric.x - plane.origin)]))
            M, w_u = rows[:, :-1], back_substituted(rows[:, :-1], rows[:, -1])
        cones = self.cones
        if cones.depth(cones.value(w_u)) >= 0.0:
            nearest = Nearest(w_u, 0.0, 0, "equations alone")
        else:
            nearest = certified(M, w_u, cones, self.inside, self.accuracy, good)
        return Nearest(np.asarray(plane.origin + plane.N @ nearest.x), nearest.gap, nearest.iterations, nearest.way)

    @cached_property
    def plane(self) -> Plane:
        """Points that keep the equations.

        Raises:
            InfeasibleError: equations that contradict each other.
        """
        count = sum(len(b.f) for b in self.ordered if b.cone == "zero")
        plane = Plane.of(self._cone_rows[:count], self._cone_right[:count])
        if plane.miss > HELD:
            raise conflict_error(self.reference, self.conflict)
        return plane

    @cached_property
    def _room(self) -> tuple[ConeSet, Array]:
        """Inequalities on that plane, and a point strictly inside.

        Statements that leave no room (a bound of zero on what must not be negative) are loosened by `HELD`.
        """
        others = [b for b in self.ordered if b.cone != "zero"]
        whole = ConeSet.of_blocks(others, self.reference)
        cones = whole.on(self.plane.origin, self.plane.N)
        if not others:
            return cones, np.zeros(self.plane.N.shape[1])
        for by in (0.0, HELD):
            wide = cones.loosened(by) if by else cones
            x, depth = strictly_inside(wide)
            if depth > 0.0:
                return wide, x
        raise conflict_error(self.reference, self.conflict or self.ordered)

    @property
    def conflict(self) -> list[Block]:
        """The smallest group of constraints without a common point; empty when there is one."""
        return smallest_conflict(self.reference, self.ordered)

    @property
    def cones(self) -> ConeSet:
        """The inequalities on `plane`."""
        return self._room[0]

    @property
    def inside(self) -> Array:
        """A point strictly inside `cones`.

        Raises:
            InfeasibleError: there is none.
        """
        return self._room[1]

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

    def deepest(self, x: Array) -> Array:
        """A point well inside near x; see `interior.near`.

        Raises:
            InfeasibleError: nothing is strictly inside.
        """
        coordinates, depth = near(self.cones, self.plane.N.T @ (x - self.plane.origin))
        return np.asarray(self.plane.origin + self.plane.N @ (coordinates if depth > 0.0 else self.inside))

    def chi(self, x: ArrayLike) -> Array:
        """All parameters from scaled free ones."""
        out = np.array(self.reference.values)
        out[self.free] = self.scale * np.asarray(x, float)
        return out

    def slacks(self, chi: Array) -> dict[Block, float]:
        """How far inside its cone every block is; see `constraints.slack`."""
        values = self._cone_rows @ (chi[self.free] / self.scale) + self._cone_right
        whole, single = self._listed
        out = np.empty(len(self.ordered))
        alone, rows_alone = self._signs
        out[alone] = values[rows_alone]
        for where, rows in whole:  # semidefinite blocks of one size together
            out[where] = np.linalg.eigvalsh(smat(values[rows]))[:, 0]
        for k, span in single:
            out[k] = cone_slack(self.ordered[k].cone, values[span])
        return dict(zip(self.ordered, out.tolist(), strict=True))

    @cached_property
    def _listed(self) -> tuple[list[tuple[Index, Index]], list[tuple[int, slice]]]:
        """Numbers and rows of semidefinite blocks by their size, and of every other block but those of `_signs`."""
        ends = np.cumsum([len(b.f) for b in self.ordered], dtype=int)
        rows = [slice(int(end) - len(b.f), int(end)) for end, b in zip(ends, self.ordered, strict=True)]
        matrices = [k for k, b in enumerate(self.ordered) if b.cone == "semidefinite"]
        whole = []
        for size in sorted({len(self.ordered[k].f) for k in matrices}):
            same = [k for k in matrices if len(self.ordered[k].f) == size]
            whole.append((np.array(same, np.intp), np.array([np.arange(rows[k].start, rows[k].stop) for k in same], np.intp)))
        others = set(range(len(self.ordered))) - set(matrices) - set(self._signs[0].tolist())
        return whole, [(k, rows[k]) for k in sorted(others)]

    @cached_property
    def _signs(self) -> tuple[Index, Index]:
        """Numbers of the inequalities of one row each, and their rows."""
        ends = np.cumsum([len(b.f) for b in self.ordered], dtype=int)
        numbers = [k for k, b in enumerate(self.ordered) if b.cone == "nonnegative" and len(b.f) == 1]
        return np.array(numbers, np.intp), np.array([ends[k] - 1 for k in numbers], np.intp)

    def active(self, chi: Array) -> tuple[Block, ...]:
        """Constraints that hold with (almost) nothing to spare; equations always do."""
        return tuple(block for block, value in self.slacks(chi).items() if value < ACTIVE)

    def _outcome(
        self, chi: Array, fit: Fit, penalty: Quadratic, free: float, iterations: int, status: str, gap: float
    ) -> ConeSolution:
        squares = fit.squares(chi)
        return ConeSolution(chi, squares + penalty.value(chi), squares, free, self.active(chi), iterations, status, "cone", gap)

    @cached_property
    def broken_at_prior(self) -> tuple[Block, ...]:
        """Constraints that the prior's values do not keep."""
        return tuple(block for block in self.blocks if slack(block, self.reference.values) < 0.0)

    @cached_property
    def ordered(self) -> tuple[Block, ...]:
        """Blocks in the order of the cone data: equations, inequalities, second order, semidefinite."""
        return in_order(self.blocks)

    @cached_property
    def _cone_rows(self) -> Array:
        """F of all blocks in scaled free variables."""
        return np.vstack([b.F[:, self.free] for b in self.ordered] or [np.zeros((0, len(self.free)))]) * self.scale

    @cached_property
    def _cone_right(self) -> Array:
        known = np.where(self.reference.free, 0.0, self.reference.values)
        return np.concatenate([b.value(known) for b in self.ordered] or [np.zeros(0)])
