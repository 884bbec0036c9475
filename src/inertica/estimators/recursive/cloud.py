"""Compiled loop of the particle filter."""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.compiled import njit
from inertica.dynamics.llvm.stepping import advance_points
from inertica.estimators.recursive.factors import OPTIONS, cholesky

FEWEST = 0.1
"""Effective share of the particles that a single measurement leaves at least."""

RETAINED_SHARE = 0.99
"""How much of its own parameters a copy keeps when copies are moved apart; the rest is drawn anew around the mean."""


@njit(**OPTIONS)
def run(
    s: Any, table: Any, steps: Any, y: Any, used: Any, Z: Any, noise: Any, memory: Any, least: float, draw: Any, stored: Any
) -> int:
    """One pass over a record; returns the sample at which no particle was left, or -1.  Particles end with equal weights.

    Args:
        s, table, steps, y, used, noise, memory, stored: as for `kalman.run`.
        Z: (L, d) particles, in place.
        least: effective share below which they are resampled.
        draw: random generator.
    """
    N, n, (L, d) = y.shape[0], y.shape[1], Z.shape
    states = 2 * n
    log, added, weight = np.full(L, -np.log(L)), np.zeros(L), np.full(L, 1.0 / L)
    out, spare = np.zeros((L, states)), np.zeros((L, d))
    q = noise.parameter.copy()
    for k in range(N):
        if k > 0:
            advance_points(s, table, steps[k - 1], steps[k], Z, memory, out)
            alive = False
            for p in range(L):
                added[p] = 0.0
                for i in range(n):
                    Z[p, i] = out[p, i] + np.sqrt(noise.state[i]) * draw.standard_normal()
                    wide, at = noise.state[n + i], out[p, n + i]
                    total = wide + noise.measurement[i]
                    # the optimal proposal: position and measurement are combined before drawing, so that few particles are lost
                    share = wide / total if used[k] else 0.0
                    r = y[k, i] - at
                    if used[k]:
                        added[p] -= 0.5 * (r * r / total + np.log(2.0 * np.pi * total))
                    Z[p, n + i] = at + share * r + np.sqrt((1.0 - share) * wide) * draw.standard_normal()
                for i in range(states, d):
                    Z[p, i] += np.sqrt(q[i - states]) * draw.standard_normal()
                alive = alive or np.isfinite(log[p] + added[p])
            if not alive:
                return k
            square, stored.score[k, 1] = _weighed(log, added, weight)
            for i in range(q.shape[0]):
                q[i] = max(noise.shrink * q[i], noise.floor[i])
            # 1 / sum of squared weights is the number of particles that carry the weight
            if 1.0 / square < least * L or k == N - 1:
                resample(Z, weight, draw.random(), spare)
                _moved_apart(Z, states, draw)
                for p in range(L):
                    log[p], weight[p] = -np.log(L), 1.0 / L
        if k % stored.every == 0:
            record_particles(Z, weight, stored, k // stored.every)
    return -1


@njit(**OPTIONS)
def _weighed(log: Any, added: Any, weight: Any) -> Any:
    """New weights from logarithms and what is added to them; sum of their squares, and minus twice the logarithm of their sum.

    Where a measurement would leave but a few particles, it counts only as much as leaves `FEWEST` of them.
    """
    L = log.shape[0]
    share, low, high = 1.0, 0.0, 1.0
    square, score = 1.0, 0.0
    for attempt in range(12):
        best, total = -np.inf, 0.0
        for p in range(L):
            value = log[p] + share * added[p]
            if np.isfinite(value):
                best = max(best, value)
        for p in range(L):
            value = log[p] + share * added[p]
            weight[p] = np.exp(value - best) if np.isfinite(value) else 0.0
            total += weight[p]
        square = 0.0
        for p in range(L):
            weight[p] /= total
            square += weight[p] * weight[p]
        if attempt == 0:
            score = -2.0 * (best + np.log(total))
        # bisection of the exponent of the likelihood: the largest that leaves enough particles
        if 1.0 / square >= FEWEST * L:
            if attempt == 0:
                break
            low = share
        else:
            high = share
        share = 0.5 * (low + high)
    for p in range(L):
        log[p] = np.log(weight[p]) if weight[p] > 0.0 else -np.inf
    return square, score


@njit(**OPTIONS)
def resample(Z: Any, weight: Any, first: float, spare: Any) -> None:
    """Systematic: at equal distances along the sum of weights."""
    L, d = Z.shape
    total, source = weight[0], 0
    for p in range(L):
        at = (p + first) / L
        while total < at and source < L - 1:
            source += 1
            total += weight[source]
        for i in range(d):
            spare[p, i] = Z[source, i]
    for p in range(L):
        for i in range(d):
            Z[p, i] = spare[p, i]


@njit(**OPTIONS)
def record_particles(Z: Any, weight: Any, stored: Any, row: int) -> None:
    L, d = Z.shape
    for i in range(d):
        mean, square = 0.0, 0.0
        for p in range(L):
            mean += weight[p] * Z[p, i] if weight[p] > 0.0 else 0.0
        for p in range(L):
            square += weight[p] * (Z[p, i] - mean) ** 2 if weight[p] > 0.0 else 0.0
        stored.z[row, i], stored.std[row, i] = mean, np.sqrt(square)


@njit(**OPTIONS)
def _moved_apart(Z: Any, states: int, draw: Any) -> None:
    """Parameters of equally weighted copies a b + (1 - a) mean + sqrt(1 - a^2) e, e with their covariance."""
    L, d = Z.shape
    b = d - states
    mean, C, low, e = np.zeros(b), np.zeros((b, b)), np.zeros((b, b)), np.zeros(b)
    for p in range(L):
        for i in range(b):
            mean[i] += Z[p, states + i] / L
    for p in range(L):
        for i in range(b):
            for j in range(i + 1):
                C[i, j] += (Z[p, states + i] - mean[i]) * (Z[p, states + j] - mean[j]) / L
    for i in range(b):
        for j in range(i):
            C[j, i] = C[i, j]
        # copies of few particles have a covariance that is singular to rounding
        C[i, i] *= 1.0 + 1e-9
    if not cholesky(C, low):
        return
    # shrinkage towards the mean before noise is added keeps mean and covariance (Liu and West)
    rest = np.sqrt(1.0 - RETAINED_SHARE * RETAINED_SHARE)
    for p in range(L):
        for i in range(b):
            e[i] = draw.standard_normal()
        for i in range(b):
            total = 0.0
            for j in range(i + 1):
                total += low[i, j] * e[j]
            Z[p, states + i] = mean[i] + RETAINED_SHARE * (Z[p, states + i] - mean[i]) + rest * total
