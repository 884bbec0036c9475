"""URDF: reading a tree from it and writing parameter values back into the same document."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from inertica.arrays import Array
from inertica.errors import FileError, ModelWarning
from inertica.robot import inertia
from inertica.robot.layout import Parameters
from inertica.robot.model import RIGHT_ANGLE_TOLERANCE, matrix, rpy_matrix, vector
from inertica.robot.tree import FREEZE, Tree, TreeJoint, checked, unit_axis
from inertica.robot.writeback import Change, Selection, changed, numbers, write_back
from inertica.robot.xmledit import Edits
from inertica.robot.xmlfile import (
    EXPAND,
    Document,
    Element,
    child,
    children,
    describe,
    floats,
    line_of,
    number,
    read_xml,
    text,
)

KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
UNSUPPORTED = ("floating", "planar", "spherical", "ball")
SYMBOLS = {"Fv": "damping", "Fc": "friction"}
PRODUCTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
WORLD = "world"
XACRO = ("xacro", "ros.org/wiki/xacro")


def read_urdf(path: str | Path) -> Tree:
    """The tree in a URDF file.

    Joint types revolute, continuous, prismatic and fixed are read; floating and planar joints are noted and refused
    by `reduce` unless the selection freezes them.  A link without <inertial> has none.
    """
    return _Reader(read_xml(path)).tree()


def write_urdf(source: str | Path, target: str | Path, parameters: Parameters, **selection: Unpack[Selection]) -> tuple[str, ...]:
    """Write parameter values into a copy of a URDF; see `write_back`."""
    return write_back(_Reader, SYMBOLS, source, target, parameters, **selection)


@dataclass
class _Reader:
    """One pass over a document; collects notes on the way."""

    document: Document

    def __post_init__(self) -> None:
        self.notes: list[str] = []
        self.unlimited: list[str] = []

    def set_inertial(self, edits: Edits, change: Change) -> None:
        """Mass, centre of mass and central inertia of a link, in the orientation that its <inertial> already has."""
        body = inertia.to_com(change.ten)
        link = self._named("link")[change.link]
        element = child(link, "inertial")
        origin = child(element, "origin") if element is not None else None
        rpy = floats(self.document, origin, "rpy", 3, (0.0, 0.0, 0.0)) if origin is not None else np.zeros(3)
        R = rpy_matrix(rpy)
        six = inertia.ten(R.T @ body.inertia @ R, np.zeros(3), 0.0)[:6]
        entries = {name: repr(float(v)) for name, v in zip(PRODUCTS, six, strict=True)}
        if element is None:
            parts = [("mass", {"value": repr(body.mass)}), ("origin", {"xyz": numbers(body.com)}), ("inertia", entries)]
            edits.add(link, "inertial", {}, parts, first=True)
            return
        _set_child(edits, element, "mass", {"value": repr(body.mass)})
        _set_child(edits, element, "origin", {"xyz": numbers(body.com)})
        _set_child(edits, element, "inertia", entries)

    def set_joint(self, edits: Edits, joint: str, values: Mapping[str, float]) -> None:
        _set_child(edits, self._named("joint")[joint], "dynamics", {what: repr(value) for what, value in values.items()})

    def link_element(self, link: str) -> Element | None:
        return self._named("link")[link]

    def _named(self, tag: str) -> dict[str, Element]:
        return {text(self.document, element, "name"): element for element in children(self.document.root, tag)}

    def tree(self) -> Tree:
        document, robot = self.document, self.document.root
        self._check_kind(robot)
        links = self._links(robot)
        self._add_world(robot, links)
        joints = tuple(self._joint(element, links) for element in children(robot, "joint"))
        inertials = {name: ten for name, link in links.items() if (ten := self._inertial(name, link)) is not None}
        name = robot.get("name") or document.path.stem
        base = self._base(links, joints)
        if self.unlimited:
            message = (
                f"{document.path.name}: the limits of {', '.join(self.unlimited)} leave no room to move (lower = upper, as exporters "
                "write where they know none); they are taken as no limits"
            )
            warnings.warn(ModelWarning(message), stacklevel=4)
        lines = {link: line_of(element) for link, element in links.items()}
        return checked(Tree(name, "URDF", document.path, base, joints, inertials, notes=tuple(self.notes), link_lines=lines))

    def _check_kind(self, robot: Element) -> None:
        if robot.tag != "robot":
            raise self.document.error(robot, f"a URDF starts with <robot>, this file with <{robot.tag}>")
        for element in children(robot):
            if str(element.tag).startswith("{") and any(word in str(element.tag).split("}")[0] for word in XACRO):
                raise self.document.error(element, f"this is a xacro file; {EXPAND}")

    def _links(self, robot: Element) -> dict[str, Element]:
        links: dict[str, Element] = {}
        for link in children(robot, "link"):
            name = text(self.document, link, "name")
            if name in links:
                raise self.document.error(link, f"two links are called '{name}'; rename one")
            links[name] = link
        if not links:
            raise self.document.error(robot, "the file has no <link>")
        return links

    def _add_world(self, robot: Element, links: dict[str, Element]) -> None:
        """A joint may hang on `world` without the file having such a link: it is the ground."""
        for joint in children(robot, "joint"):
            parent = child(joint, "parent")
            if parent is not None and parent.get("link") == WORLD and WORLD not in links:
                links[WORLD] = parent  # an element without <inertial>
                self.notes.append(
                    f"The file has no link '{WORLD}', on which joint '{joint.get('name')}' hangs; it is the ground."
                )

    def _base(self, links: Mapping[str, Element], joints: Sequence[TreeJoint]) -> str:
        carried = {joint.child for joint in joints}
        roots = [name for name in links if name not in carried]
        if not roots:
            raise FileError(
                self.document.path, "every link is carried by a joint; the joints form a closed loop, which is not supported"
            )
        if len(roots) > 1:
            names = ", ".join(f"'{name}'" for name in roots[:5]) + (", ..." if len(roots) > 5 else "")
            problem = f"the file has {len(roots)} links that no joint carries ({names}); connect them or remove all but one"
            raise self.document.error(links[roots[1]], problem)
        return roots[0]

    def _joint(self, element: Element, links: Mapping[str, Element]) -> TreeJoint:
        document = self.document
        name = text(document, element, "name")
        stated = text(document, element, "type")
        unsupported, mimic = None, child(element, "mimic")
        if stated in UNSUPPORTED:
            unsupported = f"joint '{name}' is {stated}, which is not supported; {FREEZE}"
        elif stated not in KINDS:
            raise document.error(
                element, f"joint '{name}' has the unknown type '{stated}'; use revolute, continuous, prismatic or fixed", name
            )
        parent, carried = (self._link_name(element, which, links) for which in ("parent", "child"))
        rotation, position = self._origin(element)
        joint = TreeJoint(
            name,
            parent,
            carried,
            KINDS.get(stated, "fixed"),
            rotation=matrix(rotation),
            position=vector(position),
            line=line_of(element),
            continuous=stated == "continuous",
            unsupported=unsupported,
            follows=None if mimic is None else text(document, mimic, "joint"),
            ratio=(0.0, 1.0)
            if mimic is None
            else (number(document, mimic, "offset", 0.0), number(document, mimic, "multiplier", 1.0)),
        )
        return joint if joint.kind == "fixed" else self._with_motion(joint, element, stated)

    def _with_motion(self, joint: TreeJoint, element: Element, stated: str) -> TreeJoint:
        document, values = self.document, dict[str, float]()
        limit = child(element, "limit")
        if limit is not None:
            for attribute, what in (("velocity", "velocity"), ("effort", "torque")):
                value = _limit_number(document, limit, attribute)
                values[what] = value if value > 0 else math.inf  # zero is what exporters write when they know none
            if stated != "continuous" and (limit.get("lower") is not None or limit.get("upper") is not None):
                low, high = (_limit_number(document, limit, which) for which in ("lower", "upper"))
                if low > high:
                    raise document.error(limit, f"joint '{joint.name}' has its lower limit above its upper limit", joint.name)
                if low < high:
                    values["lower"], values["upper"] = low, high
                else:
                    self.unlimited.append(f"joint '{joint.name}'")
        dynamics = child(element, "dynamics")
        if dynamics is not None:
            values |= {what: number(document, dynamics, what, 0.0) for what in ("damping", "friction")}
        return replace(joint, axis=self._axis(joint, element)).stating(values)

    def _axis(self, joint: TreeJoint, element: Element) -> tuple[float, float, float]:
        axis = child(element, "axis")
        xyz = np.array([1.0, 0.0, 0.0]) if axis is None else floats(self.document, axis, "xyz", 3, (1.0, 0.0, 0.0))
        if not np.any(xyz):
            raise self.document.error(element if axis is None else axis, f"the axis of joint '{joint.name}' is zero", joint.name)
        unit, rounded = unit_axis(xyz)
        if rounded:
            self.notes.append(f"The axis of joint '{joint.name}' (line {joint.line}) is taken as exactly {unit}.")
        return unit

    def _link_name(self, joint: Element, which: str, links: Mapping[str, Element]) -> str:
        element = child(joint, which)
        if element is None:
            raise self.document.error(joint, f"{describe(joint)} lacks <{which}>")
        name = text(self.document, element, "link")
        if name not in links:
            raise self.document.error(
                element,
                f"joint '{joint.get('name')}' names the {which} link '{name}', which the file does not have",
                joint.get("name"),
            )
        return name

    def _origin(self, element: Element) -> tuple[Array, Array]:
        """Rotation and position of an <origin>; the first one counts when there are several, as in the URDF library."""
        origins = list(children(element, "origin"))
        if len(origins) > 1:
            line = origins[1].sourceline
            self.notes.append(
                f"{describe(element)} has more than one <origin>; the first counts, the one in line {line} does not."
            )
        if not origins:
            return np.eye(3), np.zeros(3)
        rpy = floats(self.document, origins[0], "rpy", 3, (0.0, 0.0, 0.0))
        for angle in rpy:
            off = abs(angle - round(angle / (math.pi / 2)) * math.pi / 2)
            if 1e-10 < off <= RIGHT_ANGLE_TOLERANCE:
                where = f"{describe(element)} (line {origins[0].sourceline})"
                self.notes.append(f"The angle {angle:g} in {where} is taken as a right angle; it is off by {off:.1g} rad.")
        return rpy_matrix(rpy), floats(self.document, origins[0], "xyz", 3, (0.0, 0.0, 0.0))

    def _inertial(self, name: str, link: Element) -> Array | None:
        element = child(link, "inertial")
        if element is None:
            return None
        mass = self._mass(element)
        if mass < 0:
            message = f"{self.document.path.name}:{element.sourceline}: link '{name}' has the negative mass {mass:g}"
            warnings.warn(ModelWarning(message), stacklevel=2)
        entries = child(element, "inertia")
        if entries is None:
            raise self.document.error(element, f"the <inertial> of link '{name}' lacks <inertia>")
        diagonal = (None, 0.0, 0.0, None, 0.0, None)
        six = [number(self.document, entries, p, d) for p, d in zip(PRODUCTS, diagonal, strict=True)]
        R, com = self._origin(element)
        return inertia.from_com(mass, com, R @ inertia.matrix([*six, 0, 0, 0, 0]) @ R.T)

    def _mass(self, element: Element) -> float:
        mass = child(element, "mass")
        if mass is None:
            raise self.document.error(element, "an <inertial> lacks <mass>")
        return number(self.document, mass, "value")


def _limit_number(document: Document, limit: Element, attribute: str) -> float:
    if (limit.get(attribute) or "").strip().lower().lstrip("+-") in ("inf", "infinity"):
        return float(str(limit.get(attribute)))  # infinite limits are in use, infinite masses are not
    return number(document, limit, attribute, 0.0)


def _set_child(edits: Edits, parent: Element, tag: str, attributes: Mapping[str, str]) -> None:
    """Attributes of the first child of that tag; numbers that are equal stay as they are written."""
    element = child(parent, tag)
    if element is None:
        edits.add(parent, tag, dict(attributes))
        return
    for name, value in attributes.items():
        if changed(element.get(name), value):
            edits.set(element, name, value)
