"""Shapes of links as model files draw them: URDF visuals, MJCF geoms, meshes by their names; nothing here opens a mesh."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InerticaError, ModelWarning
from inertica.robot.description import Description, Source
from inertica.robot.mjcf import mjcf_geoms, read_mjcf
from inertica.robot.mjcf_settings import Attributes, Settings, z_to
from inertica.robot.shapes import PACKAGE
from inertica.robot.tree import Placed, Reduced, Tree, compose, reduce
from inertica.robot.urdf import read_urdf, rpy_matrix
from inertica.robot.xmlfile import Document, Element, child, children, floats, read_xml, text
from inertica.robot.xmlfile import number as xml_number

Array = NDArray[np.float64]
Shape = dict[str, Any]

MESHES = (".stl", ".obj", ".dae")
"""What the page can draw; nothing else is ever served as a mesh."""

DRAWN = 2
"""Highest group of geoms that viewers of MJCF show."""

HALF = {"box": 3, "sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3}
"""Kinds of geoms, and how many (half) sizes they have."""


def visuals(description: Description) -> list[list[Shape]]:
    """Shapes of every link in its frame, and of the base last; empty where the file has none, and for DH files."""
    source, n = description.source, description.robot.n
    if source.format not in ("urdf", "mjcf"):
        return [[] for _ in range(n + 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said when the model was loaded
        tree = (read_urdf if source.format == "urdf" else read_mjcf)(source.path)
        reduced = reduce(tree, source.root, source.tip, source.joints)
    document = read_xml(source.path)
    drawn = _urdf(document) if source.format == "urdf" else _mjcf(document)
    places = [*reduced.merged, _base(tree, reduced, source)]
    shapes = [[_moved(shape, place) for place in several for shape in drawn.get(place.link, ())] for several in places]
    return _numbered(source.path, shapes)


def mesh_files(description: Description) -> list[str]:
    """Names of the meshes of a model as its file has them; their place in the list is their number in the scene."""
    found = {s["mesh"]: s["file"] for link in visuals(description) for s in link if s["kind"] == "mesh"}
    return [found[k] for k in sorted(found)]


def mesh_path(model: Path, name: str, project: Path | None = None) -> Path | None:
    """Where a mesh lies: in the folder of the model, or in its package in a folder above; None when it is not there.

    Only files that the page can draw, none that a link or `..` takes out of these folders, and of a model inside the project only
    files of the project.

    Args:
        model: its file.
        name: of the mesh, as the file has it.
        project: folder of the project.
    """
    folder = model.resolve().parent
    package, _, rest = name.removeprefix(PACKAGE).partition("/")
    tried = [(folder, name.removeprefix("file://"))]
    if name.startswith(PACKAGE):
        tried = [(above / package, rest) for above in (folder, *folder.parents[:-1])] if package not in ("", ".", "..") else []
    for root, rest in [*tried, (folder, Path(name).name)]:  # dropped files lie side by side
        path = (root / rest).resolve()
        if not (path.is_file() and root.resolve() in path.parents and path.suffix.lower() in MESHES):
            continue
        if project is None or project not in folder.parents or project in path.parents:
            return path
    return None


def _moved(shape: Shape, place: Placed) -> Shape:
    """A shape of a link of the file in the frame of the robot link it belongs to."""
    outer = np.array(place.rotation)
    return shape | {"rotation": outer @ shape["rotation"], "position": outer @ shape["position"] + place.position}


def _numbered(model: Path, shapes: list[list[Shape]]) -> list[list[Shape]]:
    """Meshes that are there, with numbers."""
    names: list[str] = []
    out = []
    for several in shapes:
        kept = [s for s in several if s["kind"] != "mesh" or mesh_path(model, s["file"]) is not None]
        names += [s["file"] for s in kept if s["kind"] == "mesh" and s["file"] not in names]
        out.append([s | {"mesh": names.index(s["file"])} if s["kind"] == "mesh" else s for s in kept])
    return out


def _base(tree: Tree, reduced: Reduced, source: Source) -> tuple[Placed, ...]:
    """The links of the file that do not move, in the frame of the base."""
    root = source.root or tree.base
    moving = {place.link for several in reduced.merged for place in several}
    places = {root: Placed(root)}
    waiting = [joint for joint in tree.joints if joint.child not in moving]
    while ready := next((joint for joint in waiting if joint.parent in places), None):
        waiting.remove(ready)
        pose = compose(ready.rotation, ready.position, np.eye(3), np.array(ready.arm))
        places[ready.child] = places[ready.parent].of(Placed(ready.child, ready.rotation, pose[1]))
    return tuple(places.values())


# --- URDF --------------------------------------------------------------------------------------------------------------------


def _urdf(document: Document) -> dict[str, list[Shape]]:
    """Link -> shapes: visual ones, collision where there are none."""
    return {text(document, link, "name"): _of_link(document, link) for link in children(document.root, "link")}


def _of_link(document: Document, link: Element) -> list[Shape]:
    for tag in ("visual", "collision"):
        try:
            found = [_shape(document, element) for element in children(link, tag)]
        except InerticaError:  # geometry that cannot be read is not drawn; `check-model` and the fit do without it
            continue
        if shapes := [s for s in found if s]:
            return shapes
    return []


def _shape(document: Document, element: Element) -> Shape | None:
    origin, geometry = child(element, "origin"), child(element, "geometry")
    solid = None if geometry is None else next(children(geometry), None)
    if solid is None:
        return None
    R, p = np.eye(3), np.zeros(3)
    if origin is not None:
        R = rpy_matrix(floats(document, origin, "rpy", 3, (0.0, 0.0, 0.0)))
        p = floats(document, origin, "xyz", 3, (0.0, 0.0, 0.0))
    pose = {"rotation": R, "position": p}
    match solid.tag:
        case "box":
            return {"kind": "box", "size": floats(document, solid, "size", 3)} | pose
        case "cylinder":
            size = [xml_number(document, solid, "radius"), xml_number(document, solid, "length")]
            return {"kind": "cylinder", "size": size} | pose
        case "sphere":
            return {"kind": "sphere", "size": [xml_number(document, solid, "radius")]} | pose
        case "mesh":
            scale = floats(document, solid, "scale", 3, (1.0, 1.0, 1.0))
            return {"kind": "mesh", "file": text(document, solid, "filename"), "scale": scale} | pose
    return None


# --- MJCF --------------------------------------------------------------------------------------------------------------------


def _mjcf(document: Document) -> dict[str, list[Shape]]:
    """Body -> shapes: geoms of the groups that viewers show, all where there are none of these."""
    settings, geoms = mjcf_geoms(document.path)
    meshes = _meshes(document)
    found: dict[str, list[tuple[float, Shape]]] = {}
    for body, item in ((body, item) for body, several in geoms.items() for item in several):
        try:
            attributes = settings.attributes(item.element, item.childclass)
            shape = _geom(settings, item.element, attributes, meshes)
            group = settings.number(item.element, attributes, "group", 0.0)
        except InerticaError:  # not drawn
            continue
        if shape is not None:
            found.setdefault(body, []).append((group, _moved(shape, Placed(body, *item.pose))))  # in the frames around it
    return {
        body: [shape for group, shape in several if group <= DRAWN] or [shape for _, shape in several]
        for body, several in found.items()
    }


def _meshes(document: Document) -> dict[str, tuple[str, list[float]]]:
    """Name of a mesh -> its file, and its scale."""
    folder = next((c.get("meshdir") or c.get("assetdir") or "" for c in children(document.root, "compiler")), "")
    out = {}
    for asset in children(document.root, "asset"):
        for mesh in children(asset, "mesh"):
            file = mesh.get("file", "")
            scale = floats(document, mesh, "scale", 3, (1.0, 1.0, 1.0))
            out[mesh.get("name") or Path(file).stem] = (str(Path(folder) / file), [float(x) for x in scale])
    return out


def _geom(
    settings: Settings, element: Element, attributes: Attributes, meshes: dict[str, tuple[str, list[float]]]
) -> Shape | None:
    position = settings.numbers(element, attributes, "pos", 3, (0.0, 0.0, 0.0))
    pose = {"rotation": settings.rotation(element, attributes), "position": position}
    kind = attributes.get("type", "mesh" if "mesh" in attributes else "sphere")
    if kind == "mesh":
        file, scale = meshes.get(attributes.get("mesh", ""), ("", [1.0, 1.0, 1.0]))
        return {"kind": "mesh", "file": file, "scale": scale} | pose if file else None
    if kind not in HALF:
        return None
    size = settings.numbers(element, attributes, "size", None, ())
    ends = settings.numbers(element, attributes, "fromto", 6, ())
    if ends.size and size.size:
        along = ends[:3] - ends[3:]
        length = float(np.linalg.norm(along))
        pose = {"rotation": z_to(along), "position": (ends[:3] + ends[3:]) / 2}
        size = np.array([size[0], length / 2] if HALF[kind] == 2 else [size[0], size[0], length / 2])
    if len(size) < HALF[kind] or np.any(size[: HALF[kind]] <= 0.0):
        return None
    if kind == "capsule":
        return {"kind": "rod", "size": [float(size[0]), 2.0 * float(size[1])]} | pose
    if kind == "cylinder":
        return {"kind": "cylinder", "size": [float(size[0]), 2.0 * float(size[1])]} | pose
    if kind == "box":
        return {"kind": "box", "size": 2.0 * size[:3]} | pose
    return {"kind": "ellipsoid" if kind == "ellipsoid" else "sphere", "size": size[: HALF[kind]]} | pose
