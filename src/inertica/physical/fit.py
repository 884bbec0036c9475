"""`Fit`: the data term of a constrained problem, |R T chi - z|^2, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inertica.arrays import Array


@dataclass(frozen=True, eq=False)
class Fit:
    """Weighted least squares in the standard parameters.

    Args:
        R: (m, b) factor of the observation matrix of the base parameters; m need not be b.
        z: (m,).
        T: (b, P) with beta = T chi.
        noise: variance of a row; 1 for rows that were divided by their standard deviation.  Pulls towards a prior are weighed
            against it.
    """

    R: Array
    z: Array
    T: Array
    noise: float = 1.0

    @cached_property
    def A(self) -> Array:
        """(m, P)."""
        return np.asarray(self.R @ self.T)

    def squares(self, chi: Array) -> float:
        """|R T chi - z|^2."""
        miss = self.R @ (self.T @ chi) - self.z
        return float(miss @ miss)
