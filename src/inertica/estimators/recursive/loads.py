"""What a load on the last link may be, and how likely residuals make it.

A body on the last link has ten parameters theta and changes row k of the fit by A_k theta, A_k = W_k B.  Beforehand it is a
mixture: point masses of the size looked for at three places on the axis of the last joint, and around each of these places bodies
that sit elsewhere, Gaussians theta ~ N(m, G G').  With s = sum A'e and I = sum A'A over rows since some instant (weighted, see
`change`), the likelihood of such a load against none is for each part of the mixture

    exp(m's - m'I m / 2 + r'(1 + G'I G)^-1 r / 2) / sqrt(det(1 + G'I G)),   r = G'(s - I m),

their mean that of the mixture.  For a load that goes theta changes its sign.  While nothing changes the mean of this ratio stays
one, so that it reaches exp(h) with a probability of exp(-h) at most, whatever the motion (Ville 1939).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.compiled import njit
from inertica.estimators.recursive.factors import OPTIONS, cholesky
from inertica.identifiability.base import BaseModel
from inertica.robot import inertia

PLACES = (0.0, 0.1, -0.1)
"""m from the origin of the last link along the axis of its joint, around which loads are taken to be."""

ALONG, BESIDE = 0.05, 0.04
"""m: standard deviations of where they are around those places, along the axis and across it."""

HEAVIER = 0.2
"""Standard deviation of the logarithm of their mass."""

DRAWN = 4000
"""Bodies from which mean and covariance of the ten parameters are taken."""

SMALLEST = 1e-9
"""Of the largest variance: directions of theta that are left out."""


@dataclass(frozen=True, eq=False)
class Loads:
    """Loads on the last link of a robot.

    Args:
        mass: that is looked for, in kg.
        bodies: (b, 10) base parameters of the load's ten.
        means: (c, 10) m of every part of the mixture.
        spreads: (c, 10, 10) G, columns of zeros behind
        ranks: (c,) so many.
    """

    mass: float
    bodies: Array
    means: Array
    spreads: Array
    ranks: NDArray[np.int64]

    @classmethod
    def of(cls, base: BaseModel, mass: float) -> Loads:
        axis = np.asarray(base.layout.robot.joints[-1].axis, float)
        link = np.arange(base.layout.size)[base.layout.link(base.layout.robot.n - 1)]
        bodies = np.array([base.beta(row) for row in np.eye(base.layout.size)[link]]).T
        means, spreads, ranks = [], [], []
        rng = np.random.default_rng(0)
        for place in PLACES:
            means.append(_point(mass, place * axis))
            spreads.append(np.zeros((10, 10)))
            ranks.append(0)
            x = rng.standard_normal((DRAWN, 5))
            across = BESIDE * x[:, :3]
            at = across - np.outer(across @ axis, axis) + np.outer(place + ALONG * x[:, 3], axis)
            drawn = np.array([_point(mass * np.exp(HEAVIER * m), c) for m, c in zip(x[:, 4], at, strict=True)])
            values, vectors = np.linalg.eigh(np.cov(drawn.T))
            # ten parameters of bodies that are drawn by fewer numbers: the covariance has no full rank
            significant = values > SMALLEST * values[-1]
            G = np.zeros((10, 10))
            G[:, : significant.sum()] = vectors[:, significant] * np.sqrt(values[significant])
            means.append(drawn.mean(axis=0))
            spreads.append(G)
            ranks.append(int(significant.sum()))
        return cls(mass, bodies, np.array(means), np.array(spreads), np.array(ranks))

    @property
    def directions(self) -> Array:
        """(d, b) change of the base parameters by a point mass at each of the places."""
        return np.asarray(self.means[::2] @ self.bodies.T)

    def body(self, s: Array, I: Array, part: int, sign: float) -> Array:
        """(10,) most likely change of the last link's parameters, given that part of the mixture; mass last."""
        m, G = sign * self.means[part], self.spreads[part][:, : self.ranks[part]]
        if not self.ranks[part]:
            return np.asarray(m)
        return np.asarray(m + G @ np.linalg.solve(np.eye(G.shape[1]) + G.T @ I @ G, G.T @ (s - I @ m)))


def _point(mass: float, place: ArrayLike) -> Array:
    return np.asarray(inertia.from_com(mass, place, np.zeros((3, 3))))


@njit(**OPTIONS)
def ratios(
    s: Any, I: Any, count: int, now_s: Any, now_I: Any, means: Any, spreads: Any, ranks: Any, sums: Any, best: Any
) -> None:
    """Logarithms of the likelihood ratios of loads that came (first row) or went, the largest over the instants they may have done so.

    Args:
        s, I: (K, 10) and (K, 10, 10) sums up to each of those instants, in the first `count` places.
        now_s, now_I: sums up to now.
        means, spreads, ranks: of `Loads`.
        sums: (2, c) filled: every part's largest.
        best: (2, 3) filled: largest of the mixture, its instant, and the likeliest part there.
    """
    parts = means.shape[0]
    e, M, Im, r, H, low, IG = (
        np.zeros(10),
        np.zeros((10, 10)),
        np.zeros(10),
        np.zeros(10),
        np.zeros((10, 10)),
        np.zeros((10, 10)),
        np.zeros((10, 10)),
    )
    each = np.zeros((2, parts))
    for sign in range(2):
        best[sign, 0], best[sign, 1], best[sign, 2] = -np.inf, 0.0, 0.0
        for c in range(parts):
            sums[sign, c] = 0.0
    for k in range(count):
        for i in range(10):
            e[i] = now_s[i] - s[k, i]
            for j in range(10):
                M[i, j] = now_I[i, j] - I[k, i, j]
        for c in range(parts):
            rank, along, size = ranks[c], 0.0, 0.0
            for i in range(10):
                Im[i] = 0.0
                for j in range(10):
                    Im[i] += M[i, j] * means[c, j]
            for i in range(10):
                along += means[c, i] * e[i]
                size += means[c, i] * Im[i]
            logdet = 0.0
            if rank > 0:
                for i in range(10):
                    for a in range(rank):
                        IG[i, a] = 0.0
                        for j in range(10):
                            IG[i, a] += M[i, j] * spreads[c, j, a]
                for a in range(rank):
                    # I + G' M G: by Woodbury's formula the ratio needs a matrix of the rank of G instead of ten by ten
                    for b in range(rank):
                        H[a, b] = 1.0 if a == b else 0.0
                        for i in range(10):
                            H[a, b] += spreads[c, i, a] * IG[i, b]
                if not cholesky(H[:rank, :rank], low[:rank, :rank]):
                    continue
                for a in range(rank):
                    logdet += np.log(low[a, a])
            for sign in range(2):
                way = 1.0 if sign == 0 else -1.0
                value = way * along - 0.5 * size - logdet
                for a in range(rank):
                    total = 0.0
                    for i in range(10):
                        total += spreads[c, i, a] * (e[i] - way * Im[i])
                    for b in range(a):
                        total -= low[a, b] * r[b]
                    r[a] = total / low[a, a]
                    value += 0.5 * r[a] * r[a]
                each[sign, c] = value
                sums[sign, c] = max(sums[sign, c], value)
        for sign in range(2):
            # logarithm of a sum of exponentials, the largest taken out so that none overflows
            top, at = each[sign, 0], 0
            for c in range(1, parts):
                if each[sign, c] > top:
                    top, at = each[sign, c], c
            total = 0.0
            for c in range(parts):
                total += np.exp(each[sign, c] - top)
            value = top + np.log(total / parts)
            if value > best[sign, 0]:
                best[sign, 0], best[sign, 1], best[sign, 2] = value, k, at
