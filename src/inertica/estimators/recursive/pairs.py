"""Compiled loops of the two formulations beside the joint one: state and parameters in two filters, and parameters alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.compiled import njit
from inertica.estimators.recursive.drive import move_rates
from inertica.estimators.recursive.factors import OPTIONS, SUMS, add_outer, cholesky, innovation_factor, subtract_outer, through
from inertica.estimators.recursive.kalman import fill_torque_noise, noise_now


@njit(**OPTIONS)
def dual(
    s: Any, drive: Any, steps: Any, y: Any, used: Any, x: Any, beta: Any, P: Any, C: Any, noise: Any, memory: Any, stored: Any
) -> int:
    """Two extended filters side by side; returns the sample at which they broke down, or -1.

    The filter of the state takes the parameters for known, that of the parameters sees the innovation of the state through the
    total derivative D = dx/dbeta, D' = (I - K H) (F D + G)  (Wan and Nelson).  When the parameters have moved, the state goes with
    them by D: it would else be that of parameters which nobody holds any more, its next innovation would be put on the parameters
    once more, and at long sample periods the two filters drive each other away.

    Args:
        s, drive, steps, y, used, noise, memory, stored: as for `kalman.run`.
        x: (2n,) and P (2n, 2n): state and covariance.
        beta: (b,) and C (b, b): parameters and covariance.
    """
    N, n, b = y.shape[0], y.shape[1], beta.shape[0]
    states = 2 * n
    q = noise.parameter.copy()
    z = np.zeros(states + b)
    F, ahead = np.zeros((states, states + b)), np.zeros(states)
    D, E = np.zeros((states, b)), np.zeros((states, b))
    A, X, state = np.zeros((states, states)), np.zeros((states, states)), noise.state.copy()
    S, low, gain, wide = np.zeros((n, n)), np.zeros((n, n)), np.zeros((states, n)), np.zeros((b, n))
    inner, step, W, shift = np.zeros((n, n)), np.zeros(b), np.zeros((states, n)), np.zeros(states)
    for k in range(N):
        if used[k]:
            if not innovation_factor(P, noise.measurement, S, low):
                return k
            # gain low^-1 is the Kalman gain of the state, with the parameters taken as known
            through(P[:, n:states], low, gain)
            for i in range(b):  # C H' with H = D of the positions
                for j in range(n):
                    total = 0.0
                    for m in range(b):
                        total += C[i, m] * D[n + j, m]
                    wide[i, j] = total
            for i in range(n):
                for j in range(n):
                    for m in range(b):
                        S[i, j] += D[n + i, m] * wide[m, j]
            if not cholesky(S, inner):
                return k
            r = np.zeros(n)
            for i in range(n):
                r[i] = y[k, i] - x[n + i]
            through(wide, inner, wide)
            for i in range(b):
                step[i] = 0.0
            stored.score[k, 0], stored.score[k, 1] = _moved(step, r, inner, wide, stored.innovation[k])
            _moved(x, r, low, gain, np.zeros(n))
            subtract_outer(C, wide)
            subtract_outer(P, gain)
            for i in range(n):  # (I - K H) D, K = gain low^-1
                for m in range(b):
                    total = D[n + i, m]
                    for j in range(i):
                        total -= low[i, j] * E[j, m]
                    E[i, m] = total / low[i, i]
            for i in range(states):
                for j in range(n):
                    for m in range(b):
                        D[i, m] -= gain[i, j] * E[j, m]
                for m in range(b):
                    x[i] += D[i, m] * step[m]
            for i in range(b):
                beta[i] += step[i]
        if k % stored.every == 0:
            for i in range(b):
                stored.z[k // stored.every, states + i] = beta[i]
                stored.std[k // stored.every, states + i] = np.sqrt(max(C[i, i], 0.0))
        if k == N - 1:
            break
        for i in range(states + b):
            z[i] = x[i] if i < states else beta[i - states]
        move_rates(s, drive, steps[k], steps[k + 1], z, memory, shift, ahead, F)
        noise_now(noise, z, ahead, state)
        for i in range(states):
            x[i] = ahead[i]
            if not np.isfinite(x[i]):
                return k
            for m in range(b):
                total = F[i, states + m]
                for j in range(states):
                    total += F[i, j] * D[j, m]
                E[i, m] = total
            for j in range(states):
                total = 0.0
                for m in range(states):
                    total += F[i, m] * P[m, j]
                A[i, j] = total
        for i in range(states):
            for m in range(b):
                D[i, m] = E[i, m]
            for j in range(states):
                total = state[i] if i == j else 0.0
                for m in range(states):
                    total += A[i, m] * F[j, m]
                X[i, j] = total
        for i in range(states):
            for j in range(states):
                P[i, j] = 0.5 * (X[i, j] + X[j, i])
        if fill_torque_noise(noise, k, W):
            add_outer(P, W)
        for i in range(b):
            C[i, i] += q[i]
            q[i] = max(noise.shrink * q[i], noise.floor[i])
    return -1


@njit(**OPTIONS)
def parameters(Y: Any, tau: Any, used: Any, beta: Any, C: Any, noise: Any, torque: Any, first: int, stored: Any) -> None:
    """A filter whose state is beta and whose measurement is the torque, tau = Y beta + w, over a piece of a record.

    Args:
        Y: (N, n, b) regressor.
        tau: (N, n)
        used: (N, n) rows that count.
        beta: (b,) and C (b, b): parameters and covariance.
        noise: of `kalman.run`; its parameters' is used and updated.
        torque: (n,) variances of the torque.
        first: number of the first sample.
        stored: as for `kalman.run`.
    """
    N, n, b = Y.shape
    q, g = noise.parameter, np.zeros(b)
    for k in range(N):
        row = (first + k) // stored.every
        # scalar updates need no inverse
        for j in range(n):  # measurements one by one: their noise is not correlated
            if not used[k, j]:
                continue
            r, variance = tau[k, j], torque[j]
            for i in range(b):
                g[i] = 0.0
                r -= Y[k, j, i] * beta[i]
            _multiply(C, Y[k, j], g)
            for i in range(b):
                variance += Y[k, j, i] * g[i]
            stored.innovation[first + k, j] = r / np.sqrt(variance)
            stored.score[first + k, 0] += r * r / variance
            stored.score[first + k, 1] += r * r / variance + np.log(2.0 * np.pi * variance)
            _rank_one(beta, C, g, r, variance)
        if (first + k) % stored.every == 0:
            for i in range(b):
                stored.z[row, i] = beta[i]
                stored.std[row, i] = np.sqrt(max(C[i, i], 0.0))
        for i in range(b):
            C[i, i] += q[i]
            q[i] = max(noise.shrink * q[i], noise.floor[i])


@njit(**SUMS)
def _multiply(C: Any, y: Any, out: Any) -> None:
    for i in range(C.shape[0]):
        total = 0.0
        for k in range(C.shape[0]):
            total += C[i, k] * y[k]
        out[i] = total


@njit(**SUMS)
def _rank_one(beta: Any, C: Any, g: Any, r: float, variance: float) -> None:
    for i in range(C.shape[0]):
        share = g[i] / variance
        beta[i] += share * r
        for k in range(C.shape[0]):
            C[i, k] -= share * g[k]


@njit(**OPTIONS)
def _moved(x: Any, r: Any, low: Any, gain: Any, white: Any) -> Any:
    """x + gain low^-1 r; innovation squared, and minus twice its logarithmic likelihood; fills white = low^-1 r."""
    n = r.shape[0]
    square, size = 0.0, n * np.log(2.0 * np.pi)
    for i in range(n):
        total = r[i]
        for j in range(i):
            total -= low[i, j] * white[j]
        white[i] = total / low[i, i]
        square += white[i] * white[i]
        size += 2.0 * np.log(low[i, i])
    for k in range(x.shape[0]):
        for i in range(n):
            x[k] += gain[k, i] * white[i]
    return square, square + size
