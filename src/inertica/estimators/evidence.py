"""`Evidence`: what the data alone say of the base parameters, kept so that constraints and priors can be put beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from inertica.estimators.covariance import Scores
from inertica.estimators.solve import ScaledSvd
from inertica.threads import one_thread

if TYPE_CHECKING:
    from inertica.estimators.consistent.strategy import Settled

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The weighted problem R beta = z without constraints or prior.

    Args:
        R, z: (b, b) and (b,); the rows behind them are divided by the standard deviations of the joints.
        scores: covariance of R'z; None when it is R'R, as for white residuals of unit variance.
        strategy: what put constraints and prior beside it.
        rest: residual norm that no beta explains, which says how large the noise of a row is.
        stated: (b, b) covariance of the least-squares solution where that by the scores is known to be too small.
    """

    R: Array
    z: Array
    scores: Scores | None = None
    strategy: Settled | None = None
    rest: float = 0.0
    stated: Array | None = None

    def least_squares(self, elsewhere: Array) -> tuple[Array, Array]:
        """(b,) solution without constraints and prior, and its covariance (b, b).

        Args:
            elsewhere: (b,) values along directions that the data do not resolve.
        """
        with one_thread():
            svd = ScaledSvd.of(self.R)
            beta = elsewhere + svd.half @ (svd.U[:, svd.known].T @ (self.z - self.R @ elsewhere))
            return beta, self._covariance(svd.half)

    def moved(self, change: Array) -> Evidence:
        """The same with a least-squares solution that lies elsewhere by this change (b,)."""
        return replace(self, z=self.z + self.R @ change)

    def _covariance(self, half: Array) -> Array:
        if self.stated is not None:
            return self.stated
        return half @ half.T if self.scores is None else self.scores.through(half @ half.T)

    def whitened(self) -> tuple[Array, Array]:
        """R and z of a problem that says the same with rows of unit variance, independent of each other.

        With the singular value decomposition U s V' of R (columns scaled) the errors of c = U'z on the resolved directions have a
        covariance L L', serial correlation included; then L^-1 U'R beta = L^-1 c.  Directions the data do not resolve have no row.
        """
        with one_thread():
            svd = ScaledSvd.of(self.R)
            rows, c = svd.U[:, svd.known].T @ self.R, svd.U[:, svd.known].T @ self.z
            if self.scores is not None or self.stated is not None:
                L = _root(rows @ self._covariance(svd.half) @ rows.T)
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
