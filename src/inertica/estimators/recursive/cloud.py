"""Compiled loop of the particle filter."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from inertica.dynamics.llvm.stepping import advance_points
from inertica.estimators.recursive.factors import OPTIONS


@nb.njit(**OPTIONS)
def run(
    s: Any, table: Any, steps: Any, y: Any, used: Any, Z: Any, noise: Any, memory: Any, least: float, draw: Any, kept: Any
) -> int:
    """One pass over a record; returns the sample at which no particle was left, or -1.  Particles end with equal weights.

    Args:
        s, table, steps, y, used, noise, memory, kept: as for `kalman.run`.
        Z: (L, d) particles, in place.
        least: effective share below which they are resampled.
        draw: random generator.
    """
    N, n, (L, d) = y.shape[0], y.shape[1], Z.shape
    states = 2 * n
    log, weight = np.zeros(L), np.full(L, 1.0 / L)
    out, spare = np.zeros((L, states)), np.zeros((L, d))
    q = noise.parameter.copy()
    for k in range(N):
        if k > 0:
            advance_points(s, table, steps[k - 1], steps[k], Z, memory, out)
            best, score = -np.inf, 0.0
            for p in range(L):
                for i in range(n):
                    Z[p, i] = out[p, i] + np.sqrt(noise.state[i]) * draw.standard_normal()
                    wide, at = noise.state[n + i], out[p, n + i]
                    total = wide + noise.measurement[i]
                    share = wide / total if used[k] else 0.0
                    r = y[k, i] - at
                    if used[k]:
                        log[p] -= 0.5 * (r * r / total + np.log(2.0 * np.pi * total))
                    Z[p, n + i] = at + share * r + np.sqrt((1.0 - share) * wide) * draw.standard_normal()
                for i in range(states, d):
                    Z[p, i] += np.sqrt(q[i - states]) * draw.standard_normal()
                if np.isfinite(log[p]):
                    best = max(best, log[p])
                else:
                    log[p] = -np.inf
            if not np.isfinite(best):
                return k
            total, square = 0.0, 0.0
            for p in range(L):
                weight[p] = np.exp(log[p] - best)
                total += weight[p]
            for p in range(L):
                weight[p] /= total
                square += weight[p] * weight[p]
                log[p] = np.log(weight[p]) if weight[p] > 0.0 else -np.inf
            score = -2.0 * (best + np.log(total))
            kept.score[k, 1] = score
            for i in range(q.shape[0]):
                q[i] = max(noise.shrink * q[i], noise.floor[i])
            if 1.0 / square < least * L or k == N - 1:
                _resample(Z, weight, draw.random(), spare)
                for p in range(L):
                    log[p], weight[p] = -np.log(L), 1.0 / L
        if k % kept.every == 0:
            _record(Z, weight, kept, k // kept.every)
    return -1


@nb.njit(**OPTIONS)
def _resample(Z: Any, weight: Any, first: float, spare: Any) -> None:
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


@nb.njit(**OPTIONS)
def _record(Z: Any, weight: Any, kept: Any, row: int) -> None:
    L, d = Z.shape
    for i in range(d):
        mean, square = 0.0, 0.0
        for p in range(L):
            mean += weight[p] * Z[p, i]
        for p in range(L):
            square += weight[p] * (Z[p, i] - mean) ** 2
        kept.z[row, i], kept.std[row, i] = mean, np.sqrt(square)
