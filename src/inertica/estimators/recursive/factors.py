"""Small dense linear algebra inside compiled filters: Cholesky, triangular factors by reflections, rank-one updates, products.

Rows are contiguous, inner loops run along them.  Precision is that of the arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.compiled import njit

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
SUMS: dict[str, Any] = {**OPTIONS, "fastmath": {"reassoc", "contract", "nsz"}}
"""For loops whose sums may be taken in any order; the order is the same at every call."""


@njit(**SUMS)
def cholesky(P: Any, L: Any) -> bool:
    """L lower triangular with L L' = P; False when P is not positive definite."""
    d = P.shape[0]
    for i in range(d):
        for j in range(i):
            total = P[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / L[j, j]
        total = P[i, i]
        for k in range(i):
            total -= L[i, k] * L[i, k]
        # written this way NaN ends here, too
        if not total > 0.0:
            return False
        L[i, i] = np.sqrt(total)
        for j in range(i + 1, d):
            L[i, j] = 0.0
    return True


@njit(**SUMS)
def innovation_factor(P: Any, R: Any, S: Any, low: Any) -> bool:
    """S = H P H' + R of measured positions, which come behind as many velocities, and low low' = S; False when it is not positive."""
    n = S.shape[0]
    for i in range(n):
        for j in range(n):
            S[i, j] = P[n + i, n + j]
        S[i, i] += R[i]
    return cholesky(S, low)


@njit(**SUMS)
def through(B: Any, low: Any, out: Any) -> None:
    """out = B low^-T; out may be B"""
    for k in range(B.shape[0]):
        for i in range(low.shape[0]):
            total = B[k, i]
            for j in range(i):
                total -= out[k, j] * low[i, j]
            out[k, i] = total / low[i, i]


@njit(**SUMS)
def subtract_outer(P: Any, W: Any) -> None:
    """P - W W'"""
    d, n = W.shape
    for i in range(d):
        for j in range(i + 1):
            total = P[i, j]
            for k in range(n):
                total -= W[i, k] * W[j, k]
            P[i, j] = total
            P[j, i] = total


@njit(**SUMS)
def _reflector(v: Any) -> Any:
    """The reflection that leaves of v only its first entry: v becomes its vector, returned are its factor and that entry."""
    square = v[0] * v[0]
    for k in range(1, v.shape[0]):
        square += v[k] * v[k]
    size, first = np.sqrt(square), v[0]
    if size == 0.0:
        return size, size
    # the sign that adds: the other one would cancel
    v[0] = first + size if first >= 0.0 else first - size
    return 1.0 / (size * (size + abs(first))), -size if first >= 0.0 else size


@njit(**SUMS)
def _reflect(v: Any, factor: float, w: Any) -> None:
    total = v[0] * w[0]
    for k in range(1, v.shape[0]):
        total += v[k] * w[k]
    total *= factor
    for k in range(v.shape[0]):
        w[k] -= total * v[k]


@njit(**SUMS)
def _reflect_four(v: Any, factor: float, a: Any, b: Any, c: Any, d: Any) -> None:
    """Four rows at once, so that v is read once for all of them."""
    one, two, three, four = v[0] * a[0], v[0] * b[0], v[0] * c[0], v[0] * d[0]
    for k in range(1, v.shape[0]):
        one += v[k] * a[k]
        two += v[k] * b[k]
        three += v[k] * c[k]
        four += v[k] * d[k]
    one, two, three, four = one * factor, two * factor, three * factor, four * factor
    for k in range(v.shape[0]):
        a[k] -= one * v[k]
        b[k] -= two * v[k]
        c[k] -= three * v[k]
        d[k] -= four * v[k]


@njit(**OPTIONS)
def triangular(B: Any) -> None:
    """Reflections from the right make B (d, m) lower triangular in place, B B' stays; the diagonal becomes positive."""
    d, m = B.shape
    for i in range(d):
        v = B[
            i, i:
        ]  # views that begin where the loops do: their indices are known not to be negative, so loops become vector code
        factor, corner = _reflector(v)
        if factor == 0.0:
            continue
        r = i + 1
        while r + 4 <= d:
            _reflect_four(v, factor, B[r, i:], B[r + 1, i:], B[r + 2, i:], B[r + 3, i:])
            r += 4
        while r < d:
            _reflect(v, factor, B[r, i:])
            r += 1
        B[i, i] = corner
        for k in range(i + 1, m):
            B[i, k] = 0.0
        if corner < 0.0:
            for r in range(i, d):
                B[r, i] = -B[r, i]


@njit(**OPTIONS)
def add_rank_one(L: Any, v: Any) -> None:
    """L L' + v v' in place; v is used up."""
    d = L.shape[0]
    for k in range(d):
        size = np.hypot(L[k, k], v[k])
        if size == 0.0:
            continue
        c, s = L[k, k] / size, v[k] / size
        L[k, k] = size
        for i in range(k + 1, d):
            before = L[i, k]
            L[i, k] = c * before + s * v[i]
            v[i] = c * v[i] - s * before


@njit(**OPTIONS)
def add_outer(P: Any, W: Any) -> None:
    """P + W W' of as many leading entries as W has rows"""
    for i in range(W.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(W.shape[1]):
                total += W[i, k] * W[j, k]
            P[i, j] += total
            if j < i:
                P[j, i] = P[i, j]


@njit(**SUMS)
def product(F: Any, P: Any, out: Any) -> None:
    """out = F P"""
    for i in range(F.shape[0]):
        for j in range(P.shape[1]):
            out[i, j] = 0.0
        for k in range(P.shape[0]):
            # covariances may be kept in single precision; a double factor would promote every product
            f = out.dtype.type(F[i, k])
            for j in range(P.shape[1]):
                out[i, j] += f * P[k, j]


@njit(**SUMS)
def outer(A: Any, F: Any, out: Any) -> None:
    """out = A F', which is symmetric"""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            total = A[i, 0] * F[j, 0]
            for k in range(1, A.shape[1]):
                total += A[i, k] * F[j, k]
            out[i, j] = total
            # mirrored, not computed again: P stays symmetric to the last bit
            out[j, i] = total


@njit(**OPTIONS)
def predicted_covariance(P: Any, A: Any, X: Any, state: Any, parameter: Any) -> None:
    """P of the next sample: X and A are its rows of the state, noise is added, parameters keep their block."""
    states, d = A.shape
    for i in range(states):
        for j in range(states):
            P[i, j] = X[i, j]
        for j in range(states, d):
            P[i, j] = A[i, j]
            P[j, i] = A[i, j]
        P[i, i] += state[i]
    for j in range(states, d):
        P[j, j] += parameter[j - states]
