"""Essential parameters: those that the data need, found by dropping the others one by one."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.covariance import hac
from inertica.estimators.evidence import Solution
from inertica.estimators.linear.least_squares import MEASURED, observed
from inertica.estimators.solve import FitErrors, Unconstrained, estimated
from inertica.threads import one_thread


@dataclass(frozen=True)
class Dropped:
    """A parameter that was dropped, and what that cost.

    Args:
        name: of the base parameter.
        value: its estimate when it was dropped.
        relative_std: 100 sigma / |value| then, in percent.
        residual: root mean square residual of all rows after the drop, in units of the joints' noise.
        increase: of the residual, relative to that of all base parameters.
    """

    name: str
    value: float
    relative_std: float
    residual: float
    increase: float


@dataclass(frozen=True, eq=False)
class Elimination:
    """What remains.

    Args:
        retained: (e,) positions in beta.
        beta: (b,) refitted, zero where dropped.
        spread: (b, b) (R'R)^-1 of the retained columns, zero where dropped.
        dropped: in the order of dropping.
        residual: root mean square residual with all base parameters.
    """

    retained: NDArray[np.intp]
    beta: Array
    spread: Array
    dropped: tuple[Dropped, ...]
    residual: float


@dataclass(frozen=True)
class Essential:
    """min sum_j |W_j beta - y_j|^2 / sigma_j^2 with as few parameters as the data justify, the others zero.

    The base parameter with the largest relative standard deviation is dropped and the rest refitted, until
    max(rel) / min(rel) < ratio (consistent-parameters paper, section III) or, with `relative`, until none exceeds that many percent
    (30 % in the DIDIM paper).  Works on the R factor; rows are seen once.

    Assumes that dropped parameters are zero, which shifts their part of the torque to correlated ones: standard deviations
    afterwards are too small by that.  Poor excitation, not only small values, makes a parameter unessential.

    Args:
        ratio: of largest to smallest relative standard deviation; the paper takes 10 to 30.
        relative: percent; replaces the ratio rule when given.
        keep: percent; a parameter known better than this is never dropped, however well others are known: on clean data the ratio
            rule alone would drop what the torque cannot do without.
        hac: standard deviations that account for serial correlation of the residuals.
    """

    ratio: float = 30.0
    relative: float | None = None
    keep: float = 5.0
    hac: bool = True

    name: ClassVar[str] = "essential"
    needs: ClassVar[frozenset[Need]] = MEASURED
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.SELECTS, Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        start = time.perf_counter()
        system = observed(self, problem)
        weights = 1.0 / system.sigmas
        elimination, whole = self.select(problem, weights)
        covariance = hac(system, elimination.beta, elimination.spread, weights) if self.hac else elimination.spread
        solution = Solution(elimination.beta, elimination.spread, whole, np.zeros((len(elimination.beta), 0)))
        settings = {
            "ratio": self.ratio,
            "relative": self.relative,
            "dropped": elimination.dropped,
            "residual": elimination.residual,
        }
        sigma = system.residual_sigmas(elimination.beta)
        reason = f"{len(elimination.retained)} of {problem.base.rank} base parameters are essential"
        out = estimated(self.name, problem, solution, FitErrors(sigma, covariance), start, settings=settings)
        return replace(out, iterations=len(elimination.dropped) + 1, stop_reason=reason)

    def select(self, problem: Problem, weights: Array) -> tuple[Elimination, float]:
        """The elimination, and the condition number of what it began with."""
        system = problem.observations
        stacked = system.stacked(weights)
        full = Unconstrained()(stacked, problem)
        inflation = np.ones(len(full.beta))
        if self.hac:
            variances = np.diag(full.spread)
            robust = np.diag(hac(system, full.beta, full.spread, weights))
            inflation = np.sqrt(np.divide(robust, variances, out=np.ones(len(variances)), where=variances > 0.0))
        rows = float(system.counts.sum())
        return eliminate(stacked, rows, problem.base.names, self.ratio, self.relative, self.keep, inflation), full.condition


def eliminate(
    stacked: Stacked,
    rows: float,
    names: tuple[str, ...],
    ratio: float = 30.0,
    relative: float | None = None,
    keep: float = 0.0,
    inflation: Array | None = None,
) -> Elimination:
    """Backward elimination on R factors.

    Args:
        stacked: with rows of unit variance.
        rows: how many there were.
        names: of the parameters.
        ratio, relative, keep: when to stop, see `Essential`.
        inflation: (b,) factors on the standard deviations that serial correlation asks for.
    """
    b = len(stacked.z)
    factor = np.ones(b) if inflation is None else inflation
    retained = np.arange(b)
    beta, covariance, misfit = _refit(stacked, retained)
    first = misfit
    dropped: list[Dropped] = []
    while len(retained) > 1:
        std = factor[retained] * np.sqrt(np.diag(covariance))
        with np.errstate(divide="ignore"):
            spread = np.where(beta == 0.0, np.inf, 100.0 * std / np.abs(beta))
        worst = int(np.argmax(spread))
        done = spread[worst] <= relative if relative is not None else spread[worst] < ratio * spread.min()
        if done or spread[worst] < keep:
            break
        gone = (names[retained[worst]], float(beta[worst]), float(spread[worst]))
        retained = np.delete(retained, worst)
        beta, covariance, misfit = _refit(stacked, retained)
        increase = misfit / first - 1.0 if first > 0.0 else np.inf
        dropped.append(Dropped(*gone, misfit / np.sqrt(rows), increase))
    values, spread = np.zeros(b), np.zeros((b, b))
    values[retained] = beta
    spread[np.ix_(retained, retained)] = covariance
    return Elimination(retained, values, spread, tuple(dropped), first / np.sqrt(rows))


def _refit(stacked: Stacked, retained: NDArray[np.intp]) -> tuple[Array, Array, float]:
    """Estimate of some columns alone, its (R'R)^-1, and the norm of the residual."""
    scale = np.linalg.norm(stacked.R[:, retained], axis=0)
    scale[scale == 0.0] = 1.0
    with one_thread():
        # unit columns, so that the floor of the singular values below does not depend on units
        U, s, Vt = np.linalg.svd(stacked.R[:, retained] / scale, full_matrices=False)
    s = np.maximum(s, 1e-12 * s[0])  # undetermined directions get a huge variance and are dropped first
    projected = U.T @ stacked.z
    half = Vt.T / s / scale[:, None]
    beta = half @ projected
    rest = stacked.z - U @ projected
    return beta, half @ half.T, float(np.hypot(np.linalg.norm(rest), stacked.rest))
