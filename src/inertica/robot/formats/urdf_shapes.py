"""Shapes of the links of a URDF: as solids for collision checks and bounds on centres of mass, and as the studio draws them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.errors import InerticaError, is_there
from inertica.robot.formats.model_format import Drawn, LinkSolids
from inertica.robot.model import rpy_matrix
from inertica.robot.shapes import PACKAGE, Solid, mesh_solids
from inertica.robot.tree import Placed
from inertica.robot.xmlfile import Document, Element, child, children, describe, floats, number, read_xml, text


def urdf_solids(path: Path, packages: Sequence[str | Path] = ()) -> LinkSolids:
    """Solids of the links of a file: collision shapes, visual ones where a link has none."""
    document = read_xml(path)
    elements = {text(document, link, "name"): link for link in children(document.root, "link")}
    return lambda place: link_solids(document, elements[place.link], place, packages)


def urdf_drawn(path: Path) -> dict[str, list[Drawn]]:
    """Link -> shapes: visual ones, collision where there are none."""
    document = read_xml(path)
    return {text(document, link, "name"): _drawn_link(document, link) for link in children(document.root, "link")}


def link_solids(document: Document, link: Element, place: Placed, packages: Sequence[str | Path] = ()) -> tuple[Solid, ...]:
    """Of one link of the file, placed in the robot link it belongs to.

    Args:
        document, link: the file, and its element.
        place: where the link's frame is.
        packages: further folders in which `package://` is looked for.
    """
    for tag in ("collision", "visual"):
        solids = tuple(solid for element in children(link, tag) for solid in _solids(document, element, place, packages))
        if solids:
            return solids
    return ()


def _solids(document: Document, element: Element, place: Placed, packages: Sequence[str | Path]) -> Sequence[Solid]:
    solid, R, p = _geometry(document, element)
    if solid is None:
        raise document.error(element, f"{describe(element)} lacks its <geometry>")
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


def _geometry(document: Document, element: Element) -> tuple[Element | None, Array, Array]:
    """The shape of a visual or collision element, None where it has none, with its rotation and position in the link."""
    origin, geometry = child(element, "origin"), child(element, "geometry")
    R, p = np.eye(3), np.zeros(3)
    if origin is not None:
        R = rpy_matrix(floats(document, origin, "rpy", 3, (0.0, 0.0, 0.0)))
        p = floats(document, origin, "xyz", 3, (0.0, 0.0, 0.0))
    return None if geometry is None else next(children(geometry), None), R, p


def _primitive(
    document: Document, element: Element, kind: str, size: Sequence[float] | Array, pose: tuple[Array, Array]
) -> Solid:
    values = tuple(float(x) for x in size)
    if min(values) <= 0.0:
        raise document.error(element, f"the sizes of {describe(element)} should be greater than zero")
    return Solid(kind, values, *pose)


def _mesh_path(document: Document, element: Element, packages: Sequence[str | Path]) -> Path:
    """Relative to the URDF; a package is looked for beside the URDF, in the folders above it and in those given."""
    name, folder = text(document, element, "filename"), document.path.resolve().parent
    if name.startswith(PACKAGE):
        tried = [above / name.removeprefix(PACKAGE) for above in (folder, *folder.parents, *map(Path, packages))]
    else:
        tried = [folder / name.removeprefix("file://")]
    for path in tried:
        if is_there(path) and path.is_file():
            return path
    raise document.error(element, f"the mesh '{name}' is not there; looked for it from {folder}")


def _drawn_link(document: Document, link: Element) -> list[Drawn]:
    for tag in ("visual", "collision"):
        try:
            visuals = [_drawn(document, element) for element in children(link, tag)]
        except InerticaError:  # geometry that cannot be read is not drawn; `check-model` and the fit do without it
            continue
        if shapes := [s for s in visuals if s]:
            return shapes
    return []


def _drawn(document: Document, element: Element) -> Drawn | None:
    solid, R, p = _geometry(document, element)
    if solid is None:
        return None
    pose = {"rotation": R, "position": p}
    match solid.tag:
        case "box":
            return {"kind": "box", "size": floats(document, solid, "size", 3)} | pose
        case "cylinder":
            size = [number(document, solid, "radius"), number(document, solid, "length")]
            return {"kind": "cylinder", "size": size} | pose
        case "sphere":
            return {"kind": "sphere", "size": [number(document, solid, "radius")]} | pose
        case "mesh":
            scale = floats(document, solid, "scale", 3, (1.0, 1.0, 1.0))
            return {"kind": "mesh", "file": text(document, solid, "filename"), "scale": scale} | pose
    return None
