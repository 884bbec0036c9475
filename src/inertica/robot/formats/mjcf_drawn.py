"""Shapes of the bodies of an MJCF as the studio draws them: geoms of the groups that viewers show."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from inertica.errors import InerticaError
from inertica.robot.formats.mjcf_file import mjcf_geoms
from inertica.robot.formats.mjcf_settings import Attributes, Settings, z_to
from inertica.robot.formats.model_format import Drawn, moved
from inertica.robot.tree import Placed
from inertica.robot.xmlfile import Document, Element, children, floats, read_xml

SHOWN = 2
"""Highest group of geoms that viewers of MJCF show."""

HALF = {"box": 3, "sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3}
"""Kinds of geoms, and how many (half) sizes they have."""


def mjcf_drawn(path: Path) -> dict[str, list[Drawn]]:
    """Body -> shapes: geoms of the groups that viewers show, all where there are none of these."""
    settings, geoms = mjcf_geoms(path)
    meshes = _meshes(read_xml(path))
    drawn_geoms: dict[str, list[tuple[float, Drawn]]] = {}
    for body, item in ((body, item) for body, several in geoms.items() for item in several):
        try:
            attributes = settings.attributes(item.element, item.childclass)
            shape = _geom(settings, item.element, attributes, meshes)
            group = settings.number(item.element, attributes, "group", 0.0)
        except InerticaError:  # not drawn
            continue
        if shape is not None:
            drawn_geoms.setdefault(body, []).append((group, moved(shape, Placed(body, *item.pose))))  # in the frames around it
    return {
        body: [shape for group, shape in several if group <= SHOWN] or [shape for _, shape in several]
        for body, several in drawn_geoms.items()
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
) -> Drawn | None:
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
        if not 0.0 < length < np.inf:
            return None
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
