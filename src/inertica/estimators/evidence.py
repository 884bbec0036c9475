"""What a linear solve leaves: `Solution`, and `Evidence`, what the data alone say, for constraints and priors to be put beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.physical.cone import Program
from inertica.physical.priors import Prior
from inertica.threads import one_thread

RESOLVED = 1e-9
"""Singular values of the unit-column observation matrix below this share of the largest count as zero: rounding, not data."""


@dataclass(frozen=True, eq=False)
class ScaledSvd:
    """R / scale = U diag(s) Vt with unit columns, and which directions are data rather than rounding.

    Args:
        scale: (b,) norms of the columns; 1 for those that are zero.
        known: (b,) directions whose singular value counts.
    """

    U: Array
    s: Array
    Vt: Array
    scale: Array
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, R: Array, resolved: float = RESOLVED) -> ScaledSvd:
        scale = np.linalg.norm(R, axis=0)
        # a column that no row contains stays zero and shows as a direction that is not known
        empty = scale == 0.0
        scale[empty] = 1.0
        with one_thread():
            U, s, Vt = np.linalg.svd(R / scale)
        known = s > resolved * s.max(initial=0.0)
        Vt[np.ix_(known, empty)] = 0.0  # rounding, which would look like a variance
        return cls(U, s, Vt, scale, known)

    @property
    def half(self) -> Array:
        """(b, k) with (R'R)^-1 = half half' on the directions that are known."""
        return np.asarray(self.Vt[self.known].T / self.s[self.known] / self.scale[:, None])

    def solve(self, z: Array) -> Array:
        """(b,) or (b, k) least squares of R x = z, zero along directions that are not known."""
        along = (self.U.T @ z)[self.known].T / self.s[self.known]
        return np.asarray((along @ self.Vt[self.known] / self.scale).T)

    def solve_transposed(self, g: Array) -> Array:
        """(b,) or (b, k) least squares of R'x = g, zero along directions that are not known."""
        along = (g.T / self.scale) @ self.Vt[self.known].T / self.s[self.known]
        return np.asarray((along @ self.U[:, self.known].T).T)

    @property
    def condition(self) -> float:
        """Over the directions that are known."""
        return float(self.s[self.known][0] / self.s[self.known][-1]) if self.known.any() else np.inf

    @property
    def unresolved(self) -> Array:
        """(b, k) directions, in scaled columns, that the data say nothing about."""
        return np.asarray(self.Vt[~self.known].T)


@dataclass(frozen=True, eq=False)
class Scores:
    """Covariance S of the scores sum W'r, estimated twice.

    Args:
        stationary: (b, b) from the autocovariance of the residuals.
        robust: (b, b) from the products of the scores themselves.
    """

    stationary: Array
    robust: Array

    def through(self, spread: Array) -> Array:
        """(b, b) covariance of beta = spread times score."""
        return self.mapped(spread).larger

    @property
    def larger(self) -> Array:
        """The first, its standard deviations raised to those of the second where these are larger; correlations are kept."""
        # scaling rows and columns alike keeps the matrix positive semidefinite
        return np.asarray(self.raised[:, None] * self.stationary * self.raised)

    @property
    def raised(self) -> Array:
        """(b,) standard deviations by the second over those by the first, where they are larger; else one."""
        stationary, robust = np.diag(self.stationary), np.diag(self.robust)
        return np.asarray(
            np.sqrt(np.maximum(1.0, np.divide(robust, stationary, out=np.ones(len(stationary)), where=stationary > 0.0)))
        )

    def mapped(self, K: Array) -> Scores:
        """Of K times the scores."""
        with one_thread():
            return Scores(K @ self.stationary @ K.T, K @ self.robust @ K.T)


class Strategy(Protocol):
    """Constraints and a prior at work on the data of one problem."""

    @property
    def program(self) -> Program:
        """The constraints."""

    @property
    def believed(self) -> Prior:
        """The prior that intervals may rely on."""

    @property
    def mild(self) -> bool:
        """Whether the prior's strength is one that data hardly notice."""

    def __call__(self, system: Stacked) -> Solution: ...


@dataclass(frozen=True, eq=False)
class Solution:
    """Outcome of a linear solve.

    Args:
        beta: (b,).
        spread: (b, b) with covariance of beta = spread when the rows have unit variance: (R'R)^-1 on the resolved directions.
        condition: of R with unit-norm columns, over the resolved directions.
        unresolved: (b, k) directions (in scaled columns) the data say nothing about.
        chi: (P,) when the strategy yields standard parameters.
        warnings: one sentence each.
        bread: (b, b) change of beta per change of R'z; the same as `spread` unless something besides the data acts on beta.
        settings: choices of the strategy that shaped the numbers, for the record.
        strategy: the consistent strategy that made it, with the strength it used; None when nothing but data acted on beta.
    """

    beta: Array
    spread: Array
    condition: float
    unresolved: Array
    chi: Array | None = None
    warnings: tuple[str, ...] = ()
    bread: Array | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    strategy: Strategy | None = None

    @property
    def sensitivity(self) -> Array:
        """`bread`, or `spread` where they are the same."""
        return self.spread if self.bread is None else self.bread


@dataclass(frozen=True, eq=False)
class Evidence:
    """The weighted problem R beta = z without constraints or prior.

    Args:
        R, z: (b, b) and (b,); the rows behind them are divided by the standard deviations of the joints.
        scores: covariance of R'z; None when it is R'R, as for white residuals of unit variance.
        strategy: what put constraints and prior beside it.
        rest: residual norm that no beta explains, which says how large the noise of a row is.
        widened: (b,) factors on the standard deviations of the least-squares solution, where those by the scores are too small.
        changes: (b, m) changes of that solution which are independent of each other and of the noise, each of one standard deviation.
            Unlike factors they leave alone what is known well of parameters that are hardly told apart.
    """

    R: Array
    z: Array
    scores: Scores | None = None
    strategy: Strategy | None = None
    rest: float = 0.0
    widened: Array | None = None
    changes: Array | None = None

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
        covariance = half @ half.T if self.scores is None else self.scores.through(half @ half.T)
        covariance = covariance if self.widened is None else self.widened[:, None] * covariance * self.widened
        return covariance if self.changes is None else covariance + self.changes @ self.changes.T

    def whitened(self) -> tuple[Array, Array]:
        """R and z of a problem that says the same with rows of unit variance, independent of each other.

        With the singular value decomposition U s V' of R (columns scaled) and H = V / s, the errors of c = U'z on the resolved
        directions have a covariance L L' = H'S H, S that of the scores; then L^-1 U'R beta = L^-1 c.  Directions the data do not
        resolve have no row.  Factors F on standard deviations of beta divide it: L^-1 U'R F^-1 beta; changes D add to L L' what they
        are there, U'R F^-1 D times its transpose.  A covariance of beta itself is never formed: where parameters are hardly told
        apart, what is known well is a small difference of its huge entries.
        """
        with one_thread():
            svd = ScaledSvd.of(self.R)
            half, factor = svd.half, np.ones(len(self.z)) if self.widened is None else self.widened
            rows, c = svd.U[:, svd.known].T @ self.R, svd.U[:, svd.known].T @ self.z
            L = np.eye(len(c))
            if self.scores is not None:
                factor = factor * self.scores.mapped(half @ half.T).raised
                L = _root(half.T @ self.scores.stationary @ half)
            if self.scores is not None or self.widened is not None or self.changes is not None:
                divided = rows @ (half / factor[:, None])  # U'R F^-1 on the resolved directions
                if self.changes is not None:
                    L = _lower(L, divided @ (rows @ self.changes))
                rows, c = (solve_triangular(L, divided @ x, lower=True) for x in (rows, c))
        b = len(self.z)
        R, z = np.zeros((b, b)), np.zeros(b)
        R[: len(c)], z[: len(c)] = rows, c
        return R, z


def _lower(L: Array, more: Array) -> Array:
    """Lower triangular root of L L' + more more', which is not formed."""
    return np.asarray(np.linalg.qr(np.vstack([L.T, more.T]), mode="r")).T


def _root(S: Array) -> Array:
    """L with L L' = S; of too few independent samples S loses its rank to rounding, and gets a little on its diagonal."""
    try:
        return np.asarray(np.linalg.cholesky(S))
    except np.linalg.LinAlgError:
        e, V = np.linalg.eigh(0.5 * (S + S.T))
        return np.asarray(np.linalg.cholesky((V * np.maximum(e, 1e-9 * e[-1])) @ V.T))
