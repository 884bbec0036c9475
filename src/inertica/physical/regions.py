"""Constraints from a link's geometry: where its centre of mass, and where its mass, can be.

Regions are given in the link's frame in metres.  All are linear or second order in the ten parameters, since first moments are
mass times centre and second moments are integrals over the mass distribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.physical.constraints import Block, _chosen, _rows
from inertica.physical.pseudo import PSEUDO
from inertica.physical.scales import Reference

MOST_FACETS = 40
"""Of a hull; products of all pairs of facets become rows."""


@dataclass(frozen=True, eq=False)
class Box:
    """lower <= x <= upper, corners (3,)."""

    lower: Array
    upper: Array


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """(x - centre)' Q (x - centre) <= 1."""

    centre: Array
    Q: Array

    @classmethod
    def of_axes(cls, centre: ArrayLike, semi_axes: ArrayLike, rotation: ArrayLike | None = None) -> Ellipsoid:
        """By its semi-axes, along the link's axes or those of a rotation matrix (link <- ellipsoid)."""
        a = np.asarray(semi_axes, float)
        if np.any(a <= 0.0):
            raise InputError(f"the semi-axes of an ellipsoid should be positive, not {a.tolist()}")
        R = np.eye(3) if rotation is None else np.asarray(rotation, float)
        return cls(np.asarray(centre, float), R @ np.diag(1.0 / a**2) @ R.T)

    @classmethod
    def around(cls, vertices: ArrayLike, tolerance: float = 1e-3) -> Ellipsoid:
        """The smallest one around points (k, 3), by Khachiyan's algorithm; slightly enlarged so that it holds them all."""
        points = np.asarray(vertices, float)
        k, d = points.shape
        lifted = np.column_stack([points, np.ones(k)]).T
        weight = np.full(k, 1.0 / k)
        for _ in range(10_000):
            distance = np.einsum("ik,ij,jk->k", lifted, np.linalg.inv(lifted * weight @ lifted.T), lifted)
            far = int(np.argmax(distance))
            if distance[far] <= (1.0 + tolerance) * (d + 1):
                break
            step = (distance[far] - d - 1.0) / ((d + 1.0) * (distance[far] - 1.0))
            weight *= 1.0 - step
            weight[far] += step
        centre = points.T @ weight
        Q = np.linalg.inv((points.T * weight) @ points - np.outer(centre, centre)) / d
        out = points - centre
        return cls(centre, Q / np.einsum("ki,ij,kj->k", out, Q, out).max())


@dataclass(frozen=True)
class CentreInBox:
    """Centre of mass of links in boxes: {1-based link: Box}; M lower <= l <= M upper."""

    boxes: Mapping[int, Box]

    def blocks(self, reference: Reference) -> Iterator[Block]:
        for body, where, size in _chosen(reference, tuple(self.boxes)):
            box = self.boxes[body.link + 1]
            rows = np.zeros((6, 10))
            rows[:3, 6:9], rows[:3, 9] = np.eye(3), -np.asarray(box.lower, float)
            rows[3:, 6:9], rows[3:, 9] = -np.eye(3), np.asarray(box.upper, float)
            F = _rows(reference, where, rows / (size.mass * size.length))
            yield Block(f"{reference.label(body)}: centre of mass in its box", "nonnegative", F, np.zeros(6))


@dataclass(frozen=True)
class CentreInEllipsoid:
    """Centre of mass of links in ellipsoids (Jaco2 paper, eq. 6): |Q^1/2 (l - M centre)| <= M."""

    ellipsoids: Mapping[int, Ellipsoid]

    def blocks(self, reference: Reference) -> Iterator[Block]:
        for body, where, size in _chosen(reference, tuple(self.ellipsoids)):
            region = self.ellipsoids[body.link + 1]
            root = np.linalg.cholesky(np.asarray(region.Q, float)).T
            rows = np.zeros((4, 10))
            rows[0, 9] = 1.0
            rows[1:, 6:9], rows[1:, 9] = root, -root @ np.asarray(region.centre, float)
            F = _rows(reference, where, rows / size.mass)
            yield Block(f"{reference.label(body)}: centre of mass in its ellipsoid", "second order", F, np.zeros(4))


@dataclass(frozen=True)
class MassInEllipsoid:
    """All mass of links inside ellipsoids: integral of 1 - (x - c)'Q(x - c) over the mass is not negative.

    Together with `RealBody` this is exact: such a distribution exists (Wensing, Kim and Slotine 2018).
    """

    ellipsoids: Mapping[int, Ellipsoid]

    def blocks(self, reference: Reference) -> Iterator[Block]:
        for body, where, size in _chosen(reference, tuple(self.ellipsoids)):
            region = self.ellipsoids[body.link + 1]
            Qc = region.Q @ region.centre
            moment = np.block([[-region.Q, Qc[:, None]], [Qc[None], np.array([[1.0 - region.centre @ Qc]])]])
            row = np.einsum("kab,ab->k", PSEUDO, moment)[None] / size.mass
            F = _rows(reference, where, row)
            yield Block(f"{reference.label(body)}: mass inside its ellipsoid", "nonnegative", F, np.zeros(1))


@dataclass(frozen=True)
class MassInHull:
    """All mass of links inside the convex hull of points: {1-based link: (k, 3) vertices}.

    With facets a_i'x <= b_i, the integral of (b_i - a_i'x) (b_j - a_j'x) over the mass is not negative for all pairs, nor that of
    b_i - a_i'x alone.  Every distribution inside the hull satisfies these; a few moments outside do, too: an outer bound, close
    for boxes.
    """

    vertices: Mapping[int, ArrayLike]

    def blocks(self, reference: Reference) -> Iterator[Block]:
        for body, where, size in _chosen(reference, tuple(self.vertices)):
            name = reference.label(body)
            halves = hull_facets(self.vertices[body.link + 1], name)
            one = np.eye(4)[3]
            pairs = [(h, one) for h in halves] + [(a, b) for i, a in enumerate(halves) for b in halves[i + 1 :]]
            rows = np.array([np.einsum("kab,a,b->k", PSEUDO, a, b) for a, b in pairs])
            rows /= np.linalg.norm(rows * size.scale, axis=1, keepdims=True)
            yield Block(f"{name}: mass inside its hull", "nonnegative", _rows(reference, where, rows), np.zeros(len(rows)))


def hull_facets(vertices: ArrayLike, name: str = "hull") -> list[Array]:
    """Facets of a convex hull as h with h . (x, 1) >= 0 inside, not too many of them."""
    planes = facets(vertices, name)
    if len(planes) > MOST_FACETS:
        raise InputError(f"{name}: its hull has {len(planes)} facets; give a coarser one with at most {MOST_FACETS}")
    return list(planes)


def facets(vertices: ArrayLike, name: str = "hull") -> Array:
    """(k, 4) facets of a convex hull, coplanar triangles merged."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.asarray(vertices, float)
    try:
        equations = ConvexHull(points).equations
    except (QhullError, ValueError) as error:
        raise InputError(
            f"{name}: these {len(points)} points have no convex hull with a volume ({str(error).split('.')[0]})"
        ) from None
    return -np.unique(np.round(equations, 9), axis=0)
