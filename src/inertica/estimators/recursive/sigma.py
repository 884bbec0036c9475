"""Sigma points of the compiled filters (`kalman`): where they lie, which go once more, and what mean and spread they leave."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from inertica.dynamics.llvm.stepping import advance_points
from inertica.estimators.recursive.factors import OPTIONS, SUMS, triangular

NEAR = 0.1
"""Standard deviations at which points lie for the slope alone; half their distance where that is less."""

BENT = 0.5
"""By how much of itself a slope may change within a standard deviation."""


@nb.njit(**SUMS)
def spread(hs: Any, z: Any, L: Any, Z: Any) -> None:
    """The centre, then for every column of L the points on both sides."""
    d = z.shape[0]
    for i in range(Z.shape[0]):
        for k in range(d):
            Z[i, k] = z[k]
    for i in range(d):
        for k in range(i, d):
            step = hs[i] * L[k, i]
            Z[1 + 2 * i, k] += step
            Z[2 + 2 * i, k] -= step


@nb.njit(**OPTIONS)
def advance_again(
    s: Any, table: Any, first: int, last: int, hs: Any, h: float, z: Any, L: Any, memory: Any, Z: Any, Y: Any
) -> None:
    """Only the pairs whose distance is no longer h go once more."""
    d, count = z.shape[0], 0
    for i in range(d):
        if hs[i] != h:
            for k in range(d):
                step = hs[i] * L[k, i]
                Z[count, k] = z[k] + step
                Z[count + 1, k] = z[k] - step
            count += 2
    moved = np.zeros((count, Y.shape[1]))
    advance_points(s, table, first, last, Z[:count], memory.copy(), moved)
    count = 0
    for i in range(d):
        if hs[i] != h:
            for k in range(Y.shape[1]):
                Y[1 + 2 * i, k] = moved[count, k]
                Y[2 + 2 * i, k] = moved[count + 1, k]
            count += 2


@nb.njit(**OPTIONS)
def bent(reach: Any, Y: Any, h: float, hs: Any) -> bool:
    """Marks pairs of points, by another distance `NEAR`, between which the model is not what two derivatives say of it.

    Either a point went where no motion goes (its parameters cannot be a robot's), or the slope changes by more than `BENT` of itself
    within a standard deviation: dry friction jumps between the points, or an inertia comes near zero.
    """
    found = False
    for i in range(hs.shape[0]):
        for k in range(Y.shape[1]):
            one, other, centre = Y[1 + 2 * i, k], Y[2 + 2 * i, k], Y[0, k]
            slope, curve = abs(one - other), abs((one - centre) + (other - centre))
            far = not (abs(one - centre) < reach[k] and abs(other - centre) < reach[k])
            if far or (curve > 0.5 * BENT * h * slope and curve > 1e-9 * (abs(one) + abs(other))):
                hs[i] = min(0.5 * h, NEAR)
                found = True
                break
    return found


@nb.njit(**OPTIONS)
def straightened(reach: Any, Y: Any, hs: Any, h: float) -> bool:
    """Marked pairs lie near the centre: the one point that moved less tells the slope, the other becomes its mirror image.

    False where both went where no motion goes.
    """
    for i in range(hs.shape[0]):
        if hs[i] == h:
            continue
        one, other = 0.0, 0.0
        for k in range(Y.shape[1]):
            one = max(one, abs(Y[1 + 2 * i, k] - Y[0, k]) / reach[k])
            other = max(other, abs(Y[2 + 2 * i, k] - Y[0, k]) / reach[k])
            if np.isnan(Y[1 + 2 * i, k]):
                one = np.inf
            if np.isnan(Y[2 + 2 * i, k]):
                other = np.inf
        if not min(one, other) < 1.0:
            return False
        kept, mirrored = (1 + 2 * i, 2 + 2 * i) if one <= other else (2 + 2 * i, 1 + 2 * i)
        for k in range(Y.shape[1]):
            Y[mirrored, k] = 2.0 * Y[0, k] - Y[kept, k]
    return True


@nb.njit(**SUMS)
def _sigma_mean(hs: Any, Y: Any, mean: Any) -> None:
    for k in range(mean.shape[0]):
        mean[k] = Y[0, k]
    for i in range(hs.shape[0]):
        weight = 0.5 / (hs[i] * hs[i])
        for k in range(mean.shape[0]):
            mean[k] += weight * ((Y[1 + 2 * i, k] - Y[0, k]) + (Y[2 + 2 * i, k] - Y[0, k]))


@nb.njit(**OPTIONS)
def _curve(points: Any, h: float) -> float:
    """Marked pairs are straight."""
    return points.curve if h == points.h else 0.0


@nb.njit(**SUMS)
def sigma_covariance(points: Any, hs: Any, Y: Any, L: Any, A: Any, X: Any, mean: Any) -> None:
    """Mean and covariance X of the next state, and its covariance A with the present z."""
    d, states = L.shape[0], mean.shape[0]
    _sigma_mean(hs, Y, mean)
    for a in range(states):
        for k in range(d):
            A[a, k] = 0.0
        m = mean[a] - Y[0, a]
        for b in range(a + 1):
            X[a, b] = points.offset * m * (mean[b] - Y[0, b])
    for i in range(d):
        one, other = Y[1 + 2 * i], Y[2 + 2 * i]
        half, curve = 0.5 / hs[i], _curve(points, hs[i])
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


@nb.njit(**SUMS)
def sigma_rows(points: Any, hs: Any, Y: Any, state: Any, W: Any, extra: Any, A: Any, mean: Any) -> None:
    """Mean of the next state; A (2n, d) its rows of the stacked factor, extra (2n, d + 3n) the curvature and the noise."""
    d, states = A.shape[1], mean.shape[0]
    _sigma_mean(hs, Y, mean)
    for a in range(states):
        for i in range(states):
            extra[a, d + i] = 0.0
        extra[a, d + a] = np.sqrt(state[a])
        for i in range(W.shape[1]):
            extra[a, d + states + i] = W[a, i]
    for i in range(d):
        one, other = Y[1 + 2 * i], Y[2 + 2 * i]
        half, curve = 0.5 / hs[i], np.sqrt(_curve(points, hs[i]))
        for a in range(states):
            A[a, i] = half * (one[a] - other[a])
            extra[a, i] = curve * ((one[a] - Y[0, a]) + (other[a] - Y[0, a]))
    triangular(extra)
