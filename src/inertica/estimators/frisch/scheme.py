"""The algebraic Frisch scheme: which linear relations are compatible with data that carry independent noise on every variable.

X = [W, -tau] has the rows of the observation matrix and the torque, a = [beta; 1] the unknown relation X a = 0, Sigma = X'X (any
positive scale).  The scheme asks for a diagonal D >= 0 with Sigma - D >= 0 singular; a spans its kernel (Frisch paper, section 2).

All noise on variable i is D = s_i e_i e_i', s_i = 1/(Sigma^-1)_ii, and its relation is column i of Sigma^-1.  So all p + 1 vertices
come from one inverse V:  beta^(i) = V[:p, i] / V[p, i]; the last one is ordinary least squares.

The vertices enclose all solutions only if no D allows more than one relation (Maxcor = 1), which by Kalman's condition means that
Sigma^-1 is positive after sign changes of variables: every parameter keeps one sign over all vertices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.triangle import stacked_factor
from inertica.threads import one_thread

SINGULAR = 1e-13
"""Smallest share of a variable that the others do not explain (1/(C^-1)_ii of the correlations C) that is more than rounding."""

LEAST_BARRIER = 1e-6
"""Where the search for several relations ends, as a share of the noise that a single variable could carry."""


@dataclass(frozen=True, eq=False)
class Scheme:
    """What the Frisch scheme says of one data matrix.

    Args:
        vertices: (p + 1, p) one per variable that could carry all noise; the last is ordinary least squares.
        noise: (p + 1,) the largest variance that each variable could carry alone, times the number of rows.
        inverse: (p + 1, p + 1) Sigma^-1 with unit diagonal: each variable in units of its own largest noise.
    """

    vertices: Array
    noise: Array
    inverse: Array

    @classmethod
    def of_factor(cls, R: Array) -> Scheme:
        """From a triangular factor R (p + 1, p + 1) of X: Sigma^-1 = R^-1 R^-T, without squaring its condition."""
        with one_thread():
            scale = np.linalg.norm(R, axis=0)
            half = np.linalg.inv(R / scale)
        V = half @ half.T
        size = np.sqrt(np.diag(V))
        vertices = (V[:-1] / V[-1]).T * (scale[-1] / scale[:-1])
        return cls(vertices, (scale / size) ** 2, V / np.outer(size, size))

    @classmethod
    def of_data(cls, X: Array) -> Scheme:
        """From a data matrix [W, -tau]."""
        with one_thread():
            return cls.of_factor(stacked_factor(X))

    @property
    def lower(self) -> Array:
        """(p,) least value of each parameter over the vertices."""
        return np.asarray(self.vertices.min(axis=0))

    @property
    def upper(self) -> Array:
        """(p,) largest."""
        return np.asarray(self.vertices.max(axis=0))

    @property
    def sign_changes(self) -> NDArray[np.bool_]:
        """(p,) parameters that are positive at some vertices and negative at others."""
        return (self.lower < 0.0) & (self.upper > 0.0)

    @property
    def simplex_holds(self) -> bool:
        """Kalman's condition: whether the simplex of the vertices holds every solution of the scheme."""
        return not self.sign_changes.any()

    @cached_property
    def relations(self) -> Relations:
        """Several relations at once, where some noise allows them."""
        return most_relations(self.inverse, self.noise)


@dataclass(frozen=True, eq=False)
class Relations:
    """Relations that one noise allows together (footnote 4 of the paper); their number is a lower bound of Maxcor.

    Args:
        noise: (p + 1,) diagonal of D, times the number of rows.
        kernel: (p + 1, k) orthonormal basis of the kernel of Sigma - D, variables in units of the noise they could carry alone.
        left: largest eigenvalue of Sigma - D in the kernel, in the same units: 0 but for how far the search went.
    """

    noise: Array
    kernel: Array
    left: float

    @property
    def count(self) -> int:
        return self.kernel.shape[1]


def most_relations(inverse: Array, noise: Array) -> Relations:
    """D of the largest sum with Sigma - D >= 0 and D >= 0, in units of the noise each variable could carry alone.

    The largest sum makes many eigenvalues vanish; the most there could be is a problem without a known solution in closed form, so
    that the count is what was found, a lower bound.  Newton's method on  sum d + mu (log det(Sigma - D) + sum log d), mu falling.

    Args:
        inverse: Sigma^-1 with unit diagonal.
        noise: (p + 1,) squares of the units.
    """
    with one_thread():
        Sigma = np.linalg.inv(inverse)
        Sigma = 0.5 * (Sigma + Sigma.T)
        d = np.full(len(Sigma), 0.5 * float(np.linalg.eigvalsh(Sigma)[0]))
        mu = 1.0
        while mu > LEAST_BARRIER:
            mu *= 0.3
            d = _centred(Sigma, d, mu)
        values, vectors = np.linalg.eigh(Sigma - np.diag(d))
    inside = values < np.sqrt(mu)  # eigenvalues of the matrix and of its dual multiply to mu; the smaller one tends to zero
    return Relations(d * noise, vectors[:, inside], float(values[inside].max(initial=0.0)))


def _centred(Sigma: Array, d: Array, mu: float) -> Array:
    """Newton steps to the maximum for one mu; the first that hardly changes anything is the last."""
    for _ in range(50):
        S = np.linalg.inv(Sigma - np.diag(d))
        gradient = 1.0 - mu * np.diag(S) + mu / d
        hessian = mu * S**2 + np.diag(mu / d**2)
        step = np.linalg.solve(hessian, gradient)
        gain, length = float(gradient @ step) / mu, 1.0
        if gain > 0.25:  # far away: a step within the region where the quadratic model is safe
            length = 1.0 / (1.0 + np.sqrt(gain))
        d = d + length * step
        if gain < 1e-8:
            break
    return d


def window_boxes(grams: Array) -> tuple[Array, Array]:
    """Boxes of many data matrices: least and largest value (m, p) of each parameter over the vertices of each Sigma (m, p + 1, p + 1).

    A Sigma that is singular to rounding says nothing: its box is unbounded.
    """
    scale = np.sqrt(np.einsum("mii->mi", grams))
    scale[scale == 0.0] = 1.0
    V, definite = _inverses(grams / (scale[:, :, None] * scale[:, None, :]))
    scales = scale[definite]
    vertices = V[:, :-1] / V[:, -1:] * (scales[:, -1:] / scales[:, :-1])[:, :, None]
    lower = np.full((len(grams), grams.shape[1] - 1), -np.inf)
    upper = -lower
    lower[definite], upper[definite] = vertices.min(axis=2), vertices.max(axis=2)
    return lower, upper


def _inverses(C: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Inverses of those matrices of correlations (m, k, k) that have one, and which these are."""
    with one_thread():
        try:
            V = np.linalg.inv(C)
        except np.linalg.LinAlgError:  # one of them is exactly singular
            regular = np.linalg.eigvalsh(C)[:, 0] > SINGULAR
            return np.asarray(np.linalg.inv(C[regular]), float), regular
    diagonal = np.einsum("mii->mi", V)
    definite = ((diagonal > 0.0) & (diagonal < 1.0 / SINGULAR)).all(axis=1)
    return V[definite], definite
