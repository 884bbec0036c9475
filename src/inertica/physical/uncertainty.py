"""Intervals for every standard parameter that stay true when constraints are active.

Two statements about a parameter chi_k are put together.  First, data and prior alone, without constraints, are normal: chi_k lies
in x_u,k +- z std with the level asked for, whether the truth is near the boundary or not.  Second, profile likelihood within the
constraints: with f the squares of data and prior in units of the noise and f* their constrained minimum, chi_k lies between

    min, max chi_k   such that   f(chi) <= f* + q,   chi consistent,

q the quantile of chi-square with one degree of freedom.  Alone, the second is shorter, but near the boundary its level is not kept
for every parameter (measured: 88.5 % instead of 95 % for the worst of 52 over 400 runs); so it is taken at a tenth of the error
probability, where it only cuts off what cannot be true, and the first carries the level.  The interval is their intersection,
widened to hold the estimate.  On the boundary it is one-sided.  Directions the data do not see get the width that prior and
constraints leave them, so intervals are as honest as the prior's strength.

Each end is a small cone program on the data of the fit: the cost does not depend on the length of the record.  Resampling with
re-solved constraints does worse: solutions crowd on the boundary, and percentiles of single parameters fall far below their level
(measured: down to 35 % where 95 % were promised).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import chdtri

from inertica.physical.cone import Accuracy, Metric, Program, SolveError, settings_of
from inertica.physical.fit import Fit
from inertica.physical.priors import Penalty, Quadratic

Array = NDArray[np.float64]

_RARER = 0.1
"""Error probability of the profile intervals, in parts of that asked for."""

_ENDS = Accuracy(gap=1e-6, feasibility=1e-7)
"""Ends of intervals to a millionth of a standard deviation."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Of every parameter.

    Args:
        lower, upper: (P,); fixed parameters have both at their value, those not asked for are NaN.
        level: 0.95 for 95 %.
        free_std: (P,) standard deviation without constraints, prior included.
        one_sided: (P,) whether the constraints, not the data, end the interval on one side: it is shorter there than half of what
            data and prior alone would give.
    """

    lower: Array
    upper: Array
    level: float
    free_std: Array
    one_sided: NDArray[np.bool_]

    @property
    def std(self) -> Array:
        """(P,) half widths as standard deviations of a normal distribution with the same level."""
        return np.asarray((self.upper - self.lower) / (2.0 * np.sqrt(chdtri(1, 1.0 - self.level))))


def profile_intervals(
    program: Program,
    fit: Fit,
    penalty: Penalty,
    chi: Array,
    *,
    level: float = 0.95,
    variance: float | None = None,
    which: Sequence[int] | None = None,
) -> Intervals:
    """Intervals around a constrained solution, as the module's first lines say.

    Args:
        program, fit, penalty: the problem; a penalty that is not quadratic counts by its second order at the solution.
        chi: (P,) its solution.
        level: of the intervals.
        variance: of a row; that of the fit when not given.  Larger for residuals that are correlated in time.
        which: indices of the parameters; all by default.

    Raises:
        SolveError: an end was not found to its accuracy.
    """
    quadratic = penalty if isinstance(penalty, Quadratic) else second_order(penalty, chi)
    metric = Metric.of(program, fit, quadratic)
    r = metric.M @ (chi[program.free] / program.scale - metric.x)
    spread = variance if variance is not None else fit.noise
    ends = _Ends(program, metric, float(np.sqrt(r @ r + spread * chdtri(1, _RARER * (1.0 - level)))))
    wanted = np.isin(program.free, np.arange(len(chi)) if which is None else np.array(which))
    std = program.scale * np.linalg.norm(ends.inverse, axis=1) * np.sqrt(spread)
    lower, upper = _together(ends, program.scale, np.sqrt(chdtri(1, 1.0 - level)) * std, chi[program.free], wanted)
    return _packed(program, chi, lower, upper, std, level)


def _together(ends: _Ends, scale: Array, reach: Array, chi: Array, wanted: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Ends of the free parameters: normal intervals cut by profile ones, widened to hold the solution."""
    lower, upper = np.full(len(chi), np.nan), np.full(len(chi), np.nan)
    middle = scale * ends.metric.x
    for j in np.flatnonzero(wanted):
        least, most = (scale[j] * ends.find(int(j), sign) for sign in (1.0, -1.0))
        own = np.clip([middle[j] - reach[j], middle[j] + reach[j]], least, most)
        lower[j], upper[j] = min(own[0], chi[j]), max(own[1], chi[j])
    return lower, upper


def _packed(program: Program, chi: Array, lower: Array, upper: Array, std: Array, level: float) -> Intervals:
    """Ends of all parameters; what cannot be negative has no negative end, fixed ones have no width."""
    parameters = program.reference.layout.parameters
    all_lower, all_upper, all_std = np.array(chi), np.array(chi), np.zeros(len(chi))
    all_lower[program.free], all_upper[program.free], all_std[program.free] = lower, upper, std
    bounds = np.array([p.lower for p in parameters])
    all_lower = np.where(chi >= bounds, np.maximum(all_lower, bounds), all_lower)
    half = 0.5 * np.sqrt(chdtri(1, 1.0 - level)) * all_std
    one_sided = (chi - all_lower < half) | (all_upper - chi < half)
    return Intervals(all_lower, all_upper, level, all_std, one_sided & program.reference.free)


def second_order(penalty: Penalty, chi: Array) -> Quadratic:
    """The quadratic with the penalty's slope and curvature at chi."""
    H = penalty.hessian(chi)
    e, V = np.linalg.eigh(H)
    e = np.maximum(e, 1e-14 * e[-1])
    centre = chi - V @ ((V.T @ penalty.gradient(chi)) / e)
    return Quadratic(np.sqrt(0.5 * e)[:, None] * V.T, centre)


class _Ends:
    """The cone programs min and max x_j with |M (x - x_u)| <= radius within the constraints; only the objective differs."""

    def __init__(self, program: Program, metric: Metric, radius: float) -> None:
        self.program, self.metric, self.radius = program, metric, radius
        k = len(metric.x)
        self.inverse = np.asarray(solve_triangular(metric.M, np.eye(k)))
        inside = program._cone_rows @ metric.x + program._cone_right
        factor = program._row_factors(inside)
        rows = factor[:, None] * (program._cone_rows @ self.inverse) * radius
        linear = sum(len(b.f) for b in program.ordered if b.cone in ("zero", "nonnegative"))
        ball = np.vstack([np.zeros((1, k)), -np.eye(k)])
        self.A = sp.csc_matrix(np.vstack([-rows[:linear], ball, -rows[linear:]]))
        value = factor * inside
        self.b = np.concatenate([value[:linear], [1.0], np.zeros(k), value[linear:]])
        kinds = [cone in ("zero", "nonnegative") for cone in dict.fromkeys(b.cone for b in program.ordered)]
        self.cones = list(program._cones)
        self.cones.insert(sum(kinds), clarabel.SecondOrderConeT(k + 1))
        self.P = sp.csc_matrix((k, k))
        self.settings = []
        for equilibrate in (True, False):
            settings = settings_of(_ENDS)
            settings.equilibrate_enable = equilibrate
            self.settings.append(settings)

    def find(self, j: int, sign: float) -> float:
        """The least (sign 1) or largest (sign -1) x_j."""
        row = self.inverse[j] / np.linalg.norm(self.inverse[j])
        for settings in self.settings:
            answer = clarabel.DefaultSolver(self.P, sign * row, self.A, self.b, self.cones, settings).solve()
            if str(answer.status) == "Solved":
                return float(self.metric.x[j] + self.radius * (self.inverse[j] @ np.array(answer.x)))
        layout = self.program.reference.layout
        name = layout.names[self.program.free[j]]
        raise SolveError(f"{layout.robot.name}: the interval of {name} was not found: Clarabel ended with '{answer.status}'")
