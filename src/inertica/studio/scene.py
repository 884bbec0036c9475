"""The robot as the page draws it: joints, shapes of links as the model file has them, capsules where it has none, bodies."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InerticaError, ModelWarning
from inertica.excitation.kinematics import frames
from inertica.report.body import ellipsoid
from inertica.report.numbers import number
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.shapes import PACKAGE
from inertica.robot.tree import Placed, reduce
from inertica.robot.urdf import read_urdf, rpy_matrix
from inertica.robot.xmlfile import Document, Element, child, children, floats, read_xml, text
from inertica.robot.xmlfile import number as xml_number

Array = NDArray[np.float64]

MESHES = (".stl", ".obj", ".dae")
"""What the page can draw; nothing else is ever served as a mesh."""


def scene(description: Description) -> dict[str, Any]:
    """Everything the 3-D view needs, as plain data."""
    robot = description.robot
    home = np.array(description.home or _middle(description))
    at = frames(robot, home[None])
    points = np.vstack([np.zeros((1, 3)), at.origin[0]])
    reach = max(float(np.abs(points).max()), float(np.ptp(points, axis=0).max()), 0.05)
    shapes = visuals(description)
    lines = capsules(description, reach)
    return {
        "joints": [
            {
                "name": j.name, "link": j.link, "parent": j.parent, "rotation": j.rotation, "position": j.position, "axis": j.axis,
                "arm": j.arm, "prismatic": j.prismatic, "unit": j.unit, "lower": robot.limits.lower[k],
                "upper": robot.limits.upper[k],
            }
            for k, j in enumerate(robot.joints)
        ],
        "base": robot.base,
        "home": home,
        "reach": reach,
        "gravity": robot.gravity,
        "shapes": [s or lines[j] for j, s in enumerate(shapes)],
        "drawn": [bool(s) for s in shapes],
        "foot": lines[-1],
        "bodies": bodies(description.prior),
    }  # fmt: skip


def bodies(parameters: Parameters) -> list[dict[str, Any] | None]:
    """Mass, centre and uniform ellipsoid of every link; None for a link without mass."""
    out: list[dict[str, Any] | None] = []
    for j in range(parameters.layout.robot.n):
        body = ellipsoid(parameters, j)
        there = body["mass"] > 0.0 and np.isfinite(body["com"]).all()
        out.append(body | {"words": f"{number(body['mass'])} kg"} if there else None)
    return out


def _middle(description: Description) -> list[float]:
    limits = description.robot.limits
    listed = zip(limits.lower, limits.upper, strict=True)
    return [0.0 if low <= 0.0 <= high or not np.isfinite(low + high) else 0.5 * (low + high) for low, high in listed]


def capsules(description: Description, reach: float) -> list[list[dict[str, Any]]]:
    """A capsule from every link's origin to those of the links it carries, in the link's frame; the foot's are last."""
    robot = description.robot
    out: list[list[dict[str, Any]]] = [[] for _ in range(robot.n + 1)]
    leaves = set(range(robot.n)) - {j.parent for j in robot.joints}
    for k, joint in enumerate(robot.joints):
        radius = reach * max(0.055 - 0.006 * len(robot.ancestors(joint.parent)), 0.02)
        out[joint.parent if joint.parent >= 0 else robot.n].append(_capsule(np.zeros(3), np.array(joint.position), radius))
        if k in leaves:
            body = ellipsoid(description.prior, k)
            end = body["com"] if body["mass"] > 0.0 and np.isfinite(body["com"]).all() else np.array([0.0, 0.0, 0.05 * reach])
            size = float(np.linalg.norm(end))
            end = end if size < 0.3 * reach else 0.3 * reach * end / size
            out[k].append(_capsule(np.zeros(3), end, 0.7 * radius))
    return out


def _capsule(start: Array, end: Array, radius: float) -> dict[str, Any]:
    return {"kind": "capsule", "start": start, "end": end, "radius": radius}


def visuals(description: Description) -> list[list[dict[str, Any]]]:
    """Shapes of every link as the URDF draws it: visual geometry, collision where there is none; empty lists for other formats."""
    source, n = description.source, description.robot.n
    if source.format != "urdf":
        return [[] for _ in range(n)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        document, reduced = read_xml(source.path), reduce(read_urdf(source.path), source.root, source.tip, source.joints)
    elements = {text(document, link, "name"): link for link in children(document.root, "link")}
    out: list[list[dict[str, Any]]] = []
    names: list[str] = []
    for places in reduced.merged:
        out.append([shape for place in places for shape in _of_link(document, elements[place.link], place, names)])
    return out


def mesh_files(description: Description) -> list[str]:
    """Names of the meshes of a model as its file has them; their place in the list is their number in the scene."""
    found = {s["mesh"]: s["file"] for link in visuals(description) for s in link if s["kind"] == "mesh"}
    return [found[k] for k in sorted(found)]


def mesh_path(model: Path, name: str) -> Path | None:
    """Where a mesh lies: in the folder of the model, or in its package in a folder above; None when it is not there.

    Only files that the page can draw, and none that a link or `..` takes out of these folders.
    """
    folder = model.resolve().parent
    if name.startswith(PACKAGE):
        package, _, rest = name.removeprefix(PACKAGE).partition("/")
        tried = [(above / package, rest) for above in (folder, *folder.parents)]
    else:
        tried = [(folder, name.removeprefix("file://"))]
    for root, rest in tried:
        path = (root / rest).resolve()
        if path.is_file() and root.resolve() in path.parents and path.suffix.lower() in MESHES:
            return path
    return None


def _of_link(document: Document, link: Element, place: Placed, names: list[str]) -> list[dict[str, Any]]:
    for tag in ("visual", "collision"):
        try:
            found = [_shape(document, element, place, names) for element in children(link, tag)]
        except InerticaError:  # geometry that cannot be read is not drawn; `check-model` and the fit do without it
            continue
        if shapes := [s for s in found if s]:
            return shapes
    return []


def _shape(document: Document, element: Element, place: Placed, names: list[str]) -> dict[str, Any] | None:
    origin, geometry = child(element, "origin"), child(element, "geometry")
    solid = None if geometry is None else next(children(geometry), None)
    if solid is None:
        return None
    R, p = np.eye(3), np.zeros(3)
    if origin is not None:
        R = rpy_matrix(floats(document, origin, "rpy", 3, (0.0, 0.0, 0.0)))
        p = floats(document, origin, "xyz", 3, (0.0, 0.0, 0.0))
    outer = np.array(place.rotation)
    pose = {"rotation": outer @ R, "position": outer @ p + place.position}
    match solid.tag:
        case "box":
            return {"kind": "box", "size": floats(document, solid, "size", 3)} | pose
        case "cylinder":
            size = [xml_number(document, solid, "radius"), xml_number(document, solid, "length")]
            return {"kind": "cylinder", "size": size} | pose
        case "sphere":
            return {"kind": "sphere", "size": [xml_number(document, solid, "radius")]} | pose
        case "mesh":
            name = text(document, solid, "filename")
            if mesh_path(document.path, name) is None:
                return None
            if name not in names:
                names.append(name)
            scale = floats(document, solid, "scale", 3, (1.0, 1.0, 1.0))
            return {"kind": "mesh", "mesh": names.index(name), "file": name, "scale": scale} | pose
    return None
