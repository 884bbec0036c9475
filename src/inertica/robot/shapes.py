"""Solids, as points whose convex hull encloses them.  `outline.py` has the shapes of whole robots, from any kind of model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.robot.meshes import convex_parts, read_mesh
from inertica.robot.xmlfile import Document, Element

COARSE, SMOOTH, FINE = 8, 16, 48
"""Sides of the prism around a cylinder."""

ROUND = {COARSE: 12, FINE: 300}
"""Points of the polyhedron around a sphere; 12 make an icosahedron."""

PACKAGE = "package://"


@dataclass(frozen=True, eq=False)
class Solid:
    """A solid in a robot link's frame.

    Args:
        kind: box, cylinder and capsule (along their z), sphere or mesh (convex, or a convex part of one).
        size: side lengths; radius and length (of a capsule between the centres of its ends); radius; nothing for a mesh.
        rotation, position: of its own frame in the link's.
        mesh: (k, 3) points of a mesh in its own frame.
    """

    kind: str
    size: tuple[float, ...]
    rotation: Array
    position: Array
    mesh: Array | None = None

    def placed(self, rotation: ArrayLike, position: ArrayLike) -> Solid:
        """The same where the frame it is in has this pose."""
        R = np.asarray(rotation, float)
        return Solid(self.kind, self.size, R @ self.rotation, R @ self.position + np.asarray(position, float), self.mesh)

    def points(self, sides: int = COARSE) -> Array:
        """(k, 3) in the link's frame; their convex hull encloses the solid."""
        return np.asarray(self._own(sides) @ self.rotation.T + self.position)

    def core(self) -> tuple[Array, float]:
        """(k, 3) points in the link's frame and a radius: the hull of the points with the radius around it encloses the solid."""
        if self.kind in ("sphere", "capsule"):
            half = 0.5 * self.size[1] if self.kind == "capsule" else 0.0
            ends = np.array([[0.0, 0.0, -half], [0.0, 0.0, half]][: 2 if half else 1])
            return np.asarray(ends @ self.rotation.T + self.position), self.size[0]
        return self.points(SMOOTH), 0.0

    def _own(self, sides: int) -> Array:
        if self.mesh is not None:
            return self.mesh
        if self.kind == "sphere":
            return self.size[0] * round_points(ROUND[sides])
        if self.kind == "capsule":
            ball = self.size[0] * round_points(ROUND[sides])
            return np.vstack([ball + np.array([0.0, 0.0, z]) for z in (-0.5 * self.size[1], 0.5 * self.size[1])])
        if self.kind == "box":
            return np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * self.size
        radius, length = self.size
        angle = 2.0 * np.pi * np.arange(sides) / sides
        ring = radius / np.cos(np.pi / sides) * np.column_stack([np.cos(angle), np.sin(angle)])
        return np.vstack([np.column_stack([ring, np.full(sides, z)]) for z in (-0.5 * length, 0.5 * length)])


def round_points(count: int) -> Array:
    """(count, 3) whose convex hull encloses the unit sphere."""
    from scipy.spatial import ConvexHull

    if count == 12:
        golden = 0.5 * (1.0 + np.sqrt(5.0))
        flat = np.array([[0.0, a, b] for a in (-1.0, 1.0) for b in (-golden, golden)])
        points = np.vstack([np.roll(flat, shift, axis=1) for shift in range(3)])
    else:  # evenly along a spiral
        k = np.arange(count) + 0.5
        height, angle = 1.0 - 2.0 * k / count, np.pi * (1.0 + np.sqrt(5.0)) * k
        width = np.sqrt(1.0 - height**2)
        points = np.column_stack([width * np.cos(angle), width * np.sin(angle), height])
    return np.asarray(points / -ConvexHull(points).equations[:, 3].max())


def mesh_solids(document: Document, element: Element, path: Path, scale: Array, pose: tuple[Array, Array]) -> list[Solid]:
    """Convex parts of a mesh file, each the corners of its hull."""
    from scipy.spatial import QhullError

    try:
        return [Solid("mesh", (), *pose, mesh=part) for part in convex_parts(read_mesh(path) * scale)]
    except (QhullError, ValueError, IndexError, OSError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise document.error(element, f"the mesh '{path.name}' cannot be read as a solid ({reason})") from None
