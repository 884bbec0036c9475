"""Total least squares, plain and generalised: errors in the observation matrix as well as in the torque."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.covariance import score_covariance
from inertica.estimators.evidence import ScaledSvd, Solution
from inertica.estimators.linear.least_squares import MEASURED, observed
from inertica.estimators.noise import motion_noise, noise_of, position_noise_before_filter
from inertica.estimators.observe import Observations
from inertica.estimators.solve import FitErrors, estimated
from inertica.threads import one_thread


@dataclass(frozen=True)
class Tls:
    """min |[dW dy] D^-1|_F  subject to  (W + dW) beta = y + dy,  D the column norms of [W y].

    Closed form beta = (W'W - s^2 D^2)^-1 W'y, s the smallest singular value of [W y] D^-1, from the R factor alone (survey, eq. 26);
    covariance (|r|^2 / rows) (W'W - s^2 D^2)^-1, which is its eq. 27 with scaled columns.

    Assumes errors of equal relative size and without correlation in all columns, which columns made of one noisy motion do not have:
    no better than `ols` in the survey, and worse on poorly excited parameters.  It is here for comparison; `gtls` knows its noise.

    Args:
        weighted: divide the rows of each joint by its residual standard deviation first, as `wls` does.
        hac: covariance that accounts for serial correlation of the residuals.
        scaled: columns divided by their norms first.  Without, D = 1: the singular vectors of [W y] as they are, as eqs. 26-27 print
            it, and a result that depends on the units of parameters and torque.
    """

    weighted: bool = False
    hac: bool = True
    scaled: bool = True

    name: ClassVar[str] = "tls"
    needs: ClassVar[frozenset[Need]] = MEASURED
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        start = time.perf_counter()
        system = observed(self, problem)
        weights = 1.0 / system.sigmas if self.weighted else np.ones(system.n)
        stacked = system.stacked(weights)
        norms = np.append(np.linalg.norm(stacked.R, axis=0), np.hypot(np.linalg.norm(stacked.z), stacked.rest))
        minimum = _minimise(stacked, np.diag(norms**2) if self.scaled else np.eye(len(norms)), problem)
        return _estimate(self.name, problem, system, weights, minimum, self.hac, start)


@dataclass(frozen=True)
class Gtls:
    """min_beta |W beta - y|^2 / (a' C a),  a = [beta; -1],  C the covariance of the errors in [W y], summed over the rows.

    E[[W y]'[W y]] = [W0 y0]'[W0 y0] + C and [W0 y0] a = 0, so the smallest generalised singular vector of the R factor against a
    square root of C is consistent whatever the weights of the joints (Van Huffel and Vandewalle).  C may be singular: columns free
    of noise stay as they are.

    C is given, or estimated: white noise on the positions is sent through the filter and the differences that made the motion, and
    the regressor's answer is recorded, correlations between columns included.  Needs the noise levels, stated in the problem or
    read off the data.  Assumes noise of the torque independent of that of the motion, as for torques measured in open loop or by
    sensors; in a closed loop noisy positions command the torque, too.  Fails for Coulomb columns when velocity noise exceeds
    the velocities: an error of a sign is not independent of the sign.

    Args:
        covariance: (b + 1, b + 1) of the errors in one row [W_jk y_jk], the same for all; estimated when not given.
        draws: of position noise, per motion, when it is estimated.
        seed: of the draws when no generator is passed.
        weighted: divide the rows of each joint by its residual standard deviation first, as `wls` does.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    covariance: Array | None = None
    draws: int = 2
    seed: int = 0
    weighted: bool = True
    hac: bool = True

    name: ClassVar[str] = "gtls"
    needs: ClassVar[frozenset[Need]] = MEASURED
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.RANDOM, Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        start = time.perf_counter()
        system = observed(self, problem)
        weights = 1.0 / system.sigmas if self.weighted else np.ones(system.n)
        C = self._given(system, weights) if self.covariance is not None else None
        if C is None:
            C = column_covariance(problem, weights, self.draws, rng or np.random.default_rng(self.seed))
        minimum = _minimise(system.stacked(weights), C, problem)
        estimate = _estimate(self.name, problem, system, weights, minimum, self.hac, start)
        source = "given covariance" if self.covariance is not None else noise_of(problem)[0].source
        return replace(estimate, settings={**estimate.settings, "noise": source})

    def _given(self, system: Observations, weights: Array) -> Array:
        C = np.asarray(self.covariance, float)
        size = system.base.rank + 1
        if C.shape != (size, size):
            raise InputError(f"the covariance of [W y] has the shape {C.shape}, expected ({size}, {size})")
        return float(np.sum(system.counts * weights**2)) * C


def column_covariance(problem: Problem, weights: Array, draws: int, rng: np.random.Generator) -> Array:
    """(b + 1, b + 1) sum over rows of the covariance of their errors: position noise through filter, differences and regressor."""
    b, system, levels = problem.base.rank, problem.observations, noise_of(problem)
    C = np.zeros((b + 1, b + 1))
    for _ in range(draws):
        perturbed = []
        for motion, level in zip(problem.motions, levels, strict=True):
            e = motion_noise(motion, position_noise_before_filter(motion, level), rng)
            perturbed.append(replace(motion, q=motion.q + e.q, dq=motion.dq + e.dq, ddq=motion.ddq + e.ddq))
        noisy = Observations(problem.base, perturbed, problem.prior).build()
        for rows, other in zip(system.rows(), noisy, strict=True):
            for j, columns in enumerate(system.columns):
                use = rows.use[:, j]
                error = np.column_stack([other.W[j] - rows.W[j], other.y[:, j] - rows.y[:, j]])[use] * weights[j]
                where = np.append(columns, b)
                C[np.ix_(where, where)] += error.T @ error / draws
    for rows in system.rows():
        C[b, b] += np.sum(np.count_nonzero(rows.use, axis=0) * (weights * levels[rows.motion].tau) ** 2)
    return C


@dataclass(frozen=True, eq=False)
class _Minimum:
    """The solution, its spread (W'W - s^2 C)^-1 that of residuals of unit size; C a / (a' C a) in beta's coordinates; |r|^2."""

    solution: Solution
    pull: Array
    misfit: float


def _minimise(stacked: Stacked, C: Array, problem: Problem) -> _Minimum:
    """Smallest generalised singular vector of [R z; 0 rest] against a root of C, on the directions that the data resolve."""
    b = len(stacked.z)
    svd = ScaledSvd.of(stacked.R)
    before = np.zeros(b) if problem.prior is None else problem.prior_beta
    with one_thread():
        basis = svd.Vt[svd.known].T / svd.scale[:, None]
        k = basis.shape[1]
        M = np.zeros((b + 1, k + 1))  # [beta; -1] = M [c; -1] with beta = before + basis c
        M[:b, :k], M[:b, k], M[b, k] = basis, -before, 1.0
        X = stacked.triangle
        # generalised singular values of (X M, root') are those of R^-T root; no normal equations are formed
        R = np.asarray(np.linalg.qr(X @ M, mode="r"))
        size, axes = np.linalg.eigh(M.T @ C @ M)
        root = np.sqrt(np.maximum(size, 0.0)) * axes  # reduced C = root root'
        _, g, Ut = np.linalg.svd(np.linalg.solve(R.T, root).T)
        a = np.linalg.solve(R, Ut[0])
        warnings: tuple[str, ...] = ()
        if abs(a[k]) < 1e-12 * np.linalg.norm(a):
            warnings = (
                "the smallest singular vector does not contain the torque; the total least squares problem has no solution",
            )
        c = -a[:k] / a[k]
        smallest = float(1.0 / g[0] ** 2)
        reduced = M.T @ C @ M
        bread = basis @ np.linalg.pinv(R[:k, :k].T @ R[:k, :k] - smallest * reduced[:k, :k], hermitian=True) @ basis.T
    beta = before + basis @ c
    full = np.append(beta, -1.0)
    pull = (C @ full)[:b] / float(full @ C @ full)
    misfit = float(np.sum((X @ full) ** 2))
    settings = {"smallest": smallest}
    return _Minimum(Solution(beta, bread, svd.condition, svd.unresolved, None, warnings, settings=settings), pull, misfit)


def _estimate(
    name: str, problem: Problem, system: Observations, weights: Array, minimum: _Minimum, use_hac: bool, start: float
) -> Estimate:
    solution = minimum.solution
    plain, bread = minimum.misfit / float(system.counts.sum()) * solution.spread, solution.spread
    covariance = bread @ _long_run(system, weights, minimum) @ bread if use_hac else plain
    errors = FitErrors(system.residual_sigmas(solution.beta), covariance, plain)
    return estimated(name, problem, solution, errors, start)


def _long_run(system: Observations, weights: Array, minimum: _Minimum) -> Array:
    """(b, b) of the scores sum_j W_jk' e_jk - e_jk^2 C a / (a' C a), e the weighted misfit."""
    scored: list[tuple[int, Array, Array]] = []
    for rows, residual in system.residuals(minimum.solution.beta):
        e = -residual * weights * rows.use
        scores = -np.sum(e**2, axis=1)[:, None] * minimum.pull
        for j, (W, columns) in enumerate(zip(rows.W, system.columns, strict=True)):
            scores[:, columns] += W * (weights[j] * e[:, j])[:, None]
        scored.append((rows.motion, scores, e))
    return score_covariance(scored, len(minimum.pull))
