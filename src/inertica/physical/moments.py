"""Bounded principal moments: every body has positive moments about its principal axes, kept there by sigmoids.

    I_j = R_j diag(I_xx, I_yy, I_zz) R_j' > 0,   moments, mass, drives and friction bounded by sigmoids   (survey, eq. 57 and its [79])

Positive moments are not enough for a body that can exist: none may exceed the sum of the others.  So what is bounded is the spread
d_k of the mass along each principal axis, I_xx = d_y + d_z and so on, which keeps both.  Coordinates of a body, in reference units:

    (d_1, d_2, d_3 through sigmoids; w = tan(angle / 2) axis of R; centre of mass; mass through a sigmoid)

A start takes of its equivalent axes those nearest to the link's, so w is within 0.61 there; it would be infinite at half a turn.
Where two spreads are equal their axes are arbitrary, which log-Cholesky coordinates do not suffer from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from inertica.arrays import Array
from inertica.physical.bodies import BodyCoordinates
from inertica.scalars import Scalar, exp

UPPER = 10.0
"""Bound of masses, spreads, drives and friction in their reference units, in which a prior is of order one."""

_TURNS = [np.eye(3)[list(p)] * s for p in permutations(range(3)) for s in product((1.0, -1.0), repeat=3)]
_CROSS = np.zeros((3, 3, 3))
_CROSS[[0, 1, 2], [2, 0, 1], [1, 2, 0]] = 1.0
_CROSS[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = -1.0


@dataclass(frozen=True, eq=False)
class PrincipalMoments(BodyCoordinates):
    """Coordinates theta (P,) of a robot's parameters: spreads and axes, centre and mass of every body."""

    @property
    def sizes(self) -> Array:
        """Logarithms of spreads and masses are twice those of the Cholesky factor."""
        out = super().sizes
        for _, where, _ in self.reference.bodies:
            out[where][[0, 1, 2, 9]] = 2.0
        return out

    def _coordinates(self, K: Array) -> Array:
        mass = float(K[3, 3])
        if not mass > 0.0:
            raise np.linalg.LinAlgError
        centre = K[:3, 3] / mass
        spread, R = np.linalg.eigh(K[:3, :3] - mass * np.outer(centre, centre))
        if not spread[0] > 0.0:
            raise np.linalg.LinAlgError
        turn = max((T for T in _TURNS if np.linalg.det(R @ T) > 0.0), key=lambda T: float(np.trace(R @ T)))
        R, spread = R @ turn, spread @ np.abs(turn)
        w = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (1.0 + np.trace(R))
        return np.concatenate([[self._coordinate(float(d)) for d in spread], w, centre, [self._coordinate(mass)]])

    def _body(self, theta: Array) -> tuple[Array, Array]:
        (d1, s1, _), (d2, s2, _), (d3, s3, _) = (self._scalar(float(x)) for x in theta[:3])
        d, slope, w, c = np.array([d1, d2, d3]), np.array([s1, s2, s3]), theta[3:6], theta[6:9]
        mass, mass_slope, _ = self._scalar(float(theta[9]))
        size = 1.0 + w @ w
        R = ((1.0 - w @ w) * np.eye(3) + 2.0 * np.outer(w, w) + 2.0 * np.tensordot(w, _CROSS, axes=1)) / size
        K, moves = np.zeros((4, 4)), np.zeros((10, 4, 4))
        centre = np.append(c, 1.0)
        K[:3, :3] = (R * d) @ R.T
        K += mass * np.outer(centre, centre)
        for k, e in enumerate(np.eye(3)):
            moves[k, :3, :3] = slope[k] * np.outer(R[:, k], R[:, k])
            dN = 2.0 * (np.outer(e, w) + np.outer(w, e) - w[k] * np.eye(3) + _CROSS[k])
            half = (((dN - 2.0 * w[k] * R) / size) * d) @ R.T
            moves[3 + k, :3, :3] = half + half.T
            along = mass * np.outer(np.append(e, 0.0), centre)
            moves[6 + k] = along + along.T
        moves[9] = mass_slope * np.outer(centre, centre)
        return K, moves

    def _traced(self, theta: Sequence[Scalar]) -> list[Scalar]:
        d, w, c, mass = [self._traced_scalar(x) for x in theta[:3]], theta[3:6], theta[6:9], self._traced_scalar(theta[9])
        square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
        centre, inverse = [*c, 1.0], 1.0 / (1.0 + square)
        skew = [[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]]
        N = [[2.0 * (w[i] * w[j] + skew[i][j]) for j in range(3)] for i in range(3)]
        for i in range(3):
            N[i][i] = N[i][i] + 1.0 - square
        R = [[N[i][j] * inverse for j in range(3)] for i in range(3)]
        K: list[Scalar] = [mass * centre[i] * centre[j] for i in range(4) for j in range(4)]
        for i in range(3):
            for j in range(3):
                K[4 * i + j] = K[4 * i + j] + R[i][0] * R[j][0] * d[0] + R[i][1] * R[j][1] * d[1] + R[i][2] * R[j][2] * d[2]
        return K

    def _coordinate(self, part: float) -> float:
        """Starts beyond a bound are put just inside."""
        share = min(part / UPPER, 1.0 - 1e-3)
        return float(np.log(share) - np.log1p(-share))

    def _scalar(self, theta: float) -> tuple[float, float, float]:
        share = 1.0 / (1.0 + float(np.exp(-theta)))
        slope = share * (1.0 - share)
        return UPPER * share, UPPER * slope, UPPER * slope * (1.0 - 2.0 * share)

    def _traced_scalar(self, theta: Scalar) -> Scalar:
        return UPPER / (1.0 + exp(-theta))
