"""The geoms of MuJoCo bodies: the inertia derived from them, solid primitives of uniform density, and their shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.robot import inertia
from inertica.robot.formats.mjcf_settings import Attributes, Settings, z_to
from inertica.robot.shapes import Solid, mesh_solids, round_points
from inertica.robot.xmlfile import Element, children, describe

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
SIDES = 60
"""Corners of the polyhedron around an ellipsoid."""

NO_VOLUME = ("plane", "hfield")
ADVICE = "add an <inertial> element to its body, or save the compiled model from MuJoCo and use that file"


def geom_inertia(settings: Settings, element: Element, childclass: str) -> Array:
    """The ten parameters of a geom in the frame its pose is stated in; zero when it does not count."""
    attributes = settings.attributes(element, childclass)
    mass = settings.number(element, attributes, "mass") if "mass" in attributes else None
    density = settings.number(element, attributes, "density", 1000.0)
    group = settings.number(element, attributes, "group", 0.0)
    kind = attributes.get("type", "sphere")
    first, last = settings.groups
    if not first <= group <= last or kind in NO_VOLUME or mass == 0 or (mass is None and density == 0):
        return np.zeros(10)
    _check_primitive(settings, element, kind, attributes)
    size, R, p = _shape(settings, element, kind, attributes)
    volume, moments = _solid(kind, size)
    total = density * volume if mass is None else mass
    return inertia.from_com(total, p, total * R @ np.diag(moments) @ R.T)


def geom_solids(
    settings: Settings, element: Element, attributes: Attributes, pose: tuple[ArrayLike, ArrayLike]
) -> Sequence[Solid]:
    """The shape of a geom whose pose is stated in a frame that has itself a pose in the link; planes and height fields have none."""
    kind = attributes.get("type", "sphere")
    outer, at = np.asarray(pose[0], float), np.asarray(pose[1], float)
    if "mesh" in attributes:
        R, p = settings.rotation(element, attributes), settings.numbers(element, attributes, "pos", 3, (0.0, 0.0, 0.0))
        path, scale = _asset(settings, element, attributes["mesh"])
        return mesh_solids(settings.document, element, path, scale, (outer @ R, at + outer @ p))
    if kind not in SIZES:
        return []
    size, R, p = _shape(settings, element, kind, attributes)
    place = (outer @ R, at + outer @ p)
    if kind == "ellipsoid":
        return [Solid("mesh", (), *place, mesh=round_points(SIDES) * size)]
    doubled = {"sphere": size[:1], "box": 2.0 * size, "capsule": size[:2] * (1.0, 2.0), "cylinder": size[:2] * (1.0, 2.0)}[kind]
    return [Solid(kind, tuple(float(x) for x in doubled), *place)]


def _asset(settings: Settings, element: Element, name: str) -> tuple[Path, NDArray[np.float64]]:
    """File and scale of a mesh."""
    document = settings.document
    compiler = {str(k): str(v) for section in children(document.root, "compiler") for k, v in section.attrib.items()}
    for mesh in (m for section in children(document.root, "asset") for m in children(section, "mesh")):
        mesh_attributes = settings.attributes(mesh, "main")
        file = mesh_attributes.get("file")
        if (
            file is not None
            and mesh_attributes.get("name", Path(file).stem) == name
            and not {"refpos", "refquat"} & set(mesh_attributes)
        ):
            folder = document.path.parent / compiler.get("meshdir", compiler.get("assetdir", ""))
            if not (folder / file).is_file():
                raise document.error(mesh, f"the mesh '{file}' is not there; looked for it in {folder}")
            return folder / file, settings.numbers(mesh, mesh_attributes, "scale", 3, (1.0, 1.0, 1.0))
    raise document.error(element, f"the mesh '{name}' of {describe(element)} has no file among the assets that can be read")


def _check_primitive(settings: Settings, element: Element, kind: str, attributes: Attributes) -> None:
    if "mesh" in attributes or kind not in SIZES:
        what = "mesh" if "mesh" in attributes else kind
        raise settings.document.error(element, f"the mass of {describe(element)} would have to come from its {what}; {ADVICE}")
    if attributes.get("shellinertia") == "true":
        raise settings.document.error(element, f"shellinertia of {describe(element)} is not supported; {ADVICE}")


def _shape(settings: Settings, element: Element, kind: str, attributes: Attributes) -> tuple[Array, Array, Array]:
    """Size, rotation and position of a primitive, `fromto` resolved."""
    size = settings.numbers(element, attributes, "size", None, ())
    ends = settings.numbers(element, attributes, "fromto", 6, ())
    needed = SIZES[kind] if not ends.size else 1
    if len(size) < needed or np.any(size[:needed] <= 0):
        problem = f"{describe(element)} is a {kind} and needs {needed} positive size{'s' if needed > 1 else ''}"
        raise settings.document.error(element, problem)
    if not ends.size:
        return size, settings.rotation(element, attributes), settings.numbers(element, attributes, "pos", 3, (0.0, 0.0, 0.0))
    along = ends[:3] - ends[3:]
    half = float(np.linalg.norm(along)) / 2
    if kind == "sphere" or not half:
        raise settings.document.error(element, f"fromto of {describe(element)} does not fit a {kind} or has no length")
    across = [size[0]] if SIZES[kind] == 2 else [size[0], size[0]]
    return np.array([*across, half]), z_to(along), (ends[:3] + ends[3:]) / 2


def _solid(kind: str, size: Array) -> tuple[float, Array]:
    """Volume, and principal moments of inertia per unit of mass."""
    if kind == "capsule":
        return _capsule(float(size[0]), 2 * float(size[1]))
    if kind == "cylinder":
        r, h = float(size[0]), 2 * float(size[1])
        side = (3 * r * r + h * h) / 12
        return math.pi * r * r * h, np.array([side, side, r * r / 2])
    a, b, c = (float(s) ** 2 for s in (size if kind != "sphere" else np.repeat(size[:1], 3))[:3])
    share = 3.0 if kind == "box" else 5.0
    volume = (8.0 if kind == "box" else 4.0 / 3.0 * math.pi) * math.sqrt(a * b * c)
    return volume, np.array([b + c, a + c, a + b]) / share


def _capsule(r: float, h: float) -> tuple[float, Array]:
    """A cylinder of height h between two half spheres."""
    ends = 4 * r / (4 * r + 3 * h)  # share of the half spheres in the mass
    middle = 1 - ends
    side = middle * (3 * r * r + h * h) / 12 + ends * (0.4 * r * r + h * (3 * r + 2 * h) / 8)
    return math.pi * r * r * (h + 4 * r / 3), np.array([side, side, middle * r * r / 2 + ends * 0.4 * r * r])
