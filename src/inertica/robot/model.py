"""The robot as a kinematic tree: what is known before any motion, and nothing that identification would find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.display import html_table, titled
from inertica.errors import InputError
from inertica.scalars import HUGE

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]

IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ORIGIN: Vector = (0.0, 0.0, 0.0)
EARTH: Vector = (0.0, 0.0, -9.81)

UPRIGHT = 1e-6
"""rad; gravity this close to -z of the base counts as upright."""


@dataclass(frozen=True)
class Length:
    """A named constant of the geometry and how it enters a joint: it moves `position` or `arm` by value * direction.

    Names are those of the source (`a3`, `d4` of a DH table; `x3`, `y3`, `z3` otherwise) and appear in grouping relations.
    """

    name: str
    value: float
    direction: Vector
    of: str = "position"


@dataclass(frozen=True)
class Joint:
    """A joint of the tree: where it sits in its parent link, how it moves, and which link it carries.

    The link frame is parallel to the joint frame; its origin lies at `arm` from a point of the axis (zero for every source but
    distal DH tables whose parameters are stated about the far end of the link).
    """

    name: str
    link: str
    parent: int  # index of the joint that carries the parent link, -1 for the base
    rotation: Matrix = IDENTITY  # parent <- link, at q = 0
    position: Vector = ORIGIN  # a point of the axis, in the parent link frame
    axis: Vector = (0.0, 0.0, 1.0)  # unit vector in the link frame
    prismatic: bool = False
    arm: Vector = ORIGIN  # from that point to the link origin, in the link frame
    lengths: tuple[Length, ...] = ()

    @property
    def unit(self) -> str:
        """Unit of the joint's coordinate."""
        return "m" if self.prismatic else "rad"

    @property
    def effort_unit(self) -> str:
        return "N" if self.prismatic else "N m"


@dataclass(frozen=True)
class Limits:
    """Limits per joint, infinite where the source states none.  SI units."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity: tuple[float, ...]
    acceleration: tuple[float, ...]
    torque: tuple[float, ...]

    @classmethod
    def none(cls, n: int) -> Limits:
        inf = (math.inf,) * n
        return cls((-math.inf,) * n, inf, inf, inf, inf)


FREE = 6
"""Degrees of freedom of a floating base."""


class Closure(Protocol):
    """What ties joints together besides the tree; see `closures.py`."""

    @property
    def words(self) -> str:
        """For messages."""

    def involved(self, joints: Sequence[Joint]) -> frozenset[int]:
        """Joints that its errors depend on."""

    def errors(self, joints: Sequence[Joint], q: Sequence[Any]) -> list[Any]:
        """What is zero where it holds."""

    def columns(self, joints: Sequence[Joint], q: Sequence[Any]) -> dict[int, list[Any]]:
        """Joint -> derivatives of the errors."""


@dataclass(frozen=True)
class Loops:
    """Closed loops of a robot; `loops.py` makes them.

    Args:
        closures: all of them hold at any time.
        dependent: joints whose positions follow from those of the others, by number.
        start: (n,) positions at which the loops are closed; others are reached from there.
    """

    closures: tuple[Closure, ...]
    dependent: tuple[int, ...]
    start: tuple[float, ...]


@dataclass(frozen=True)
class Robot:
    """A tree of revolute and prismatic joints; parents come before their children, but for the joints of a floating base.

    A base that floats hangs on six joints without drives, which follow the robot's own: three slides and three turns, of which the
    last carries the base and the others links without mass; see `floating.py`.

    Args:
        name: what to call it.
        joints: one per degree of freedom; joint i carries link i.
        gravity: acceleration of free fall in the base frame; in the world for a base that floats.
        limits: of each joint.
        base: name of the link that does not move.
        floating: whether the last six joints are those of a floating base.
        loops: what ties joints together besides the tree; None for a tree.
    """

    name: str
    joints: tuple[Joint, ...]
    gravity: Vector = EARTH
    limits: Limits = field(default=None)  # type: ignore[assignment]
    base: str = "base"
    floating: bool = False
    loops: Loops | None = None

    def __post_init__(self) -> None:
        before = {-1}
        for i in self.order:
            joint = self.joints[i]
            if joint.parent not in before:
                raise InputError(
                    f"{self.name}: joint {joint.name} comes before the joint that carries it; list parents first",
                    joint=joint.name,
                )
            before.add(i)
            length = math.sqrt(sum(x * x for x in joint.axis))
            if abs(length - 1.0) > 1e-9:
                raise InputError(f"{self.name}: the axis of joint {joint.name} has length {length:g}, not 1", joint=joint.name)
        if any(isinstance(g, float) and not abs(g) <= HUGE for g in self.gravity):  # traced kernels have symbols there
            raise InputError(f"{self.name}: gravity of {' '.join(f'{g:g}' for g in self.gravity)} m/s^2 cannot be computed with")
        if self.limits is None:
            object.__setattr__(self, "limits", Limits.none(len(self.joints)))

    def __repr__(self) -> str:
        kinds = "".join("P" if joint.prismatic else "R" for joint in self.joints[: self.driven])
        base = ", floating base" * self.floating
        base += f", {len(self.dependent)} of them in closed loops" if self.dependent else ""
        return f"Robot({self.name}: {self.driven} joints {kinds}{base}, gravity {' '.join(f'{g:g}' for g in self.gravity)})"

    def _repr_html_(self) -> str:
        rows = [
            [
                k + 1, joint.name, "prismatic" if joint.prismatic else "revolute", joint.link,
                self.base if joint.parent < 0 else self.joints[joint.parent].link,
                *(_words(v) for v in (joint.axis, joint.position)),
                *(_words((x,)) for x in (lower, upper, speed, effort)),
            ]
            for k, (joint, lower, upper, speed, effort) in enumerate(
                zip(
                    self.joints, self.limits.lower, self.limits.upper, self.limits.velocity, self.limits.torque, strict=True
                )
            )
        ]  # fmt: skip
        columns = ("", "joint", "type", "link", "on", "axis", "position", "lower", "upper", "velocity", "torque")
        return titled(repr(self), html_table(columns, rows))

    @property
    def n(self) -> int:
        """Number of joints, those of a floating base among them."""
        return len(self.joints)

    @property
    def driven(self) -> int:
        """Number of joints of the robot's own, which come first."""
        return self.n - FREE * self.floating

    @property
    def dependent(self) -> tuple[int, ...]:
        """Joints that follow from others by closed loops; their efforts count as those of the joints that they follow."""
        return () if self.loops is None else self.loops.dependent

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """The robot's own joints but for those that follow from others."""
        return tuple(j for j in range(self.driven) if j not in self.dependent)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Joints from the base outwards: every joint after the one that carries it."""
        return outwards(self.joints)

    @cached_property
    def links(self) -> tuple[int, ...]:
        """Joints whose link is a body, from the base outwards; the first five of a floating base carry none."""
        return self.order[FREE - 1 :] if self.floating else self.order

    def number(self, i: int) -> str:
        """What names of the parameters of link i end in: the 1-based number of its joint, 0 for a base that floats."""
        return "0" if self.floating and i == self.n - 1 else str(i + 1)

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(j.name for j in self.joints)

    def joint_index(self, name: str | int) -> int:
        """0-based index of a joint given by name or by its 1-based number."""
        if isinstance(name, int) and 1 <= name <= self.n:
            return name - 1
        if name in self.joint_names:
            return self.joint_names.index(str(name))
        raise InputError(f"{self.name} has no joint '{name}'; its joints are {', '.join(self.joint_names)}")

    def ancestors(self, i: int) -> list[int]:
        """Joint i and all joints that carry it, from i to the base."""
        path = []
        while i >= 0:
            path.append(i)
            i = self.joints[i].parent
        return path

    @property
    def upright(self) -> bool:
        """Whether gravity points along -z of the base."""
        x, y, z = self.gravity
        return z < 0.0 and math.hypot(x, y) <= UPRIGHT * -z

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        return replace(self, gravity=vector(gravity))

    def with_lengths(self, values: dict[str, float]) -> Robot:
        """The same robot with other values for some named lengths; used to tell which length a coefficient comes from."""
        return replace(self, joints=tuple(_stretched(j, values) for j in self.joints))


def outwards(joints: Sequence[Joint]) -> tuple[int, ...]:
    """Joints in an order in which none comes before the one that carries it: by number, but those of a floating base first."""
    n = len(joints)
    first = next((i for i in range(n) if joints[i].parent < 0), 0)
    return (*range(first, n), *range(first))


def _words(values: tuple[float, ...]) -> str:
    return " ".join(f"{x + 0.0:.4g}" if math.isfinite(x) else "-" for x in values)


def vector(values: ArrayLike) -> Vector:
    x, y, z = (float(v) for v in np.asarray(values, float))
    return (x, y, z)


def matrix(values: ArrayLike) -> Matrix:
    a, b, c = np.asarray(values, float)
    return (vector(a), vector(b), vector(c))


def cartesian_lengths(number: int, position: Vector) -> tuple[Length, ...]:
    """The non-zero coordinates of a joint's position as named lengths x3, y3, z3 (3 = the joint's 1-based number)."""
    units = (("x", (1.0, 0.0, 0.0)), ("y", (0.0, 1.0, 0.0)), ("z", (0.0, 0.0, 1.0)))
    return tuple(Length(f"{c}{number}", v, unit) for (c, unit), v in zip(units, position, strict=True) if v)


def rotation_x(angle: float) -> NDArray[np.float64]:
    c, s = exact_cos_sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def rotation_y(angle: float) -> NDArray[np.float64]:
    c, s = exact_cos_sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def rotation_z(angle: float) -> NDArray[np.float64]:
    c, s = exact_cos_sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


RIGHT_ANGLE_TOLERANCE = 1e-5
"""Angles this close to a multiple of 90 degrees are taken as that multiple: files print pi/2 as 1.5708."""


def exact_cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine, exact at right angles so that structural zeros of the geometry stay zeros."""
    quarter = round(angle / (math.pi / 2))
    if abs(angle - quarter * math.pi / 2) <= RIGHT_ANGLE_TOLERANCE:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return math.cos(angle), math.sin(angle)


def rpy_matrix(rpy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotation of fixed-axis roll, pitch, yaw, exact at right angles."""
    roll, pitch, yaw = (float(a) for a in rpy)
    return squared_up(rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll))


def squared_up(rotation: ArrayLike) -> NDArray[np.float64]:
    """A rotation matrix whose entries within the tolerance of 0 and +-1 are exactly that, when it stays a rotation."""
    R = np.asarray(rotation, float)
    snapped = np.where(np.abs(R) < RIGHT_ANGLE_TOLERANCE, 0.0, R)
    snapped = np.where(np.abs(np.abs(snapped) - 1.0) < 1e-9, np.sign(snapped), snapped)
    return snapped if np.abs(snapped @ snapped.T - np.eye(3)).max() < 1e-12 else R


def _stretched(joint: Joint, values: dict[str, float]) -> Joint:
    change: dict[str, NDArray[np.float64]] = {"position": np.zeros(3), "arm": np.zeros(3)}
    lengths: list[Length] = []
    for length in joint.lengths:
        new = values.get(length.name, length.value)
        change[length.of] += (new - length.value) * np.array(length.direction)
        lengths.append(replace(length, value=new))
    return replace(
        joint,
        position=vector(np.array(joint.position) + change["position"]),
        arm=vector(np.array(joint.arm) + change["arm"]),
        lengths=tuple(lengths),
    )
