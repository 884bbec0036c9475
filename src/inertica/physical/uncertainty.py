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

Each end that is not within easy reach is a small cone program on the data of the fit (`cuts`): the cost does not depend on the
length of the record.  Resampling with re-solved constraints does worse: solutions crowd on the boundary, and percentiles of single
parameters fall far below their level (measured: down to 35 % where 95 % were promised).

Entropic and Riemannian priors are not quadratic and keep solutions off the boundary of the cone.  Their intervals are profile
intervals at the level itself, with the prior as it is (`profile`), cut only by bounds that constraints put on the parameter itself.

A truth on the very boundary of the feasible set (a flat body, an armature of zero) is a case of its own.  The first statement does
not know the boundary and keeps its level there; the cut makes the interval one-sided, with an end at the boundary.  Constraints
keep a margin from it (1e-5 of a body's size), so an end within the margin means the boundary.  Measured: coverage is as elsewhere.
Where data and prior alone put a parameter beyond a bound of its own (a negative friction), the interval reaches from the bound as far
inside as they lie outside.

`benchmarks/interval_coverage.py` measures the coverage; docs/uncertainty.md has the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import chdtri

from inertica.arrays import Array
from inertica.physical.cone import Metric, Program
from inertica.physical.cuts import Cuts
from inertica.physical.fit import Fit
from inertica.physical.logdet import newton_solve
from inertica.physical.priors import ConePenalty, Penalty, Quadratic, second_order
from inertica.physical.profile import level_ends
from inertica.threads import one_thread

_RARER = 0.1
"""Error probability of the profile intervals, in parts of that asked for."""

_KNOWN = 1e-3
"""Ends are known to this part of a standard deviation; nearer to a bound than that they are the bound."""


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
        program, fit, penalty: the problem.
        chi: (P,) its solution.
        level: of the intervals.
        variance: of a row; that of the fit when not given.  Larger for residuals that are correlated in time.
        which: indices of the parameters; all by default.
    """
    spread = variance if variance is not None else fit.noise
    wanted = np.isin(program.free, np.arange(len(chi)) if which is None else np.array(which))
    with one_thread():
        if isinstance(penalty, ConePenalty):
            ends, centre, deviation = _level_ends(program, fit, penalty, chi, spread, level)
        else:
            quadratic = penalty if isinstance(penalty, Quadratic) else second_order(penalty, chi)
            ends, centre, deviation = _cut_ends(program, Metric.of(program, fit, quadratic), chi, spread, level, wanted)
    least, most = _own_bounds(program)
    ends = _beyond_bounds(ends, centre, least, most)
    lower, upper = np.clip(np.where(wanted, ends, np.nan), least, most) * program.scale
    deviation = np.where(most - least <= 1e-12, 0.0, deviation)
    here, std = chi[program.free], program.scale * deviation * np.sqrt(spread)
    return _packed(program, chi, np.minimum(lower, here), np.maximum(upper, here), std, level)


def _cut_ends(
    program: Program, metric: Metric, chi: Array, spread: float, level: float, wanted: NDArray[np.bool_]
) -> tuple[Array, Array, Array]:
    """(2, k) normal intervals cut by profile ones, (k,) centres and standard deviations in units of the noise; scaled parameters."""
    r = metric.M @ (chi[program.free] / program.scale - metric.x)
    cuts = Cuts(program, metric, chi, float(np.sqrt(r @ r + spread * chdtri(1, _RARER * (1.0 - level)))))
    reach = np.sqrt(spread * chdtri(1, 1.0 - level))
    centre, C = _on_equations(program, metric.x, cuts.inverse @ cuts.inverse.T)
    deviation = np.sqrt(np.maximum(np.diag(C), 0.0))
    along = C / np.where(deviation > 0.0, deviation, 1.0)[:, None]  # where each is largest
    free_ends = centre + reach * np.outer([-1.0, 1.0], deviation)
    return cuts.applied(free_ends, centre + reach * np.vstack([-along, along]), wanted), centre, deviation


def _on_equations(program: Program, x: Array, C: Array) -> tuple[Array, Array]:
    """Mean and covariance of a normal distribution once the equations among the constraints hold exactly."""
    count = sum(len(b.f) for b in program.ordered if b.cone == "zero")
    if not count:
        return x, C
    E, e = program._cone_rows[:count], program._cone_right[:count]
    gain = C @ E.T @ np.linalg.pinv(E @ C @ E.T, rcond=1e-12, hermitian=True)
    left = C - gain @ E @ C
    fixed = np.diag(left) <= 1e-9 * np.diag(C)
    left[fixed], left[:, fixed] = 0.0, 0.0
    return x - gain @ (E @ x + e), left


def _beyond_bounds(ends: Array, centre: Array, least: Array, most: Array) -> Array:
    """(2, k) ends where data and prior alone lie beyond a bound.

    Then something is wrong with the model, as with friction laws that share one torque between them: what is left inside the bound
    may be as short as nothing, though the data err by at least as much as they lie outside.  They may err by that to the other side.
    """
    lower, upper = ends
    below, above = np.maximum(least - centre, 0.0), np.maximum(centre - most, 0.0)
    upper = np.where(below > 0.0, np.maximum(upper, least + below), upper)
    return np.array([np.where(above > 0.0, np.minimum(lower, most - above), lower), upper])


def _level_ends(
    program: Program, fit: Fit, penalty: ConePenalty, chi: Array, spread: float, level: float
) -> tuple[Array, Array, Array]:
    """The same under a prior on the cone: profile intervals without constraints."""
    best = newton_solve(Program(program.reference, ()), fit, penalty).chi
    ends = level_ends(program, fit, penalty, best, spread * chdtri(1, 1.0 - level))
    M = Metric.of(program, fit, second_order(penalty, chi)).M
    deviation = np.linalg.norm(solve_triangular(M, np.eye(len(M))), axis=1)
    return np.array([ends.lower, ends.upper]), best[program.free] / program.scale, deviation


def _own_bounds(program: Program) -> tuple[Array, Array]:
    """(k,) bounds that constraints put on single parameters, scaled."""
    least, most = np.full(len(program.scale), -np.inf), np.full(len(program.scale), np.inf)
    linear = sum(len(b.f) for b in program.ordered if b.cone in ("zero", "nonnegative"))
    equations = sum(len(b.f) for b in program.ordered if b.cone == "zero")
    for row, (F, f) in enumerate(zip(program._cone_rows[:linear], program._cone_right[:linear], strict=True)):
        if np.count_nonzero(F) == 1:
            k = int(np.flatnonzero(F)[0])
            if F[k] > 0.0 or row < equations:
                least[k] = max(least[k], -f / F[k])
            if F[k] < 0.0 or row < equations:
                most[k] = min(most[k], -f / F[k])
    return least, most


def _packed(program: Program, chi: Array, lower: Array, upper: Array, std: Array, level: float) -> Intervals:
    """Ends of all parameters; what cannot be negative has no negative end, fixed ones have no width."""
    parameters = program.reference.layout.parameters
    all_lower, all_upper, all_std = np.array(chi), np.array(chi), np.zeros(len(chi))
    all_lower[program.free], all_upper[program.free], all_std[program.free] = lower, upper, std
    bounds = np.array([p.lower for p in parameters])
    all_lower = np.where((chi >= bounds) & (all_lower < bounds + _KNOWN * all_std), bounds, all_lower)
    known = all_std == 0.0  # by an equation
    all_lower, all_upper = (np.where(known, chi, x) for x in (all_lower, all_upper))
    half = 0.5 * np.sqrt(chdtri(1, 1.0 - level)) * all_std
    one_sided = (chi - all_lower < half) | (all_upper - chi < half)
    return Intervals(all_lower, all_upper, level, all_std, one_sided & program.reference.free)
