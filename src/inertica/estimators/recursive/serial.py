"""How much less rows say because their residuals are alike in time, known while samples come.

When a row has gone into a triangular factor (`givens`), what is left of it is its recursive residual: how far the row was from what
all rows before it said, in units in which white noise stays white.  The fit has not seen it yet, so that slow noise is still in it.
Sums of these residuals over half a second vary more than white noise would have them by

    c = sum of (sums)^2 / sum of (residuals)^2,

the long-run over the short-run variance of a joint's rows (batch means).  It is known as well as so many sums tell a variance, so that
it is raised by what Student's distribution has its intervals wider.  Noise that lasts longer than half a second is not told.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtrit

from inertica.arrays import Array
from inertica.compiled import njit

SECONDS = 0.5
"""Over which residuals are summed."""

FEWEST = 6
"""Sums of a joint from which c is told."""


REMEMBERED = 40
"""Sums that are remembered at least: a fit that forgets soon still has noise of the same colour."""


@njit(nogil=True, error_model="numpy")
def residuals_in(rows: Any, use: Any, length: int, factor: float, sums: Any) -> None:
    """Residuals of one sample.

    Args:
        rows: (r, b+1) as `givens.sample_in` has left them, the residual last.
        use: (r,) which of them took part.
        length: samples over which to sum.
        factor: by which sums fade, per sample.
        sums: (r, 6) of every joint: samples, sum and sum of squares of the half second under way; number, squares of the sums and
            sums of the squares of those before.
    """
    last = rows.shape[1] - 1
    for j in range(rows.shape[0]):
        joint_sums = sums[j]
        joint_sums[0] += 1.0
        if use[j]:
            x = rows[j, last]
            joint_sums[1] += x
            joint_sums[2] += x * x
        if factor < 1.0:
            for k in range(3, 6):
                joint_sums[k] *= factor
        if joint_sums[0] >= length:
            if joint_sums[2] > 0.0:
                joint_sums[3] += 1.0
                joint_sums[4] += joint_sums[1] * joint_sums[1]
                joint_sums[5] += joint_sums[2]
            for k in range(3):
                joint_sums[k] = 0.0


def fading(forgetting: float, length: int) -> float:
    """By which sums of so many samples fade in a fit that forgets."""
    return 1.0 if forgetting == 1.0 else max(forgetting, 1.0 - 1.0 / (REMEMBERED * length))


def longer(sums: Array, least: float, together: bool) -> Array:
    """(r,) c of every joint, of all joints alike where one factor holds the rows of all.

    Args:
        sums: of `residuals_in`.
        least: c of white torque noise, see `RowStream.inflation`; holds also while there are fewer than `FEWEST` sums.
        together: one number for all joints.
    """
    number, between, within = (np.broadcast_to(x.sum(), x.shape) if together else x for x in sums[:, 3:].T)
    # variance of sums over sum of variances: 1 for white residuals, more where neighbours are alike
    measured = np.divide(between, within, out=np.full(len(sums), least), where=within > 0.0)
    # few sums tell their variance badly: Student's quantile over the normal one
    wider = (stdtrit(np.maximum(number, FEWEST), 0.975) / stdtrit(np.inf, 0.975)) ** 2
    return np.where(number >= FEWEST, np.maximum(wider * measured, least), least)
