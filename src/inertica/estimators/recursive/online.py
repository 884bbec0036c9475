"""Recursive least squares over a log: every sample updates what all before it have said, and the estimate is known at any time.

Rows go into triangular factors one after the other (`givens`), so that nothing is lost against a fit of all rows at once: without
forgetting `rls` is `ols`, and `rwls` is `wls`, after every sample.  `live.OnlineFit` is the same for control loops, sample by sample.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.triangle import stacked_factor
from inertica.dynamics.tsqr import JointFactor, Stacked
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, History, Need, Problem
from inertica.estimators.evidence import ScaledSvd, Solution
from inertica.estimators.linear.least_squares import MEASURED, ROWS, joint_weights, observed, weighted_fit
from inertica.estimators.observe import Observations, Rows, own_sigmas
from inertica.estimators.solve import Composed, LinearSolve, Unconstrained

MOMENTS = 24
"""Times at which the estimate is kept for the history, evenly spread over the data."""


@dataclass(frozen=True)
class Rls(Composed):
    """min sum_k factor^(N-k) |W_k beta - y_k|^2 at every sample N, all joints alike (recursive least squares in square-root form).

    With a forgetting factor below 1 old samples count less, so that the estimate follows a robot that changes.  Where the motion
    stops exciting a direction, exponential forgetting loses what was known of it; directional forgetting (Cao and Schwartz 2000)
    forgets only what the new row brings something about, and so follows slowly where a parameter has a small part in every row.

    Needs what `ols` needs, and fails where that does: noise in W biases the result, joints with large torques dominate.

    Args:
        forgetting: factor per sample (after decimation); 1 forgets nothing, 0.998 has a memory of 500 samples.
        directional: forget only in the direction of new rows; the factor counts for every row and one direction, so that the
            memory is b / (1 - factor) rows.
        moments: times at which the history holds the estimate.
        solve: how the linear problem is solved whenever the estimate is asked for; a consistent strategy makes this PC-RLS.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    forgetting: float = 1.0
    directional: bool = False
    moments: int = MOMENTS
    solve: LinearSolve = field(default_factory=Unconstrained)
    hac: bool = True

    kind: ClassVar[str] = "rls"
    needs: ClassVar[frozenset[Need]] = MEASURED
    method_capabilities: ClassVar[frozenset[Capability]] = ROWS | {Capability.RECURSIVE}

    def __post_init__(self) -> None:
        check_forgetting(self.forgetting)

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        start = time.perf_counter()
        system = observed(self, problem)
        passed = tuple(pass_by(system, np.zeros(system.n, np.int64), self.forgetting, self.directional, self.moments))
        solve = self.solve.prepared(problem)
        solved = [(m.time, solve(m.stacked), m.sigma) for m in _complete(passed, lambda m: m.stacked)]
        return _finished(problem, system, passed[-1], solved, None, self, start)

    def weighted(self, system: Observations, estimate: Estimate) -> tuple[Observations, Array]:
        return fading(system, self.forgetting), np.ones(system.n)


@dataclass(frozen=True)
class Rwls(Rls):
    """The same with every joint's rows divided by the standard deviation of its own fit so far: `wls` at every sample.

    Every joint keeps a factor of its own rows; they are weighed and brought together only when the estimate is asked for, so that
    early samples need not live with early weights.

    Args:
        forgetting, directional, moments, solve, hac: as for `Rls`.
    """

    kind: ClassVar[str] = "rwls"

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        start = time.perf_counter()
        system = observed(self, problem)
        passed = tuple(pass_by(system, np.arange(system.n), self.forgetting, self.directional, self.moments))
        solve = self.solve.prepared(problem)

        def weighed(moment: Moment) -> Stacked:
            return together(moment.factors, 1.0 / own_sigmas(moment.joints(system.columns), moment.weight))

        solved = [(m.time, solve(weighed(m)), 1.0) for m in _complete(passed, weighed)]
        sigma = own_sigmas(passed[-1].joints(system.columns), passed[-1].weight)
        return _finished(problem, system, passed[-1], solved, sigma, self, start)

    def weighted(self, system: Observations, estimate: Estimate) -> tuple[Observations, Array]:
        return fading(system, self.forgetting), joint_weights(estimate)


def check_forgetting(factor: float) -> None:
    """Refuse a factor that would forget everything, or add weight to what is old."""
    if not 0.5 < factor <= 1.0:
        raise InputError(f"the forgetting factor should lie above 0.5 and not above 1, the memory without end; not {factor:g}")


@dataclass(frozen=True, eq=False)
class Moment:
    """What all rows up to some time have left.

    Args:
        time: in s since the first log began, logs one after the other.
        factors: (G, b+1, b+1), see `givens`.
        weight: (G,) rows, those that fade counted by what is left of them.
    """

    time: float
    factors: Array
    weight: Array

    @property
    def stacked(self) -> Stacked:
        """Of the one factor that all joints share."""
        return Stacked.of(self.factors[0])

    @property
    def sigma(self) -> float:
        """Standard deviation of the residuals of all joints, of the one factor that they share."""
        b = self.factors.shape[1] - 1
        return abs(float(self.factors[0, b, b])) / float(np.sqrt(max(self.weight[0] - b, 0.5 * self.weight[0], 1.0)))

    def joints(self, columns: list[NDArray[np.intp]]) -> list[JointFactor]:
        """The factor of each joint, on its own columns."""
        places = [np.append(c, -1) for c in columns]
        return [JointFactor.of(F[np.ix_(p, p)], p[:-1]) for F, p in zip(self.factors, places, strict=True)]


def together(factors: Array, weights: Array) -> Stacked:
    """One R of the factors of all joints, each with its weight."""
    return Stacked.of(stacked_factor(*(weight * F for weight, F in zip(weights, factors, strict=True))))


def pass_by(
    system: Observations, group: NDArray[np.int64], forgetting: float = 1.0, directional: bool = False, moments: int = MOMENTS
) -> Iterator[Moment]:
    """All rows into factors, in the order of time; what they are at some times, the end always among them.

    Args:
        system: the rows.
        group: (n,) which factor takes the rows of a joint.
        forgetting, directional, moments: as for `Rls`.
    """
    from inertica.estimators.recursive import givens  # its compiler takes long to import

    b = system.base.rank
    clock = _clock(system)
    stops = np.unique(np.linspace(0, len(clock), max(moments, 1) + 1).astype(np.int64)[1:] - 1)
    groups = int(group.max()) + 1
    F, weight = np.zeros((groups, b + 1, b + 1)), np.zeros(groups)
    stored, counts = np.zeros((len(stops), *F.shape)), np.zeros((len(stops), groups))
    first = 0
    for rows in system.rows():
        row_values = dense(rows, system)
        givens.samples_in(F, weight, group, row_values, rows.use, forgetting, directional, first, stops, stored, counts)
        first += len(rows.use)
    for at, factors, left in zip(stops, stored, counts, strict=True):
        yield Moment(float(clock[at]), factors, left)


def dense(rows: Rows, system: Observations) -> Array:
    """(m, n, b+1) rows [w y] of a block, with the columns that a joint does not feel as zeros."""
    out = np.zeros((*rows.y.shape, system.base.rank + 1))
    for j, (W, columns) in enumerate(zip(rows.W, system.columns, strict=True)):
        out[:, j, columns] = W
    out[:, :, -1] = rows.y
    return out


def fading(system: Observations, factor: float) -> Observations:
    """The rows with the weights that exponential forgetting leaves them at the end."""
    if factor == 1.0:
        return system
    age = np.arange(sum(system.lengths))[::-1]
    weights = np.repeat(np.sqrt(factor ** age.astype(float))[:, None], system.n, axis=1)
    return system.reweighted(np.split(weights, np.cumsum(system.lengths)[:-1]))


def _complete(moments: Sequence[Moment], stacked: Callable[[Moment], Stacked]) -> list[Moment]:
    """The moments from which on the data determine every parameter, and the last one in any case."""
    known = [m for m in moments[:-1] if np.all(m.weight > 0.0) and ScaledSvd.of(stacked(m).R).known.all()]
    return [*known, moments[-1]]


def _clock(system: Observations) -> Array:
    """Times of all rows, logs one after the other."""
    parts, end = [], 0.0
    for motion in system.motions:
        parts.append(end + motion.t[motion.decimator.kept(len(motion))] - motion.t[0])
        end += float(motion.t[-1] - motion.t[0]) + motion.dt
    return np.concatenate(parts)


def _finished(
    problem: Problem, system: Observations, last: Moment, solved: list[tuple[float, Solution, float]], sigma: Array | None,
    method: Rls | Rwls, start: float,
) -> Estimate:  # fmt: skip
    """The estimate after the last sample, with the way there as its history."""
    _, solution, _ = solved[-1]
    weighted = fading(system, method.forgetting) if not method.directional else system
    estimate = weighted_fit(method, problem, lambda *_: solution, sigma, start, weighted)
    if method.forgetting < 1.0:
        estimate = _discounted_by_forgetting(estimate, system, last, method)
    known = [(t, s, scale) for t, s, scale in solved if not s.unresolved.shape[1]]
    b = problem.base.rank
    beta = np.array([s.beta for _, s, _ in known]).reshape(-1, b)
    std = np.array([scale * np.sqrt(np.maximum(np.diag(s.spread), 0.0)) for _, s, scale in known]).reshape(-1, b)
    trace = History(np.array([t for t, _, _ in known]), beta, std)
    settings = {**estimate.settings, "forgetting": method.forgetting, "directional": method.directional}
    seconds = time.perf_counter() - start
    reason = f"all {len(_clock(system))} samples passed by"
    return replace(estimate, trace=trace, settings=settings, stop_reason=reason, seconds=seconds)


def _discounted_by_forgetting(estimate: Estimate, system: Observations, last: Moment, method: Rls | Rwls) -> Estimate:
    """Residuals and covariance count rows by what forgetting has left of them.

    Directional forgetting is no weighting of rows: its covariance is that of white residuals with the information that is left.
    """
    assert estimate.diagnostics is not None
    share = float(last.weight.sum()) / float(system.counts.sum())
    if method.directional:
        sigma = system.residual_sigmas(estimate.beta)
        stacked = Stacked.of(last.factors[0]) if len(last.factors) == 1 else together(last.factors, 1.0 / sigma)
        pooled = float(np.sqrt(np.mean(sigma**2))) if len(last.factors) == 1 else 1.0
        half = pooled * np.linalg.pinv(stacked.R)
        diagnostics = replace(estimate.diagnostics, sigma=sigma, plain_covariance=half @ half.T)
        return replace(estimate, covariance=half @ half.T, diagnostics=diagnostics)
    scale = 1.0 / max(share, 1e-12)
    weighed = len(last.factors) > 1  # by standard deviations that know of the fading already
    plain = estimate.diagnostics.plain_covariance * (1.0 if weighed else scale)
    sigma = np.sqrt(scale) * estimate.sigma
    return replace(estimate, diagnostics=replace(estimate.diagnostics, sigma=sigma, plain_covariance=plain))
