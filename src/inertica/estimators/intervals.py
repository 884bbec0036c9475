"""Intervals of the standard parameters of an estimate: what data, prior and constraints leave together, or the data's noise alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Estimate, Problem
from inertica.estimators.evidence import Evidence
from inertica.estimators.standard import nearest_prior, standard_covariance
from inertica.identifiability.labels import DETERMINED, FIXED, INTERVAL, WEAK, trust_labels
from inertica.physical.fit import Fit
from inertica.physical.priors import Quadratic
from inertica.physical.uncertainty import Intervals, profile_intervals
from inertica.robot.layout import Parameters

SEPARATELY_KNOWN = (DETERMINED, WEAK, FIXED)
"""Labels of parameters with an interval of their own without a prior."""


def standard_parameters(estimate: Estimate, prior: Parameters) -> Array:
    """(P,) those the method found, or those nearest the prior."""
    return estimate.chi if estimate.chi is not None else nearest_prior(estimate.base, estimate.beta, prior)


def standard_intervals(estimate: Estimate, problem: Problem, prior: Parameters) -> Array:
    """(P, 2) 95 % intervals of all standard parameters.

    Without a consistent method or a prior with a strength, parameters of which only sums are known have no limits.
    """
    evidence, chi = estimate.evidence, estimate.chi
    if evidence is None or evidence.strategy is None or chi is None:
        return noise_intervals(estimate, prior)
    intervals = consistent_intervals(evidence, problem, chi)
    return np.column_stack([intervals.lower, intervals.upper])


def consistent_intervals(evidence: Evidence, problem: Problem, chi: Array, level: float = 0.95) -> Intervals:
    """Around a consistent estimate; serial correlation of the residuals is in the evidence."""
    solve = evidence.strategy
    if solve is None:
        raise ValueError("no constraints belong to this evidence")
    R, z = evidence.whitened()
    program, fit = solve.program, Fit(R, z, problem.base.T, 1.0)
    penalty = solve.believed.penalty(program.reference, fit)
    if not solve.mild or not isinstance(penalty, Quadratic):
        return profile_intervals(program, fit, penalty, chi, level=level)
    # a mild prior has moved the estimate, but is not believed: the intervals are those of the fit without it, and hold the estimate
    intervals = profile_intervals(program, fit, penalty, program.solve(fit, penalty).chi, level=level)
    lower, upper = np.minimum(intervals.lower, chi), np.maximum(intervals.upper, chi)
    known = intervals.lower == intervals.upper  # by an equation, which the estimate keeps, too
    return replace(intervals, lower=np.where(known, chi, lower), upper=np.where(known, chi, upper))


def noise_intervals(estimate: Estimate, prior: Parameters) -> Array:
    """(P, 2) by the normal distribution."""
    chi, spread = standard_parameters(estimate, prior), estimate.chi_covariance
    unconstrained = np.full(len(chi), True)
    if spread is None:
        b = len(estimate.beta)
        known = np.zeros((b, b)) if estimate.covariance is None else estimate.covariance
        spread = standard_covariance(estimate.base, known, prior)
        unconstrained = np.array(
            [label in SEPARATELY_KNOWN for label in trust_labels(estimate.base, estimate.beta, estimate.std).values()]
        )
    reach = np.where(unconstrained, INTERVAL * np.sqrt(np.maximum(np.diag(spread), 0.0)), np.inf)
    return np.column_stack([chi - reach, chi + reach])
