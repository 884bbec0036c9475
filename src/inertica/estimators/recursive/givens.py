"""Compiled loops of recursive least squares: rows into triangular factors by rotations, and what is forgotten of them.

A factor F, (b+1, b+1) upper triangular, holds R, z and the residual norm of all rows so far,

    F = [R z; 0 r],   |W beta - y|^2 = |R beta - z|^2 + r^2.

Rotations keep what squared numbers would lose: F has the condition number of the rows, the normal equations would have its square.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.compiled import njit

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def absorb(F: Any, row: Any) -> None:
    """One row [w y] into a factor, by Givens rotations; the row is used up."""
    size = row.shape[0]
    for i in range(size):
        x = row[i]
        # structural zeros of the regressor need no rotation
        if x == 0.0:
            continue
        top = F[i]
        d = top[i]
        # rotations only ever add squares: no information is subtracted, so that R keeps its digits over millions of rows
        length = np.sqrt(d * d + x * x)
        c, s = d / length, x / length
        top[i] = length
        for j in range(i + 1, size):
            a, b = top[j], row[j]
            top[j] = c * a + s * b
            row[j] = c * b - s * a


@njit(**_OPTIONS)
def discount(F: Any, factor: float) -> None:
    """Exponential forgetting: all earlier rows count less."""
    size = F.shape[0]
    # the factor holds square roots of information
    root = np.sqrt(factor)
    for i in range(size):
        for j in range(i, size):
            F[i, j] *= root


@njit(**_OPTIONS)
def discount_along(F: Any, row: Any, factor: float, u: Any) -> None:
    """Directional forgetting: information A = R'R counts less only in the direction that a new row w brings something about,

        A - (1 - factor) A w w' A / (w' A w),

    and the solution stays.  With u = R w / |R w| this is R' (I - (1 - factor) u u') R: u is rotated into the first axis, the first
    row shrinks, and rotations make R triangular again.

    Args:
        F: factor.
        row: (b+1,) the new row.
        factor: 1 forgets nothing.
        u: (b,) room to work in.
    """
    b = F.shape[0] - 1
    total = 0.0
    for i in range(b):
        x = 0.0
        for j in range(i, b):
            x += F[i, j] * row[j]
        u[i] = x
        total += x * x
    if total == 0.0:
        return
    for i in range(b - 1, 0, -1):  # u into its first entry, from below; R gets a subdiagonal
        length = np.sqrt(u[i - 1] * u[i - 1] + u[i] * u[i])
        if length == 0.0:
            continue
        c, s = u[i - 1] / length, u[i] / length
        u[i - 1] = length
        for j in range(i - 1, b + 1):
            a, d = F[i - 1, j], F[i, j]
            F[i - 1, j] = c * a + s * d
            F[i, j] = c * d - s * a
    root = np.sqrt(factor)
    for j in range(b + 1):
        F[0, j] *= root
    for i in range(b - 1):
        length = np.sqrt(F[i, i] * F[i, i] + F[i + 1, i] * F[i + 1, i])
        if length == 0.0:
            continue
        c, s = F[i, i] / length, F[i + 1, i] / length
        for j in range(i, b + 1):
            a, d = F[i, j], F[i + 1, j]
            F[i, j] = c * a + s * d
            F[i + 1, j] = c * d - s * a
        F[i + 1, i] = 0.0
    F[b, b] *= root  # squared residuals fade with their weight


@njit(**_OPTIONS)
def sample_in(F: Any, weight: Any, group: Any, rows: Any, use: Any, factor: float, along: bool, u: Any) -> None:
    """All rows of one sample.

    Args:
        F: (G, b+1, b+1) factors.
        weight: (G,) sum of the squared factors that rows count with, per group.
        group: (n,) which factor takes the rows of a joint.
        rows: (n, b+1) [w y], used up.
        use: (n,) which of them take part.
        factor: of forgetting, per sample.
        along: forget in the direction of the new rows only.
        u: (b,) room to work in.
    """
    if factor < 1.0 and not along:
        for g in range(F.shape[0]):
            discount(F[g], factor)
            weight[g] *= factor
    for j in range(rows.shape[0]):
        if not use[j]:
            continue
        g = group[j]
        if factor < 1.0 and along:
            discount_along(F[g], rows[j], factor, u)
            weight[g] *= factor
        absorb(F[g], rows[j])
        # effective number of rows, by which the residual becomes a variance
        weight[g] += 1.0


@njit(**_OPTIONS)
def samples_in(
    F: Any,
    weight: Any,
    group: Any,
    rows: Any,
    use: Any,
    factor: float,
    along: bool,
    first: int,
    stops: Any,
    stored: Any,
    counts: Any,
) -> None:
    """Many samples, and copies of the factors after some of them.

    Args:
        F, weight, group, factor, along: as for `sample_in`.
        rows: (m, n, b+1), used up.
        use: (m, n).
        first: number of the first sample.
        stops: (H,) numbers of the samples after which to copy, ascending.
        stored: (H, G, b+1, b+1) copies.
        counts: (H, G) the weights then.
    """
    u = np.empty(F.shape[1])
    h = 0
    while h < stops.shape[0] and stops[h] < first:
        h += 1
    for k in range(rows.shape[0]):
        sample_in(F, weight, group, rows[k], use[k], factor, along, u)
        if h < stops.shape[0] and stops[h] == first + k:
            stored[h] = F
            counts[h] = weight
            h += 1


@njit(**_OPTIONS)
def solve_into(F: Any, beta: Any) -> bool:
    """R beta = z by substitution; False, and beta as it was, while R has not full rank."""
    b = beta.shape[0]
    for i in range(b):
        scale = 0.0
        for k in range(i + 1):
            scale += F[k, i] * F[k, i]
        # a column that lies within 1e-10 of the span of those before it is not determined
        if not F[i, i] * F[i, i] > 1e-20 * scale:
            return False
    for i in range(b - 1, -1, -1):
        x = F[i, b]
        for j in range(i + 1, b):
            x -= F[i, j] * beta[j]
        beta[i] = x / F[i, i]
    return True
