"""How far parameters can go within constraints while data and prior stay below a level, as far as that shortens given intervals.

    min, max x_k   such that   |M (x - x_u)| <= radius,   F chi + f in K

Most ends of given intervals are within reach and need no program: a point of the set beyond them is found without one.  The others
are small cone programs on the data of the fit, all with the same matrix.  Large robots have many, and not small; each then takes only
the constraints on its own parameter, so that ends lie further out than they need, never less far.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from inertica.arrays import Array, Mask
from inertica.dynamics.arrays import is_large
from inertica.physical.active import tangent_inverse
from inertica.physical.cone import Metric, Program
from inertica.physical.conesets import Accuracy, clarabel, cones_of, settings_of
from inertica.physical.conflict import HELD
from inertica.physical.constraints import Block, Cone, cone_slack
from inertica.physical.pseudo import smat

_ENDS = Accuracy(gap=1e-3, feasibility=1e-4)
"""Ends to a thousandth of the radius, which is about three standard deviations."""

_INWARDS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
"""How far towards a point well inside, when a point that shows an end to be within reach is looked for."""


class Cuts:
    """The set |M (x - x_u)| <= radius within the constraints, and what it cuts off intervals.

    An end needs no cone program when some point of the set is known beyond it.  Such points are looked for along the directions
    that the active constraints leave (`active`), a little inwards; ends that were computed show others to be reachable.
    """

    def __init__(self, program: Program, metric: Metric, chi: Array, radius: float) -> None:
        self.program, self.metric, self.chi, self.radius = program, metric, chi, radius
        self.inverse = np.asarray(solve_triangular(metric.M, np.eye(len(metric.x))))
        self.deviation = np.linalg.norm(self.inverse, axis=1)
        self.inside = program._cone_rows @ metric.x + program._cone_right
        # rows in coordinates in which the ball has radius one
        self.rows = program._cone_rows @ self.inverse * radius

    def applied(self, free_ends: Array, points: Array, wanted: Mask) -> Array:
        """(2, k) ends cut where no point of the set lies beyond them; NaN where not wanted.

        Args:
            own: (2, k) lower and upper ends before, in scaled parameters.
            points: (2 k, k) where they are taken.
            wanted: (k,) which are asked for.
        """
        out = np.where(wanted, free_ends, np.nan)
        blocks = self._near()
        if not blocks:
            return out
        reached = self._reached(free_ends, points)
        if (wanted & ~reached).any():
            programs = _Programs(self, blocks)
            for j in np.flatnonzero(wanted):
                for side, sign in ((0, 1.0), (1, -1.0)):
                    if not reached[side, j]:
                        x = programs.find(int(j), sign)
                        if x is None:  # not cut: the interval stays as long as data and prior leave it
                            continue
                        beyond = np.array([x <= free_ends[0], x >= free_ends[1]])
                        if not beyond[side, j]:
                            out[side, j] = x[j]
                        if (
                            programs.whole
                        ):  # a computed point often lies beyond ends of other parameters, which then need no program
                            reached |= beyond
        return out

    def _near(self) -> list[tuple[Block, slice]]:
        """Blocks that some point of the ball breaks; the others can be left out."""
        out, start = [], 0
        for block in self.program.ordered:
            where = slice(start, start + len(block.f))
            start = where.stop
            room = cone_slack(block.cone, self.inside[where])
            # the ball moves a block's value by at most the largest singular value of its rows; deeper blocks cannot be broken
            if block.cone == "zero" or room < np.linalg.norm(self.rows[where], 2):
                out.append((block, where))
        return out

    def _reached(self, ends: Array, points: Array) -> Mask:
        """(2, k) ends beyond which a point of the set was found."""
        own_points = self._held(points).reshape(ends.shape)
        here = self.chi[self.program.free] / self.program.scale
        out = own_points | np.array([here <= ends[0], here >= ends[1]])
        if out.all():
            return out
        C = tangent_inverse(self.program, self.metric, self.chi)
        moving = np.diag(C) > 1e-12 * self.deviation**2
        # scaled to one unit of the parameter that the end is of
        directions = np.where(moving, C / np.where(moving, np.diag(C), 1.0), 0.0)  # columns: one unit of the parameter itself
        target = self._middle(here)
        for inwards in _INWARDS:
            base = here + inwards * (target - here)
            tried = base + (ends - base)[..., None] * directions.T  # (2, k, k)
            out |= self._held(tried.reshape(-1, len(here))).reshape(out.shape) & moving
        return out

    def _middle(self, here: Array) -> Array:
        """A point well inside the constraints, as far as the ball allows."""
        deep = self.program.deepest(here)
        start, step = self.metric.M @ (here - self.metric.x), self.metric.M @ (deep - here)
        a, b, c = step @ step, start @ step, start @ start - 0.9 * self.radius**2
        longest = float((np.sqrt(np.maximum(b * b - a * c, 0.0)) - b) / a) if a > 0.0 else 0.0
        return np.asarray(here + min(max(longest, 0.0), 1.0) * (deep - here))

    def _held(self, x: Array) -> Mask:
        """(n,) which of (n, k) points are in the set."""
        away = (x - self.metric.x) @ self.metric.M.T
        values = x @ self.program._cone_rows.T + self.program._cone_right
        out = np.einsum("ij,ij->i", away, away) <= self.radius**2
        start = 0
        for block in self.program.ordered:
            part = values[:, start : start + len(block.f)]
            start += len(block.f)
            out[out] = _slacks(block.cone, part[out]) >= (-HELD if block.cone == "zero" else 0.0)
        return out


class _Programs:
    """The programs of all parameters: one for all, or of large robots one for those that the same constraints are on."""

    def __init__(self, cuts: Cuts, blocks: list[tuple[Block, slice]]) -> None:
        self.cuts, self.blocks = cuts, blocks
        self.whole = not is_large(cuts.program.reference.layout.robot)
        self.ends: dict[tuple[int, ...], _Ends] = {}

    def find(self, j: int, sign: float) -> Array | None:
        """As `_Ends.find`; None also where no constraint is on the parameter."""
        column = self.cuts.program.free[j]
        key = tuple(k for k, (block, _) in enumerate(self.blocks) if self.whole or np.any(block.F[:, column]))
        if not key:
            return None
        if key not in self.ends:
            self.ends[key] = _Ends(self.cuts, [self.blocks[k] for k in key])
        return self.ends[key].find(j, sign)


class _Ends:
    """The cone programs min and max x_j on the set; only the objective differs, so the solver is set up once.

    What the constraints do not see of y = M (x - x_u) / radius only takes part in |y| <= 1: its length, along the objective, is one
    variable beside the others.
    """

    def __init__(self, cuts: Cuts, blocks: list[tuple[Block, slice]]) -> None:
        self.cuts = cuts
        rows_of_blocks = np.concatenate([np.arange(where.start, where.stop) for _, where in blocks])
        factor = cuts.program._row_factors(cuts.inside)[rows_of_blocks]
        value = factor * cuts.inside[rows_of_blocks]
        self.seen, R = np.linalg.qr((factor[:, None] * cuts.rows[rows_of_blocks]).T)  # columns span what the constraints see
        rows = np.column_stack([R.T, np.zeros(len(rows_of_blocks))])
        k = rows.shape[1]
        linear = sum(len(b.f) for b, _ in blocks if b.cone in ("zero", "nonnegative"))
        ball = np.vstack([np.zeros((1, k)), -np.eye(k)])
        self.A = sp.csc_matrix(np.vstack([-rows[:linear], ball, -rows[linear:]]))
        self.b = np.concatenate([value[:linear], [1.0], np.zeros(k), value[linear:]])
        kinds = {b.cone for b, _ in blocks} & {"zero", "nonnegative"}
        self.cones = cones_of([b for b, _ in blocks])
        self.cones.insert(len(kinds), clarabel.SecondOrderConeT(k + 1))
        self.P = sp.csc_matrix((k, k))
        self.solvers: dict[bool, clarabel.DefaultSolver] = {}

    def find(self, j: int, sign: float) -> Array | None:
        """The point with the least (sign 1) or largest (sign -1) x_j; None when the solver does not get there."""
        cuts = self.cuts
        row = cuts.inverse[j] / cuts.deviation[j]
        among = self.seen.T @ row
        unseen = row - self.seen @ among
        length = float(np.linalg.norm(unseen))
        objective = sign * np.append(among, length)
        for careful in (False, True):
            answer = self._solver(careful, objective).solve()
            if str(answer.status) == "Solved":
                w = np.array(answer.x)
                y = self.seen @ w[:-1] + (w[-1] / length * unseen if length > 1e-12 else 0.0)
                x = np.asarray(cuts.metric.x + cuts.radius * (cuts.inverse @ y))
                if np.isfinite(x).all():
                    return x
        return None

    def _solver(self, careful: bool, objective: Array) -> clarabel.DefaultSolver:
        """Set up for this objective; `careful` scales and refines, which takes longer."""
        if careful in self.solvers:
            self.solvers[careful].update(q=objective)
        else:
            settings = settings_of(_ENDS)
            settings.presolve_enable = settings.chordal_decomposition_enable = False  # so that the objective can be replaced
            settings.equilibrate_enable = settings.iterative_refinement_enable = careful
            self.solvers[careful] = clarabel.DefaultSolver(self.P, objective, self.A, self.b, self.cones, settings)
        return self.solvers[careful]


def _slacks(cone: Cone, values: Array) -> Array:
    """(n,) how far inside a cone each of (n, rows) values is."""
    match cone:
        case "zero":
            return np.asarray(-np.abs(values).max(axis=1))
        case "nonnegative":
            return np.asarray(values.min(axis=1))
        case "second order":
            return np.asarray(values[:, 0] - np.linalg.norm(values[:, 1:], axis=1))
        case "semidefinite":
            return np.asarray(np.linalg.eigvalsh(smat(values))[:, 0])
