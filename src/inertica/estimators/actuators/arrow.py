"""Normal equations shaped like an arrow: coordinates that all records share, and states at the start, each met by its record only.

    [ A    B_1  B_2 .. ] [x  ]   [g  ]
    [ B_1' C_1         ] [s_1] = [h_1]
    [ B_2'      C_2    ] [s_2]   [h_2]

States are eliminated record by record (Schur complement): time and memory grow with the number of records and not with its cube.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from inertica.arrays import Array, Mask

TINY = 1e-14
"""Added to unit diagonals: rounding of a sum of squares."""


@dataclass(frozen=True, eq=False)
class Arrow:
    """K records with m state coordinates each.

    Args:
        A: (c, c) of the shared coordinates.
        g: (c,) their right-hand side.
        B: (K, c, m) between shared coordinates and states.
        C: (K, m, m) of the states.
        h: (K, m) their right-hand sides.
    """

    A: Array
    g: Array
    B: Array
    C: Array
    h: Array

    @classmethod
    def empty(cls, c: int, K: int, m: int) -> Arrow:
        return cls(np.zeros((c, c)), np.zeros(c), np.zeros((K, c, m)), np.zeros((K, m, m)), np.zeros((K, m)))

    def add(self, k: int, rows: Array, residual: Array) -> None:
        """Takes the rows of a record in.

        Args:
            k: number of the record.
            rows: (c + m, samples) derivatives, weighted.
            residual: (samples,) weighted.
        """
        c = len(self.g)
        products, slopes = rows @ rows.T, rows @ residual
        self.A[:] += products[:c, :c]
        self.g[:] += slopes[:c]
        self.B[k], self.C[k], self.h[k] = products[:c, c:], products[c:, c:], slopes[c:]

    def add_prior(self, shared: tuple[Array, Array], states: tuple[Array, Array]) -> None:
        """Takes diagonal priors in: weights and right-hand sides of shared coordinates (c,) and of states (K, m)."""
        self.A[np.diag_indices(len(self.g))] += shared[0]
        self.g[:] += shared[1]
        at = np.arange(self.C.shape[1])
        self.C[:, at, at] += states[0]
        self.h[:] += states[1]

    def solved(self, damping: float, bound: Mask) -> tuple[Array, Array]:
        """Steps (c,) and (K, m) of the equations whose diagonal is larger by a share `damping` (Marquardt); shared coordinates that
        are `bound` (c,) stay."""
        free = np.flatnonzero(~bound)
        a, scale, eliminated = self._eliminated(free, damping)
        x = np.zeros(len(self.g))
        part = cho_solve(cho_factor(a + TINY * np.eye(len(a)), lower=True), eliminated[0])
        x[free] = part / scale
        s = eliminated[1] - np.einsum("kmc,c->km", eliminated[2], part)
        return x, s / self._state_scale(damping)

    def reduced(self) -> tuple[Array, Array]:
        """A and g once the states are eliminated."""
        everything = np.arange(len(self.g))
        a, scale, eliminated = self._eliminated(everything, 0.0)
        return a * np.outer(scale, scale), eliminated[0] * scale

    def _state_scale(self, damping: float) -> Array:
        at = np.arange(self.C.shape[1])
        return np.sqrt(np.maximum((1.0 + damping) * self.C[:, at, at], 1e-300))

    def _eliminated(self, free: NDArray[np.int64], damping: float) -> tuple[Array, Array, tuple[Array, Array, Array]]:
        """The shared block with unit diagonal less what states take up, its scale, and right-hand side (c,), (K, m) solutions of the
        states alone, (K, m, c) their changes with the shared coordinates."""
        diagonal = np.diag(self.A)[free]
        scale, states = np.sqrt(np.maximum((1.0 + damping) * diagonal, 1e-300)), self._state_scale(damping)
        a = self.A[np.ix_(free, free)] + damping * np.diag(diagonal)
        a, g = a / np.outer(scale, scale), self.g[free] / scale
        b = self.B[:, free] / (scale[:, None] * states[:, None, :])
        c = self.C / (states[:, :, None] * states[:, None, :])
        at = np.arange(c.shape[1])
        c[:, at, at] = 1.0 + TINY
        h = self.h / states
        inverse = np.linalg.inv(c)
        alone, across = np.einsum("kij,kj->ki", inverse, h), inverse @ b.transpose(0, 2, 1)
        a = a - np.einsum("kcm,kmd->cd", b, across, optimize=True)
        return a, scale, (g - np.einsum("kcm,km->c", b, alone, optimize=True), alone, across)
