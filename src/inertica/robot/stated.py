"""The key `constraints` of cards and DH files: what the user knows of masses, geometry and symmetry, as plain checked data.

Links are numbered from 1 whatever word the file calls them by; ranges are (lower, upper), equal for an exact value; regions are in
metres in the link's frame.  `physical.stated` turns these data into constraints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from inertica.errors import nearest
from inertica.robot.friction import LAWS
from inertica.robot.layout import Layout
from inertica.robot.model import Robot
from inertica.robot.yamlfile import Item

CONSTRAINT_KEYS = ("margin", "total_mass", "links", "bounds", "equal")
LINK_KEYS = ("mass", "com", "inside", "symmetric")
PLANES = ("xy", "xz", "yz")
GEOMETRY = "geometry"
"""The word for the shapes that the model file itself gives a link."""

MARGINS = (1e-7, 0.1)
"""Least and largest: below is solver accuracy, above are no bodies that look like links."""


def read_constraints(item: Item, layout: Layout, encloses: bool = False) -> dict[str, Any]:
    """The section as plain data; empty parts are left out.

    Args:
        item: the section.
        layout: whose parameters it may name.
        encloses: whether the shapes of the model file tell where the mass of a link can be; see `ModelFormat`.
    """
    keys, names = item.mapping(CONSTRAINT_KEYS), _names(layout)
    out: dict[str, Any] = {}
    if "margin" in keys:
        out["margin"] = _margin(keys["margin"])
    if "total_mass" in keys:
        out["total_mass"] = _mass(keys["total_mass"])
    if "links" in keys:
        out["links"] = _links(keys["links"], layout.robot, encloses)
    if "bounds" in keys:
        out["bounds"] = {name: _range(entry) for name, entry in keys["bounds"].mapping(names).items()}
    if "equal" in keys:
        out["equal"] = tuple(_equal(entry, names) for entry in keys["equal"].items())
    return out


def _names(layout: Layout) -> list[str]:
    """Parameters of the layout, and those that a friction law may still bring when friction is chosen later."""
    laws = [law(j) for j in range(layout.robot.driven) for law in LAWS.values()]
    return list(dict.fromkeys([*layout.names, *(p.name for law in laws for p in law.parameters)]))


def _margin(item: Item) -> float:
    value = item.number()
    if not MARGINS[0] <= value <= MARGINS[1]:
        raise item.fail(f"{item.key} is relative and should be between {MARGINS[0]:g} and {MARGINS[1]:g}, not {value:g}")
    return value


def _range(item: Item) -> tuple[float, float]:
    low, high = item.numbers(2, "bounds", infinite=True) if item.is_list else (item.number(),) * 2
    if low > high:
        raise item.fail(f"{item.key}: the lower bound {low:g} is above the upper bound {high:g}")
    if low == math.inf or high == -math.inf:
        raise item.fail(f"{item.key} leaves no finite value")
    return low, high


def _mass(item: Item) -> tuple[float, float]:
    low, high = _range(item)
    if high <= 0.0:
        raise item.fail(f"{item.key} is a mass in kg and should be greater than zero, not {high:g}")
    return low, high


def _links(item: Item, robot: Robot, encloses: bool) -> dict[int, dict[str, Any]]:
    out: dict[int, dict[str, Any]] = {}
    for word, entry in item.mapping().items():
        number = _link(entry, word, robot)
        if number in out:
            raise entry.fail(f"{item.key} states link {number} twice, the second time as '{word}'; join the two")
        out[number] = _one_link(entry, encloses)
    return out


def _link(item: Item, word: str, robot: Robot) -> int:
    """1-based, from the name of a link or of its joint, or the number itself."""
    links = [joint.link for joint in robot.joints]
    for names in (links, list(robot.joint_names), [robot.number(k) for k in range(robot.n)]):
        if word in names:
            return names.index(word) + 1
    known = dict.fromkeys([*links, *robot.joint_names])
    raise item.fail(f"{robot.name} has no link '{word}' and no such joint; {nearest(word, known)}")


def _one_link(item: Item, encloses: bool) -> dict[str, Any]:
    keys = item.mapping(LINK_KEYS)
    out: dict[str, Any] = {}
    if "mass" in keys:
        out["mass"] = _mass(keys["mass"])
    if "com" in keys:
        out["com"] = _regions(keys["com"], ("box", "ellipsoid"))
    if "inside" in keys:
        out["inside"] = _inside(keys["inside"], encloses)
    if "symmetric" in keys:
        planes = keys["symmetric"]
        out["symmetric"] = tuple(entry.text(PLANES) for entry in (planes.items() if planes.is_list else [planes]))
    return out


def _inside(item: Item, encloses: bool) -> str | dict[str, Any]:
    if not item.is_scalar:
        return _regions(item, ("box", "ellipsoid", "hull"))
    word = item.text((GEOMETRY,))
    if not encloses:
        raise item.fail(f"{item.key}: this format has no geometry that is read for it; state a box, an ellipsoid or a hull")
    return word


def _regions(item: Item, kinds: Sequence[str]) -> dict[str, Any]:
    readers = {"box": _box, "ellipsoid": _ellipsoid, "hull": _hull}
    return {kind: readers[kind](entry) for kind, entry in item.mapping(kinds).items()}


def _box(item: Item) -> tuple[tuple[float, float, float], ...]:
    corners = tuple(corner.vector() for corner in item.items())
    if len(corners) != 2 or any(a >= b for a, b in zip(*corners, strict=True)):
        raise item.fail(f"{item.key} should hold its lower and its upper corner, as in [[-0.1, -0.1, 0], [0.1, 0.1, 0.4]]")
    return corners


def _ellipsoid(item: Item) -> dict[str, tuple[float, float, float]]:
    keys = item.mapping(("centre", "semi_axes", "rpy"), required=("semi_axes",))
    if min(keys["semi_axes"].vector()) <= 0.0:
        raise keys["semi_axes"].fail(f"{keys['semi_axes'].key} should be greater than zero")
    return {key: keys[key].vector() if key in keys else (0.0, 0.0, 0.0) for key in ("centre", "semi_axes", "rpy")}


def _hull(item: Item) -> tuple[tuple[float, float, float], ...]:
    points = tuple(point.vector() for point in item.items())
    if len(points) < 4 or np.linalg.matrix_rank(np.array(points) - points[0]) < 3:
        raise item.fail(f"{item.key} needs at least four points that do not lie in one plane")
    return points


def _equal(item: Item, names: Sequence[str]) -> dict[str, Any]:
    keys = item.mapping(("of", "value"), required=("of",))
    of = {name: entry.number() for name, entry in keys["of"].mapping(names).items()}
    if not any(of.values()):
        raise keys["of"].fail(f"{keys['of'].key} needs a parameter with a coefficient that is not zero")
    return {"of": of, "value": keys["value"].number() if "value" in keys else 0.0}
