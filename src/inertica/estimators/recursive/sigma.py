"""Sigma points of the compiled filters (`kalman`): where they lie, what mean and spread they leave, where derivatives do better."""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.compiled import njit
from inertica.dynamics.llvm.stepping import advance_directions
from inertica.estimators.recursive.factors import OPTIONS, SUMS, triangular

BENT = 0.5
"""By how much of itself a slope may change within a standard deviation."""


@njit(**SUMS)
def spread(h: float, z: Any, L: Any, Z: Any) -> None:
    """The centre, then for every column of L the points on both sides."""
    d = z.shape[0]
    for i in range(Z.shape[0]):
        for k in range(d):
            Z[i, k] = z[k]
    for i in range(d):
        # L is lower triangular: column i has nothing above its diagonal
        for k in range(i, d):
            step = h * L[k, i]
            Z[1 + 2 * i, k] += step
            Z[2 + 2 * i, k] -= step


@njit(**OPTIONS)
def find_bent(reach: Any, slow: Any, Y: Any, h: float, bent: Any) -> bool:
    """Marks pairs of points between which the model is not what two derivatives say of it.

    Either a point went where no motion goes (its parameters cannot be a robot's), or the slope changes by more than `BENT` of itself
    within a standard deviation (dry friction jumps on one side, or an inertia comes near zero), or a joint whose reversals are
    known as noise (`slow`) goes one way at one point and the other way at the other.
    """
    any_bent = False
    for i in range(bent.shape[0]):
        bent[i] = False
        for k in range(Y.shape[1]):
            one, other, centre = Y[1 + 2 * i, k], Y[2 + 2 * i, k], Y[0, k]
            # second difference as two first ones: (one + other) - 2 centre would cancel
            slope, curve = abs(one - other), abs((one - centre) + (other - centre))
            far = not (abs(one - centre) < reach[k] and abs(other - centre) < reach[k])
            turns = k < slow.shape[0] and slow[k] > 0.0 and one * other < 0.0
            if far or turns or (curve > 0.5 * BENT * h * slope and curve > 1e-9 * (abs(one) + abs(other))):
                bent[i], any_bent = True, True
                break
    return any_bent


@njit(**OPTIONS)
def straighten(
    rates: Any, drive: Any, first: int, last: int, bent: Any, h: float, z: Any, L: Any, memory: Any, D: Any, slope: Any, Y: Any
) -> None:
    """Marked pairs go where the exact derivative of the model at the centre takes them, along their columns of L.

    D (d, d) and slope (d, 2n) are room to work in.
    """
    count, d = 0, z.shape[0]
    for i in range(d):
        if bent[i]:
            for k in range(d):
                D[count, k] = L[k, i] if k >= i else 0.0
            count += 1
    table = drive.calm if drive.calm.shape[0] else drive.table
    advance_directions(rates, table, first, last, z, D[:count], memory, slope[:count])
    count = 0
    for i in range(d):
        if bent[i]:
            for a in range(Y.shape[1]):
                Y[1 + 2 * i, a] = Y[0, a] + h * slope[count, a]
                Y[2 + 2 * i, a] = Y[0, a] - h * slope[count, a]
            count += 1


@njit(**SUMS)
def _sigma_mean(h: float, Y: Any, mean: Any) -> None:
    """Mean of the points Y: the centre plus the sum of second differences over 2 h^2."""
    weight = 0.5 / (h * h)
    for k in range(mean.shape[0]):
        mean[k] = Y[0, k]
    for i in range((Y.shape[0] - 1) // 2):
        for k in range(mean.shape[0]):
            mean[k] += weight * ((Y[1 + 2 * i, k] - Y[0, k]) + (Y[2 + 2 * i, k] - Y[0, k]))


@njit(**SUMS)
def sigma_covariance(points: Any, Y: Any, L: Any, A: Any, X: Any, mean: Any) -> None:
    """Mean and covariance X of the next state, and its covariance A with the present z."""
    d, states = L.shape[0], mean.shape[0]
    _sigma_mean(points.h, Y, mean)
    for a in range(states):
        for k in range(d):
            A[a, k] = 0.0
        m = mean[a] - Y[0, a]
        for b in range(a + 1):
            X[a, b] = points.offset * m * (mean[b] - Y[0, b])
    for i in range(d):
        one, other = Y[1 + 2 * i], Y[2 + 2 * i]
        half, curve = 0.5 / points.h, points.curve
        for a in range(states):
            e = half * (one[a] - other[a])
            c = curve * ((one[a] - Y[0, a]) + (other[a] - Y[0, a]))
            for b in range(a + 1):
                X[a, b] += e * half * (one[b] - other[b]) + c * ((one[b] - Y[0, b]) + (other[b] - Y[0, b]))
            for k in range(i, d):
                A[a, k] += e * L[k, i]
    for a in range(states):
        for b in range(a):
            X[b, a] = X[a, b]


@njit(**SUMS)
def sigma_rows(points: Any, Y: Any, state: Any, W: Any, extra: Any, A: Any, mean: Any) -> None:
    """Mean of the next state; A (2n, d) its rows of the stacked factor, extra (2n, d + 3n) the curvature and the noise."""
    d, states = A.shape[1], mean.shape[0]
    _sigma_mean(points.h, Y, mean)
    for a in range(states):
        for i in range(states):
            extra[a, d + i] = 0.0
        extra[a, d + a] = np.sqrt(state[a])
        for i in range(W.shape[1]):
            extra[a, d + states + i] = W[a, i]
    for i in range(d):
        one, other = Y[1 + 2 * i], Y[2 + 2 * i]
        half, curve = 0.5 / points.h, np.sqrt(points.curve)
        for a in range(states):
            A[a, i] = half * (one[a] - other[a])
            extra[a, i] = curve * ((one[a] - Y[0, a]) + (other[a] - Y[0, a]))
    triangular(extra)
