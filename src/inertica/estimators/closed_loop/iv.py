"""IDIM-IV: instrumental variables from a simulation of the control loop (survey, section 4.1; Janot, Vandanjon, Gautier).

The regressor W of the measured motion is noisy and correlated with the residual, which biases least squares.  The regressor Z of the
motion simulated with the current estimate has no noise but the same shape,

    beta = (Z' Sigma^-1 W)^-1 Z' Sigma^-1 y,    Z = W(q_s, dq_s, ddq_s)    (survey, eqs. 32-34),

so it selects from every row what the motion explains.  Needs what DIDIM needs, and the measured position; no filter has to be
tuned.  A wrong control law makes the instruments weaker rather than the answer wrong.  Fails at position noise so high that W holds
little else.

Instruments remove what noise does to W, not what differences and filters do to the motion itself, which at low sampling rates is
more.  That part is known, too: it is what the same filter does to the simulated positions, W(F q_s) - W(q_s, dq_s, ddq_s), and it is
taken out of W.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri

from inertica.arrays import Array
from inertica.dynamics.resident import Resident
from inertica.dynamics.triangle import stacked_factor
from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.closed_loop.iterated import SIMULATED, SIMULATES, ClosedLoopFit, Iterated, LinearStep
from inertica.estimators.closed_loop.start import LeastSquaresOrPrior, StartValues
from inertica.estimators.covariance import scores_of
from inertica.estimators.evidence import Evidence
from inertica.estimators.gpu_rows import gpu_products
from inertica.estimators.iteration import IterationHistory
from inertica.estimators.observe import Observations, Rows
from inertica.experiment.track import Replay
from inertica.preprocessing.bandwidth import widest_position_band
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.motion import Motion
from inertica.threads import one_thread

FINE = 100.0
"""Samples in a period of the motion's band from which differences, off by (2 pi / 100)^2 / 6, are good enough."""

FLIPPED = 0.05
"""Share of a row that may come from samples whose direction of motion the filter changed."""

DEPENDENT = 1e-10
"""Squared singular values of unit columns below this share of the largest are not trusted to products of columns."""


@dataclass(frozen=True)
class Iv(Iterated):
    """Closed-loop instruments for the measured regressor.

    Solved as min |R beta - z| with R = L^-1 Z' Sigma^-1 W, z = L^-1 Z' Sigma^-1 y, L L' = Z' Sigma^-1 Z: without constraints that is
    the equation above, with constraints the nearest point in the metric of the instruments; (R'R)^-1 is its covariance (eq. 35, to
    which it tends as the noise in W vanishes).

    Args:
        start: first estimate; least squares of the measured motion by default, since instruments from a prior that is far off
            are weak ones.
        undistort: take the distortion by differences and filter out of W; by default for motions that were filtered, or sampled
            below 500 Hz.
    """

    start: StartValues = field(default_factory=LeastSquaresOrPrior)
    undistort: bool | None = None

    kind: ClassVar[str] = "iv"
    needs: ClassVar[frozenset[Need]] = SIMULATED | {Need.MOTION}
    method_capabilities: ClassVar[frozenset[Capability]] = SIMULATES | {Capability.WANTS_RAW}

    def _iterate(self, run: ClosedLoopFit, replays: list[Replay]) -> Estimate:
        # first weights by each joint's own least squares; instruments need a solution before they have residuals
        sigma = run.problem.observations.checked().sigmas
        distorts = any(not isinstance(m.recipe.filter, Unfiltered) or _coarse(m) for m in run.problem.motions)
        distorted = distorts if self.undistort is None else self.undistort
        watch: IterationHistory | None = None
        at = run.start  # what the replays were simulated with
        last_pair: tuple[LinearStep, Instrumented] | None = None
        while True:
            simulated = run.simulated(replays).observations
            seen = _undistorted(run.problem, simulated, replays) if distorted else run.problem.observations
            pair = Instrumented(seen, simulated)
            if watch is None:
                watch = self.stop.watch(run.start, pair.mean(pair.residuals(run.start)))
            solution = run.solve(self.solve, pair.stacked(1.0 / sigma))
            residuals = pair.residuals(solution.beta)
            watch.record(solution.beta, pair.mean(residuals), np.sqrt(np.maximum(np.diag(solution.spread), 0.0)))
            if last_pair is None or watch.best() == watch.iterations:
                last_pair = LinearStep(solution, seen, sigma), pair
            # weights follow the residuals of the last solution; the floor keeps a joint that is explained exactly from all the weight
            sigma = np.maximum(residuals / np.sqrt(np.maximum(pair.counts, 1.0)), 1e-9 * sigma.max())
            following = run.follow(watch, self.stop, solution.beta, at, partial(pair.information, 1.0 / sigma))
            if following is None:
                break
            replays, at = following
        step, pair = last_pair
        return run.estimate(self.name, watch, step, pair.evidence(step, self.hac), {})


def _coarse(motion: Motion) -> bool:
    """Whether differences of the positions are off by more than a little."""
    return motion.rate < FINE * widest_position_band(motion.q, motion.dt)


def _undistorted(problem: Problem, simulated: Observations, replays: list[Replay]) -> Observations:
    """The measured rows less what the filter of each motion does to the simulated one."""
    motions = []
    for motion, replay in zip(problem.motions, replays, strict=True):
        if motion.recipe.average or motion.recipe.velocity != "differences":
            motions.append(replay.motion(motion))
            continue
        refiltered = motion.recipe.filter.kinematics(replay.q[0], motion.dt)
        motions.append(replace(motion, q=np.array(refiltered.q), dq=np.array(refiltered.dq), ddq=np.array(refiltered.ddq)))
    measured, filtered = problem.observations, replace(problem, motions=tuple(motions)).observations
    clear = [_clear_of_reversals(m, r) for m, r in zip(motions, replays, strict=True)]
    rows = []
    for w, g, s in zip(measured.rows(), filtered.build(), simulated.rows(), strict=True):
        # measured rows less (filtered simulation - simulation): what the filter distorts is the same in both
        W = tuple(a - f + z for a, f, z in zip(w.W, g.W, s.W, strict=True))
        rows.append(replace(w, W=W, use=w.use & clear[w.motion][w.where]))
    return measured.with_rows(rows)


def _clear_of_reversals(filtered: Motion, replay: Replay) -> NDArray[np.bool_]:
    """(M, n) rows whose direction of motion the filter did not change: where it did, dry friction jumps by twice its size.

    Told by the simulated motion alone, so that noise has no say in which rows are used.
    """
    flipped = np.abs(np.sign(filtered.dq) - np.sign(replay.dq[0]))
    return np.asarray(np.abs(filtered.decimator.decimate(flipped)) < FLIPPED)


def _trusted_root(unit: Array) -> Array | None:
    """Lower triangular root of products of unit columns; None where these are so nearly dependent that products lose them.

    Eigenvalues tell, but they are only worked out where the root itself does not leave them beyond doubt.
    """
    try:
        root = np.linalg.cholesky(unit)
    except np.linalg.LinAlgError:
        return None
    inverse, failed = dtrtri(root, lower=1)
    # |L^-1|_F^2 bounds the largest eigenvalue of the inverse, which a root costs next to nothing
    if failed or float(np.linalg.norm(inverse)) ** 2 * len(unit) >= 0.5 / DEPENDENT:
        values = np.linalg.eigvalsh(unit)
        return None if values[0] < DEPENDENT * values[-1] else np.asarray(root)
    return np.asarray(root)


def stretch(use: NDArray[np.bool_]) -> slice | None:
    """The rows in use where they follow each other without a gap."""
    first, count = int(np.argmax(use)), int(np.count_nonzero(use))
    return slice(first, first + count) if use[first : first + count].all() else None


class Instrumented:
    """Rows of the measured motion beside those of the simulated one, reduced joint by joint to Z'Z, Z'W and Z'y.

    Args:
        measured: W and y.
        simulated: Z, of the same samples.
    """

    def __init__(self, measured: Observations, simulated: Observations) -> None:
        self.measured, self.simulated = measured, simulated
        self.columns, self.b = measured.columns, measured.base.rank
        self.straight = measured.straight and simulated.straight
        if self.straight:
            self.products, self.counts = measured.products(simulated), measured.counts
            return
        self.products = [np.zeros((len(c), 2 * len(c) + 1)) for c in self.columns]
        self.counts = np.zeros(len(self.columns))
        with one_thread():
            for w, z in self._rows():
                self.counts += np.count_nonzero(w.use, axis=0)
                for j, total in enumerate(self.products):
                    if isinstance(z.W[j], Resident):
                        total += gpu_products(z.W[j], w.W[j], w.y[:, j], w.use[:, j])
                        continue
                    some, k = stretch(w.use[:, j]), len(self.columns[j])
                    Z, W, y = z.W[j], w.W[j], w.y[:, j]
                    if some is None:
                        weighted = Z * w.use[:, j, None]
                    else:
                        weighted, Z, W, y = Z[some], Z[some], W[some], y[some]
                    total[:, :k] += weighted.T @ Z
                    total[:, k : 2 * k] += weighted.T @ W
                    total[:, 2 * k] += weighted.T @ y

    def _rows(self) -> Iterator[tuple[Rows, Rows]]:
        return zip(self.measured.rows(), self.simulated.rows(), strict=True)

    def residuals(self, beta: Array) -> Array:
        """(n,) norms of y - W beta."""
        if self.straight:
            return np.array([factor.misfit(beta) for factor in self.measured.factors])
        square = np.zeros(len(self.columns))
        for rows, r in self.measured.residuals(beta):
            square += np.sum(np.where(rows.use, r, 0.0) ** 2, axis=0)
        return np.sqrt(square)

    def mean(self, residuals: Array) -> float:
        """Root mean square of residuals, given by their norms, over the rows in use, which change with the simulation."""
        return float(np.linalg.norm(residuals) / np.sqrt(max(float(self.counts.sum()), 1.0)))

    def stacked(self, weights: Array) -> Stacked:
        """R and z of the weighted problem; `rest` is what rows of unit variance leave, since instruments do not see it."""
        _, R, z = self.factors(weights)
        return Stacked(R, z, float(np.sqrt(max(self.counts.sum() - self.b, 1.0))))

    def information(self, weights: Array) -> Array:
        """(b, b) inverse of the covariance of what the weighted problem finds."""
        _, R, _ = self.factors(weights)
        return np.asarray(R.T @ R)

    def factors(self, weights: Array) -> tuple[Array, Array, Array]:
        """L', L^-1 Z'W and L^-1 Z'y with L L' = Z'Z, rows weighted; by products of columns unless these are nearly dependent."""
        b = self.b
        G = np.zeros((b, 2 * b + 1))
        for product, columns, weight in zip(self.products, self.columns, weights, strict=True):
            k = len(columns)
            G[np.ix_(columns, columns)] += weight**2 * product[:, :k]
            G[np.ix_(columns, b + columns)] += weight**2 * product[:, k : 2 * k]
            G[columns, 2 * b] += weight**2 * product[:, 2 * k]
        scale = np.sqrt(np.maximum(np.diag(G[:, :b]), 1e-300))
        # unit columns: condition numbers then measure dependence and not units
        unit = G[:, :b] / np.outer(scale, scale)
        with one_thread():
            root = _trusted_root(unit)
            if root is None:
                return self._orthogonal(weights)
            L = root * scale[:, None]
            rest = solve_triangular(L, G[:, b:], lower=True)
        return L.T, rest[:, :b], rest[:, b]

    def _orthogonal(self, weights: Array) -> tuple[Array, Array, Array]:
        """The same from a QR factorisation of all rows, which keeps the digits that products lose."""
        b = self.b
        R = np.zeros((2 * b + 1, 2 * b + 1))
        for w, z in self._rows():
            for j, columns in enumerate(self.columns):
                use = w.use[:, j]
                new = np.zeros((np.count_nonzero(use), 2 * b + 1))
                new[:, columns], new[:, b + columns], new[:, 2 * b] = z.W[j][use], w.W[j][use], w.y[use, j]
                R = stacked_factor(R, weights[j] * new)
        return R[:b, :b], R[:b, b : 2 * b], R[:b, 2 * b]

    def evidence(self, step: LinearStep, coloured: bool) -> Evidence:
        """With serial correlation when so asked: scores are Z' r, r the residual of the measured rows."""
        beta, weights = step.solution.beta, 1.0 / step.sigma
        Lt, R, right = self.factors(weights)
        if not coloured:
            return Evidence(R, right, None, step.solution.strategy)
        with one_thread():
            scores = scores_of(self.simulated, beta, weights, fitted_to=self.measured).mapped(R.T @ np.linalg.pinv(Lt.T))
        return Evidence(R, right, scores, step.solution.strategy)
