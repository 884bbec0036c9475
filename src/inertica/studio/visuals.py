"""Shapes of links as model files draw them, meshes by their names; nothing here opens a mesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from inertica.robot.description import Description, Source
from inertica.robot.formats.model_format import Drawn, moved
from inertica.robot.formats.table import format_of, source_part, source_tree
from inertica.robot.shapes import PACKAGE
from inertica.robot.tree import Placed, Reduced, Tree, compose

MESHES = (".stl", ".obj", ".dae")
"""What the page can draw; nothing else is ever served as a mesh."""


def visuals(description: Description) -> list[list[Drawn]]:
    """Shapes of every link in its frame, and of the base last; empty where the file has none, and for DH files."""
    source, form = description.source, format_of(description.source)
    tree = source_tree(source)
    if tree is None or form.drawn is None:
        return [[] for _ in range(description.robot.n + 1)]
    reduced, drawn = source_part(source, tree), form.drawn(source.path)
    places = [*reduced.merged, _base(tree, reduced, source)]
    shapes = [[moved(shape, place) for place in several for shape in drawn.get(place.link, ())] for several in places]
    return _numbered(source.path, shapes)


def missing_meshes(description: Description) -> list[str]:
    """Names of meshes that the model file names and that are not there, or cannot be drawn."""
    source = description.source
    drawn = format_of(source).drawn
    if drawn is None or source_tree(source) is None:
        return []
    names = dict.fromkeys(s["file"] for shapes in drawn(source.path).values() for s in shapes if s["kind"] == "mesh")
    return [name for name in names if mesh_path(source.path, name) is None]


def mesh_files(description: Description) -> list[str]:
    """Names of the meshes of a model as its file has them; their place in the list is their number in the scene."""
    meshes = {s["mesh"]: s["file"] for link in visuals(description) for s in link if s["kind"] == "mesh"}
    return [meshes[k] for k in sorted(meshes)]


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


def _numbered(model: Path, shapes: list[list[Drawn]]) -> list[list[Drawn]]:
    """Meshes that are there, with numbers."""
    names: list[str] = []
    out = []
    for several in shapes:
        drawable = [s for s in several if s["kind"] != "mesh" or mesh_path(model, s["file"]) is not None]
        names += [s["file"] for s in drawable if s["kind"] == "mesh" and s["file"] not in names]
        out.append([s | {"mesh": names.index(s["file"])} if s["kind"] == "mesh" else s for s in drawable])
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
