"""R factors that take in further rows, and R factors from products of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inertica.threads import one_thread

Array = NDArray[np.float64]

TRUSTED = 3e-3
"""Length of a unit column outside the span of those before it from which on products of columns tell it: to eleven digits or more."""


def absorbed(R: Array, *rows: Array) -> Array:
    """(k, k) R factor of [R; rows]: what rows (m, k) make of the one that earlier rows have left."""
    k = R.shape[1]
    with one_thread():
        found = np.linalg.qr(np.vstack([R, *rows]), mode="r")
    out = np.zeros((k, k))
    out[: len(found)] = found
    return out


def root(G: Array) -> Array | None:
    """(k, k) upper triangular R with R'R = G; None where columns are too near to dependent for products of them."""
    scale = np.sqrt(np.diag(G))
    if not np.all(scale > 0.0):
        return None
    with one_thread():
        try:
            R = np.linalg.cholesky(G / np.outer(scale, scale)).T
        except np.linalg.LinAlgError:
            return None
    return R * scale if np.diag(R).min() > TRUSTED else None
