"""What is summed up over samples where they are computed, and what comes back: the words that engine and targets share for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Motion = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two motions of the same samples.

    Args:
        measured: (q, dq, ddq) of W, (N, n) each.
        simulated: of Z.
        tau: (N, n) y.
        weights: (N, n) factors on both rows of a product together; 0 leaves a row out.
    """

    measured: Motion
    simulated: Motion
    tau: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Compared:
    """Runs of one fit and the record that they are compared with.

    Args:
        chi: (L, P) parameters of the runs.
        keep: (K,) control steps of the record.
        record: (K, n) what was measured.
        weights: (K, n) factors on the differences; 0 leaves a sample out.
        steps: (L - 1,) by how much one parameter was moved in each run but the first; empty when only squares are wanted.
    """

    chi: Array
    keep: NDArray[np.int64]
    record: Array
    weights: Array
    steps: Array


@dataclass(frozen=True, eq=False)
class Misfit:
    """What comes back of it.

    Args:
        squares: (L,) sums of squared weighted differences.
        fine: (L,) runs that stayed near their reference.
        products: (L - 1, L - 1) J'J of the difference quotients J of the signal; empty when no steps were given.
        slope: (L - 1,) J'r, r the differences of the first run.
    """

    squares: Array
    fine: NDArray[np.bool_]
    products: Array
    slope: Array
