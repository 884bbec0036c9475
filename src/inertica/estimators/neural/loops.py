"""Compiled loops of the neural estimators; they know no robot, only rows and factors."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}


@nb.njit(**_OPTIONS)
def one_pass(beta: Any, W: Any, y: Any, first: Any, columns: Any, order: Any, normalised: bool, rate: float) -> None:
    """beta <- beta + eta Y'(tau - Y beta), one sample after the other; in place.

    Args:
        beta: (b,).
        W: (N, K) rows of all joints side by side; zero where a joint's row does not count.
        y: (N, n) torque.
        first: (n + 1,) where the columns of each joint begin in W.
        columns: (K,) positions in beta.
        order: (N,) of the samples.
        normalised: eta = rate g'g / |Y g|^2 with g = Y'(tau - Y beta); else eta = rate.
        rate: see there.
    """
    n, b = y.shape[1], beta.shape[0]
    g = np.zeros(b)
    for k in order:
        g[:] = 0.0
        for j in range(n):
            e = y[k, j]
            for i in range(first[j], first[j + 1]):
                e -= W[k, i] * beta[columns[i]]
            for i in range(first[j], first[j + 1]):
                g[columns[i]] += W[k, i] * e
        eta = rate
        if normalised:
            top, below = 0.0, 0.0
            for i in range(b):
                top += g[i] * g[i]
            for j in range(n):
                s = 0.0
                for i in range(first[j], first[j + 1]):
                    s += W[k, i] * g[columns[i]]
                below += s * s
            if below == 0.0:
                continue
            eta = rate * top / below
        for i in range(b):
            beta[i] += eta * g[i]


@nb.njit(**_OPTIONS)
def gradient(R: Any, z: Any, beta: Any, e: Any, g: Any) -> None:
    """e = z - R beta and g = R'e, R upper triangular; in place."""
    b = beta.shape[0]
    g[:] = 0.0
    for i in range(b):
        s = z[i]
        for k in range(i, b):
            s -= R[i, k] * beta[k]
        e[i] = s
        for k in range(i, b):
            g[k] += R[i, k] * s


@nb.njit(**_OPTIONS)
def settled(g: Any, small: Any) -> bool:
    """Whether no column is correlated with the residual by more than its tolerance."""
    worst = 0.0
    for i in range(g.shape[0]):
        worst = max(worst, abs(g[i]) - small[i])
    return worst <= 0.0


@nb.njit(**_OPTIONS)
def descend(beta: Any, R: Any, z: Any, small: Any, normalised: bool, rate: float, steps: int) -> int:
    """Steepest descent on |R beta - z|^2, in place; returns the steps taken, fewer than allowed when it has settled.

    Args:
        beta: (b,).
        R, z: (b, b) upper triangular and (b,).
        small: (b,) gradients that count as zero.
        normalised: the exact line search g'g / |R g|^2 times rate; else eta = rate.
        rate: see there.
        steps: most of them.
    """
    b = beta.shape[0]
    e, g = np.empty(b), np.empty(b)
    for step in range(steps):
        gradient(R, z, beta, e, g)
        if settled(g, small):
            return step
        eta = rate
        if normalised:
            top, below = 0.0, 0.0
            for i in range(b):
                s = 0.0
                for k in range(i, b):
                    s += R[i, k] * g[k]
                below += s * s
                top += g[i] * g[i]
            eta = rate * top / below if below > 0.0 else 0.0
        for i in range(b):
            beta[i] += eta * g[i]
    return steps


@nb.njit(**_OPTIONS)
def relax(u: Any, R: Any, z: Any, small: Any, alpha: float, theta: float, eta: float, steps: int) -> int:
    """u <- u + eta R'(z - R s), s = alpha tanh(u / theta), in place; returns the steps taken, fewer when it has settled."""
    b = u.shape[0]
    e, g, s = np.empty(b), np.empty(b), np.empty(b)
    for step in range(steps):
        for i in range(b):
            s[i] = alpha * np.tanh(u[i] / theta)
        gradient(R, z, s, e, g)
        if settled(g, small):
            return step
        for i in range(b):
            u[i] += eta * g[i]
    return steps
