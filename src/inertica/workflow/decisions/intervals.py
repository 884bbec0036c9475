"""How wide the intervals are: bias of the whole pipeline and disagreement between parts of the data, besides noise.

With s the standard deviation by the noise of the residuals, serial correlation included, and j by what twelve blocks of the record
disagree on (bias-reduced: noise alone makes j^2 = s^2 on average), the part of noise and blocks is s^2 w,

    w = max(1, mean of j^2 / s^2 over the parameters), or (j t / 1.96)^2 / s^2 where that is significantly more,

t the 97.5 % point of Student's distribution with eleven degrees of freedom.  A single j is uncertain by a fifth, so that the larger of
s and j for each parameter would make intervals too wide where there is nothing but noise; their mean has many times that freedom.

Where the control loop is known, the estimate applied to itself (`self_application`) shows the bias m, the mean over R repetitions of
what is found less what was put in.  With kappa the root mean square over the parameters of the repetitions' scatter over s,

    se = kappa s / sqrt(R),   lambda = max(0, 1 - se^2 / m^2),
    beta <- beta - lambda m,   std^2 = s^2 w + lambda se^2 + (lambda m / 2)^2.

The shrinkage lambda leaves alone what could be noise of the repetitions.  Half the correction is distrusted; that half is a rule of
thumb, not derived.

Where the loop is unknown nothing is corrected (loops put in its place did harm); std^2 then holds the mean square of the changes that
neighbouring cut-offs make, since either could as well have been chosen, and what delays of the torque do that may be left: the error
of one that was taken out, all of one that is not clear enough to be.  In either case it holds what other models do that the data tell
hardly apart, when they are given.

What comes of blocks multiplies standard deviations; every other part is a change d of all parameters at once and adds d d' to the
covariance.  A factor on every standard deviation would be wrong where parameters are hardly told apart: what is known well of them
then is a sum in which the factors differ, and constraints or a prior would be held against another sum.

All of this acts on what the data alone say.  A method that keeps constraints or a prior is solved again with the corrected data, so
that its links remain possible ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.errors import TooFewSamplesError
from inertica.estimators.base import Estimate, Estimator, Problem
from inertica.estimators.jackknife import block_changes
from inertica.estimators.linear.least_squares import linear
from inertica.estimators.load import significant
from inertica.estimators.solve import Unconstrained
from inertica.identifiability.labels import INTERVAL
from inertica.logs.log import Log
from inertica.physical.cone import SolveError
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.reasons import Widening
from inertica.workflow.identify.self_application import Replicas

BLOCKS = 12
"""Blocks of the record whose disagreement counts."""

DISTRUSTED = 0.5
"""Share of a correction that counts as uncertain."""

NEIGHBOURS = (0.7, 1.4)
"""Cut-offs tried besides the chosen one, as multiples of it, where the loop is unknown."""

HIGHEST = 0.4
"""A cut-off in parts of the sampling rate beyond which there is no filter."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """An estimate with intervals that hold more than noise.

    Args:
        estimate: corrected where the loop is known, with the widened covariance.
        correction: (b,) that was added to what the data say; zero when nothing was corrected.
        widened: (b,) standard deviations over those by noise alone.
        choice: what was done, for the user.
    """

    estimate: Estimate
    correction: Array
    widened: Array
    choice: Choice


@dataclass(frozen=True, eq=False)
class DataFit:
    """What the data alone say: base parameters with their covariance."""

    beta: Array
    covariance: Array

    @classmethod
    def by(cls, estimate: Estimate) -> DataFit:
        """A consistent method puts constraints and prior beside the data; here they are left away."""
        evidence = estimate.evidence
        if evidence is None or evidence.strategy is None:
            nothing = np.zeros((len(estimate.beta), len(estimate.beta)))
            return cls(estimate.beta, nothing if estimate.covariance is None else estimate.covariance)
        return cls(*evidence.least_squares(estimate.beta))

    @property
    def std(self) -> Array:
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def stated_uncertainty(
    estimate: Estimate,
    problem: Problem,
    estimator: Estimator,
    *,
    replicated: Replicas | None = None,
    neighbours: Sequence[Array] = (),
    delayed: Sequence[Array] = (),
    alternatives: Sequence[Array] = (),
    in_part: bool = False,
) -> Uncertainty:
    """The estimate, corrected and with a covariance that holds.

    Args:
        estimate: as the method gave it.
        problem: what was fitted.
        estimator: the method, for the weights of its rows.
        replicated: the estimate applied to itself; None when that was not asked for.
        neighbours: (b,) each, what the data alone say when prepared with neighbouring cut-offs; see `neighbour_fits`.
        delayed: (b,) each, the same with torque shifted by a standard deviation of what may be left of its delays; see `delayed_fits`.
        alternatives: (b,) each, base parameters by the same data and other models that they tell hardly apart, on the names of this
            one; NaN where the other model has no such parameter.
        in_part: replicas and neighbours are those of a part of the data; what its noise hides of a bias then counts as uncertain.
    """
    by_data = DataFit.by(estimate)
    seen = by_data.std > 0.0
    noise = np.where(seen, by_data.std, np.inf)  # no torque depends on it, so that nothing can widen it
    blocks = _by_blocks(estimate, problem, estimator, by_data)
    variance = by_data.std**2 * widened_by_blocks(by_data.std**2, blocks, BLOCKS - 1)
    correction = np.zeros(len(noise))
    changes = [*_independent(neighbours, by_data.beta), *_one_of(estimate.beta, alternatives)]
    changes += [other - by_data.beta for other in delayed]
    if replicated is not None and replicated.runs:
        correction, scatter, doubt = _bias(estimate, noise, replicated, in_part)
        variance = variance + scatter
        changes.append(doubt)
    factor = np.maximum(np.sqrt(variance) / noise, 1.0)
    solved, failed = _corrected(_widened(estimate, by_data, factor, _columns(changes, seen)), problem, correction)
    if failed:  # the correction is then part of the uncertainty
        changes.append(correction)
        solved, correction = _widened(estimate, by_data, factor, _columns(changes, seen)), np.zeros(len(noise))
    widened = np.hypot(factor, np.linalg.norm(_columns(changes, seen), axis=1) / noise)
    known = np.isfinite(estimate.std)
    return Uncertainty(
        solved, correction, widened,
        _choice(replicated, neighbours, delayed, alternatives, correction / noise, widened, known, in_part),
    )  # fmt: skip


def neighbour_fits(logs: Sequence[Log], recipe: Recipe, problem: Problem, estimator: Estimator) -> list[Array]:
    """(b,) each, what the data alone say with the cut-offs of filter and decimation scaled; empty where there is no filter.

    Args:
        logs: all with position.
        recipe: the chosen one.
        problem: of the chosen one.
        estimator: the method; its constraints are left away.
    """
    chosen = recipe.filter
    if not isinstance(chosen, Butterworth) or not linear(estimator):
        return []
    rate, others = min(log.rate for log in logs), []
    for factor in NEIGHBOURS:
        cutoff = min(factor * chosen.cutoff, HIGHEST * rate) if chosen.cutoff is not None else None
        decimate = None if recipe.decimate is None else factor * recipe.decimate
        ratio = None if recipe.ratio is None else max(1, round(recipe.ratio / factor))
        reversal = None if recipe.reversal is None else recipe.reversal / factor
        others.append(replace(recipe, filter=replace(chosen, cutoff=cutoff), decimate=decimate, ratio=ratio, reversal=reversal))
    return _data_fits(logs, others, problem, estimator)


def delayed_fits(
    logs: Sequence[Log], recipe: Recipe, problem: Problem, estimator: Estimator, left: Sequence[Array]
) -> list[Array]:
    """(b,) each, what the data alone say with torque shifted by what may be left of its delays.

    Args:
        logs, recipe, problem, estimator: as for `neighbour_fits`.
        left: (n,) each, shifts in s.
    """
    if not linear(estimator):
        return []
    taken = np.broadcast_to(np.asarray(recipe.delay, float), (problem.base.layout.robot.n,))
    return _data_fits(logs, [replace(recipe, delay=tuple((taken + x).tolist())) for x in left], problem, estimator)


def _data_fits(logs: Sequence[Log], recipes: Sequence[Recipe], problem: Problem, estimator: Estimator) -> list[Array]:
    """(b,) each, what the data alone say, prepared by other recipes; those whose masks leave too few samples say nothing."""
    free, out = replace(estimator, solve=Unconstrained()), []  # type: ignore[type-var]
    for other in recipes:
        try:
            out.append(free.estimate(replace(problem, motions=tuple(prepare(log, other) for log in logs))).beta)
        except TooFewSamplesError:
            continue
    return out


def _by_blocks(estimate: Estimate, problem: Problem, estimator: Estimator, by_data: DataFit) -> Array:
    """(b,) variances by what blocks of the record disagree on; zero for methods that are no weighted least squares."""
    if not linear(estimator):
        return np.zeros(len(by_data.beta))
    system, weights = estimator.weighted(problem.observations, estimate)
    return np.asarray(np.sum(block_changes(system, by_data.beta, weights, BLOCKS) ** 2, axis=0))


def widened_by_blocks(noise: Array, blocks: Array, freedom: int) -> Array:
    """(k,) factors on variances by noise: a common one, and their own where blocks disagree significantly more.

    Args:
        noise: (k,) variances; zero where nothing depends on a parameter.
        blocks: (k,) the same by blocks, unbiased where there is nothing but noise.
        freedom: of each of the latter.
    """
    known = noise > 0.0
    ratio = np.divide(blocks, noise, out=np.ones(len(noise)), where=known)
    common = max(1.0, float(np.mean(ratio[known]))) if known.any() else 1.0
    by_few = float(stdtrit(freedom, 0.975) / INTERVAL) ** 2
    return np.where(ratio > max(significant(freedom), common), by_few * ratio, common)


def _bias(estimate: Estimate, noise: Array, replicated: Replicas, in_part: bool) -> tuple[Array, Array, Array]:
    """Correction (b,), what the scatter of repetitions adds to the variances (b,), and how far the correction is distrusted (b,).

    Repetitions of a part scatter more than the whole fit, so that they may hide a bias which is not small against its noise.
    """
    replicated_beta = np.array([DataFit.by(run.estimate).beta for run in replicated.runs])
    known = np.isfinite(estimate.std)
    m = replicated_beta.mean(axis=0) - estimate.beta
    scatter = replicated_beta.std(axis=0, ddof=1) / noise
    kappa = float(np.sqrt(np.mean(scatter[known] ** 2))) if known.any() else 0.0
    se = kappa * np.where(np.isfinite(noise), noise, 0.0) / np.sqrt(len(replicated_beta))
    share = np.where(known, np.maximum(0.0, 1.0 - se**2 / np.maximum(m**2, 1e-300)), 0.0)
    unsure = np.where(known, 1.0, 0.0) if in_part else share
    return -share * m, unsure * se**2, DISTRUSTED * share * m


def _independent(others: Sequence[Array], beta: Array) -> list[Array]:
    """(b,) each, changes by which the mean of their squares counts; either of the others could as well have been chosen."""
    return [(np.asarray(other, float) - beta) / np.sqrt(len(others)) for other in others]


def _one_of(beta: Array, others: Sequence[Array]) -> list[Array]:
    """(b,) each, changes to models of which one may be right: what each does, together no more than the largest of each parameter."""
    if not len(others):
        return []
    distance = np.asarray(others, float) - beta
    distance = np.where(np.isfinite(distance), distance, 0.0)
    together = np.linalg.norm(distance, axis=0)
    share = np.divide(np.max(np.abs(distance), axis=0), together, out=np.zeros(len(beta)), where=together > 0.0)
    return list(share * distance)


def _columns(changes: Sequence[Array], seen: NDArray[np.bool_]) -> Array:
    """(b, m) changes of what torques depend on."""
    return np.column_stack([np.where(seen, change, 0.0) for change in changes]) if changes else np.zeros((len(seen), 0))


def _widened(estimate: Estimate, by_data: DataFit, factor: Array, changes: Array) -> Estimate:
    """Covariance of what the data say, standard deviations multiplied and changes added; in the evidence, too."""
    covariance = factor[:, None] * by_data.covariance * factor + changes @ changes.T
    evidence = estimate.evidence
    if evidence is not None and evidence.strategy is not None:
        evidence = replace(evidence, widened=factor, changes=changes)
    ratio = np.sqrt(np.divide(np.diag(covariance), by_data.std**2, out=np.ones(len(factor)), where=by_data.std > 0.0))
    diagnostics = None if estimate.diagnostics is None else replace(estimate.diagnostics, widened=ratio)
    return replace(estimate, covariance=covariance, evidence=evidence, diagnostics=diagnostics)


def _corrected(estimate: Estimate, problem: Problem, correction: Array) -> tuple[Estimate, bool]:
    """The estimate of corrected data, and whether no consistent one was found."""
    if not correction.any():
        return estimate, False
    evidence = estimate.evidence
    if evidence is None or evidence.strategy is None:
        if estimate.chi is not None:  # nothing says how its standard parameters would follow
            return estimate, True
        shifted = None if evidence is None else evidence.moved(correction)
        return replace(estimate, beta=estimate.beta + correction, evidence=shifted), False
    shifted = evidence.moved(correction)
    try:
        solution = evidence.strategy(Stacked(shifted.R, shifted.z, shifted.rest))
    except SolveError:
        return estimate, True
    return replace(estimate, beta=solution.beta, chi=solution.chi, warnings=solution.warnings, evidence=shifted), False


def _choice(
    replicated: Replicas | None,
    neighbours: Sequence[Array],
    delayed: Sequence[Array],
    alternatives: Sequence[Array],
    correction: Array,
    widened: Array,
    known: NDArray[np.bool_],
    in_part: bool,
) -> Choice:
    median = float(np.median(widened[known])) if known.any() else 1.0
    runs = 0 if replicated is None else len(replicated.runs)
    value = "noise, blocks" + (", neighbouring cut-offs" if len(neighbours) else "") + (", delays" if len(delayed) else "")
    why = Widening(
        median, runs,
        bias=float(np.max(np.abs(correction[known]), initial=0.0)) if runs and correction.any() else None,
        in_part=in_part and bool(runs or len(neighbours) or len(delayed)),
        why_not="" if runs or replicated is None else replicated.reason,
        no_bias=not (runs or len(neighbours)),
        others=bool(len(alternatives)),
    )  # fmt: skip
    return Choice("intervals", "noise, blocks, bias" if runs else value, why)
