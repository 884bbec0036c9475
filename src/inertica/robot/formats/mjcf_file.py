"""MJCF, the model format of MuJoCo: reading a tree from it and writing parameter values back into the same document."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError, ModelWarning
from inertica.robot import inertia
from inertica.robot.formats.mjcf_geoms import geom_inertia, geom_solids
from inertica.robot.formats.mjcf_settings import ORIENTATIONS, Attributes, Settings, quaternion_matrix, read_settings, turn
from inertica.robot.layout import Parameters
from inertica.robot.model import IDENTITY, ORIGIN, Matrix, Vector, matrix, squared_up, vector
from inertica.robot.shapes import Solid
from inertica.robot.tree import FREEZE, Placed, Tree, TreeClosure, TreeJoint, checked, compose, snapped_rotation, unit_axis
from inertica.robot.writeback import Change, Selection, changed, numbers, write_back
from inertica.robot.xmledit import Edits
from inertica.robot.xmlfile import Document, Element, children, describe, line_of, read_xml, text

Pose = tuple[Matrix, Vector]

WORLD = "world"
SYMBOLS = {"Ia": "armature", "Fv": "damping", "Fc": "friction", "Ks": "stiffness"}
ATTRIBUTE = {"armature": "armature", "friction": "frictionloss", "springref": "springref"}
POLYNOMIAL = {"damping": "nonlinear damping", "stiffness": "the nonlinear part of the spring (stiffness)"}
"""Attributes that may be polynomials, of which only the linear coefficient is read, and what the rest is."""


def read_mjcf(path: str | Path) -> Tree:
    """The tree in an MJCF file, its base the world.

    Links are bodies; of several joints in one body all but the last carry massless links named body__joint.  Joint coordinates
    are MuJoCo's qpos.  Ball joints, and free ones of bodies that are
    not the robot's base, are noted and refused by `reduce` unless the selection freezes them.
    """
    return _Reader(read_xml(path)).tree()


def mjcf_solids(path: str | Path) -> dict[str, list[Solid]]:
    """The shapes of every link of an MJCF file, the world included, in the links' frames: geoms that collide, others where none does.

    Raises:
        FileError: a shape that cannot be read.
    """
    settings, geoms = mjcf_geoms(path)
    with_attributes = {
        link: [(item, attributes) for item in items if (attributes := settings.attributes(item.element, item.childclass))]
        for link, items in geoms.items()
    }
    out: dict[str, list[Solid]] = {}
    for link, several in with_attributes.items():
        collide = [g for g in several if g[1].get("contype", "1") != "0" or g[1].get("conaffinity", "1") != "0"]
        out[link] = [
            solid
            for item, attributes in collide or several
            for solid in geom_solids(settings, item.element, attributes, item.pose)
        ]
    return out


def mjcf_geoms(path: str | Path) -> tuple[Settings, dict[str, list[Item]]]:
    """The geoms of every link of an MJCF file, the world included, as they stand there, and what the file sets for all."""
    reader = _Reader(read_xml(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said when the model was loaded
        reader.tree()
    return reader.settings, reader.geoms


def mjcf_joints(document: Document) -> tuple[Settings, dict[str, Element]]:
    """The joints of an MJCF document by the names that `read_mjcf` gives them, and what the file sets for all."""
    reader = _Reader(document)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said when the model was loaded
        reader.tree()
    return reader.settings, {name: item.element for name, item in reader.joint_items.items()}


def write_mjcf(source: str | Path, target: str | Path, parameters: Parameters, **selection: Unpack[Selection]) -> tuple[str, ...]:
    """Write parameter values into a copy of an MJCF file; see `write_back`."""
    return write_back(_Reader, SYMBOLS, source, target, parameters, **selection)


@dataclass(frozen=True)
class Item:
    """An element of a body, with the class it inherits from and the pose of the frames around it."""

    element: Element
    childclass: str
    pose: Pose = (IDENTITY, ORIGIN)


@dataclass
class _Reader:
    """One pass over a document; remembers which element each link and joint came from."""

    document: Document
    notes: list[str] = field(default_factory=list)
    joints: list[TreeJoint] = field(default_factory=list)
    inertials: dict[str, Array] = field(default_factory=dict)
    massless: set[str] = field(default_factory=set)
    bodies: dict[str, Element] = field(default_factory=dict)
    inertial_items: dict[str, Item] = field(default_factory=dict)
    joint_items: dict[str, Item] = field(default_factory=dict)
    sites: dict[str, tuple[str, Item]] = field(default_factory=dict)
    rest: dict[str, Pose] = field(
        default_factory=lambda: {WORLD: (IDENTITY, ORIGIN)}
    )  # of bodies in the world, as the file has them
    refs: dict[str, float] = field(default_factory=dict)  # coordinates of joints in that pose
    geoms: dict[str, list[Item]] = field(default_factory=dict)

    def set_inertial(self, edits: Edits, change: Change) -> None:
        """Mass, centre and full inertia of a body; orientations go, since fullinertia forbids them."""
        link = change.link
        if link not in self.bodies:
            body, joint = link.split("__", 1)
            raise InputError(
                f"link '{link}' only stands between joint '{joint}' and the next in body '{body}'; MJCF cannot give it inertia"
            )
        item = self.inertial_items.get(link)
        if self.settings.inertiafromgeom == "true":
            problem = "the file takes all inertia from geoms (compiler inertiafromgeom='true'); set that to 'auto' first"
            raise InputError(f"{self.document.path}: {problem}")
        R, p = (np.eye(3), np.zeros(3)) if item is None else (np.array(item.pose[0]), np.array(item.pose[1]))
        body_ = inertia.to_com(inertia.change_frame(change.ten, R.T, -R.T @ p))
        full = body_.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        values = {"pos": numbers(body_.com), "mass": repr(body_.mass), "fullinertia": numbers(full)}
        if item is None:
            edits.add(self.bodies[link], "inertial", values, first=True)
            return
        for name in (*ORIENTATIONS, "diaginertia"):
            edits.remove(item.element, name)
        for name, value in values.items():
            if changed(item.element.get(name), value):
                edits.set(item.element, name, value)

    def set_joint(self, edits: Edits, joint: str, values: Mapping[str, float]) -> None:
        item = self.joint_items[joint]
        for what, value in values.items():
            name = ATTRIBUTE.get(what, what)
            attributes = self.settings.attributes(item.element, item.childclass)
            higher = attributes.get(name, "").split()[1:] if what in POLYNOMIAL else []
            if what == "springref" and attributes.get("type", "hinge") == "hinge" and self.settings.degrees:
                value = math.degrees(value)
            edits.set(item.element, name, " ".join([repr(value), *higher]))

    def link_element(self, link: str) -> Element | None:
        return self.bodies.get(link)

    def tree(self) -> Tree:
        self.settings: Settings = read_settings(self.document)
        root = self.document.root
        for world in children(root, "worldbody"):
            self._enter(WORLD, self._contents(world, "main"), static=True)
        if not self.bodies:
            raise self.document.error(root, "the file has no <body> in <worldbody>")
        return checked(
            Tree(
                root.get("model") or self.document.path.stem,
                "MJCF",
                self.document.path,
                WORLD,
                tuple(self._coupled()),
                self.inertials,
                self.settings.gravity,
                tuple(self._closures()),
                frozenset(self.massless),
                (*self.settings.notes, *self.notes),
            )
        )

    def _contents(self, element: Element, childclass: str, pose: Pose = (IDENTITY, ORIGIN)) -> Iterator[Item]:
        """The elements of a body, those inside <frame>s included."""
        childclass = element.get("childclass", childclass)
        for child in children(element):
            if child.tag == "frame":
                yield from self._contents(child, childclass, compose(*pose, *self._pose(child, childclass)))
            else:
                yield Item(child, childclass, pose)

    def _pose(self, element: Element, childclass: str) -> Pose:
        attributes = {str(k): str(v) for k, v in element.attrib.items()}
        R, snapped = snapped_rotation(self.settings.rotation(element, attributes))
        if snapped:
            where = f"{describe(element)} (line {element.sourceline})"
            self.notes.append(f"The orientation of {where} is taken as exactly along the axes it is close to.")
        return R, vector(self.settings.numbers(element, attributes, "pos", 3, ORIGIN))

    def _enter(self, link: str, contents: Iterator[Item], static: bool) -> None:
        """Note what a body holds; `static` bodies never move, so their inertia does not matter."""
        items = list(contents)
        self.geoms[link] = [*self.geoms.get(link, ()), *(item for item in items if item.element.tag == "geom")]
        for item in items:
            if item.element.tag == "site" and item.element.get("name"):
                self.sites[str(item.element.get("name"))] = (link, item)
        if not static:
            self._inertia(link, items)
        for item in items:
            if item.element.tag == "body":
                self._body(link, item, static)

    def _body(self, parent: str, item: Item, static: bool) -> None:
        element = item.element
        name = element.get("name") or f"body{len(self.bodies) + 1}"
        if name in self.bodies or name == WORLD:
            raise self.document.error(element, f"two bodies are called '{name}'; rename one")
        self.bodies[name] = element
        pose = compose(*item.pose, *self._pose(element, item.childclass))
        self.rest[name] = compose(*self.rest[parent], *pose)
        items = list(self._contents(element, item.childclass))
        joints = [i for i in items if i.element.tag in ("joint", "freejoint")]
        if not joints:
            self.joints.append(TreeJoint(f"{name}__fixed", parent, name, "fixed", *pose, line=line_of(element)))
        for k, joint in enumerate(joints):
            joint_name = joint.element.get("name") or f"{name}__joint{k + 1}"
            link = name if k == len(joints) - 1 else f"{name}__{joint_name}"
            if link != name:
                self.massless.add(link)
            self.joint_items[joint_name] = joint
            self.joints.append(self._joint(joint_name, joint, name, parent, link, pose))
            parent, pose = link, (IDENTITY, ORIGIN)
        self._enter(name, iter(items), static and not joints)

    def _joint(self, name: str, item: Item, body: str, parent: str, link: str, pose: Pose) -> TreeJoint:
        element, settings = item.element, self.settings
        attributes = settings.attributes(element, item.childclass)
        kind = "free" if element.tag == "freejoint" else attributes.get("type", "hinge")
        if kind in ("free", "ball"):
            advice = f"to hold this body still, write `root: {body}` into a robot card" if kind == "free" else FREEZE
            problem = f"body '{body}' has the {kind} joint '{name}', which is not supported; {advice}"
            return TreeJoint(name, parent, link, "fixed", *pose, line=line_of(element), unsupported=problem, free=kind == "free")
        if kind not in ("hinge", "slide"):
            raise self.document.error(element, f"joint '{name}' has the unknown type '{kind}'; use hinge or slide", name)
        axis = self._axis(name, item, attributes)
        ref = settings.number(element, attributes, "ref")
        self.refs[name] = ref = settings.angle(ref) if kind == "hinge" else ref
        joint = TreeJoint(name, parent, link, "revolute" if kind == "hinge" else "prismatic", axis=axis, line=line_of(element))
        joint = _placed(joint, pose, self._anchor(item, attributes), ref)
        stated = {k: settings.number(element, attributes, a) for k, a in ATTRIBUTE.items()}
        stated |= {what: self._linear(name, element, attributes, what) for what in POLYNOMIAL}
        stated["springref"] = settings.angle(stated["springref"]) if kind == "hinge" else stated["springref"]
        if np.any(settings.numbers(element, attributes, "springdamper", 2, (0.0, 0.0))):
            self.notes.append(f"springdamper of joint '{name}' (line {element.sourceline}) is not read.")
        return joint.stating(stated | self._limits(element, attributes, kind))

    def _axis(self, name: str, item: Item, attributes: Attributes) -> Vector:
        axis = self.settings.numbers(item.element, attributes, "axis", 3, (0.0, 0.0, 1.0))
        if not np.any(axis):
            raise self.document.error(item.element, f"the axis of joint '{name}' is zero", name)
        unit, snapped = unit_axis(np.array(item.pose[0]) @ axis)
        if snapped:
            self.notes.append(f"The axis of joint '{name}' (line {item.element.sourceline}) is taken as exactly {unit}.")
        return unit

    def _anchor(self, item: Item, attributes: Attributes) -> Array:
        """The joint's position in the body frame."""
        position = self.settings.numbers(item.element, attributes, "pos", 3, ORIGIN)
        return np.array(compose(*item.pose, IDENTITY, position)[1])

    def _linear(self, name: str, element: Element, attributes: Attributes, what: str) -> float:
        """The first coefficient of what may be a polynomial; a note on others."""
        first, *higher = self.settings.numbers(element, attributes, what, None, (0.0,))
        if np.any(higher):
            words = POLYNOMIAL[what]
            self.notes.append(f"{words[0].upper()}{words[1:]} of joint '{name}' (line {element.sourceline}) is not read.")
        return float(first)

    def _limits(self, element: Element, attributes: Attributes, kind: str) -> dict[str, float]:
        out: dict[str, float] = {}
        for attribute, limited in (("range", "limited"), ("actuatorfrcrange", "actuatorfrclimited")):
            lower, upper = self.settings.numbers(element, attributes, attribute, 2, (0.0, 0.0))
            stated = attributes.get(limited, "auto")
            if stated == "false" or (stated == "auto" and not (self.settings.autolimits and lower < upper)):
                continue
            if attribute == "range":
                turned = self.settings.angle if kind == "hinge" else float
                out["lower"], out["upper"] = turned(float(lower)), turned(float(upper))
            else:
                out["torque"] = max(abs(float(lower)), abs(float(upper))) or math.inf
        return out

    def _inertia(self, link: str, items: Sequence[Item]) -> None:
        stated = next((i for i in items if i.element.tag == "inertial"), None)
        rule = self.settings.inertiafromgeom
        total = np.zeros(10)
        if stated is not None:
            total = self.inertials[link] = self._stated_inertia(link, stated)
            self.inertial_items[link] = stated
        if rule == "true" or (rule == "auto" and stated is None):
            geoms = [i for i in items if i.element.tag == "geom"]
            derived = sum(
                (inertia.change_frame(geom_inertia(self.settings, i.element, i.childclass), *i.pose) for i in geoms), np.zeros(10)
            )
            total = derived if derived[9] else total
        if np.any(total):
            self.inertials[link] = total

    def _stated_inertia(self, link: str, item: Item) -> Array:
        element, settings = item.element, self.settings
        attributes = {str(k): str(v) for k, v in element.attrib.items()}
        text(self.document, element, "pos")
        text(self.document, element, "mass")
        mass = settings.number(element, attributes, "mass")
        if mass < 0:
            message = f"{self.document.path.name}:{element.sourceline}: body '{link}' has the negative mass {mass:g}"
            warnings.warn(ModelWarning(message), stacklevel=2)
        if "fullinertia" in attributes:
            if "diaginertia" in attributes or attributes.keys() & ORIENTATIONS.keys():
                raise self.document.error(
                    element, f"the <inertial> of body '{link}' has fullinertia and also diaginertia or an orientation"
                )
            xx, yy, zz, xy, xz, yz = settings.numbers(element, attributes, "fullinertia", 6, ())
            central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            R = settings.rotation(element, attributes)
            central = R @ np.diag(settings.numbers(element, attributes, "diaginertia", 3, ORIGIN)) @ R.T
        return inertia.change_frame(
            inertia.from_com(mass, settings.numbers(element, attributes, "pos", 3, ORIGIN), central), *item.pose
        )

    def _equalities(self, kind: str) -> list[Element]:
        """Equality constraints of a kind that are switched on."""
        return [
            element
            for section in children(self.document.root, "equality")
            for element in children(section, kind)
            if self.settings.attributes(element, "main").get("active") != "false"
        ]

    def _closures(self) -> Iterator[TreeClosure]:
        """Points and frames of two bodies that coincide."""
        for kind in ("connect", "weld"):
            for element in self._equalities(kind):
                first, second = self._sites(element) if element.get("site1") else self._ends(element, kind)
                yield TreeClosure(first, second, kind == "connect", line_of(element))

    def _sites(self, element: Element) -> tuple[Placed, Placed]:
        ends = []
        for key in ("site1", "site2"):
            name = element.get(key, "")
            if name not in self.sites:
                raise self.document.error(element, f"names the site '{name}', which the file does not have")
            link, item = self.sites[name]
            R, p = compose(*item.pose, *self._pose(item.element, item.childclass))
            ends.append(Placed(link, R, p))
        return ends[0], ends[1]

    def _ends(self, element: Element, kind: str) -> tuple[Placed, Placed]:
        """The point or frame in both bodies: where nothing else is said, what coincides in the file's own pose."""
        names = element.get("body1", WORLD), element.get("body2", WORLD)
        for name in names:
            if name not in self.rest:
                raise self.document.error(element, f"names the body '{name}', which the file does not have")
        attributes = self.settings.attributes(element, "main")
        anchor = vector(self.settings.numbers(element, attributes, "anchor", 3, ORIGIN))
        first, second = (Placed(name, *self.rest[name]) for name in names)
        R, p = np.array(first.rotation), np.array(first.position)
        between = compose(R.T, -R.T @ p, second.rotation, second.position)  # first <- second
        if kind == "connect":
            back = np.array(between[0]).T @ (np.array(anchor) - between[1])
            return Placed(names[0], IDENTITY, anchor), Placed(names[1], IDENTITY, vector(back))
        pose = self.settings.numbers(element, attributes, "relpose", 7, (0.0,) * 7)
        if np.any(pose[3:]):
            between = matrix(squared_up(quaternion_matrix(np.array(pose[3:])))), vector(pose[:3])
        return Placed(names[0], *compose(*between, IDENTITY, anchor)), Placed(names[1], IDENTITY, anchor)

    def _coupled(self) -> list[TreeJoint]:
        """The joints with what equality constraints of joints say of them, and which have no actuator where others have one."""
        named = {joint.name: k for k, joint in enumerate(self.joints)}
        out = list(self.joints)
        for element in self._equalities("joint"):
            attributes = self.settings.attributes(element, "main")
            name, leader = attributes.get("joint1", ""), attributes.get("joint2", "")
            for unknown in (x for x in (name, leader) if (x or x == name) and x not in named):
                raise self.document.error(element, f"names the joint '{unknown}', which the file does not have")
            if out[named[name]].follows is not None:
                raise self.document.error(
                    element, f"is the second equality that couples joint '{name}' to another; keep one", name
                )
            polynomial = self.settings.numbers(element, attributes, "polycoef", None, (0.0, 1.0, 0.0, 0.0, 0.0))
            shifted = np.polynomial.Polynomial(polynomial)(np.polynomial.Polynomial([-self.refs.get(leader, 0.0), 1.0]))
            ratio = np.array(shifted.coef if leader else polynomial[:1], float)
            ratio[0] += self.refs.get(name, 0.0)
            out[named[name]] = replace(out[named[name]], follows=leader, ratio=tuple(ratio.tolist()))
        drives = {
            element.get("joint") or element.get("jointinparent")
            for section in children(self.document.root, "actuator")
            for element in children(section)
        }
        return [replace(joint, passive=bool(drives) and joint.name not in drives) for joint in out]


def _placed(joint: TreeJoint, pose: Pose, anchor: Array, ref: float) -> TreeJoint:
    """The joint of a body that has this pose at the coordinate `ref`; its axis goes through `anchor`."""
    a = np.array(joint.axis)
    if joint.kind == "prismatic":
        R, p = compose(*pose, IDENTITY, -ref * a)
        return replace(joint, rotation=R, position=p)
    offset = anchor - (anchor @ a) * a  # along the axis any point is as good
    offset = np.where(np.abs(offset) < 1e-12, 0.0, offset)
    R, p = compose(*pose, turn(a, -ref), offset)
    return replace(joint, rotation=R, position=p, arm=vector(0.0 - offset))
