"""Constraints that a robot card states: weighings, geometry, symmetry, bounds and relations, from its section `constraints`.

They come on top of what holds for every robot (`constraints.PHYSICAL`); a stated margin takes the place of the usual one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.physical.constraints import (
    Bounds,
    Constraint,
    Equal,
    MassBounds,
    RealBody,
    TotalMass,
    assembled,
    slack,
    symmetric,
)
from inertica.physical.regions import (
    Box,
    CentreInBox,
    CentreInEllipsoid,
    Ellipsoid,
    MassInEllipsoid,
    MassInHull,
    facets,
)
from inertica.physical.scales import Reference
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.model import rotation_x, rotation_y, rotation_z
from inertica.robot.outline import LinkShapes, link_shapes
from inertica.robot.shapes import FINE
from inertica.robot.stated import GEOMETRY

FACETS = 12
"""Of a hull that is used as it is.  Rows grow with their square: with 25 on every link a solve takes seconds instead of 0.03."""

BROKEN = 1e-7
"""By how much, in reference sizes, values miss a stated constraint that they break; solvers reach 1e-8."""


@dataclass(frozen=True)
class StatedConstraints:
    """What a card says, as constraints.

    Args:
        constraints: without those that hold for every robot, unless the card states their margin.
        notes: on what was put in place of something else, or is not used; one sentence each.
    """

    constraints: tuple[Constraint, ...] = ()
    notes: tuple[str, ...] = ()


def stated(description: Description) -> StatedConstraints:
    """The constraints of a description, for its present layout; geometry is read here and not before.

    Raises:
        FileError: geometry that was asked for is missing or cannot be read.
    """
    stated_words, notes = description.constraints, list[str]()
    out: list[Constraint] = []
    if "margin" in stated_words:
        out.append(RealBody(stated_words["margin"]))
    if "total_mass" in stated_words:
        out.append(TotalMass(*stated_words["total_mass"]))
    links: Mapping[int, Mapping[str, Any]] = stated_words.get("links", {})
    in_geometry = [link for link, words in links.items() if words.get("inside") == GEOMETRY]
    shapes = link_shapes(description.source, in_geometry) if in_geometry else {}
    for link, words in links.items():
        out += _link(link, words, shapes, notes)
    out += _relations(description, notes)
    return StatedConstraints(tuple(out), tuple(notes))


def broken(parameters: Parameters, constraints: Sequence[Constraint]) -> tuple[str, ...]:
    """Names of constraints that values do not satisfy, fixed ones included; empty bodies need not be real ones.

    Half a margin counts as kept: it is relative to the size of a body, which the values themselves define here.
    """
    layout = replace(parameters.layout, fixed=frozenset())
    reference = Reference.of(layout, parameters.values)
    empty = np.zeros(layout.size, bool)
    for _, where, _ in reference.bodies:
        empty[where] = not np.any(parameters.values[where])
    half = [replace(c, margin=0.5 * c.margin) if isinstance(c, RealBody) else c for c in constraints]
    return tuple(
        block.name
        for block in assembled(half, reference)
        if slack(block, parameters.values) < -BROKEN
        and not (block.cone == "semidefinite" and np.all(empty[np.any(block.F != 0.0, axis=0)]))
    )


def _link(link: int, words: Mapping[str, Any], shapes: Mapping[int, LinkShapes], notes: list[str]) -> list[Constraint]:
    out: list[Constraint] = []
    if "mass" in words:
        low, high = words["mass"]
        exact = Equal({f"M{link}": 1.0}, low, f"link {link}: mass {low:g} kg")
        out.append(exact if low == high else MassBounds({link: (low, high)}))
    for kind, region in words.get("com", {}).items():
        out.append(CentreInBox({link: _box(region)}) if kind == "box" else CentreInEllipsoid({link: _ellipsoid(region)}))
    inside = words.get("inside", {})
    if inside == GEOMETRY:
        out += _in_geometry(link, shapes[link], notes)
    else:
        for kind, region in inside.items():
            out += _inside(link, kind, region, notes)
    out += symmetric(link, ",".join(words["symmetric"])) if "symmetric" in words else ()
    return out


def _inside(link: int, kind: str, region: Any, notes: list[str]) -> list[Constraint]:
    if kind == "ellipsoid":
        return [MassInEllipsoid({link: _ellipsoid(region)})]
    points = np.array(region, float)
    if kind == "box":
        points = _corners(*points)
    return _in_hull(link, points, points, notes)


def _in_geometry(link: int, shapes: LinkShapes, notes: list[str]) -> list[Constraint]:
    for name in shapes.bare:
        notes.append(
            f"link '{name}', part of link {link}, has mass and no geometry; its mass is taken to be inside that of the others"
        )
    fine = np.vstack([shape.points(FINE) for shape in shapes.shapes])
    if all(shape.kind == "sphere" for shape in shapes.shapes):
        return [MassInEllipsoid({link: Ellipsoid.around(fine)})]  # closer than any polyhedron of a few facets
    return _in_hull(link, np.vstack([shape.points() for shape in shapes.shapes]), fine, notes)


def _in_hull(link: int, points: Array, fine: Array, notes: list[str]) -> list[Constraint]:
    """Inside the hull of the points; when it has too many facets, inside an ellipsoid and a box around the finer ones."""
    count = len(facets(points, f"link {link}"))
    if count <= FACETS:
        return [MassInHull({link: points})]
    notes.append(
        f"the hull of link {link} has {count} facets, more than {FACETS}; the smallest ellipsoid and a box around it are used"
    )
    around = Ellipsoid.around(fine)
    axes = np.linalg.eigh(around.Q)[1]
    along = fine @ axes
    return [MassInEllipsoid({link: around}), MassInHull({link: _corners(along.min(axis=0), along.max(axis=0)) @ axes.T})]


def _corners(lower: Array, upper: Array) -> Array:
    """(8, 3) of a box."""
    return np.stack(np.meshgrid(*zip(lower, upper, strict=True)), -1).reshape(-1, 3)


def _box(corners: Sequence[Sequence[float]]) -> Box:
    lower, upper = corners
    return Box(np.array(lower, float), np.array(upper, float))


def _ellipsoid(region: Mapping[str, Sequence[float]]) -> Ellipsoid:
    roll, pitch, yaw = region["rpy"]
    R = rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)
    return Ellipsoid.of_axes(region["centre"], region["semi_axes"], R)


def _relations(description: Description, notes: list[str]) -> list[Constraint]:
    """Bounds and equations; those on parameters that the layout does not have (friction that was not chosen) are left out."""
    stated_words, names = description.constraints, description.layout.names
    out: list[Constraint] = []
    for name, (low, high) in stated_words.get("bounds", {}).items():
        if _known((name,), names, notes):
            out.append(Equal({name: 1.0}, low) if low == high else Bounds({name: (low, high)}))
    for relation in stated_words.get("equal", ()):
        if _known(relation["of"], names, notes):
            out.append(Equal(relation["of"], relation["value"]))
    return out


def _known(parameters: Sequence[str] | Mapping[str, float], names: Sequence[str], notes: list[str]) -> bool:
    missing = [p for p in parameters if p not in names]
    if missing:
        notes.append(f"the constraint on {', '.join(parameters)} is not used: the model has no {', '.join(missing)}")
    return not missing
