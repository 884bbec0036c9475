"""Factors of covariances in compiled filters: L lower triangular, P = L L', with the parameters first and the state last.

Kept is U = L', so that columns of L are contiguous and inner loops run along them without sums.  Three things keep a sample cheap:
noise of parameters is taken in by reflections that touch only what it reaches; the factor with the state first, along whose columns
sigma points lie, follows by rotations of the columns of the parameters into those of the state, and the same rotations, backwards,
bring the moved points back to the columns of L; positions correct the factor one by one (Carlson 1973).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.compiled import njit
from inertica.estimators.recursive.factors import OPTIONS, SUMS, triangular


@njit(**SUMS)
def _dot(a: Any, b: Any) -> float:
    total = a[0] * b[0]
    for k in range(1, a.shape[0]):
        total += a[k] * b[k]
    return total


@njit(**SUMS)
def product_root(F: Any, U: Any, out: Any) -> None:
    """out = F L, the columns of F in the order of the rows of L."""
    states, d = F.shape
    row = np.zeros(d, out.dtype)
    for i in range(states):
        for k in range(d):
            row[k] = F[i, (k + states) % d]
        for j in range(d):
            out[i, j] = _dot(row[j:], U[j, j:])


@njit(**OPTIONS)
def _rotate(one: Any, other: Any, c: float, s: float) -> None:
    for r in range(one.shape[0]):
        a, b = one[r], other[r]
        one[r] = c * a - s * b
        other[r] = s * a + c * b


@njit(**OPTIONS)
def state_first(U: Any, work: Any, S: Any, turns: Any) -> None:
    """S lower triangular, S S' = P with the state first.

    Args:
        U: (d, d) L' with the parameters first.
        work: (d, d) room to work in.
        S: (d, d) result.
        turns: (2, b, 2n) cosines and sines of the rotations that took L there.
    """
    d, b, m = U.shape[0], turns.shape[1], turns.shape[2]
    for i in range(d):
        for k in range(d):
            work[i, k] = U[i, k]
    for c in range(b - 1, -1, -1):
        column = work[c]
        for j in range(m):
            other = work[b + j]
            g, l = column[b + j], other[b + j]
            size = np.sqrt(g * g + l * l)
            cosine, sine = (l / size, g / size) if size > 0.0 else (size + 1.0, size)
            turns[0, c, j], turns[1, c, j] = cosine, sine
            if sine != 0.0:
                _rotate(column[c:], other[c:], cosine, sine)
    for i in range(d):
        column = work[i - m if i >= m else b + i]
        for k in range(m):
            S[k, i] = column[b + k] if k >= i else 0.0
        for k in range(m, d):
            S[k, i] = column[k - m] if k >= i else 0.0


@njit(**OPTIONS)
def turned(A: Any, turns: Any, work: Any) -> None:
    """Rows (2n, d) that belong to the columns of S, for the columns of L instead: the rotations backwards."""
    states, d = A.shape
    b = d - states
    for k in range(d):
        for a in range(states):
            work[k, a] = A[a, k]
    for c in range(b):
        one = work[states + c, :states]
        for j in range(states - 1, -1, -1):
            _rotate(one, work[j, :states], turns[0, c, j], -turns[1, c, j])
    for k in range(d):
        for a in range(states):
            A[a, k] = work[(k + states) % d, a]


@njit(**OPTIONS)
def predict_root(U: Any, A: Any, extra: Any, parameter: Any, wide: Any, last: Any) -> None:
    """The next factor from the rows [L, sqrt(Q), 0] of the parameters and [A, 0, extra] of the state.

    Args:
        U: (d, d) L' before and after.
        A: (2n, d) rows of the next state for the columns of L.
        extra: (2n, ...) more of them in its first 2n columns: noise and curvature.
        parameter: (b,) Q of the parameters.
        wide: (d + b + 1, d) and
        last: (2n, d + 2n) room to work in.
    """
    states, d = A.shape
    b = d - states
    for c in range(d):
        for r in range(states):
            U[c, b + r] = A[r, c]
    for k in range(b):
        for r in range(d):
            wide[k, r] = 0.0
        wide[k, k] = np.sqrt(parameter[k])
    for i in range(b):
        _add_noise(U[i, i:], wide, i, wide[b, i:])
    for r in range(states):
        for k in range(states):
            last[r, k] = U[b + k, b + r]
            last[r, d + k] = extra[r, k]
        for k in range(b):
            last[r, states + k] = wide[k, b + r]
    triangular(last)
    for r in range(states):
        for k in range(states):
            U[b + k, b + r] = last[r, k]


@njit(**OPTIONS)
def _gather(total: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    """total + a_0 a + b_0 b + c_0 c + d_0 d behind the first entry"""
    x, y, u, v = a[0], b[0], c[0], d[0]
    for r in range(1, total.shape[0]):
        total[r] += (x * a[r] + y * b[r]) + (u * c[r] + v * d[r])


@njit(**OPTIONS)
def _scatter(total: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    x, y, u, v = a[0], b[0], c[0], d[0]
    for r in range(1, total.shape[0]):
        t = total[r]
        a[r] -= x * t
        b[r] -= y * t
        c[r] -= u * t
        d[r] -= v * t


@njit(**OPTIONS)
def _add_noise(column: Any, noise: Any, i: int, total: Any) -> None:
    """The reflection that takes row i of noise columns 0 .. i into the diagonal of a column of L.

    Args:
        column: of L from its diagonal on.
        noise: columns.
        i: which row.
        total: room to work in, as long as the column.
    """
    count, size = i + 1, column.shape[0]
    square = column[0] * column[0]
    for k in range(count):
        square += noise[k, i] * noise[k, i]
    length = np.sqrt(square)
    # nothing to take in
    if length == column[0] or length == 0.0:
        return
    # both are positive: no cancellation in the reflector
    corner = column[0] + length
    factor = 1.0 / (length * corner)
    # four columns at a time, so that the running sum is read and written once for all of them
    four = count // 4
    for r in range(size):
        total[r] = corner * column[r]
    for k in range(four):
        _gather(total, noise[4 * k, i:], noise[4 * k + 1, i:], noise[4 * k + 2, i:], noise[4 * k + 3, i:])
    for k in range(4 * four, count):
        one = noise[k, i:]
        for r in range(1, size):
            total[r] += one[0] * one[r]
    for r in range(1, size):
        total[r] *= factor
        column[r] = total[r] * corner - column[r]  # with the sign that keeps the diagonal positive
    for k in range(four):
        _scatter(total, noise[4 * k, i:], noise[4 * k + 1, i:], noise[4 * k + 2, i:], noise[4 * k + 3, i:])
    for k in range(4 * four, count):
        one = noise[k, i:]
        x = one[0]
        for r in range(1, size):
            one[r] -= x * total[r]
    column[0] = length


@njit(**OPTIONS)
def correct_root(z: Any, U: Any, y: Any, R: Any, work: Any, stored: Any, at: int) -> bool:
    """Positions one by one: with f a row of L, columns of L (I - f f' / (R + f'f)) L' from the last to the first."""
    n, d = y.shape[0], z.shape[0]
    states = 2 * n
    change = work[0]
    square, size = 0.0, 0.0
    for j in range(n):
        row = d - n + j
        total = change.dtype.type(R[j])
        for i in range(d):
            change[i] = 0.0
        for c in range(row, -1, -1):
            f = U[c, row]
            more = total + f * f
            # written this way NaN ends here, too
            if not more > 0.0:
                return False
            _shrink(U[c, c:], change[c:], np.sqrt(total / more), f / np.sqrt(total * more), f)
            total = more
        r = y[j] - z[n + j]
        stored.innovation[at, j] = r / np.sqrt(total)
        square += r * r / total
        size += np.log(2.0 * np.pi * total)
        for i in range(d):
            z[(i + states) % d] += change[i] * r / total
    stored.score[at, 0] = square
    stored.score[at, 1] = square + size
    return True


@njit(**OPTIONS)
def _shrink(column: Any, change: Any, one: float, two: float, f: float) -> None:
    for i in range(column.shape[0]):
        before = column[i]
        column[i] = one * before - two * change[i]
        change[i] += before * f


@njit(**OPTIONS)
def root_covariance(U: Any, one: int, other: int) -> float:
    """Of two entries of z by their places in L."""
    total = 0.0
    for k in range(min(one, other) + 1):
        total += U[k, one] * U[k, other]
    return total


@njit(**OPTIONS)
def cross_root(A: Any, U: Any, out: Any) -> None:
    """Covariance of the next state with z: A L'."""
    states, d = A.shape
    for i in range(states):
        for j in range(d):
            total, at = 0.0, (j - states) % d
            for k in range(at + 1):
                total += A[i, k] * U[k, at]
            out[i, j] = total
