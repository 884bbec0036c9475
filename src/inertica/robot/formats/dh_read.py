"""DH YAML: robots given by a Denavit-Hartenberg table, proximal ("modified") or distal ("standard").

Proximal: T(j-1, j) = RotX(alpha) TransX(a) RotZ(q + theta) TransZ(d).
Distal:   T(j-1, j) = RotZ(q + theta) TransZ(d) TransX(a) RotX(alpha); the axes of link j are those of frame j, and
`parameter_frame: {origin: j | j-1}` says whether its inertial parameters are about o_j or about o_(j-1), where its joint sits.
On a prismatic joint q adds to d instead of theta.  Values are written back by `dh_write.py`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from inertica.errors import ModelWarning
from inertica.robot import inertia
from inertica.robot.description import Description, Source
from inertica.robot.layout import Layout, Parameters
from inertica.robot.model import (
    EARTH,
    Joint,
    Length,
    Robot,
    Vector,
    exact_cos_sin,
    matrix,
    rotation_x,
    rotation_y,
    rotation_z,
    squared_up,
    vector,
)
from inertica.robot.options import OPTION_KEYS, apply_options, fixed_values, plain_layout, read_options
from inertica.robot.settings import Convert, as_given, read_limits, read_loop, read_names, read_noise, read_shapes, read_values
from inertica.robot.stated import read_constraints
from inertica.robot.yamlfile import Item, read_yaml

FILE_KEYS = (
    *("name", "about", "joints", "types", "angles", "dh", "parameter_frame", "gravity", "base", "home", "limits"),
    *OPTION_KEYS,
    *("links", "extra", "shapes", "loop", "noise", "friction_sets", "sampling", "reference", "origin", "constraints"),
)
CONVENTIONS = {"proximal": "proximal", "modified": "proximal", "distal": "distal", "standard": "distal"}
ORIGINS = ("j", "j-1")


@dataclass(frozen=True)
class Table:
    """A DH table in SI units.

    Args:
        alpha, a, d, theta: one entry per joint.
        prismatic: which joints slide.
        distal: the convention.
        near: distal only: parameters are about o_(j-1) instead of o_j.
    """

    alpha: tuple[float, ...]
    a: tuple[float, ...]
    d: tuple[float, ...]
    theta: tuple[float, ...]
    prismatic: tuple[bool, ...]
    distal: bool = False
    near: bool = False

    @property
    def n(self) -> int:
        return len(self.a)


def read_dh(path: str | Path) -> Description:
    """Reads a DH YAML file."""
    return describe(read_yaml(path))


def describe(root: Item) -> Description:
    """The description of a parsed DH file."""
    keys = root.mapping(FILE_KEYS, required=("dh",))
    robot, home = _read_robot(root, keys)
    options = read_options(keys, robot)
    with root.located():
        layout = apply_options(options, plain_layout(robot), keys.get("fixed"))
    values = read_link_values(keys, layout) | fixed_values(options)
    origin = keys["origin"].plain() if "origin" in keys else {}
    marks = origin if isinstance(origin, dict) else {"links": origin}
    prior = Parameters(layout, np.zeros(layout.size), origin=str(marks.get("links", "file"))).replaced(values)
    return Description(
        robot,
        layout,
        prior,
        Source("dh", root.path),
        friction_stated=bool(options.friction_stated),
        loop=read_loop(keys["loop"], robot.n) if "loop" in keys else None,
        noise=read_noise(keys["noise"], robot.n) if "noise" in keys else {},
        friction_sets=keys["friction_sets"].plain() if "friction_sets" in keys else {},
        home=home,
        shapes=read_shapes(keys["shapes"], robot) if "shapes" in keys else {},
        constraints=read_constraints(keys["constraints"], layout) if "constraints" in keys else {},
        reference=_reference(keys, marks),
        notes=_doubts(prior) if "links" in keys else (f"{robot.name}: the file gives no inertial values",),
    )


def _read_robot(root: Item, keys: Mapping[str, Item]) -> tuple[Robot, tuple[float, ...]]:
    degrees = "angles" in keys and keys["angles"].text(("rad", "deg")) == "deg"
    table = _read_table(keys, degrees)
    convert = _from_degrees(table) if degrees else as_given
    names = read_names(keys["joints"], table.n) if "joints" in keys else tuple(f"joint{j + 1}" for j in range(table.n))
    links = _link_names(keys, table.n)
    joints = _on_base(keys["base"], joints_of(table, names, links), degrees) if "base" in keys else joints_of(table, names, links)
    name = keys["name"].text() if "name" in keys else root.path.stem
    robot = Robot(name, joints, keys["gravity"].vector() if "gravity" in keys else EARTH)
    if "limits" in keys:
        robot = replace(robot, limits=read_limits(keys["limits"], robot, convert))
    home = keys["home"].numbers(table.n) if "home" in keys else (0.0,) * table.n
    return robot, tuple(convert(j, v) for j, v in enumerate(home))


def _from_degrees(table: Table) -> Convert:
    return lambda joint, value: value if table.prismatic[joint] else math.radians(value)


def _read_table(keys: Mapping[str, Item], degrees: bool) -> Table:
    dh = keys["dh"].mapping(("convention", "alpha", "a", "d", "theta", "theta_offset"), required=("convention",))
    columns = [dh[c] for c in ("alpha", "a", "d", "theta", "theta_offset") if c in dh]
    if not columns:
        raise keys["dh"].fail("dh needs the columns alpha, a, d and theta, one value per joint")
    n = len(keys["types"].items()) if "types" in keys else max(len(c.items()) for c in columns)
    if n == 0:
        raise columns[0].fail(f"{columns[0].key} is empty; a robot has at least one joint")
    if "theta" in dh and "theta_offset" in dh:
        raise dh["theta"].fail("dh has both theta and theta_offset; they mean the same, leave one of them out")

    def column(*names: str, angle: bool = False) -> tuple[float, ...]:
        item = next((dh[c] for c in names if c in dh), None)
        values = (0.0,) * n if item is None else item.numbers(n)
        return tuple(math.radians(v) for v in values) if angle and degrees else values

    distal = CONVENTIONS[dh["convention"].text(CONVENTIONS)] == "distal"
    near = _reads_near_origin(keys, distal)
    prismatic = _prismatic(keys["types"], n) if "types" in keys else (False,) * n
    alpha, theta = column("alpha", angle=True), column("theta", "theta_offset", angle=True)
    return Table(alpha, column("a"), column("d"), theta, prismatic, distal, near)


def _prismatic(item: Item, n: int) -> tuple[bool, ...]:
    types = [entry.text(("R", "P")) for entry in item.items()]
    if len(types) != n:
        raise item.fail(f"{item.key} has {len(types)} values for {n} joints")
    return tuple(t == "P" for t in types)


def _reads_near_origin(keys: Mapping[str, Item], distal: bool) -> bool:
    if "parameter_frame" not in keys:
        return False
    item = keys["parameter_frame"]
    origin = item.mapping(("origin",), required=("origin",))["origin"].text(ORIGINS)
    if not distal and origin == "j-1":
        raise item.fail("parameter_frame origin j-1 is for distal tables; proximal link frames sit on their own joint")
    return origin == "j-1"


def _link_names(keys: Mapping[str, Item], n: int) -> tuple[str, ...]:
    if "links" not in keys:
        return tuple(f"link{j + 1}" for j in range(n))
    entries = keys["links"].items()
    if len(entries) != n:
        raise keys["links"].fail(f"links has {len(entries)} entries for {n} joints")
    names = [entry.mapping().get("name") for entry in entries]
    return tuple(f"link{j + 1}" if name is None else name.text() for j, name in enumerate(names))


def joints_of(table: Table, names: Sequence[str], links: Sequence[str]) -> tuple[Joint, ...]:
    """The joints of a DH table."""
    make = _distal_joint if table.distal else _proximal_joint
    return tuple(make(table, j, names[j], links[j]) for j in range(table.n))


def _proximal_joint(table: Table, j: int, name: str, link: str) -> Joint:
    c, s = exact_cos_sin(table.alpha[j])
    lengths = _lengths(table, j, (0.0, -s, c), "position")
    rotation = rotation_x(table.alpha[j]) @ rotation_z(table.theta[j])
    return Joint(name, link, j - 1, matrix(rotation), _sum(lengths), prismatic=table.prismatic[j], lengths=lengths)


def _distal_joint(table: Table, j: int, name: str, link: str) -> Joint:
    """Link axes are those of frame j, so the joint's axis is RotX(-alpha) z in them."""
    c, s = exact_cos_sin(table.alpha[j])
    rotation = matrix(rotation_z(table.theta[j]) @ rotation_x(table.alpha[j]))
    axis = (0.0, s, c)
    if not table.near:
        arm = _lengths(table, j, axis, "arm")
        return Joint(name, link, j - 1, rotation, axis=axis, prismatic=table.prismatic[j], arm=_sum(arm), lengths=arm)
    before: tuple[Length, ...] = ()
    if j:
        c, s = exact_cos_sin(table.alpha[j - 1])
        before = _lengths(table, j - 1, (0.0, s, c), "position")
    return Joint(name, link, j - 1, rotation, _sum(before), axis, table.prismatic[j], lengths=before)


def _lengths(table: Table, j: int, along_d: Vector, of: str) -> tuple[Length, ...]:
    """a and d of row j as named lengths, without those that are zero."""
    both = (Length(f"a{j + 1}", table.a[j], (1.0, 0.0, 0.0), of), Length(f"d{j + 1}", table.d[j], along_d, of))
    return tuple(length for length in both if length.value)


def _sum(lengths: tuple[Length, ...]) -> Vector:
    return vector(sum((length.value * np.array(length.direction) for length in lengths), np.zeros(3)))


def _on_base(item: Item, joints: tuple[Joint, ...], degrees: bool) -> tuple[Joint, ...]:
    """The same joints on a base placed in the world; gravity is stated in the world, so the first joint takes the placement."""
    keys = item.mapping(("translation", "rotation", "rpy"))
    translation = np.array(keys["translation"].vector()) if "translation" in keys else np.zeros(3)
    R = _base_rotation(item, keys, degrees)
    first = joints[0]
    lengths = tuple(
        replace(length, direction=vector(R @ length.direction)) for length in first.lengths if length.of == "position"
    )
    on_base = replace(
        first,
        rotation=matrix(squared_up(R @ np.array(first.rotation))),
        position=vector(translation + R @ np.array(first.position)),
        lengths=lengths + tuple(length for length in first.lengths if length.of != "position"),
    )
    return (on_base, *joints[1:])


def _base_rotation(item: Item, keys: Mapping[str, Item], degrees: bool) -> np.ndarray:
    if "rpy" in keys and "rotation" in keys:
        raise item.fail("base has both rpy and rotation; leave one of them out")
    if "rpy" in keys:
        roll, pitch, yaw = (math.radians(v) if degrees else v for v in keys["rpy"].vector())
        return np.asarray(rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll))
    if "rotation" not in keys or (keys["rotation"].is_scalar and keys["rotation"].text(("identity",))):
        return np.eye(3)
    R = np.array(keys["rotation"].matrix(3, 3, "coordinates"))
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
        raise keys["rotation"].fail("base.rotation is not a rotation matrix")
    return squared_up(R)


def read_link_values(keys: Mapping[str, Item], layout: Layout) -> dict[str, float]:
    """Parameter values stated under `links` (names without their number) and `extra` (full names)."""
    values: dict[str, float] = {}
    for j, item in enumerate(keys["links"].items() if "links" in keys else []):
        link = item.mapping(("name", *symbols_of(layout, j)))
        values |= {f"{symbol}{j + 1}": entry.number() for symbol, entry in link.items() if symbol != "name"}
        if values.get(f"M{j + 1}", 0.0) <= 0.0:
            name = layout.robot.joints[j].link
            stated_mass = f"a mass of {values[f'M{j + 1}']:g} kg" if f"M{j + 1}" in values else "no mass"
            warnings.warn(f"{item.path}:{item.line}: {name} has {stated_mass}", ModelWarning, stacklevel=2)
    for name, value in (read_values(keys["extra"], layout) if "extra" in keys else {}).items():
        if name in values:
            raise keys["extra"].fail(f"extra gives {name}, which links gives too; leave one of them out")
        values[name] = value
    return values


def symbols_of(layout: Layout, j: int) -> list[str]:
    """Names a link's mapping may use: the parameters that end in its number, without the number."""
    number = str(j + 1)
    return [p.name.removesuffix(number) for p in layout.parameters if p.joint == j and p.name.endswith(number)]


def _reference(keys: Mapping[str, Item], marks: Mapping[str, Any]) -> dict[str, Any]:
    """Free remarks of the file; what has no field of its own in a description goes here too."""
    out: dict[str, Any] = {}
    if "reference" in keys:
        remarks = keys["reference"].plain()
        out = dict(remarks) if isinstance(remarks, dict) else {"remarks": remarks}
    for key in ("about", "sampling"):
        if key in keys:
            out[key] = keys[key].plain()
    return out | ({"origin": dict(marks)} if marks else {})


def _doubts(prior: Parameters) -> tuple[str, ...]:
    joints = prior.layout.robot.joints
    return tuple(
        f"{joints[j].link}: no real body has these inertial values"
        for j in range(len(joints))
        if not inertia.physically_consistent(prior.link(j))
    )
