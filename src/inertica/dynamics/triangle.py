"""R factors: of rows stacked under an R factor, and from products of columns, also of arrays in GPU memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from inertica.arrays import Array
from inertica.dynamics.resident import MemorySpace
from inertica.threads import one_thread

TRUSTED = 3e-3
"""Length of a unit column outside the span of those before it from which on products of columns tell it: to eleven digits or more."""

DEPENDENT = 1e-6
"""A unit column that is nearer than this to those before it is not trusted to products of columns."""


def stacked_factor(R: Array, *rows: Array) -> Array:
    """(k, k) R factor of all rows stacked, [R; rows], by Householder reflections: earlier rows enter as their R factor."""
    k = R.shape[1]
    with one_thread():
        triangle = np.linalg.qr(np.vstack([R, *rows]), mode="r")
    out = np.zeros((k, k))
    out[: len(triangle)] = triangle
    return out


def cholesky_factor(G: Array, trusted: float = TRUSTED) -> Array | None:
    """(k, k) upper triangular R with R'R = G; None where columns are too near to dependent for products of them."""
    # unit columns: the test of near dependence must not depend on the units of the parameters
    scale = np.sqrt(np.diag(G))
    if not np.all(scale > 0.0):
        return None
    with one_thread():
        try:
            R = np.linalg.cholesky(G / np.outer(scale, scale)).T
        except np.linalg.LinAlgError:
            return None
    return R * scale if np.diag(R).min() > trusted else None


def column_factors(place: MemorySpace, matrices: Sequence[Any]) -> list[Array]:
    """R factors of matrices in one memory space, given as columns (k, m)."""
    return place.in_library_thread(lambda: _triangles(place, matrices))


def _triangles(place: MemorySpace, matrices: Sequence[Any]) -> list[Array]:
    """By products of columns: a GPU multiplies faster than it reflects.

    R is the Cholesky factor of A'A, taken twice (CholeskyQR2): the second time of A divided by the first factor, whose columns are
    nearly orthogonal, which restores the digits that the product of a badly conditioned A loses.  The processor factorises the
    products, which are small.  A matrix with nearly dependent columns is factorised by reflections.
    """
    first = {j: R for j, G in enumerate(_products(place, matrices)) if (R := cholesky_factor(G, DEPENDENT)) is not None}
    orthonormal = [place.to_device(solve_triangular(R, np.eye(len(R)), trans=1)) @ matrices[j] for j, R in first.items()]
    second_pass = zip(first.items(), _products(place, orthonormal), strict=True)
    factors = {j: second @ R for (j, R), G in second_pass if (second := cholesky_factor(G, DEPENDENT)) is not None}
    return [factors[j] if j in factors else _reflected(place, A) for j, A in enumerate(matrices)]


def _products(place: MemorySpace, matrices: Sequence[Any]) -> list[Array]:
    """A A' of each, in the processor's memory by one copy."""
    if not matrices:
        return []
    sizes = [len(A) for A in matrices]
    flat = place.to_host(place.xp.concatenate([(A @ A.T).ravel() for A in matrices]))
    return [part.reshape(k, k) for k, part in zip(sizes, np.split(flat, np.cumsum(np.square(sizes))[:-1]), strict=True)]


def _reflected(place: MemorySpace, A: Any) -> Array:
    """By reflections, zero rows below where there are fewer rows than columns."""
    R = np.zeros((len(A), len(A)))
    triangle = place.to_host(place.xp.linalg.qr(A.T, mode="r"))
    R[: len(triangle)] = triangle
    return R
