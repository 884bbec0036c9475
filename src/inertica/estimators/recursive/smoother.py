"""The compiled smoother of a pass of `kalman`."""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.compiled import njit
from inertica.estimators.recursive.factors import OPTIONS, SUMS, cholesky


@njit(**OPTIONS)
def smooth(stored: Any, parameter: Any) -> int:
    """Rauch-Tung-Striebel, backwards over a record, in place: stored.all and stored.P become those given all measurements.

    Returns the sample whose predicted covariance is not positive, where it ends, or -1.

    Args:
        stored: of a pass that broke nowhere.
        parameter: (N, b) noise that was added to the parameters after each sample.
    """
    N, d = stored.all.shape
    states = stored.before.shape[1]
    ahead, low = np.zeros((d, d)), np.zeros((d, d))
    G, change = np.zeros((d, d)), np.zeros(d)
    for k in range(N - 2, -1, -1):
        P, cross = stored.P[k], stored.cross[k]
        for i in range(d):
            for j in range(d):
                if i < states and j < states:
                    ahead[i, j] = stored.ahead[k, i, j]
                elif i < states:
                    ahead[i, j] = cross[i, j]
                elif j < states:
                    ahead[i, j] = cross[j, i]
                else:
                    ahead[i, j] = P[i, j]
                    if i == j:
                        ahead[i, j] += parameter[k, i - states]
                G[i, j] = cross[j, i] if j < states else P[i, j]  # covariance of z with the next z
        if not cholesky(ahead, low):
            return k
        _solve_rows(low, G)
        for i in range(d):
            change[i] = stored.all[k + 1, i] - (stored.before[k, i] if i < states else stored.all[k, i])
        _smooth_step(G, change, stored.P[k + 1], ahead, stored.all[k], P)
    return -1


@njit(**SUMS)
def _solve_rows(low: Any, G: Any) -> None:
    """Every row g of G becomes g (low low')^-1."""
    d = low.shape[0]
    for r in range(G.shape[0]):
        for i in range(d):
            total = G[r, i]
            for k in range(i):
                total -= low[i, k] * G[r, k]
            G[r, i] = total / low[i, i]
        for i in range(d - 1, -1, -1):
            total = G[r, i]
            for k in range(i + 1, d):
                total -= low[k, i] * G[r, k]
            G[r, i] = total / low[i, i]


@njit(**SUMS)
def _smooth_step(G: Any, change: Any, after: Any, ahead: Any, z: Any, P: Any) -> None:
    """z + G change, P + G (after - ahead) G'"""
    d = z.shape[0]
    D, W = np.zeros((d, d)), np.zeros((d, d))
    for i in range(d):
        total = z[i]
        for k in range(d):
            total += G[i, k] * change[k]
            D[i, k] = after[i, k] - ahead[i, k]
        z[i] = total
    for i in range(d):
        for k in range(d):
            g = G[i, k]
            for j in range(d):
                W[i, j] += g * D[k, j]
    for i in range(d):
        for j in range(i + 1):
            total = P[i, j]
            for k in range(d):
                total += W[i, k] * G[j, k]
            P[i, j] = total
            P[j, i] = total
