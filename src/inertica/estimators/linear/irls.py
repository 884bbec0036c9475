"""Iteratively reweighted least squares: robust against torques that have nothing to do with the motion."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.covariance import score_covariance, scores_of
from inertica.estimators.evidence import Evidence, ScaledSvd, Scores, Solution
from inertica.estimators.iteration import StepTolerance
from inertica.estimators.linear.least_squares import MEASURED, ROWS, joint_weights, observed
from inertica.estimators.observe import Observations
from inertica.estimators.solve import Composed, FitErrors, LinearSolve, Unconstrained, estimated
from inertica.threads import one_thread

HUBER, BISQUARE = 1.345, 4.685
"""Tuning constants that leave 95 % efficiency when the errors are normal after all."""

_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation


@dataclass(frozen=True)
class Irls(Composed):
    """min_beta sum_jk rho(r_jk / s_j), solved as sum_jk w_jk (r_jk / s_j)^2 with w = rho'(u) / u recomputed until nothing changes.

    s_j is the median absolute residual of joint j times 1.4826, so that outliers do not set the scale they are judged by; the
    published loop divided by the rows of all joints together and never used its weights (survey, section 3.1).  Huber's weights
    min(1, c/|u|) have one solution and start the iteration; the bisquare (1 - (u/c)^2)^2, zero beyond c, then drops gross errors
    altogether.

    Needs what `wls` needs.  Assumes outliers in the torque; those in the motion act through the regressor and are not seen.
    Decimation spreads an outlier over its neighbours: use undecimated data when there are many.  Fails when more than about a
    third of the rows of a joint are wrong.

    Args:
        weights: bisquare (after a Huber start) or huber.
        full: whiten each sample by the robust covariance of all joints, for errors that joints share.
        solve: how each linear problem is solved; a consistent strategy makes this PC-IRLS.
        hac: covariance that accounts for serial correlation of the residuals.
        stop: of each of the two stages.
        running_minimum: a weight never rises again, v_i = min(v_i-1, Lambda(e_i)) (survey, eq. 24): the iteration cannot swing, but
            what the first fits mistook for an outlier stays one.  The covariance takes the last weights for an M-estimator's.
    """

    weights: Literal["bisquare", "huber"] = "bisquare"
    full: bool = False
    solve: LinearSolve = field(default_factory=Unconstrained)
    hac: bool = True
    stop: StepTolerance = field(default_factory=StepTolerance)
    running_minimum: bool = False

    kind: ClassVar[str] = "irls"
    needs: ClassVar[frozenset[Need]] = MEASURED
    method_capabilities: ClassVar[frozenset[Capability]] = ROWS

    @property
    def capabilities(self) -> frozenset[Capability]:
        capabilities = super().capabilities
        return (
            capabilities - {Capability.LINEAR} if self.running_minimum else capabilities
        )  # its weights do not follow from its residuals

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        start = time.perf_counter()
        fit = _Fit(observed(self, problem), self, problem)
        # Huber first: the bisquare alone has several minima and depends on its start
        for stage in ("huber", self.weights) if self.weights != "huber" else ("huber",):
            fit.iterate(stage)
        return fit.estimate(problem, self, start)

    def weighted(self, system: Observations, estimate: Estimate) -> tuple[Observations, Array]:
        function, weights = huber_weights if self.weights == "huber" else bisquare_weights, joint_weights(estimate)
        return system.reweighted([np.sqrt(function(r * weights)) for r, _ in system.records(estimate.beta)]), weights


def huber_weights(u: Array) -> Array:
    return np.minimum(1.0, HUBER / np.maximum(np.abs(u), 1e-300))


def bisquare_weights(u: Array) -> Array:
    return np.asarray(np.maximum(1.0 - (u / BISQUARE) ** 2, 0.0) ** 2)


def _slope(stage: str, u: Array) -> Array:
    """Derivative of the score u w(u)."""
    if stage == "huber":
        return (np.abs(u) <= HUBER).astype(float)
    x = (u / BISQUARE) ** 2
    return np.where(x < 1.0, (1.0 - x) * (1.0 - 5.0 * x), 0.0)


class _Fit:
    """The iteration: residuals -> scale -> weights -> solution."""

    def __init__(self, system: Observations, method: Irls, problem: Problem) -> None:
        self.system, self.method = system, method
        self.solve = method.solve.prepared(problem)
        self.solution = self.solve(system.stacked(1.0 / system.sigmas))
        self.use = [use for _, use in system.records(self.solution.beta)]
        self.root = [np.ones(u.shape) for u in self.use]
        self.weighted, self.stage, self.reason = system, "huber", ""
        self.steps: list[float] = []
        self._measure()

    def iterate(self, stage: str) -> None:
        function = huber_weights if stage == "huber" else bisquare_weights
        stop = self.method.stop
        self.stage, self.reason = stage, stop.exhausted
        for _ in range(stop.iterations):
            root = [np.sqrt(function(r / self.scale)) * u for r, u in zip(self.residual, self.use, strict=True)]
            self.root = [np.minimum(*both) for both in zip(self.root, root, strict=True)] if self.method.running_minimum else root
            self.weighted = self.system.reweighted(self.root)
            before = self.solution.beta
            self.solution = self._solve()
            self._measure()
            self.steps.append(stop.size(self.solution.beta - before, self.solution.spread))
            if self.steps[-1] <= stop.step:
                self.reason = stop.reached
                break

    def _solve(self) -> Solution:
        stacked = self.weighted.stacked(1.0 / self.scale) if not self.method.full else self._whitened()
        return self.solve(stacked)

    def _measure(self) -> None:
        """Residuals of every motion (m, n) and the robust scale of each joint."""
        self.residual = [r for r, _ in self.system.records(self.solution.beta)]
        self.scale = robust_scales(self.residual, self.use, len(self.solution.beta))

    def covariance_of_joints(self) -> Array:
        """(n, n) robust covariance of the residuals: robust scales, correlations of the weighted residuals."""
        u = np.concatenate([r / self.scale * w for r, w in zip(self.residual, self.root, strict=True)])
        second = u.T @ u
        size = np.sqrt(np.diag(second))
        size = np.where(size > 0.0, size, 1.0)  # a joint without torque
        return np.asarray(second / np.outer(size, size) * np.outer(self.scale, self.scale))

    def _mixed(self) -> Iterator[tuple[int, Array]]:
        """Blocks (motion, (m, n, b + 1)) of [W y], weighted, every sample whitened by the covariance of the joints."""
        b, n = self.system.base.rank, self.system.n
        # (n, n) and well scaled, so that an explicit inverse for all samples is safe
        inverse = np.linalg.inv(np.linalg.cholesky(self.covariance_of_joints()))
        for rows in self.system.rows():
            root = self.root[rows.motion][rows.where]
            X = np.zeros((len(root), n, b + 1))
            for j, (W, columns) in enumerate(zip(rows.W, self.system.columns, strict=True)):
                X[:, j, columns] = W * root[:, j, None]
            X[:, :, b] = rows.y * root
            yield rows.motion, np.matmul(inverse, X)

    def _whitened(self) -> Stacked:
        stacked = Stacked.empty(self.system.base.rank)
        for _, X in self._mixed():
            stacked = stacked.absorb(X.reshape(-1, X.shape[2]))
        return stacked

    def _whitened_scores(self) -> Array:
        """(b, b) long-run covariance of the scores of the whitened system."""
        b = self.system.base.rank
        scored: list[tuple[int, Array, Array]] = []
        for motion, X in self._mixed():
            r = X[:, :, b] - X[:, :, :b] @ self.solution.beta
            scored.append((motion, np.einsum("kjb,kj->kb", X[:, :, :b], r), r))
        return score_covariance(scored, b)

    def estimate(self, problem: Problem, method: Irls, start: float) -> Estimate:
        by_joint = zip(self._by_joint(self.residual), self._by_joint(self.use), self.scale, strict=True)
        standard = [r[u] / s if u.any() else np.zeros(1) for r, u, s in by_joint]  # a joint without torque has no rows
        function = huber_weights if self.stage == "huber" else bisquare_weights
        weights = [function(u) for u in standard]
        if method.running_minimum:
            roots = zip(self._by_joint(self.root), self._by_joint(self.use), strict=True)
            weights = [w[u] ** 2 if u.any() else np.ones(1) for w, u in roots]
        covariance, plain, evidence = self._covariances(standard, weights)
        dropped = [float(np.mean(w == 0.0)) for w in weights]
        settings: dict[str, object] = {"weights": method.weights, "full": method.full, "dropped": tuple(dropped)}
        if method.running_minimum:
            settings["running_minimum"] = True
        errors = FitErrors(self.scale, covariance, plain)
        estimate = estimated(method.name, problem, self.solution, errors, start, evidence=evidence, settings=settings)
        return replace(estimate, iterations=len(self.steps), history={"step": tuple(self.steps)}, stop_reason=self.reason)

    def _covariances(self, standard: list[Array], weights: list[Array]) -> tuple[Array, Array, Evidence]:
        """Of an M-estimator: bread from the slope of the score, filling from its square; with serial correlation, and without.

        The third is what the data say without constraints, by one Newton step from the solution.
        """
        mean_weights = np.array([w.mean() for w in weights])
        # the bisquare's slope is negative between c / sqrt(5) and c; a tenth keeps the bread finite when many rows lie there
        slope = np.maximum(np.array([_slope(self.stage, u).mean() for u in standard]) / mean_weights, 0.1)
        square = np.array([np.mean((w * u) ** 2) for w, u in zip(weights, standard, strict=True)]) / mean_weights
        parts = self._sandwich if self.method.full else self._joint_by_joint
        now, curved, bread, filling, scores = parts(slope, square)
        beta = self.solution.beta
        with one_thread():
            plain = bread @ filling @ bread
            step = ScaledSvd.of(curved).solve_transposed(now.R.T @ (now.z - now.R @ beta))
        known = scores or Scores(filling, filling)
        evidence = Evidence(curved, curved @ beta + step, known, self.solution.strategy, now.rest)
        return (plain if scores is None else scores.through(bread)), plain, evidence

    def _sandwich(self, slope: Array, square: Array) -> tuple[Stacked, Array, Array, Array, Scores | None]:
        """System, its R with the slope of the score, bread and white filling, scores with serial correlation; all joints together."""
        now, level = self._whitened(), float(np.mean(slope))
        coloured = self._whitened_scores() if self.method.hac else None
        scores = None if coloured is None else Scores(coloured, coloured)
        return now, np.sqrt(level) * now.R, self.solution.sensitivity / level, float(np.mean(square)) * now.R.T @ now.R, scores

    def _joint_by_joint(self, slope: Array, square: Array) -> tuple[Stacked, Array, Array, Array, Scores | None]:
        """The same with a slope and a square of its own for each joint."""
        now, curved = (self.weighted.stacked(np.sqrt(x) / self.scale) for x in (np.ones(len(slope)), slope))
        bread = self.solve(curved).sensitivity
        factors = zip(square, self.scale, self.weighted.factors, strict=True)
        filling = np.asarray(sum(c / s**2 * f.gram(len(bread)) for c, s, f in factors))
        scores = scores_of(self.weighted, self.solution.beta, 1.0 / self.scale) if self.method.hac else None
        return now, curved.R, bread, filling, scores

    @staticmethod
    def _by_joint(parts: list[Array] | list[NDArray[np.bool_]]) -> list[NDArray]:
        return list(np.concatenate(parts).T)


def robust_scales(residual: list[Array], use: list[NDArray[np.bool_]], parameters: int) -> Array:
    """(n,) median absolute residual times 1.4826 per joint, over the rows in use, corrected for fitted parameters."""
    r, used = np.abs(np.concatenate(residual)), np.concatenate(use)
    n = r.shape[1]
    out = np.empty(n)
    for j in range(n):
        mine = r[used[:, j], j]
        # variance is corrected for the parameters that this joint's rows have paid for
        freedom = len(mine) / max(len(mine) - parameters / n, 1.0)
        out[j] = _MAD * np.median(mine) * np.sqrt(freedom) if len(mine) else 0.0
    return np.maximum(out, 1e-9 * max(float(r.max(initial=0.0)), 1e-300))
