"""`Evidence`: what the data alone say of the base parameters, kept so that constraints and priors can be put beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from inertica.estimators.covariance import Scores
from inertica.estimators.solve import RESOLVED
from inertica.threads import one_thread

if TYPE_CHECKING:
    from inertica.estimators.consistent import Consistent

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The weighted problem R beta = z without constraints or prior.

    Args:
        R, z: (b, b) and (b,); the rows behind them are divided by the standard deviations of the joints.
        scores: covariance of R'z; None when it is R'R, as for white residuals of unit variance.
        strategy: what put constraints and prior beside it.
    """

    R: Array
    z: Array
    scores: Scores | None = None
    strategy: Consistent | None = None

    def whitened(self) -> tuple[Array, Array]:
        """R and z of a problem that says the same with rows of unit variance, independent of each other.

        With the singular value decomposition U s V' of R (columns scaled) the errors of c = U'z on the resolved directions have a
        covariance L L', serial correlation included; then L^-1 U'R beta = L^-1 c.  Directions the data do not resolve have no row.
        """
        scale = np.linalg.norm(self.R, axis=0)
        scale[scale == 0.0] = 1.0
        with one_thread():
            U, s, Vt = np.linalg.svd(self.R / scale)
            known = s > RESOLVED * s[0] if s[0] > 0.0 else np.zeros(len(s), bool)
            rows, c = U[:, known].T @ self.R, U[:, known].T @ self.z
            if self.scores is not None:
                half = Vt[known].T / s[known] / scale[:, None]
                L = _root(rows @ self.scores.through(half @ half.T) @ rows.T)
                rows, c = (solve_triangular(L, x, lower=True) for x in (rows, c))
        b = len(self.z)
        R, z = np.zeros((b, b)), np.zeros(b)
        R[: len(c)], z[: len(c)] = rows, c
        return R, z


def _root(S: Array) -> Array:
    """L with L L' = S; of too few independent samples S loses its rank to rounding, and gets a little on its diagonal."""
    try:
        return np.asarray(np.linalg.cholesky(S))
    except np.linalg.LinAlgError:
        e, V = np.linalg.eigh(0.5 * (S + S.T))
        return np.asarray(np.linalg.cholesky((V * np.maximum(e, 1e-9 * e[-1])) @ V.T))
