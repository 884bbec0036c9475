"""Standard parameters closest to prior values by singular value decomposition (consistent-parameters paper, 2013)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.covariance import hac
from inertica.estimators.evidence import RESOLVED, ScaledSvd, Solution
from inertica.estimators.linear.essential import Dropped, Essential
from inertica.estimators.linear.least_squares import MEASURED, observed
from inertica.estimators.linear.prior_fill import filled_prior
from inertica.estimators.solve import FitErrors, estimated
from inertica.physical.check import cholesky_tolerance
from inertica.robot import inertia
from inertica.threads import one_thread


@dataclass(frozen=True)
class Svd:
    """chi = chi_ref + V_1 S_1^-1 U_1' (y - W chi_ref),  W = U S V' the standard regressor, S_1 its b non-zero singular values.

    Of all chi that minimise |y - W chi| the one nearest chi_ref in the plain norm (paper, eq. 30).  The rows of each joint are
    divided by its noise as in `wls`; W is taken as R T, which has the same singular values and right vectors.

    Needs prior values.  Assumes the prior right in the directions that the torque does not show.  Parameters of large numbers
    (masses) move more readily than those of small ones, whatever they are known to; the result is possible only if prior and
    data are good: see `link_tolerance`.

    Args:
        hac: covariance that accounts for serial correlation of the residuals.
        fill_prior: armature and friction that the prior says nothing of come from a first weighted least squares (paper, V.B).
    """

    hac: bool = True
    fill_prior: bool = True

    name: ClassVar[str] = "svd"
    needs: ClassVar[frozenset[Need]] = MEASURED | {Need.PRIOR}
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        return _fit(self, problem, None)


@dataclass(frozen=True)
class SvdEssential:
    """chi = chi_ref + E V_1 S_1^-1 U_1' (y - W chi_ref),  W E = U S V',  E = diag(chi_e) (paper, eqs. 31-33).

    chi_e holds the essential parameters found by `Essential` and zeros elsewhere, so only the n_e essential ones leave their
    reference values, each in proportion to its size.  The others keep the prior's value: less freedom for noise, and standard
    parameters that stay possible more often.

    Needs prior values; assumes them right wherever the data are silent.

    Args:
        essential: how essential parameters are found.
        hac: covariance that accounts for serial correlation of the residuals.
        fill_prior: as for `svd`.
    """

    essential: Essential = field(default_factory=Essential)
    hac: bool = True
    fill_prior: bool = True

    name: ClassVar[str] = "svd-essential"
    needs: ClassVar[frozenset[Need]] = MEASURED | {Need.PRIOR}
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.PULLED, Capability.SELECTS, Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        return _fit(self, problem, self.essential)


def _fit(method: Svd | SvdEssential, problem: Problem, essential: Essential | None) -> Estimate:
    start, system = time.perf_counter(), observed(method, problem)
    assert problem.prior is not None
    base, weights = problem.base, 1.0 / system.sigmas
    scale, dropped = np.ones(base.layout.size), tuple[Dropped, ...]()
    scale[base.fixed] = 0.0
    if essential is not None:
        elimination, _ = essential.select(problem, weights)
        scale = np.zeros(base.layout.size)
        scale[base.retained] = elimination.beta
        dropped = elimination.dropped
    stacked = system.stacked(weights)
    prior, filled = filled_prior(problem) if method.fill_prior else (problem.prior, ())
    reference = prior.values
    with one_thread():
        # standard parameters in units of their own sizes, so that none is preferred for its unit
        U, s, Vt = np.linalg.svd(stacked.R @ (base.T * scale), full_matrices=False)
    known = s > RESOLVED * s[0] if s[0] > 0.0 else np.zeros(len(s), bool)
    gain = scale[:, None] * (Vt[known].T / s[known]) @ U[:, known].T  # chi per change of z
    chi = reference + gain @ (stacked.z - stacked.R @ base.beta(reference))
    half = base.T @ gain
    # half = bread R': what a score W'r does to beta, on the directions that R has
    bread = ScaledSvd.of(stacked.R).solve(half.T).T
    beta = base.beta(chi)
    plain = half @ half.T
    covariance = hac(system, beta, bread, weights) if method.hac else plain
    tolerance, rank = (
        max((link_tolerance(chi[where]) for _, where in base.layout.bodies), default=0.0),
        int(np.count_nonzero(known)),
    )
    condition = float(s[known][0] / s[known][-1]) if rank else np.inf
    solution = Solution(beta, plain, condition, _unresolved(base.rank, rank, half, essential), chi)
    settings = {"rank": rank, "cholesky_tolerance": tolerance, "dropped": dropped, "filled": filled}
    errors = FitErrors(system.residual_sigmas(beta), covariance)
    return estimated(method.name, problem, solution, errors, start, settings=settings)


def _unresolved(size: int, rank: int, half: Array, essential: Essential | None) -> Array:
    """Directions of beta that no data moved; those that elimination fixed on purpose do not count."""
    if essential is not None or rank == size:
        return np.zeros((size, 0))
    scale = np.maximum(np.linalg.norm(half, axis=1), 1e-300)
    U, _, _ = np.linalg.svd(half / scale[:, None])
    return np.asarray(U[:, rank:])


def link_tolerance(ten: ArrayLike) -> float:
    """The smallest tolerance with which a link's inertia about its centre of mass passes a Cholesky factorisation.

    0: positive semidefinite, so possible apart from the triangle inequality; infinite without a positive mass.

    Args:
        ten: (10,) parameters of the link.
    """
    values = np.asarray(ten, float)
    return cholesky_tolerance(inertia.to_com(values).inertia) if values[9] > 0.0 else np.inf
