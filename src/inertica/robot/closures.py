"""What ties joints of a tree together: relations of coordinates, and points or frames of two links that coincide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from inertica.errors import InputError
from inertica.robot.formula import Formula
from inertica.robot.jets import Jet, jet
from inertica.robot.kinematics import Vector, add, cross, dot, pose, scale
from inertica.robot.model import IDENTITY, ORIGIN, Joint, Matrix
from inertica.robot.model import Vector as Point
from inertica.robot.terms import State
from inertica.scalars import Scalar

_POSITION_ONLY = re.compile(r"\bd+q\d|\b(sign|abs|minimum|maximum)\b")
"""What a relation of positions cannot contain: rates, and functions that have no derivative somewhere."""


@dataclass(frozen=True)
class Relation:
    """q[joint] = formula(q): gears, belts, fingers that follow each other.

    Args:
        joint: 0-based, the one that follows.
        formula: of the positions of others.
    """

    joint: int
    formula: Formula

    def __post_init__(self) -> None:
        if bad := _POSITION_ONLY.search(self.formula.text):
            raise InputError(
                f"'{bad[0]}' in the relation '{self.formula.text}': joints follow smooth functions of positions q1, q2, ..."
            )
        if self.joint in self._others:
            raise InputError(f"the relation q{self.joint + 1} = {self.formula.text} has q{self.joint + 1} on both sides")

    @property
    def _others(self) -> frozenset[int]:
        return frozenset(int(k) - 1 for k in re.findall(r"\bq(\d+)", self.formula.text))

    @property
    def words(self) -> str:
        return f"q{self.joint + 1} = {self.formula.text}"

    def involved(self, joints: Sequence[Joint]) -> frozenset[int]:
        """Joints that its errors depend on."""
        return self._others | {self.joint}

    def errors(self, joints: Sequence[Joint], q: Sequence[Scalar]) -> list[Scalar]:
        """What is zero where it holds."""
        return [q[self.joint] - self.formula(State(q, (), ()))]

    def columns(self, joints: Sequence[Joint], q: Sequence[Scalar]) -> dict[int, list[Scalar]]:
        """Joint -> derivative of the error."""
        rates = ([Jet(x, float(i == j)) for i, x in enumerate(q)] for j in sorted(self._others))
        slopes = {j: jet(self.formula(State(x, (), ()))).rate for j, x in zip(sorted(self._others), rates, strict=True)}
        return {self.joint: [1.0]} | {j: [0.0 - slope] for j, slope in slopes.items()}


@dataclass(frozen=True)
class Frame:
    """A frame that rides on a link.

    Args:
        link: 0-based, -1 for the base.
        rotation, position: of the frame in that of the link.
        name: for messages.
    """

    link: int
    rotation: Matrix = IDENTITY
    position: Point = ORIGIN
    name: str = ""


@dataclass(frozen=True)
class Meeting:
    """Two frames whose origins coincide (`connect`), and where `turning` is False their axes, too (`weld`).

    Errors are counted in the axes of the first frame, so that a planar loop has none across its plane wherever the plane turns.
    """

    first: Frame
    second: Frame
    turning: bool = True

    @property
    def words(self) -> str:
        return f"{'connect' if self.turning else 'weld'} {self.first.name} {self.second.name}"

    def involved(self, joints: Sequence[Joint]) -> frozenset[int]:
        """Joints that its errors depend on: those that carry only one of both frames."""
        first, second = (_carriers(joints, frame.link) for frame in (self.first, self.second))
        return frozenset(first) ^ frozenset(second)

    def errors(self, joints: Sequence[Joint], q: Sequence[Scalar]) -> list[Scalar]:
        """What is zero where it holds: the way from one origin to the other, and the sines of the turn between the axes."""
        first, second = self._ends(joints, q)
        out = first.inwards([b - a for a, b in zip(first.point, second.point, strict=True)])
        if not self.turning:
            R = [first.inwards(column) for column in second.axes]  # columns of first <- second
            out += [0.5 * (R[1][2] - R[2][1]), 0.5 * (R[2][0] - R[0][2]), 0.5 * (R[0][1] - R[1][0])]
        return out

    def columns(self, joints: Sequence[Joint], q: Sequence[Scalar]) -> dict[int, list[Scalar]]:
        """Joint -> derivatives of the errors; of the turn exact where the axes coincide, which is where they matter."""
        first, second = self._ends(joints, q)
        out: dict[int, list[Scalar]] = {}
        for sign, way in ((-1.0, first.way), (1.0, second.way)):
            for j, axis, point in way:
                slides = joints[j].prismatic
                # the first frame turns with its joints, so that what counts is how they move the second one in it
                velocity = axis if slides else cross(axis, [b - a for a, b in zip(point, second.point, strict=True)])
                turned = [] if self.turning else [0.0] * 3 if slides else scale(sign, first.inwards(axis))
                out[j] = [*scale(sign, first.inwards(velocity)), *turned]
        return out

    def _ends(self, joints: Sequence[Joint], q: Sequence[Scalar]) -> tuple[_End, _End]:
        loop = self.involved(joints)
        return _end(joints, q, self.first, loop), _end(joints, q, self.second, loop)


@dataclass(frozen=True)
class _End:
    """A frame in the coordinates of what carries the loop: origin, axes, and (joint, its axis, a point of it) on the way there."""

    point: Vector
    axes: Sequence[Vector]
    way: Sequence[tuple[int, Vector, Vector]]

    def inwards(self, v: Vector) -> list[Scalar]:
        """A vector in the axes of the frame."""
        return [dot(axis, v) for axis in self.axes]


def _end(joints: Sequence[Joint], q: Sequence[Scalar], frame: Frame, loop: frozenset[int]) -> _End:
    point: Vector = ORIGIN
    axes: Sequence[Vector] = IDENTITY  # of the present link, one after the other
    way = []

    def outwards(v: Vector) -> list[Scalar]:
        return [dot([axis[k] for axis in axes], v) for k in range(3)]

    for j in reversed([j for j in _carriers(joints, frame.link) if j in loop]):
        at = pose(joints[j], q[j])
        point = add(point, outwards(at.point()))
        axes = [outwards(at.to_parent(unit)) for unit in IDENTITY]
        way.append((j, outwards(joints[j].axis), point))
        point = add(point, outwards(joints[j].arm))
    point = add(point, outwards(frame.position))
    return _End(point, [outwards(column) for column in zip(*frame.rotation, strict=True)], way)


Closure = Relation | Meeting


def _carriers(joints: Sequence[Joint], link: int) -> list[int]:
    """Joints that carry a link, from its own to the base."""
    out = []
    while link >= 0:
        out.append(link)
        link = joints[link].parent
    return out
