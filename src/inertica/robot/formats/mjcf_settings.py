"""What an MJCF file says once for all its elements: compiler, option, default classes; and the orientations it allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.robot.model import EARTH, Vector, exact_cos_sin, rotation_x, rotation_y, rotation_z, vector
from inertica.robot.xmlfile import Document, Element, children, describe, parse_floats

Attributes = Mapping[str, str]

ORIENTATIONS = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}
"""The attributes that may give an orientation, with how many numbers each has."""

FLATTEN = ("include", "replicate", "composite", "flexcomp", "attach")


@dataclass(frozen=True)
class Settings:
    """Global statements of an MJCF file.

    Args:
        document: the file.
        degrees: whether angles are in degrees.
        eulerseq: order of Euler angles, lower case about moving, upper case about fixed axes.
        autolimits: whether a range alone makes a joint limited.
        inertiafromgeom: true, false or auto.
        groups: geoms of these groups count for inertia, first and last.
        gravity: in the world.
        defaults: class -> element -> attributes, inherited ones included.
        notes: on statements that are not followed.
    """

    document: Document
    degrees: bool
    eulerseq: str
    autolimits: bool
    inertiafromgeom: str
    groups: tuple[float, float]
    gravity: Vector
    defaults: Mapping[str, Mapping[str, Attributes]]
    notes: tuple[str, ...]

    def attributes(self, element: Element, childclass: str) -> dict[str, str]:
        """The attributes of an element with those of its class; an orientation of its own replaces any of the class."""
        name = element.get("class", childclass)
        if name not in self.defaults:
            raise self.document.error(element, f"{describe(element)} is of class '{name}', which no <default> defines")
        stated = {str(k): str(v) for k, v in element.attrib.items()}
        inherited = dict(self.defaults[name].get(str(element.tag), {}))
        if stated.keys() & ORIENTATIONS.keys():
            inherited = {k: v for k, v in inherited.items() if k not in ORIENTATIONS}
        return inherited | stated

    def numbers(
        self, element: Element, attributes: Attributes, name: str, count: int | None, default: tuple[float, ...]
    ) -> Array:
        """Finite numbers of a possibly inherited attribute."""
        if name not in attributes:
            return np.array(default, float)
        return parse_floats(self.document, element, name, attributes[name], count)

    def number(self, element: Element, attributes: Attributes, name: str, default: float = 0.0) -> float:
        return float(self.numbers(element, attributes, name, 1, (default,))[0])

    def rotation(self, element: Element, attributes: Attributes) -> Array:
        """The rotation of an element in its parent."""
        stated = [name for name in ORIENTATIONS if name in attributes]
        if not stated:
            return np.eye(3)
        if len(stated) > 1:
            raise self.document.error(element, f"{describe(element)} gives its orientation twice, by {stated[0]} and {stated[1]}")
        values = self.numbers(element, attributes, stated[0], ORIENTATIONS[stated[0]], ())
        if stated[0] != "euler" and not all(np.any(part) for part in _vectors(stated[0], values)):
            raise self.document.error(element, f"{stated[0]} of {describe(element)} is zero")
        return self._rotation(stated[0], values)

    def angle(self, value: float) -> float:
        return math.radians(value) if self.degrees else value

    def _rotation(self, kind: str, v: Array) -> Array:
        if kind == "quat":
            return quaternion_matrix(v)
        if kind == "axisangle":
            return turn(v[:3], self.angle(float(v[3])))
        if kind == "xyaxes":
            return _from_axes(v[:3], v[3:])
        if kind == "zaxis":
            return z_to(v)
        R = np.eye(3)
        for letter, value in zip(self.eulerseq, v, strict=True):
            turned = {"x": rotation_x, "y": rotation_y, "z": rotation_z}[letter.lower()](self.angle(float(value)))
            R = R @ turned if letter.islower() else turned @ R
        return R


def read_settings(document: Document) -> Settings:
    """The global statements of a document; FileError for those that change its meaning in ways not followed here."""
    root = document.root
    if root.tag != "mujoco":
        raise document.error(root, f"an MJCF file starts with <mujoco>, this file with <{root.tag}>")
    for element in root.iter(*FLATTEN):
        problem = f"<{element.tag}> is not supported; save the compiled model (mujoco.mj_saveLastXML) and use that file"
        raise document.error(element, problem)
    compiler = _merged(root, "compiler")
    option = _merged(root, "option")
    _check_compiler(document, compiler)
    gravity = vector(parse_floats(document, root, "gravity", option["gravity"], 3)) if "gravity" in option else EARTH
    if any(flag.get("gravity") == "disable" for o in children(root, "option") for flag in children(o, "flag")):
        gravity = (0.0, 0.0, 0.0)
    groups = parse_floats(document, root, "inertiagrouprange", compiler.get("inertiagrouprange", "0 5"), 2)
    return Settings(
        document,
        degrees=compiler.get("angle", "degree") == "degree",
        eulerseq=compiler.get("eulerseq", "xyz"),
        autolimits=compiler.get("autolimits", "true") == "true",
        inertiafromgeom=compiler.get("inertiafromgeom", "auto"),
        groups=(float(groups[0]), float(groups[1])),
        gravity=gravity,
        defaults=_defaults(document),
        notes=_ignored(document, compiler, option),
    )


def quaternion_matrix(quaternion: Array) -> Array:
    """The rotation of a quaternion w x y z of any length."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def turn(axis: Array, angle: float) -> Array:
    """Rotation by an angle about an axis of any length, exact at right angles about coordinate axes."""
    a = axis / np.linalg.norm(axis)
    c, s = exact_cos_sin(angle)
    cross = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return np.outer(a, a) + c * (np.eye(3) - np.outer(a, a)) + s * cross


def z_to(direction: Array) -> Array:
    """The smallest rotation that turns the z axis into a direction."""
    d = direction / np.linalg.norm(direction)
    axis = np.cross([0.0, 0.0, 1.0], d)
    sine = float(np.linalg.norm(axis))
    return turn(axis if sine > 1e-10 else np.array([1.0, 0.0, 0.0]), math.atan2(sine, float(d[2])))


def _from_axes(x: Array, y: Array) -> Array:
    x = x / np.linalg.norm(x)
    y = y - (x @ y) * x
    y = y / np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])


def _vectors(kind: str, values: Array) -> list[Array]:
    """The parts of an orientation that must not vanish."""
    if kind == "xyaxes":
        return [values[:3], np.cross(values[:3], values[3:])]
    return [values[:3]] if kind == "axisangle" else [values]


def _merged(root: Element, tag: str) -> dict[str, str]:
    """Attributes of all sections of that tag; later ones win, as in MuJoCo."""
    return {str(k): str(v) for section in children(root, tag) for k, v in section.attrib.items()}


def _check_compiler(document: Document, compiler: Attributes) -> None:
    element = next(children(document.root, "compiler"), document.root)
    if float(parse_floats(document, element, "settotalmass", compiler.get("settotalmass", "-1"), 1)[0]) > 0:
        raise document.error(element, "compiler settotalmass rescales all masses; save the compiled model and use that file")
    if compiler.get("coordinate", "local") != "local":
        raise document.error(element, "compiler coordinate='global' is not supported; save the model with a current MuJoCo first")
    words = {"angle": ("degree", "radian"), "inertiafromgeom": ("true", "false", "auto"), "autolimits": ("true", "false")}
    for name, valid in words.items():
        if compiler.get(name, valid[0]) not in valid:
            raise document.error(element, f"compiler {name}='{compiler[name]}' is unknown; use {', '.join(valid)}")
    if len(seq := compiler.get("eulerseq", "xyz")) != 3 or not set(seq.lower()) <= set("xyz"):
        raise document.error(element, f"compiler eulerseq='{seq}' should be three letters out of x, y, z, X, Y, Z")


def _ignored(document: Document, compiler: Attributes, option: Attributes) -> tuple[str, ...]:
    notes = []
    if compiler.get("balanceinertia") == "true":
        notes.append("compiler balanceinertia is not followed; inertias are taken as they are written.")
    for name in ("boundmass", "boundinertia"):
        if np.any(parse_floats(document, document.root, name, compiler.get(name, "0"), 1)):
            notes.append(f"compiler {name} is not followed; values are taken as they are written.")
    for name in ("density", "viscosity"):
        if np.any(parse_floats(document, document.root, name, option.get(name, "0"), 1)):
            notes.append(f"option {name} (forces of a surrounding medium) is not followed.")
    return tuple(notes)


def _defaults(document: Document) -> dict[str, dict[str, dict[str, str]]]:
    classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}

    def enter(element: Element, name: str, inherited: Mapping[str, Mapping[str, str]]) -> None:
        classes_here = {tag: dict(attributes) for tag, attributes in inherited.items()}
        for child in children(element):
            if child.tag != "default":
                classes_here.setdefault(str(child.tag), {}).update({str(k): str(v) for k, v in child.attrib.items()})
        classes[name] = classes_here
        for child in children(element, "default"):
            if not child.get("class"):
                raise document.error(child, "a nested <default> lacks the attribute class")
            enter(child, str(child.get("class")), classes_here)

    for section in children(document.root, "default"):
        enter(section, "main", classes["main"])
    return classes
