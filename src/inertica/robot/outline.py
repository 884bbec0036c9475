"""The shapes of a whole robot: of the base and of every link, for collision checks and for pictures.

Shapes come from the card or the DH file (`shapes:`), else from the model file (collision elements, visual ones where there are none),
else they are built: capsules from joint to joint, straight or along the joints' axes as the centre of mass tells, and to the centre of
mass where they miss it, as thick as a body of water of the link's mass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.errors import FileError, InerticaError, InputError
from inertica.robot import inertia
from inertica.robot.description import Description, Source
from inertica.robot.formats.mjcf_settings import z_to
from inertica.robot.formats.table import format_of, source_part, source_tree
from inertica.robot.model import Robot
from inertica.robot.natural import NaturalUnits
from inertica.robot.shapes import Solid
from inertica.robot.tree import Placed, Reduced

Solids = dict[int, tuple[Solid, ...]]
"""0-based link, -1 the base -> its solids."""

BASE = -1
"""The link that does not move, as an index."""

DENSITY = 1000.0
"""kg/m^3; of built capsules: links of robots, with their hollows, are about as heavy as water."""

THINNEST, THICKEST = 1.0 / 30.0, 1.0 / 8.0
"""Radius of built capsules, as shares of the arm's length; halfway between where no mass is known."""

NEAR = 1e-3
"""Part of the distance of a link's ends below which other distances count as none, or as alike."""


@dataclass(frozen=True, eq=False)
class Outline:
    """The shapes of one link.

    Args:
        link: 0-based, -1 for the base.
        name: of the link.
        solids: in the link's frame; that of the base is the robot's base frame.
        origin: stated (card or DH file), file, or built.
    """

    link: int
    name: str
    solids: tuple[Solid, ...]
    origin: str


@dataclass(frozen=True, eq=False)
class Outlines:
    """The shapes of a robot.

    Args:
        links: base first, then every link; links may have none.
        notes: what could not be read, one sentence each.
    """

    links: tuple[Outline, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LinkShapes:
    """What a robot link, with everything welded to it, looks like.

    Args:
        shapes: in the link's frame.
        bare: links of the file that belong to it and have mass but no shape.
    """

    shapes: tuple[Solid, ...]
    bare: tuple[str, ...] = ()


def capsule(start: ArrayLike, end: ArrayLike, radius: float) -> Solid:
    """Everything within a radius of a segment; a sphere where the segment is a point."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    length = float(np.linalg.norm(b - a))
    if length < 1e-9:
        return Solid("sphere", (radius,), np.eye(3), a)
    return Solid("capsule", (radius, length), z_to(b - a), 0.5 * (a + b))


def outlines(description: Description, packages: Sequence[str | Path] = ()) -> Outlines:
    """Shapes of the base and of every link of a robot.

    Args:
        description: whose.
        packages: further folders in which `package://` is looked for.
    """
    robot, notes = description.robot, list[str]()
    stated, tree = description.shapes, source_tree(description.source)
    reduced = None if tree is None else source_part(description.source, tree)
    of_file: Solids = {} if reduced is None else _of_file(description, reduced, packages, notes)
    radii, any_shape = _radii(description), any(of_file.values()) or bool(stated)
    out = []
    for j in range(BASE, robot.n):
        name = robot.base if j == BASE else robot.joints[j].link
        places = () if reduced is None else reduced.base if j == BASE else reduced.merged[j]
        if j in stated:
            out.append(Outline(j, name, tuple(capsule(a, b, r) for a, b, r in stated[j]), "stated"))
        elif of_file.get(j):
            out.append(Outline(j, name, of_file[j], "file"))
        elif (any_shape and (j == BASE or not description.prior.link(j)[9] > 0.0)) or (robot.floating and j not in robot.links):
            out.append(Outline(j, name, (), "file"))  # a frame between others, without a body
        else:
            out.append(Outline(j, name, _built(description, j, places, radii[j]), "built"))
    return Outlines(tuple(out), tuple(notes))


def link_shapes(source: Source, links: Iterable[int]) -> dict[int, LinkShapes]:
    """Shapes of robot links (1-based) in the model file that a description came from.

    Raises:
        InputError: a file without shapes that tell where mass can be.
        FileError: a link without any shape, or a shape that cannot be read.
        MissingDependencyError: a mesh without the package that reads it.
    """
    of_link = _shapes_of(source)
    return {number: of_link(number) for number in links}


def _shapes_of(source: Source) -> Callable[[int], LinkShapes]:
    """`link_shapes` of one link after the other, of a file that is read once."""
    form, tree = format_of(source), source_tree(source)
    if tree is None or form.solids is None or not form.encloses:
        raise InputError(f"{form.title} files have no shapes that tell where the mass of a link can be")
    merged, solids_of = source_part(source, tree).merged, form.solids(source.path, ())

    def of_link(number: int) -> LinkShapes:
        places = merged[number - 1]
        by_link = {place.link: tuple(solids_of(place)) for place in places}
        shapes = tuple(shape for several in by_link.values() for shape in several)
        if not shapes:
            link = places[0].link if places else "a massless one of the floating base"
            problem = f"link '{link}' has neither collision nor visual geometry that could hold its mass"
            raise FileError(source.path, problem, tree.link_lines.get(link))
        bare = tuple(name for name, several in by_link.items() if not several and np.any(tree.ten(name)))
        return LinkShapes(shapes, bare)

    return of_link


def known_shapes(source: Source, n: int) -> list[tuple[Solid, ...]]:
    """Per link the shapes that tell where its mass can be, none where the file has none that can be read."""
    out: list[tuple[Solid, ...]] = [()] * n
    with suppress(InerticaError):
        of_link = _shapes_of(source)
        for j in range(n):
            with suppress(InerticaError):  # no geometry, or meshes that are not beside the file
                out[j] = of_link(j + 1).shapes
    return out


def _of_file(description: Description, reduced: Reduced, packages: Sequence[str | Path], notes: list[str]) -> Solids:
    """Per link what the file has; a shape that cannot be read is noted, and its link gets a built one."""
    opened = format_of(description.source).solids
    if opened is None:
        return {}
    try:
        solids_of = opened(description.source.path, packages)
    except InerticaError as error:
        notes.append(f"{error}; capsules from the geometry stand for the links")
        return {}
    out: Solids = {}
    for j, places in ((BASE, reduced.base), *enumerate(reduced.merged)):
        try:
            out[j] = tuple(solid for place in places for solid in solids_of(place))
        except InerticaError as error:
            notes.append(f"{error}; a capsule from the geometry stands for the link")
    return out


def _built(description: Description, j: int, places: Sequence[Placed], radius: float) -> tuple[Solid, ...]:
    """Capsules from where a link hangs to the joints it carries, to frames of the file and to its centre of mass."""
    robot = description.robot
    start = np.zeros(3) if j == BASE else -np.array(robot.joints[j].arm)
    carried = [joint for joint in robot.joints if joint.parent == j]
    ends = [(np.array(joint.position), np.array(joint.rotation) @ joint.axis) for joint in carried]
    ends += [(np.array(place.position), np.zeros(3)) for place in places]
    if j == robot.n - 1 and not places:
        ends.append((np.array([0.0, 0.0, float(description.reference.get("flange", {}).get("d", 0.0))]), np.zeros(3)))
    ten = np.zeros(10) if j == BASE else description.prior.link(j)
    centre = inertia.to_com(ten).com if ten[9] > 0.0 else None
    axis = np.zeros(3) if j == BASE else np.array(robot.joints[j].axis)
    ways = [
        _link_path(start, end, axis, next_axis, centre) for end, next_axis in ends if np.linalg.norm(end - start) > 0.25 * radius
    ]
    pieces = [(a, b) for way in ways for a, b in pairwise(way)]
    if centre is not None and all(_off(centre, a, b) > 0.5 * radius for a, b in (*pieces, (start, start))):
        pieces.append((start, centre))
    seen = {tuple(np.round(np.concatenate(piece) / radius, 6)): piece for piece in pieces or [(start, start)]}
    return tuple(capsule(a, b, radius) for a, b in seen.values())


def _link_path(start: Array, end: Array, axis: Array, next_axis: Array, centre: Array | None) -> list[Array]:
    """How a link goes from joint to joint: straight, or along an axis and then across, whichever passes its centre of mass."""
    across = end - start
    size = float(np.linalg.norm(across))
    corners = [start + (across @ a) * a for a in (axis, next_axis)] + [end - (across @ a) * a for a in (axis, next_axis)]
    ways = [
        [start, end],
        *([start, c, end] for c in corners if min(np.linalg.norm(c - start), np.linalg.norm(c - end)) > NEAR * size),
    ]
    if centre is None:
        return ways[0]
    return min(ways, key=lambda way: float(np.round(min(_off(centre, a, b) for a, b in pairwise(way)) / (NEAR * size))))


def _off(point: Array, a: Array, b: Array) -> float:
    """Distance of a point from a segment."""
    along = b - a
    square = float(along @ along)
    share = min(max(float((point - a) @ along) / square, 0.0), 1.0) if square > 0.0 else 0.0
    return float(np.linalg.norm(point - a - share * along))


def _radii(description: Description) -> Mapping[int, float]:
    """Of built capsules: volume from the mass, inside shares of the arm's length; the base is as thick as what it carries."""
    robot = description.robot
    reach = arm_size(description)
    out = {}
    for j in range(robot.n):
        mass, length = float(description.prior.link(j)[9]), _length(robot, j)
        radius = math.sqrt(THINNEST * THICKEST) * reach
        if mass > 0.0:
            radius = _radius(mass / DENSITY, length)
        out[j] = min(max(radius, THINNEST * reach), THICKEST * reach)
    return out | {BASE: out[0]}


def arm_length(robot: Robot) -> float:
    """m from the base along the longest chain of joints; a sliding joint counts with its range."""
    reach = [0.0] * robot.n
    for j in robot.order:
        joint = robot.joints[j]
        low, high = robot.limits.lower[j], robot.limits.upper[j]
        slide = max(abs(low), abs(high)) if joint.prismatic and math.isfinite(low) and math.isfinite(high) else 0.0
        before = reach[joint.parent] if joint.parent >= 0 else 0.0
        reach[j] = before + math.hypot(*joint.position) + math.hypot(*joint.arm) + slide
    return max(reach)


def arm_size(description: Description) -> float:
    """m, the length of the arm; its natural length where all joints sit in one place."""
    return arm_length(description.robot) or NaturalUnits.of(description.layout, description.prior.values).length


def _length(robot: Robot, j: int) -> float:
    start = -np.array(robot.joints[j].arm)
    return max((float(np.linalg.norm(np.array(k.position) - start)) for k in robot.joints if k.parent == j), default=0.0)


def _radius(volume: float, length: float) -> float:
    """Of the capsule of a volume and length: pi r^2 (length + 4 r / 3)."""
    real = [float(r.real) for r in np.roots([4.0 / 3.0 * math.pi, math.pi * length, 0.0, -volume]) if abs(r.imag) < 1e-9]
    return max(real)
