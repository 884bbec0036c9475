"""Shapes of the links of a URDF: collision geometry, visual where there is none, as points whose convex hull encloses them.

`outline.py` has the shapes of whole robots, from any kind of model.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.errors import ModelWarning
from inertica.robot.description import Source
from inertica.robot.meshes import convex_parts, read_mesh
from inertica.robot.tree import Placed, reduce
from inertica.robot.urdf import read_urdf, rpy_matrix
from inertica.robot.xmlfile import Document, Element, child, children, describe, floats, number, read_xml, text

Array = NDArray[np.float64]

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


@dataclass(frozen=True, eq=False)
class LinkShapes:
    """What a robot link, with everything welded to it, looks like.

    Args:
        shapes: in the link's frame.
        bare: links of the file that belong to it and have mass but no shape.
    """

    shapes: tuple[Solid, ...]
    bare: tuple[str, ...] = ()


def link_shapes(source: Source, links: Iterable[int]) -> dict[int, LinkShapes]:
    """Shapes of robot links (1-based) in the URDF that a description came from.

    Raises:
        FileError: a link without any shape, or a shape that cannot be read.
        MissingDependencyError: a mesh without the package that reads it.
    """
    document = read_xml(source.path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said when the model was loaded
        tree = read_urdf(source.path)
        reduced = reduce(tree, source.root, source.tip, source.joints)
    elements = {text(document, link, "name"): link for link in children(document.root, "link")}
    out = {}
    for number_ in links:
        places = reduced.merged[number_ - 1]
        found = {place.link: link_solids(document, elements[place.link], place) for place in places}
        shapes = tuple(shape for part in found.values() for shape in part)
        if not shapes:
            element = elements[places[0].link]
            raise document.error(
                element, f"{describe(element)} has neither collision nor visual geometry that could hold its mass"
            )
        bare = tuple(name for name, part in found.items() if not part and np.any(tree.ten(name)))
        out[number_] = LinkShapes(shapes, bare)
    return out


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


def link_solids(document: Document, link: Element, place: Placed, packages: Sequence[str | Path] = ()) -> tuple[Solid, ...]:
    """Of one link of the file, placed in the robot link it belongs to.

    Args:
        document, link: the file, and its element.
        place: where the link's frame is.
        packages: further folders in which `package://` is looked for.
    """
    for tag in ("collision", "visual"):
        found = tuple(solid for element in children(link, tag) for solid in _solids(document, element, place, packages))
        if found:
            return found
    return ()


def _solids(document: Document, element: Element, place: Placed, packages: Sequence[str | Path]) -> Sequence[Solid]:
    origin, geometry = child(element, "origin"), child(element, "geometry")
    solid = None if geometry is None else next(children(geometry), None)
    if solid is None:
        raise document.error(element, f"{describe(element)} lacks its <geometry>")
    R, p = np.eye(3), np.zeros(3)
    if origin is not None:
        R = rpy_matrix(floats(document, origin, "rpy", 3, (0.0, 0.0, 0.0)))
        p = floats(document, origin, "xyz", 3, (0.0, 0.0, 0.0))
    outer = np.array(place.rotation)
    pose = (outer @ R, outer @ p + place.position)
    match solid.tag:
        case "box":
            return [_primitive(document, solid, "box", floats(document, solid, "size", 3), pose)]
        case "cylinder" | "capsule":
            size = [number(document, solid, "radius"), number(document, solid, "length")]
            return [_primitive(document, solid, solid.tag, size, pose)]
        case "sphere":
            return [_primitive(document, solid, "sphere", [number(document, solid, "radius")], pose)]
        case "mesh":
            path = _mesh_path(document, solid, packages)
            scale = floats(document, solid, "scale", 3, (1.0, 1.0, 1.0))
            return mesh_solids(document, solid, path, scale, pose)
    raise document.error(solid, f"the shape {describe(solid)} is not known; boxes, cylinders, spheres and meshes are")


def _primitive(
    document: Document, element: Element, kind: str, size: Sequence[float] | Array, pose: tuple[Array, Array]
) -> Solid:
    values = tuple(float(x) for x in size)
    if min(values) <= 0.0:
        raise document.error(element, f"the sizes of {describe(element)} should be greater than zero")
    return Solid(kind, values, *pose)


def mesh_solids(document: Document, element: Element, path: Path, scale: Array, pose: tuple[Array, Array]) -> list[Solid]:
    """Convex parts of a mesh file, each the corners of its hull."""
    from scipy.spatial import QhullError

    try:
        return [Solid("mesh", (), *pose, mesh=part) for part in convex_parts(read_mesh(path) * scale)]
    except (QhullError, ValueError, IndexError, OSError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise document.error(element, f"the mesh '{path.name}' cannot be read as a solid ({reason})") from None


def _mesh_path(document: Document, element: Element, packages: Sequence[str | Path]) -> Path:
    """Relative to the URDF; a package is looked for beside the URDF, in the folders above it and in those given."""
    name, folder = text(document, element, "filename"), document.path.resolve().parent
    if name.startswith(PACKAGE):
        tried = [above / name.removeprefix(PACKAGE) for above in (folder, *folder.parents, *map(Path, packages))]
    else:
        tried = [folder / name.removeprefix("file://")]
    for path in tried:
        if path.is_file():
            return path
    raise document.error(element, f"the mesh '{name}' is not there; looked for it from {folder}")
