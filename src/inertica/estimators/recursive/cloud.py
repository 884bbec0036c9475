"""Compiled loop of the particle filter."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from inertica.dynamics.llvm.stepping import advance_points, advance_rates
from inertica.estimators.recursive.factors import OPTIONS, cholesky

FEWEST = 0.1
"""Effective share of the particles that a single measurement leaves at least."""

KEPT = 0.99
"""How much of its own parameters a copy keeps when copies are moved apart; the rest is drawn anew around the mean."""


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
            square, kept.score[k, 1] = _weighed(log, added, weight)
            for i in range(q.shape[0]):
                q[i] = max(noise.shrink * q[i], noise.floor[i])
            if 1.0 / square < least * L or k == N - 1:
                _resample(Z, weight, draw.random(), spare)
                _moved_apart(Z, states, draw)
                for p in range(L):
                    log[p], weight[p] = -np.log(L), 1.0 / L
        if k % kept.every == 0:
            _record(Z, weight, kept, k // kept.every)
    return -1


@nb.njit(**OPTIONS)
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
            mean += weight[p] * Z[p, i] if weight[p] > 0.0 else 0.0
        for p in range(L):
            square += weight[p] * (Z[p, i] - mean) ** 2 if weight[p] > 0.0 else 0.0
        kept.z[row, i], kept.std[row, i] = mean, np.sqrt(square)


@nb.njit(**OPTIONS)
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
        C[i, i] *= 1.0 + 1e-9
    if not cholesky(C, low):
        return
    rest = np.sqrt(1.0 - KEPT * KEPT)
    for p in range(L):
        for i in range(b):
            e[i] = draw.standard_normal()
        for i in range(b):
            total = 0.0
            for j in range(i + 1):
                total += low[i, j] * e[j]
            Z[p, states + i] = mean[i] + KEPT * (Z[p, states + i] - mean[i]) + rest * total


@nb.njit(**OPTIONS)
def marginal(
    s: Any,
    rates: Any,
    table: Any,
    steps: Any,
    y: Any,
    used: Any,
    Z: Any,
    C: Any,
    noise: Any,
    memory: Any,
    least: float,
    draw: Any,
    kept: Any,
) -> int:
    """The Rao-Blackwellised filter over a record; returns the sample at which it broke down, or -1.

    Args:
        s, rates: steppers without and with tangents.
        table, steps, y, used, noise, memory, least, draw, kept: as for `run`.
        Z: (L, d) states of the particles and means of their parameters, in place; equal weights on return.
        C: (b, b) covariance of the parameters given the states, in place.
    """
    N, n, (L, d) = y.shape[0], y.shape[1], Z.shape
    states = 2 * n
    b = d - states
    log, added, weight = np.full(L, -np.log(L)), np.zeros(L), np.full(L, 1.0 / L)
    out, spare = np.zeros((L, states)), np.zeros((L, d))
    z, x, F, lost = np.zeros(d), np.zeros(states), np.zeros((states, d)), memory.copy()
    A, S, low = np.zeros((states, b)), np.zeros((states, states)), np.zeros((states, states))
    inner, tight, gain = np.zeros((n, n)), np.zeros((n, n)), np.zeros((states, n))
    rest, half = np.zeros((states, states)), np.zeros((states, states))
    e, white = np.zeros(states), np.zeros(n)
    q = noise.parameter.copy()
    for k in range(N):
        if k > 0:
            for i in range(d):
                z[i] = 0.0
                for p in range(L):
                    z[i] += weight[p] * Z[p, i] if weight[p] > 0.0 else 0.0
            lost[:] = memory
            advance_rates(rates, table, steps[k - 1], steps[k], z, lost, x, F)
            advance_points(s, table, steps[k - 1], steps[k], Z, memory, out)
            for i in range(states):  # S = F C F' + Q
                for j in range(b):
                    A[i, j] = 0.0
                    for m in range(b):
                        A[i, j] += F[i, states + m] * C[m, j]
            for i in range(states):
                for j in range(states):
                    S[i, j] = noise.state[i] if i == j else 0.0
                    for m in range(b):
                        S[i, j] += A[i, m] * F[j, states + m]
            for i in range(n):
                for j in range(n):
                    inner[i, j] = S[n + i, n + j]
                inner[i, i] += noise.measurement[i]
            if not cholesky(S, low) or not cholesky(inner, tight):
                return k
            for i in range(states):  # gain = S H' tight^-T, covariance of a drawn state given y: S - gain gain'
                for j in range(n):
                    total = S[i, n + j]
                    for m in range(j):
                        total -= gain[i, m] * tight[j, m]
                    gain[i, j] = total / tight[j, j] if used[k] else 0.0
            for i in range(states):
                for j in range(states):
                    rest[i, j] = S[i, j]
                    for m in range(n):
                        rest[i, j] -= gain[i, m] * gain[j, m]
                rest[i, i] *= 1.0 + 1e-9
            if not cholesky(rest, half):
                return k
            alive = False
            for p in range(L):
                square = 0.0
                for i in range(n):
                    total = y[k, i] - out[p, n + i]
                    for j in range(i):
                        total -= tight[i, j] * white[j]
                    white[i] = total / tight[i, i]
                    square += white[i] * white[i] + 2.0 * np.log(tight[i, i])
                for i in range(states):
                    e[i] = draw.standard_normal()
                added[p] = -0.5 * (square + n * np.log(2.0 * np.pi)) if used[k] else 0.0
                for i in range(states):
                    total = out[p, i]
                    for j in range(n):
                        total += gain[i, j] * white[j]
                    for j in range(i + 1):
                        total += half[i, j] * e[j]
                    Z[p, i] = total
                alive = alive or np.isfinite(log[p] + added[p])
            if not alive:
                return k
            _learn(Z, out, A, low, C)
            for i in range(b):
                C[i, i] += q[i]
                q[i] = max(noise.shrink * q[i], noise.floor[i])
            square, kept.score[k, 1] = _weighed(log, added, weight)
            if 1.0 / square < least * L or k == N - 1:
                _resample(Z, weight, draw.random(), spare)
                for p in range(L):
                    log[p], weight[p] = -np.log(L), 1.0 / L
        if k % kept.every == 0:
            row = k // kept.every
            _record(Z, weight, kept, row)
            for i in range(b):
                kept.std[row, states + i] = np.sqrt(kept.std[row, states + i] ** 2 + C[i, i])
    return -1


@nb.njit(**OPTIONS)
def _learn(Z: Any, out: Any, A: Any, low: Any, C: Any) -> None:
    """What the drawn states say of the parameters: means + A' S^-1 (x' - f), C - A' S^-1 A, with low low' = S."""
    states, b = A.shape
    W, white = np.zeros((states, b)), np.zeros(states)
    for m in range(b):
        for i in range(states):
            total = A[i, m]
            for j in range(i):
                total -= low[i, j] * W[j, m]
            W[i, m] = total / low[i, i]
    for p in range(Z.shape[0]):
        for i in range(states):
            total = Z[p, i] - out[p, i]
            for j in range(i):
                total -= low[i, j] * white[j]
            white[i] = total / low[i, i]
        for i in range(states):
            for m in range(b):
                Z[p, states + m] += W[i, m] * white[i]
    for i in range(b):
        for j in range(i + 1):
            total = C[i, j]
            for m in range(states):
                total -= W[m, i] * W[m, j]
            C[i, j] = total
            C[j, i] = total
