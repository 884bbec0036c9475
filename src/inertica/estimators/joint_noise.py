"""Noise of the torque of every joint, from its own rows alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.lapack import dtrtri

from inertica.arrays import Array
from inertica.dynamics.tsqr import JointFactor
from inertica.estimators.evidence import ScaledSvd

DEPENDENT = 1e-9
"""Singular values of unit columns of a joint below this share of the largest are dependent columns."""

ROUNDING = 1e-13
"""Columns of a joint below this share of its largest are zero by structure, left over from cancellation."""


def own_sigmas(factors: Sequence[JointFactor], counts: Array) -> Array:
    """`Observations.sigmas` from R factors of the joints and the numbers of their rows."""
    out = np.empty(len(factors))
    for j, (factor, count) in enumerate(zip(factors, counts, strict=True)):
        residual, rank = _own_residual(factor)
        out[j] = residual / np.sqrt(max(count - rank, 1.0))
    # an exact fit (simulated data without noise) would have weight infinity: at least 1e-9 of the largest rms torque
    size = np.array([f.size for f in factors]) / np.sqrt(np.maximum(counts, 1.0))
    return np.maximum(out, 1e-9 * max(float(size.max()), 1e-300))


def _own_residual(factor: JointFactor) -> tuple[float, int]:
    """Residual norm of a joint fitted alone, and the rank of its columns; some are dependent within one joint."""
    # a joint alone sees combinations of the base parameters, so some of its columns are dependent
    scale = np.linalg.norm(factor.R, axis=0)
    scale[scale <= ROUNDING * scale.max(initial=0.0)] = np.inf  # a column of rounding errors would fit noise
    unit = factor.R / scale
    if _regular(unit):
        return factor.rest, len(scale)
    svd = ScaledSvd.of(unit, DEPENDENT)
    rank = int(np.count_nonzero(svd.known))
    outside = (svd.U.T @ factor.z)[rank:]
    return float(np.hypot(np.linalg.norm(outside), factor.rest)), rank


def _regular(R: Array) -> bool:
    """Whether an upper triangular matrix is clearly of full rank, told by its inverse: that is much quicker than singular values."""
    if not R.size or not np.all(np.diag(R)):
        return False
    inverse, failed = dtrtri(R)
    return not failed and bool(np.linalg.norm(R) * np.linalg.norm(inverse) < 1.0 / DEPENDENT)
