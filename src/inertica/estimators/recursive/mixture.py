"""Compiled loop of the Rao-Blackwellised particle filter: a weighted mixture of Gaussians, each with a Kalman filter of its own
mean.

The distribution of z = (dq, q, beta) is a mixture  sum w_p N(z_p, P).  A share of what is uncertain lies in where the particles
z_p are, the rest is the Gaussian around each (`share`).  From sample to sample

    z_p' = f(z_p),   P' = F P F' + Q,   F at the mean            every particle goes through the model itself
    w_p <- w_p N(y; q_p', S),   S = H P' H' + R                    its weight is the likelihood of the measurement
    z_p <- z_p' + K (y - q_p'),   P <- P' - K S K'                  and given the particle the rest is Gaussian

(mixture Kalman filter, Chen and Liu 2000; Gaussian sum particle filter, Kotecha and Djuric 2003).  When weights have become
unequal, particles are resampled systematically and copies drawn apart within their Gaussian; then a linear map moves them so that
mean and covariance of the mixture are what they were before, and the share is again what it was at first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.compiled import njit
from inertica.estimators.recursive.cloud import record_particles, resample
from inertica.estimators.recursive.drive import move_points, move_rates
from inertica.estimators.recursive.factors import (
    OPTIONS,
    SUMS,
    add_outer,
    cholesky,
    innovation_factor,
    outer,
    predicted_covariance,
    product,
    subtract_outer,
    through,
)
from inertica.estimators.recursive.kalman import fill_torque_noise, noise_now


@njit(**OPTIONS)
def run(
    s: Any, rates: Any, drive: Any, steps: Any, y: Any, used: Any, Z: Any, P: Any, noise: Any, memory: Any, share: float,
    least: float, draw: Any, stored: Any,
) -> int:  # fmt: skip
    """One pass over a record; returns the sample at which it broke down, or -1.

    Args:
        s, rates: steppers without and with tangents.
        drive, steps, y, used, noise, memory, stored: as for `kalman.run`.
        Z: (L, d) the start in every row; particles of equal weight on return.
        P: (d, d) covariance of the start; of the Gaussian around each particle on return.
        share: of the covariance that lies in where the particles are.
        least: effective share of the particles below which they are resampled.
        draw: random generator.
    """
    N, n, (L, d) = y.shape[0], y.shape[1], Z.shape
    states = 2 * n
    log, added, weight = np.full(L, -np.log(L)), np.zeros(L), np.full(L, 1.0 / L)
    out, spare, mean = np.zeros((L, states)), np.zeros((L, d)), np.zeros(d)
    shift = np.zeros(states)
    x, F, lost = np.zeros(states), np.zeros((states, d)), memory.copy()
    A, X = np.zeros((states, d)), np.zeros((states, states))
    S, low, gain, wide = np.zeros((n, n)), np.zeros((n, n)), np.zeros((d, n)), np.zeros((n, n))
    q, state, W = noise.parameter.copy(), noise.state.copy(), np.zeros((states, n))
    if not _renew(Z, weight, P, share, draw, spare):
        return 0
    for k in range(N):
        if k > 0:
            _mean(Z, weight, mean)
            # the controller remembers one past; the run along the mean and those of the particles start from the same
            lost[:] = memory
            move_rates(rates, drive, steps[k - 1], steps[k], mean, lost, shift, x, F)
            move_points(s, drive, steps[k - 1], steps[k], mean, Z, memory, shift, out)
            memory[:] = lost
            product(F, P, A)
            outer(A, F, X)
            noise_now(noise, mean, x, state)
            predicted_covariance(P, A, X, state, q)
            if fill_torque_noise(noise, k - 1, W):
                add_outer(P, W)
            for i in range(q.shape[0]):
                q[i] = max(noise.shrink * q[i], noise.floor[i])
            if not _moved(Z, out, x, noise.reach, log, weight):
                return k
        if used[k]:
            _mean(Z, weight, mean)
            if not innovation_factor(P, noise.measurement, S, low):
                return k
            stored.score[k, 0] = _whitened(Z, weight, mean, S, y[k], wide, stored.innovation[k])
            # one gain for all particles: they share the covariance of the Gaussian around them
            through(P[:, n:states], low, gain)
            _correct(Z, y[k], low, gain, added)
            subtract_outer(P, gain)
            effective, stored.score[k, 1] = _weigh(log, added, weight)
            if not effective > 0.0:
                return k
            # resampled only when few carry the weight: each time costs variance of its own
            if effective < least * L or k == N - 1:
                if not _renew(Z, weight, P, share, draw, spare):
                    return k
                for p in range(L):
                    log[p], weight[p] = -np.log(L), 1.0 / L
        if k % stored.every == 0:
            row = k // stored.every
            record_particles(Z, weight, stored, row)
            for i in range(d):
                stored.std[row, i] = np.sqrt(stored.std[row, i] ** 2 + max(P[i, i], 0.0))
    return -1


@njit(**OPTIONS)
def _moved(Z: Any, out: Any, x: Any, reach: Any, log: Any, weight: Any) -> bool:
    """New states; particles that went where no motion goes, whose parameters cannot be a robot's, get no weight any more."""
    (L, states), alive, total = out.shape, False, 0.0
    for p in range(L):
        fine = weight[p] > 0.0
        for i in range(states):
            fine = fine and abs(out[p, i] - x[i]) < reach[i]
        for i in range(states):
            Z[p, i] = out[p, i] if fine else x[i]
        if not fine:
            log[p], weight[p] = -np.inf, 0.0
        alive, total = alive or fine, total + weight[p]
    for p in range(L):
        weight[p] /= total
    return alive


@njit(**SUMS)
def _correct(Z: Any, y: Any, low: Any, gain: Any, added: Any) -> None:
    """Every particle by the same gain; the logarithm of its likelihood."""
    (L, d), n = Z.shape, y.shape[0]
    white, size = np.zeros(n), n * np.log(2.0 * np.pi)
    for i in range(n):
        size += 2.0 * np.log(low[i, i])
    for p in range(L):
        square = 0.0
        for i in range(n):
            total = y[i] - Z[p, n + i]
            for j in range(i):
                total -= low[i, j] * white[j]
            white[i] = total / low[i, i]
            square += white[i] * white[i]
        added[p] = -0.5 * (square + size)
        for i in range(d):
            total = Z[p, i]
            for j in range(n):
                total += gain[i, j] * white[j]
            Z[p, i] = total


@njit(**OPTIONS)
def _weigh(log: Any, added: Any, weight: Any) -> Any:
    """New weights; their effective number, and minus twice the logarithm of the likelihood."""
    best, total, square = -np.inf, 0.0, 0.0
    for p in range(log.shape[0]):
        log[p] += added[p]
        if not np.isfinite(log[p]):
            log[p] = -np.inf
        best = max(best, log[p])
    for p in range(log.shape[0]):
        # relative to the best one: likelihoods of single samples underflow as they are
        weight[p] = np.exp(log[p] - best) if log[p] > -np.inf else 0.0
        total += weight[p]
    for p in range(log.shape[0]):
        weight[p] /= total
        square += weight[p] * weight[p]
        log[p] = np.log(weight[p]) if weight[p] > 0.0 else -np.inf
    return 1.0 / square, -2.0 * (best + np.log(total))


@njit(**OPTIONS)
def _whitened(Z: Any, weight: Any, mean: Any, S: Any, y: Any, wide: Any, innovation: Any) -> float:
    """The innovation of the whole mixture by the root of its covariance, and its square."""
    n = y.shape[0]
    for i in range(n):
        for j in range(n):
            wide[i, j] = S[i, j]
    for p in range(Z.shape[0]):
        for i in range(n):
            f = weight[p] * (Z[p, n + i] - mean[n + i])
            for j in range(n):
                # law of total variance: covariance around the particles plus that of where they are
                wide[i, j] += f * (Z[p, n + j] - mean[n + j])
    low, square = np.zeros((n, n)), 0.0
    if not cholesky(wide, low):
        return np.nan
    for i in range(n):
        total = y[i] - mean[n + i]
        for j in range(i):
            total -= low[i, j] * innovation[j]
        innovation[i] = total / low[i, i]
        square += innovation[i] * innovation[i]
    return square


@njit(**OPTIONS)
def _renew(Z: Any, weight: Any, P: Any, share: float, draw: Any, spare: Any) -> bool:
    """Equally weighted particles and P with the mean and covariance of the mixture, the share of the covariance in the particles.

    Copies are drawn apart within their Gaussian; what then is left to bring mean and covariance where they were is linear.
    """
    L, d = Z.shape
    mean, spread = np.zeros(d), np.zeros(d)
    _mean(Z, weight, mean)
    whole = _scatter(Z, weight, mean)
    low, other, e = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
    if not cholesky(P, low):
        return False
    resample(Z, weight, draw.random(), spare)
    for p in range(L):
        for i in range(d):
            e[i] = np.sqrt(share) * draw.standard_normal()
        for i in range(d):
            for j in range(i + 1):
                Z[p, i] += low[i, j] * e[j]
    for i in range(d):
        for j in range(d):
            whole[i, j] += P[i, j]
            P[i, j] = (1.0 - share) * whole[i, j]
            whole[i, j] *= share
    equal = np.full(L, 1.0 / L)
    _mean(Z, equal, spread)
    scatter = _scatter(Z, equal, spread)
    if not cholesky(whole, low):
        return False
    # with fewer particles than unknowns their scatter is singular and cannot be whitened
    known = d < L and cholesky(scatter, other)
    for p in range(L):
        for i in range(d):  # e of unit covariance; with few particles a random one
            if known:
                total = Z[p, i] - spread[i]
                for j in range(i):
                    total -= other[i, j] * e[j]
                e[i] = total / other[i, i]
            else:
                e[i] = draw.standard_normal()
        for i in range(d):
            Z[p, i] = mean[i]
            for j in range(i + 1):
                Z[p, i] += low[i, j] * e[j]
    return True


@njit(**OPTIONS)
def _mean(Z: Any, weight: Any, mean: Any) -> None:
    for i in range(mean.shape[0]):
        mean[i] = 0.0
    for p in range(Z.shape[0]):
        if weight[p] > 0.0:
            for i in range(mean.shape[0]):
                mean[i] += weight[p] * Z[p, i]


@njit(**SUMS)
def _scatter(Z: Any, weight: Any, mean: Any) -> Any:
    """(d, d) covariance of where the particles are."""
    d = mean.shape[0]
    C, r = np.zeros((d, d)), np.zeros(d)
    for p in range(Z.shape[0]):
        if weight[p] > 0.0:
            for i in range(d):
                r[i] = Z[p, i] - mean[i]
            for i in range(d):
                f = weight[p] * r[i]
                for j in range(d):
                    C[i, j] += f * r[j]
    return C
