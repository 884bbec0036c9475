"""Meshes of model files: STL and OBJ are read here, other formats through the library that Pinocchio brings; cut into convex parts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.errors import MissingDependencyError

PARTS = 2
"""A mesh is halved so often at most: four parts."""

WORTH = 0.85
"""Halves are kept when their hulls fill less than this share of the whole's."""


def read_mesh(path: Path) -> Array:
    """(k, 3, 3) corners of the triangles of a mesh file.

    Raises:
        ValueError: the file cannot be read.
        MissingDependencyError: neither STL nor OBJ, and the package that reads others is not there.
    """
    kind = path.suffix.lower()
    if kind == ".stl":
        return _stl(path.read_bytes())
    if kind == ".obj":
        return _obj(path.read_text(errors="replace"))
    mesh = _coal(path.name).MeshLoader().load(str(path), np.ones(3))
    points = np.array(mesh.vertices(), float)
    corners = [[t[0], t[1], t[2]] for t in (mesh.tri_indices(i) for i in range(mesh.num_tris))]
    return points[np.array(corners, int).reshape(-1, 3)]


def convex_parts(triangles: Array, halvings: int = PARTS) -> list[Array]:
    """Corners (k, 3) of convex hulls that together hold a surface (triangles (k, 3, 3)), tighter than one where that is worth it.

    Raises:
        scipy.spatial.QhullError: the surface is flat.
    """
    from scipy.spatial import ConvexHull, QhullError

    points = np.unique(triangles.reshape(-1, 3), axis=0)
    whole = ConvexHull(points)
    out = [points[whole.vertices]]
    if not halvings:
        return out
    axis = int(np.argmax(np.ptp(points, axis=0)))
    low, high = _halves(triangles, axis, 0.5 * float(points[:, axis].min() + points[:, axis].max()))
    try:
        halves = [convex_parts(side, halvings - 1) for side in (low, high)]
        volume = sum(float(ConvexHull(part).volume) for half in halves for part in half)
    except QhullError:  # one side is flat
        return out
    return [part for half in halves for part in half] if volume < WORTH * whole.volume else out


def _halves(triangles: Array, axis: int, level: float) -> tuple[Array, Array]:
    """A surface cut by the plane x[axis] = level: triangles (k, 3, 3) below and above it."""
    side = triangles[:, :, axis] - level
    whole = [triangles[(side <= 0.0).all(axis=1)], triangles[(side > 0.0).all(axis=1)]]
    cut: tuple[list[Array], list[Array]] = ([], [])
    for triangle, d in zip(triangles, side, strict=True):
        if (d <= 0.0).all() or (d > 0.0).all():
            continue
        for which, sign in ((0, -1.0), (1, 1.0)):
            edge: list[Array] = []
            for k in range(3):
                a, b, da, db = triangle[k], triangle[(k + 1) % 3], sign * d[k], sign * d[(k + 1) % 3]
                edge += [a] if da >= 0.0 else []
                edge += [a + da / (da - db) * (b - a)] if da * db < 0.0 else []
            cut[which].extend(np.array([edge[0], edge[k], edge[k + 1]]) for k in range(1, len(edge) - 1))
    low, high = (np.concatenate([w, np.array(c).reshape(-1, 3, 3)]) for w, c in zip(whole, cut, strict=True))
    return low, high


def _stl(data: bytes) -> Array:
    count = struct.unpack("<I", data[80:84])[0] if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        records = np.frombuffer(data, np.dtype([("n", "<f4", 3), ("corners", "<f4", (3, 3)), ("a", "<u2")]), count, 84)
        return np.asarray(records["corners"], float)
    words = [line.split()[1:4] for line in data.decode("ascii", "replace").splitlines() if line.strip().startswith("vertex")]
    return _triangles(words)


def _obj(text: str) -> Array:
    points, faces = list[list[str]](), list[list[int]]()
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append(words[1:4])
        elif words[:1] == ["f"]:
            at = [int(w.split("/")[0]) for w in words[1:]]
            at = [i - 1 if i > 0 else len(points) + i for i in at]
            faces += [[at[0], at[k], at[k + 1]] for k in range(1, len(at) - 1)]
    return np.array(points, float)[np.array(faces, int).reshape(-1, 3)].reshape(-1, 3, 3)


def _triangles(words: Sequence[Sequence[str]]) -> Array:
    corners = np.array(words, float)
    if not len(corners) or len(corners) % 3:
        raise ValueError("it holds no triangles")
    return corners.reshape(-1, 3, 3)


def _coal(mesh: str) -> Any:
    try:
        import coal
    except ImportError:
        raise MissingDependencyError("pin", f"reading the mesh '{mesh}'", "pinocchio") from None
    return coal
