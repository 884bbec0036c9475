"""Triangular systems of the size of a parameter vector: SciPy's own checks would take longer than solving them."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtrs

from inertica.arrays import Array


def back_substituted(M: Array, right: Array, transposed: bool = False) -> Array:
    """x with M x = right, or M'x = right; M (k, k) upper triangular, right (k,) or (k, m).

    Raises:
        ValueError: something is not finite.
        LinAlgError: M is singular.
    """
    if not (np.isfinite(M).all() and np.isfinite(right).all()):
        raise ValueError("a triangular system has values that are not finite")
    if M.flags.f_contiguous:
        x, info = dtrtrs(M, right, lower=0, trans=int(transposed))
    else:  # LAPACK reads rows as columns
        x, info = dtrtrs(M.T, right, lower=1, trans=int(not transposed))
    if info:
        raise np.linalg.LinAlgError(f"singular matrix: diagonal {info - 1} is zero")
    return np.asarray(x)
