"""Prior knowledge in the fit: ridge regression towards prior values, and Bayesian linear regression on standard parameters."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.covariance import residual_times
from inertica.estimators.evidence import Solution
from inertica.estimators.linear.least_squares import MEASURED, observed, weighted_fit
from inertica.estimators.solve import FitErrors, Unconstrained, estimated
from inertica.estimators.solve import Ridge as RidgeSolve
from inertica.estimators.standard import parameter_scales
from inertica.physical.fit import Fit
from inertica.physical.priors import believed_sizes
from inertica.physical.scales import Reference
from inertica.robot.layout import Parameters
from inertica.threads import one_thread

STRENGTHS = tuple(10.0**k for k in range(-10, 1))
"""Strengths that leave-one-block-out compares."""

_GROUPS = {"masses": "mass", "first_moments": "first_moment", "inertias": "inertia", "armature": "armature"}

_SMALL = 0.1
"""Part of a link's size that a small parameter of it, or a zero, may well be wrong by."""


@dataclass(frozen=True)
class Ridge:
    """min sum_j |W_j beta - y_j|^2 / sigma_j^2 + strength |D (beta - beta_0)|^2, D the column norms of the weighted W.

    A pull towards the prior (towards zero without one) that hardly moves what the data determine.  The strength is given, or the
    one that predicts blocks of the data best when each is left out in turn.  The result is biased towards the prior by design;
    its covariance is that of the data's noise only.  Fails, by pulling to wrong values, when the prior is wrong and the
    excitation poor.

    Args:
        strength: weight of the pull relative to the data; None chooses it by leave-one-block-out.
        blocks: of consecutive samples that are left out.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    strength: float | None = None
    blocks: int = 10
    hac: bool = True

    name: ClassVar[str] = "ridge"
    needs: ClassVar[frozenset[Need]] = MEASURED
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.PULLED, Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        start, system = time.perf_counter(), observed(self, problem)
        scores: dict[float, float] = {}
        strength = self.strength
        if strength is None:
            scores = left_out_errors(
                [block.stacked(weights=1.0 / system.sigmas) for block in system.blocks(self.blocks)], problem
            )
            strength = min(scores, key=lambda s: scores[s])
        estimate = weighted_fit(self, problem, RidgeSolve(strength), system.sigmas, start)
        return replace(estimate, settings={"strength": strength, "left_out": scores})


def left_out_errors(blocks: list[Stacked], problem: Problem) -> dict[float, float]:
    """Strength -> squared prediction error summed over the blocks, each predicted by a fit to the others."""
    errors = dict.fromkeys(STRENGTHS, 0.0)
    for i, left_out in enumerate(blocks):
        rest = Stacked.joined([s for k, s in enumerate(blocks) if k != i])
        for strength in STRENGTHS:
            beta = RidgeSolve(strength)(rest, problem).beta
            errors[strength] += float(np.sum((left_out.R @ beta - left_out.z) ** 2)) + left_out.rest**2
    return errors


@dataclass(frozen=True)
class Bayes:
    """chi | y ~ N, from the prior chi ~ N(chi_0, P_0) and y_j = W_j T chi + e_j, e_j ~ N(0, sigma_j^2 m_j):

        P = (P_0^-1 + T'R'R T)^-1,   chi = chi_0 + P T'R' (z - R T chi_0),   beta = T chi.

    All standard parameters have a value and a standard deviation: where only sums are determined, the prior says how they are
    shared.  m_j, the correlation time of the joint's residuals in samples, makes as many samples count as are independent.
    Needs prior values.  Assumes that the prior's errors are independent and as large as stated; a prior that is surer than it
    should be draws even well-determined parameters.  Drives and friction whose prior is zero, and links without any values, are
    unknown: their standard deviation is what would explain all the torque there is, unless `trust` names them or their group.

    Args:
        prior_std: (P,) standard deviations of the prior values; from `trust` when not given.
        trust: relative standard deviation of the prior values, in terms of their size or of what is typical of their kind (of their
            link): a number, or by group and parameter as a robot card states it.
    """

    prior_std: Array | None = None
    trust: float | Mapping[str, float] = 1.0

    name: ClassVar[str] = "bayes"
    needs: ClassVar[frozenset[Need]] = MEASURED | {Need.PRIOR}
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.PULLED, Capability.TAKES_TRUST, Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        start, system = time.perf_counter(), observed(self, problem)
        assert problem.prior is not None
        sigma, T = system.sigmas, problem.base.T
        plain = system.stacked(1.0 / sigma)
        std = self._prior_std(problem.prior, Fit(plain.R, plain.z, T))
        fit = Unconstrained()(plain, problem)
        times = residual_times(system, fit.beta)
        chi, spread = posterior(system.stacked(1.0 / (sigma * np.sqrt(times))), T, problem.prior.values, std)
        _, narrow = posterior(plain, T, problem.prior.values, std)
        solution = Solution(problem.base.beta(chi), T @ narrow @ T.T, fit.condition, np.zeros((len(fit.beta), 0)), chi)
        settings = {"correlation_times": tuple(float(x) for x in times)}
        errors = FitErrors(system.residual_sigmas(solution.beta), T @ spread @ T.T)
        estimate = estimated(self.name, problem, solution, errors, start, settings=settings)
        return replace(estimate, chi_covariance=spread)

    def _prior_std(self, prior: Parameters, fit: Fit) -> Array:
        if self.prior_std is None:
            return trusted_std(prior, self.trust if isinstance(self.trust, Mapping) else {"all": self.trust}, fit)
        std = np.asarray(self.prior_std, float)
        if std.shape != (prior.layout.size,):
            raise InputError(f"the prior's standard deviations have the shape {std.shape}, expected ({prior.layout.size},)")
        return np.where([p.fixed for p in prior.layout.parameters], 0.0, std)


def posterior(stacked: Stacked, T: Array, mean: Array, std: Array) -> tuple[Array, Array]:
    """Mean (P,) and covariance (P, P) of chi given R T chi = z with unit variance and chi ~ N(mean, std^2)."""
    with one_thread():
        # in units of the prior's standard deviations the posterior is 1 / (1 + s^2) along each direction
        U, s, Vt = np.linalg.svd(stacked.R @ T * std, full_matrices=False)
    step = Vt.T @ (s / (1.0 + s**2) * (U.T @ (stacked.z - stacked.R @ (T @ mean))))
    covariance = np.eye(len(mean)) - (Vt.T * (s**2 / (1.0 + s**2))) @ Vt
    return mean + std * step, std[:, None] * covariance * std


def trusted_std(prior: Parameters, trust: Mapping[str, float], fit: Fit | None = None) -> Array:
    """(P,) standard deviations from relative ones by group (all, masses, first_moments, inertias, armature, friction) and name.

    With data, what the prior does not know and `trust` does not name, alone or with its group, gets the size these data allow.
    """
    layout, reference = prior.layout, Reference.of(prior.layout, prior.values)
    scales, unknown = _prior_scales(prior, reference), unknown_values(prior)
    allowed = scales if fit is None else believed_sizes(reference, fit)
    out = np.empty(layout.size)
    for k, (name, parameter) in enumerate(zip(layout.names, layout.parameters, strict=True)):
        group = next((g for g, kind in _GROUPS.items() if kind == parameter.kind), "friction")
        stated = trust.get(name, trust.get(group))
        if stated is None and fit is not None and unknown[k] and not parameter.fixed:
            out[k] = allowed[k]
        else:
            out[k] = scales[k] * (trust.get("all", 1.0) if stated is None else stated)
    return out


def unknown_values(prior: Parameters) -> NDArray[np.bool_]:
    """(P,) of what a prior says nothing: zeros of drives and friction, links of zeros.  A zero among a link's others is symmetry."""
    out = prior.values == 0.0
    for _, where in prior.layout.bodies:
        out[where] = out[where].all()
    return out


def _prior_scales(prior: Parameters, reference: Reference) -> Array:
    """`parameter_scales`, with the small ones of a link measured by the size of that link."""
    out = parameter_scales(prior)
    for _, where, size in reference.bodies:
        out[where] = np.where(reference.free[where], np.maximum(np.abs(prior.values[where]), _SMALL * size.scale), 0.0)
    return out
