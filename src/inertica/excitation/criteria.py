"""Criteria: how well a motion determines parameters, as one number; smaller is better for all of them.

Most depend on the singular values s_1 >= ... >= s_b of the observation matrix only.  For gradient steps the largest and smallest
are replaced by p-norms, max s ~ (sum s^p)^(1/p), which are smooth where singular values cross; p grows during a design.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inertica.errors import InputError
from inertica.excitation.observation import Observation
from inertica.excitation.trajectory import Array, Samples


class Criterion(Protocol):
    """A figure of a motion on a grid; smaller is better."""

    @property
    def full(self) -> bool:
        """Whether it wants all columns that have an effect instead of those of base parameters."""

    @property
    def logarithmic(self) -> bool:
        """Whether the value is a logarithm already; others are positive and compared by their logarithm."""

    @property
    def name(self) -> str:
        """What it is called in results and files."""

    def values(self, observe: Observation, motion: Samples, candidates: int) -> Array:
        """(B,) exact values of B motions of equal length that follow each other; infinite where W lacks rank."""

    def smooth(self, observe: Observation, motion: Samples, p: float) -> tuple[float, Samples]:
        """A smooth stand-in for one motion, and its gradient with respect to q, dq, ddq; approaches the value as p grows."""


@dataclass(frozen=True)
class _Spectral(ABC):
    """A criterion on singular values; `scaled` columns have unit norm."""

    scaled: bool = False
    full: bool = False

    @property
    def logarithmic(self) -> bool:
        return False

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def of(self, s: Array) -> Array:
        """Values from singular values (..., b) in descending order."""

    @abstractmethod
    def slope(self, s: Array, p: float) -> tuple[float, Array]:
        """Smooth value and its derivative with respect to each of s (b,)."""

    def values(self, observe: Observation, motion: Samples, candidates: int) -> Array:
        grams = observe.grams(motion, candidates)
        if self.scaled:
            norms = _norms(np.einsum("bii->bi", grams))
            grams = grams / (norms[:, :, None] * norms[:, None, :])
        return self.of(np.sqrt(np.maximum(np.linalg.eigvalsh(grams), 0.0))[:, ::-1])

    def smooth(self, observe: Observation, motion: Samples, p: float) -> tuple[float, Samples]:
        W = observe.stacked(motion)
        norms = _norms(np.sum(W * W, axis=0)) if self.scaled else np.ones(W.shape[1])
        A = W / norms
        squares, V = np.linalg.eigh(A.T @ A)
        # rounding leaves small eigenvalues of A'A anywhere near zero; the floor keeps slopes finite
        s = np.sqrt(np.maximum(squares[::-1], squares[-1] * 1e-15))
        value, slope = self.slope(s, p)
        V = V[:, ::-1]
        G = A @ ((V * (slope / s)) @ V.T)  # U diag(slope) V', with U = A V / s
        if self.scaled:
            # derivative of a normalised column: what lies along the column changes its length only
            G = (G - A * np.sum(A * G, axis=0)) / norms
        return value, observe.gradient(motion, rows_of(G, motion))


@dataclass(frozen=True)
class Condition(_Spectral):
    """cond(W) = s_1/s_b."""

    @property
    def name(self) -> str:
        return "cond(W)" + _scaled(self.scaled)

    def of(self, s: Array) -> Array:
        return _ratio(s[..., 0], _last(s))

    def slope(self, s: Array, p: float) -> tuple[float, Array]:
        top, d_top = _largest(s, p)
        low, d_low = _inverse_smallest(s, p)
        return top * low, d_top * low + top * d_low


@dataclass(frozen=True)
class Survey(_Spectral):
    """k1 cond(W'W) + k2/s_b (survey, eq. 67), cond(W'W) = cond(W)^2."""

    k1: float = 1.0
    k2: float = 100.0

    @property
    def name(self) -> str:
        return f"{self.k1:g} cond(W'W) + {self.k2:g}/s_min" + _scaled(self.scaled)

    def of(self, s: Array) -> Array:
        return self.k1 * _ratio(s[..., 0], _last(s)) ** 2 + _ratio(np.full(s.shape[:-1], self.k2), _last(s))

    def slope(self, s: Array, p: float) -> tuple[float, Array]:
        top, d_top = _largest(s, p)
        low, d_low = _inverse_smallest(s, p)
        cond, d_cond = top * low, d_top * low + top * d_low
        return self.k1 * cond**2 + self.k2 * low, 2.0 * self.k1 * cond * d_cond + self.k2 * d_low


@dataclass(frozen=True)
class Determinant(_Spectral):
    """D-optimality: -log det(W'W), the volume of the confidence ellipsoid (twice its logarithm, up to a constant).

    The expected torque noise of each joint enters through the weights of the observation.
    """

    @property
    def logarithmic(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return "-log det(W'W)" + _scaled(self.scaled)

    def of(self, s: Array) -> Array:
        return np.where(_last(s) > 0.0, -2.0 * np.sum(np.log(np.maximum(s, 1e-300)), axis=-1), np.inf)

    def slope(self, s: Array, p: float) -> tuple[float, Array]:
        return float(-2.0 * np.sum(np.log(s))), -2.0 / s


@dataclass(frozen=True)
class SmallestSingular(_Spectral):
    """1/s_r, s_r the smallest singular value of the regressor of all effective columns that is not zero by structure.

    The Jaco2 paper asks that s_r of the full regressor be as large as possible.

    Args:
        rank: r, the number of base parameters.
    """

    full: bool = True
    rank: int | None = None

    @property
    def name(self) -> str:
        return "1/s_r of the full regressor" if self.full else "1/s_min"

    def of(self, s: Array) -> Array:
        return _ratio(np.ones(s.shape[:-1]), _last(s[..., : self.rank]))

    def slope(self, s: Array, p: float) -> tuple[float, Array]:
        slope = np.zeros_like(s)
        value, slope[: self.rank] = _inverse_smallest(s[: self.rank], p)
        return value, slope


@dataclass(frozen=True, eq=False)
class FrischCost:
    """k1 cond(W) + k2/s_min(W) + psi (Frisch paper, eq. 19).

    psi is the largest row sum of off-diagonal entries, in absolute value, of Psi = D'D/(n m), D = W(z + noise) - W(z): with small
    psi, noise of the motion disturbs the columns of W independently of each other, as the Frisch scheme assumes.

    Args:
        noise: one fixed draw for q, dq, ddq on the grid, each (m, n).
        k1, k2: lambda_1 and lambda_2 of the paper.
    """

    noise: Samples
    k1: float = 1.0
    k2: float = 1.0
    full: bool = False

    @classmethod
    def drawn(cls, rng: np.random.Generator, m: int, n: int, k1: float = 1.0, k2: float = 1.0) -> FrischCost:
        """Unit-variance noise for m points of n joints."""
        q, dq, ddq = rng.standard_normal((3, m, n))
        return cls(Samples(q, dq, ddq), k1, k2)

    @property
    def logarithmic(self) -> bool:
        return False

    @property
    def name(self) -> str:
        return f"{self.k1:g} cond(W) + {self.k2:g}/s_min + psi"

    def of_matrices(self, W: Array, noisy: Array) -> float:
        """The cost from W at the points and at the noisy points, each (rows, b)."""
        return float(self._spectral(_singular_values(W))) + self.psi(noisy - W)

    @staticmethod
    def psi(D: Array) -> float:
        Psi = np.abs(D.T @ D) / len(D)
        np.fill_diagonal(Psi, 0.0)
        return float(Psi.sum(axis=1).max())

    def _spectral(self, s: Array) -> Array:
        return self.k1 * _ratio(s[..., 0], _last(s)) + _ratio(np.full(s.shape[:-1], self.k2), _last(s))

    def _noisy(self, motion: Samples, candidates: int = 1) -> Samples:
        if len(motion.q) != candidates * len(self.noise.q):
            raise InputError(f"the noise of the criterion has {len(self.noise.q)} points, the grid {len(motion.q) // candidates}")
        return Samples(*(x + np.tile(e, (candidates, 1)) for x, e in zip(motion, self.noise, strict=True)))

    def values(self, observe: Observation, motion: Samples, candidates: int) -> Array:
        b = len(observe.columns)
        s = np.sqrt(np.maximum(np.linalg.eigvalsh(observe.grams(motion, candidates)), 0.0))[:, ::-1]
        W = observe.matrix(motion).copy()
        D = (observe.matrix(self._noisy(motion, candidates)) - W).reshape(candidates, -1, b)
        Psi = np.abs(np.matmul(D.transpose(0, 2, 1), D)) / D.shape[1]
        Psi[:, np.arange(b), np.arange(b)] = 0.0
        return self._spectral(s) + Psi.sum(axis=2).max(axis=1)

    def smooth(self, observe: Observation, motion: Samples, p: float) -> tuple[float, Samples]:
        value, G = _smooth_condition(observe.stacked(motion), p, self.k1, self.k2)
        noisy = self._noisy(motion)
        b = len(observe.columns)
        W = observe.matrix(motion).copy()
        D = (observe.matrix(noisy) - W).reshape(-1, b)
        psi, H = _smooth_psi(D, p)
        slope = observe.gradient(noisy, rows_of(H, motion))
        here = observe.gradient(motion, rows_of(G[: len(H)] - H, motion))
        return value + psi, Samples(*(a + c for a, c in zip(here, slope, strict=True)))


def _smooth_condition(W: Array, p: float, k1: float, k2: float) -> tuple[float, Array]:
    squares, V = np.linalg.eigh(W.T @ W)
    s, V = np.sqrt(np.maximum(squares[::-1], squares[-1] * 1e-15)), V[:, ::-1]
    top, d_top = _largest(s, p)
    low, d_low = _inverse_smallest(s, p)
    slope = k1 * (d_top * low + top * d_low) + k2 * d_low
    return k1 * top * low + k2 * low, W @ ((V * (slope / s)) @ V.T)


def _smooth_psi(D: Array, p: float) -> tuple[float, Array]:
    """p-norm over rows of sums of |x|, each as sqrt(x^2 + c^2 mean(x^2)), c = 1/p; and its gradient with respect to D."""
    Psi = D.T @ D / len(D)
    np.fill_diagonal(Psi, 0.0)
    c = 1.0 / p**2 / Psi.size
    size = np.sqrt(Psi**2 + c * np.sum(Psi**2))
    np.fill_diagonal(size, 0.0)
    value, d_rows = _largest(size.sum(axis=1), p)
    share = np.divide(d_rows[:, None], size, out=np.zeros_like(Psi), where=size > 0.0)
    d_Psi = (share + c * np.sum(share)) * Psi
    return value, D @ (d_Psi + d_Psi.T) / len(D)


def rows_of(G: Array, motion: Samples) -> Array:
    """The part of a gradient that belongs to the rows of the motion, (m, n, columns)."""
    m, n = motion.q.shape
    return G[: m * n].reshape(m, n, -1)


def _largest(x: Array, p: float) -> tuple[float, Array]:
    """(sum x^p)^(1/p) and its gradient, for x >= 0."""
    top = float(x.max())
    if top <= 0.0:
        return 0.0, np.zeros_like(x)
    # the largest taken out: x^p overflows for p = 60
    ratio = x / top
    total = float(np.sum(ratio**p))
    return top * total ** (1.0 / p), ratio ** (p - 1.0) * total ** (1.0 / p - 1.0)


def _inverse_smallest(s: Array, p: float) -> tuple[float, Array]:
    """(sum s^-p)^(1/p) and its gradient."""
    value, slope = _largest(1.0 / s, p)
    return value, -slope / s**2


def _singular_values(W: Array) -> Array:
    # of W itself, not of W'W, whose small eigenvalues would drown in rounding
    return np.asarray(np.linalg.svd(W, compute_uv=False), float)


def _last(s: Array) -> Array:
    return s[..., -1]


def _ratio(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.full(np.shape(a), np.inf), where=b > 0.0)


def _norms(squares: Array) -> Array:
    return np.where(squares > 0.0, np.sqrt(np.maximum(squares, 0.0)), 1.0)


def _scaled(scaled: bool) -> str:
    return ", columns of unit norm" if scaled else ""
