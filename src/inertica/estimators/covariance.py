"""Covariances of weighted least squares: the textbook formula, and one that survives coloured residuals.

Filtering and decimation make residuals of neighbouring samples alike; the textbook formula then promises too much.  With the scores
g_k = sum_j w_j^2 W_jk' r_jk of sample k and A = (R'R)^-1,

    C = A S A,   S = sum_{|l| < L} k(l / L) sum_k g_k g_{k+l}',

a heteroscedasticity- and autocorrelation-consistent estimate (Newey and West) with the Parzen kernel and a bandwidth taken from
the residuals' own correlation time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from threadpoolctl import threadpool_limits

from inertica.estimators.observe import System

Array = NDArray[np.float64]

MOST_LAGS = 4096
FINE = 24
"""Steps into which a bandwidth is divided."""


def hac(system: System, beta: Array, spread: Array, joint_weights: Array) -> Array:
    """(b, b) covariance of beta with serially correlated residuals.

    Args:
        system: the rows.
        beta: the estimate.
        spread: (R'R)^-1 of the weighted problem.
        joint_weights: (n,) 1 / sigma_j as used in the fit.
    """
    b = len(beta)
    S, rows_used = np.zeros((b, b)), 0.0
    with threadpool_limits(1):
        for scores, residual in _records(system, beta, joint_weights):
            rows_used += len(scores)
            S += long_run(scores, bandwidth(residual))
        correction = rows_used / max(rows_used - b / system.n, 1.0)  # residuals are smaller than errors
        return correction * spread @ S @ spread


def long_run(scores: Array, lags: int) -> Array:
    """Kernel-weighted sum of the autocovariances of scores (m, b) up to `lags`.

    Where many lags count, neighbouring samples are summed first: within a small part of the bandwidth the kernel is flat.
    """
    together = max(1, lags // FINE)
    if together > 1:
        scores = np.add.reduceat(scores, np.arange(0, len(scores), together), axis=0)
        lags = -(-lags // together)
    S = scores.T @ scores
    for lag in range(1, min(lags, len(scores) - 1)):
        cross = scores[lag:].T @ scores[:-lag]
        S += parzen(lag / lags) * (cross + cross.T)
    return S


def _records(system: System, beta: Array, joint_weights: Array) -> list[tuple[Array, Array]]:
    """Per motion the scores (m, b) and weighted residuals (m, n), masked samples as zeros."""
    gathered: dict[int, list[tuple[Array, Array]]] = {}
    for rows, residual in system.residuals(beta):
        weighted = residual * joint_weights * rows.use[:, None]
        scores = np.zeros((len(weighted), len(beta)))
        for j, (W, columns) in enumerate(zip(rows.W, system.columns, strict=True)):
            scores[:, columns] += W * (weighted[:, j] * joint_weights[j])[:, None]
        gathered.setdefault(rows.motion, []).append((scores, weighted))
    return [(np.concatenate([s for s, _ in parts]), np.concatenate([r for _, r in parts])) for parts in gathered.values()]


def bandwidth(residual: Array) -> int:
    """Lags to include: several times the correlation time of the residuals, at least the rate-optimal share of the sample size."""
    N = len(residual)
    time = correlation_time(residual)
    return int(np.clip(np.ceil(max(4.0 * time, 1.3 * N ** (1 / 5))), 1, min(MOST_LAGS, max(N // 4, 1))))


def correlation_time(residual: Array) -> float:
    """Integrated autocorrelation time in samples, 1 for white noise, largest over the joints (initial positive sequence)."""
    worst = 1.0
    for r in residual.T:
        rho = autocorrelation(r)
        pairs = rho[1:-1:2] + rho[2::2] if len(rho) > 3 else np.zeros(0)
        ends = np.flatnonzero(pairs <= 0.0)
        last = 2 * int(ends[0]) if len(ends) else 2 * len(pairs)
        worst = max(worst, 1.0 + 2.0 * float(rho[1 : 1 + last].sum()))
    return worst


def autocorrelation(r: Array, lags: int | None = None) -> Array:
    """Autocorrelation at lags 0, 1, ...; 1 at lag 0."""
    N = len(r)
    lags = min(N - 1, lags or N // 2)
    centred = r - r.mean()
    size = next_fast_len(2 * N)
    power = irfft(np.abs(rfft(centred, size)) ** 2, size)[: lags + 1]
    return power / power[0] if power[0] > 0.0 else np.r_[1.0, np.zeros(lags)]


def parzen(x: float) -> float:
    """A kernel that keeps S positive semidefinite."""
    return 1.0 - 6.0 * x**2 + 6.0 * x**3 if x <= 0.5 else 2.0 * (1.0 - x) ** 3
