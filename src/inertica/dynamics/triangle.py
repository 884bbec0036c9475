"""R factors that take in further rows, and R factors from products of columns, also of rows that lie elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from inertica.dynamics.resident import Place
from inertica.threads import one_thread

Array = NDArray[np.float64]

TRUSTED = 3e-3
"""Length of a unit column outside the span of those before it from which on products of columns tell it: to eleven digits or more."""

DEPENDENT = 1e-6
"""A unit column that is nearer than this to those before it is not trusted to products of columns."""


def absorbed(R: Array, *rows: Array) -> Array:
    """(k, k) R factor of [R; rows]: what rows (m, k) make of the one that earlier rows have left."""
    k = R.shape[1]
    with one_thread():
        found = np.linalg.qr(np.vstack([R, *rows]), mode="r")
    out = np.zeros((k, k))
    out[: len(found)] = found
    return out


def root(G: Array, trusted: float = TRUSTED) -> Array | None:
    """(k, k) upper triangular R with R'R = G; None where columns are too near to dependent for products of them."""
    scale = np.sqrt(np.diag(G))
    if not np.all(scale > 0.0):
        return None
    with one_thread():
        try:
            R = np.linalg.cholesky(G / np.outer(scale, scale)).T
        except np.linalg.LinAlgError:
            return None
    return R * scale if np.diag(R).min() > trusted else None


def triangles(place: Place, matrices: Sequence[Any]) -> list[Array]:
    """R factors of matrices that lie there, given as columns (k, m)."""
    return place.in_turn(lambda: _triangles(place, matrices))


def _triangles(place: Place, matrices: Sequence[Any]) -> list[Array]:
    """By products: a card multiplies faster than it reflects.

    R is the Cholesky factor of A'A, taken twice: the second time of A divided by the first one, whose columns are nearly orthogonal,
    so that the digits which products lose are there again.  The processor factorises products, which are small.  A matrix with
    columns that are nearly dependent takes the long way.
    """
    first = {j: R for j, G in enumerate(_products(place, matrices)) if (R := root(G, DEPENDENT)) is not None}
    divided = [place.take(solve_triangular(R, np.eye(len(R)), trans=1)) @ matrices[j] for j, R in first.items()]
    again = zip(first.items(), _products(place, divided), strict=True)
    found = {j: second @ R for (j, R), G in again if (second := root(G, DEPENDENT)) is not None}
    return [found[j] if j in found else _reflected(place, A) for j, A in enumerate(matrices)]


def _products(place: Place, matrices: Sequence[Any]) -> list[Array]:
    """A A' of each, in the processor's memory by one copy."""
    if not matrices:
        return []
    sizes = [len(A) for A in matrices]
    flat = place.back(place.xp.concatenate([(A @ A.T).ravel() for A in matrices]))
    return [part.reshape(k, k) for k, part in zip(sizes, np.split(flat, np.cumsum(np.square(sizes))[:-1]), strict=True)]


def _reflected(place: Place, A: Any) -> Array:
    """By reflections, zero rows below where there are fewer rows than columns."""
    R = np.zeros((len(A), len(A)))
    found = place.back(place.xp.linalg.qr(A.T, mode="r"))
    R[: len(found)] = found
    return R
