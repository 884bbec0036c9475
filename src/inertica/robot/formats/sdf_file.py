"""SDFormat (Gazebo, Drake): reading a tree from it and writing parameter values back into the same document.

Numbers are texts of elements, poses are stated relative to any frame of the model; here they are worked out relative to parent links.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Unpack

import numpy as np

from inertica.arrays import Array
from inertica.errors import FileError
from inertica.robot import inertia
from inertica.robot.layout import Parameters
from inertica.robot.model import EARTH, matrix, rpy_matrix, vector
from inertica.robot.tree import FREEZE, Tree, TreeJoint, checked, unit_axis
from inertica.robot.writeback import Change, Selection, changed, numbers, write_back
from inertica.robot.xmledit import Edits
from inertica.robot.xmlfile import Document, Element, child, children, line_of, number_text, parse_floats, read_xml, text

MOVABLE = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
UNSUPPORTED = ("ball", "universal", "screw", "revolute2", "gearbox")
SYMBOLS = {"Fv": "damping", "Fc": "friction", "Ks": "stiffness"}
PRODUCTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
DYNAMICS = {"damping": "damping", "friction": "friction", "stiffness": "spring_stiffness", "springref": "spring_reference"}
MODEL, WORLD = "__model__", "world"
ENDLESS = 1e16
"""Limits from here on are none, as the specification says; so are negative efforts and velocities."""

Pose = tuple[Array, Array]
"""Rotation and position."""


def read_sdf(path: str | Path) -> Tree:
    """The tree of the one model in an SDFormat file.

    Joint types revolute, continuous, prismatic and fixed are read; others are noted and refused by `reduce` unless the selection
    freezes them.  Included and nested models are refused.
    """
    return Reader(read_xml(path)).tree()


def write_sdf(source: str | Path, target: str | Path, parameters: Parameters, **selection: Unpack[Selection]) -> tuple[str, ...]:
    """Write parameter values into a copy of an SDFormat file; see `write_back`."""
    return write_back(Reader, SYMBOLS, source, target, parameters, **selection)


@dataclass
class Reader:
    """One document; poses are resolved when they are asked for."""

    document: Document

    def __post_init__(self) -> None:
        self.notes: list[str] = []

    # --- writing ---------------------------------------------------------------------------------------------------------------

    def set_inertial(self, edits: Edits, change: Change) -> None:
        """Mass, centre of mass and central inertia of a link, in the orientation that its <inertial> already has."""
        body = inertia.to_com(change.ten)
        link = self._links[change.link]
        element = child(link, "inertial")
        pose = child(element, "pose") if element is not None else None
        R, _ = self._pose_numbers(pose) if pose is not None else (np.eye(3), np.zeros(3))
        six = inertia.ten(R.T @ body.inertia @ R, np.zeros(3), 0.0)[:6]
        entries = {name: repr(float(v)) for name, v in zip(PRODUCTS, six, strict=True)}
        at = " ".join([numbers(body.com), *((pose.text or "").split()[3:] if pose is not None else ["0", "0", "0"])])
        if element is None:
            edits.insert(link, f"<inertial><pose>{at}</pose><mass>{body.mass!r}</mass>{_inertia(entries)}</inertial>", first=True)
            return
        _set_text(edits, element, "mass", repr(body.mass))
        if pose is not None or np.any(body.com):
            _set_text(edits, element, "pose", at)
        products = child(element, "inertia")
        if products is None:
            edits.insert(element, _inertia(entries))
            return
        for name, value in entries.items():
            if child(products, name) is not None or float(value):  # products of inertia that are absent are zero
                _set_text(edits, products, name, value)

    def set_joint(self, edits: Edits, joint: str, values: Mapping[str, float]) -> None:
        axis = child(self._joints[joint], "axis")
        assert axis is not None  # a joint that moves has one, or it would not have been read
        dynamics = child(axis, "dynamics")
        words = {DYNAMICS[what]: repr(value) for what, value in values.items()}
        if dynamics is None:
            edits.insert(axis, "<dynamics>" + "".join(f"<{n}>{v}</{n}>" for n, v in words.items()) + "</dynamics>")
            return
        for name, value in words.items():
            _set_text(edits, dynamics, name, value)

    def link_element(self, link: str) -> Element | None:
        return self._links.get(link)

    # --- reading ---------------------------------------------------------------------------------------------------------------

    def tree(self) -> Tree:
        document = self.document
        base = self._base()
        joints = tuple(self._joint(element) for element in self._joints.values())
        inertials = {name: ten for name, link in self._links.items() if (ten := self._inertial(name, link)) is not None}
        lines = {name: line_of(link) for name, link in self._links.items()}
        name = self.model.get("name") or document.path.stem
        return checked(
            Tree(
                name,
                "SDF",
                document.path,
                base,
                joints,
                inertials,
                self._gravity(base),
                notes=tuple(self.notes),
                link_lines=lines,
            )
        )

    @cached_property
    def model(self) -> Element:
        """The one model of the file, alone or in a world."""
        document, root = self.document, self.document.root
        if root.tag != "sdf":
            raise document.error(root, f"an SDFormat file starts with <sdf>, this file with <{root.tag}>")
        models = [m for holder in (root, *children(root, "world")) for m in children(holder, "model")]
        moving = [m for m in models if child(m, "joint") is not None] or models
        if len(moving) != 1:
            names = ", ".join(f"'{m.get('name')}'" for m in moving)
            raise document.error(root, f"the file has {len(moving)} models with joints ({names}); keep one" if moving else
                                 "the file has no <model>")  # fmt: skip
        for part in children(moving[0], "include", "model"):
            raise document.error(
                part, f"the model holds another one (<{part.tag}>), which is not read; write it out first: `gz sdf -p FILE`"
            )
        return moving[0]

    @cached_property
    def _links(self) -> dict[str, Element]:
        return self._named("link")

    @cached_property
    def _joints(self) -> dict[str, Element]:
        return self._named("joint")

    def _named(self, tag: str) -> dict[str, Element]:
        out: dict[str, Element] = {}
        for element in children(self.model, tag):
            name = text(self.document, element, "name")
            if name in out:
                raise self.document.error(element, f"two {tag}s are called '{name}'; rename one")
            out[name] = element
        return out

    def _base(self) -> str:
        carried = {self._end(joint, "child") for joint in self._joints.values()}
        if any(self._end(joint, "parent") == WORLD for joint in self._joints.values()):
            roots = [WORLD, *(name for name in self._links if name not in carried)]
        else:
            roots = [name for name in self._links if name not in carried]
        if not roots:
            raise FileError(self.document.path, "every link is carried by a joint: a closed loop, which is not supported")
        if len(roots) > 1:
            names = ", ".join(f"'{name}'" for name in roots[:5])
            raise self.document.error(
                self.model,
                f"the model has {len(roots)} links that no joint carries ({names}); connect them or remove all but one",
            )
        return roots[0]

    def _gravity(self, base: str) -> tuple[float, float, float]:
        """In the frame of the base: that of the file's world, of the earth where there is none."""
        world = self.model.getparent()
        stated = child(world, "gravity") if world is not None and world.tag == WORLD else None
        down = np.array(EARTH) if stated is None else parse_floats(self.document, stated, "the text", stated.text or "", 3)
        R = np.eye(3) if base == WORLD else self._own_pose(self.model)[0] @ self._pose(base)[0]
        return vector(R.T @ down)

    def _end(self, joint: Element, which: str) -> str:
        element = child(joint, which)
        name = (element.text or "").strip() if element is not None else ""
        if name not in self._links and not (which == "parent" and name == WORLD):
            problem = f"names the {which} link '{name}', which the model does not have" if name else f"lacks <{which}>"
            raise self.document.error(joint, f"joint '{joint.get('name')}' {problem}", joint.get("name"))
        return name

    def _joint(self, element: Element) -> TreeJoint:
        document, name = self.document, text(self.document, element, "name")
        stated = text(document, element, "type")
        parent, carried = self._end(element, "parent"), self._end(element, "child")
        axis = child(element, "axis")
        unsupported = None
        if stated in UNSUPPORTED:
            unsupported = f"joint '{name}' is {stated}, which is not supported; {FREEZE}"
        elif stated not in MOVABLE and stated != "fixed":
            known = ", ".join((*MOVABLE, "fixed"))
            raise document.error(element, f"joint '{name}' has the unknown type '{stated}'; use one of {known}", name)
        R, p = _between(self._pose(parent), self._pose(carried))
        kind = "fixed" if unsupported else MOVABLE.get(stated, "fixed")
        joint = TreeJoint(name, parent, carried, kind, matrix(R), vector(p), line=line_of(element), unsupported=unsupported)
        if kind == "fixed":
            return joint
        if axis is None:
            raise document.error(element, f"joint '{name}' lacks <axis>", name)
        turned, at = _between(self._pose(carried), self._pose(name))  # the joint in the frame of the link it carries
        joint = replace(
            joint, position=vector(p + R @ at), arm=vector(0.0 - at), axis=self._axis(name, axis, carried, turned),
            continuous=stated == "continuous",
        )  # fmt: skip
        return self._following(joint, axis).stating(self._motion(joint, axis))

    def _following(self, joint: TreeJoint, axis: Element) -> TreeJoint:
        """The joint with what <mimic> says: multiplier * (leader - reference) + offset."""
        mimic = child(axis, "mimic")
        if mimic is None:
            return joint
        factor, offset, reference = (
            number_text(self.document, mimic, key, default)
            for key, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
        )
        return replace(joint, follows=text(self.document, mimic, "joint"), ratio=(offset - factor * reference, factor))

    def _axis(self, joint: str, axis: Element, carried: str, turned: Array) -> tuple[float, float, float]:
        element = child(axis, "xyz")
        xyz = np.array([0.0, 0.0, 1.0]) if element is None else parse_floats(
            self.document, element, "the text", element.text or "", 3
        )  # fmt: skip
        if not np.any(xyz):
            raise self.document.error(axis, f"the axis of joint '{joint}' is zero", joint)
        frame = element.get("expressed_in") if element is not None else None
        if frame is None and number_text(self.document, axis, "use_parent_model_frame", 0.0):
            frame = MODEL
        rotation = turned if not frame else _between(self._pose(carried), self._pose(frame))[0]
        unit, rounded = unit_axis(rotation @ xyz)
        if rounded:
            self.notes.append(f"The axis of joint '{joint}' is taken as exactly {unit}.")
        return unit

    def _motion(self, joint: TreeJoint, axis: Element) -> dict[str, float]:
        """Limits, friction and springs of an axis."""
        values: dict[str, float] = {}
        limit, dynamics = child(axis, "limit"), child(axis, "dynamics")
        if limit is not None:
            low, high = (number_text(self.document, limit, key, sign * ENDLESS) for key, sign in (("lower", -1), ("upper", 1)))
            if low > high:
                raise self.document.error(limit, f"joint '{joint.name}' has its lower limit above its upper limit", joint.name)
            if not joint.continuous:
                values |= {"lower": low if low > -ENDLESS else -math.inf, "upper": high if high < ENDLESS else math.inf}
            for key, what in (("velocity", "velocity"), ("effort", "torque")):
                most = number_text(self.document, limit, key, -1.0)
                values[what] = most if 0.0 < most < ENDLESS else math.inf
        if dynamics is not None:
            values |= {what: number_text(self.document, dynamics, key, 0.0) for what, key in DYNAMICS.items()}
        return values

    def _inertial(self, name: str, link: Element) -> Array | None:
        element = child(link, "inertial")
        if element is None or element.get("auto", "").strip().lower() in ("true", "1"):
            if element is not None:
                self.notes.append(f"The inertia of link '{name}' is for simulators to work out from its shapes; none was read.")
            return None
        mass = number_text(self.document, element, "mass", 1.0)
        entries, pose = child(element, "inertia"), child(element, "pose")
        usual = dict(zip(PRODUCTS, (1.0, 0.0, 0.0, 1.0, 0.0, 1.0), strict=True))  # what the specification says of absent ones
        six = [usual[p] if entries is None else number_text(self.document, entries, p, usual[p]) for p in PRODUCTS]
        R, com = self._pose_numbers(pose) if pose is not None else (np.eye(3), np.zeros(3))
        return inertia.from_com(mass, com, R @ inertia.matrix([*six, 0, 0, 0, 0]) @ R.T)

    # --- poses -----------------------------------------------------------------------------------------------------------------

    def _pose(self, name: str, visited: tuple[str, ...] = ()) -> Pose:
        """A link, joint or frame in the frame of the model; the world lies where the model's own pose says."""
        if name in (MODEL, ""):
            return np.eye(3), np.zeros(3)
        if name == WORLD:
            return _between(self._own_pose(self.model), (np.eye(3), np.zeros(3)))
        element = self._frames.get(name)
        if element is None:
            raise self.document.error(self.model, f"a pose is stated relative to '{name}', which the model does not have")
        if name in visited:
            raise self.document.error(element, f"the poses of {', '.join(visited)} are stated relative to each other")
        pose = child(element, "pose")
        usual = self._end(element, "child") if element.tag == "joint" else element.get("attached_to", "")
        relative = (pose.get("relative_to") if pose is not None else None) or usual
        (R, p), (turn, at) = self._pose(relative, (*visited, name)), self._own_pose(element)
        return R @ turn, p + R @ at

    @cached_property
    def _frames(self) -> dict[str, Element]:
        return self._named("frame") | self._joints | self._links

    def _own_pose(self, element: Element) -> Pose:
        pose = child(element, "pose")
        return (np.eye(3), np.zeros(3)) if pose is None else self._pose_numbers(pose)

    def _pose_numbers(self, pose: Element) -> Pose:
        """Rotation and position as a <pose> states them: with roll, pitch and yaw in rad or degrees, or a quaternion x y z w."""
        document, words = self.document, pose.text or ""
        if pose.get("rotation_format", "euler_rpy") == "quat_xyzw":
            values = parse_floats(document, pose, "the text", words, 7)
            x, y, z, w = values[3:] / np.linalg.norm(values[3:])
            turn = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            return np.eye(3) + 2.0 * w * turn + 2.0 * turn @ turn, values[:3]
        values = parse_floats(document, pose, "the text", words, 6) if words.strip() else np.zeros(6)
        angles = np.deg2rad(values[3:]) if pose.get("degrees", "false").strip().lower() in ("true", "1") else values[3:]
        return rpy_matrix(angles), values[:3]


def _between(first: Pose, second: Pose) -> Pose:
    """The second pose in the frame of the first."""
    return first[0].T @ second[0], first[0].T @ (second[1] - first[1])


def _inertia(entries: Mapping[str, str]) -> str:
    return "<inertia>" + "".join(f"<{name}>{value}</{name}>" for name, value in entries.items()) + "</inertia>"


def _set_text(edits: Edits, parent: Element, tag: str, value: str) -> None:
    """The text of the first child of that tag; numbers that are equal stay as they are written."""
    element = child(parent, tag)
    if element is None:
        edits.insert(parent, f"<{tag}>{value}</{tag}>")
    elif changed(element.text if (element.text or "").strip() else None, value):
        edits.set_text(element, value)
