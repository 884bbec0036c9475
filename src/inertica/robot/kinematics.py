"""Poses of joints, and vectors of three scalars of any type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from inertica.robot.model import Joint, Robot
from inertica.scalars import Scalar, cos, sin

Vector: TypeAlias = Sequence[Scalar]


@dataclass(frozen=True)
class Pose:
    """A joint at its current coordinate: cos q, sin q (revolute) or the slide (prismatic)."""

    joint: Joint
    c: Scalar = 1.0
    s: Scalar = 0.0
    slide: Scalar = 0.0

    def to_child(self, v: Vector) -> Vector:
        """Rotate a vector from the parent's coordinates into the child's."""
        r = self.joint.rotation
        return rotated(self.joint.axis, self.c, 0.0 - self.s, [dot((r[0][i], r[1][i], r[2][i]), v) for i in range(3)])

    def to_parent(self, v: Vector) -> Vector:
        """Rotate a vector from the child's coordinates into the parent's."""
        turned = rotated(self.joint.axis, self.c, self.s, v)
        return [dot(row, turned) for row in self.joint.rotation]

    def point(self) -> Vector:
        """The point of the joint axis that moves with the child, in the parent frame."""
        along = [dot(row, self.joint.axis) for row in self.joint.rotation]
        return add(self.joint.position, scale(self.slide, along))


def poses(robot: Robot, q: Vector) -> list[Pose]:
    """All joints at their coordinates."""
    return [pose(j, x) for j, x in zip(robot.joints, q, strict=True)]


def pose(joint: Joint, x: Scalar) -> Pose:
    """A joint at its coordinate."""
    return Pose(joint, slide=x) if joint.prismatic else Pose(joint, cos(x), sin(x))


def rotated(axis: Vector, c: Scalar, s: Scalar, v: Vector) -> Vector:
    """Rotate v about a constant unit axis; constants fold away when the axis is a coordinate axis."""
    along = dot(axis, v)
    parallel = [along * a for a in axis]
    return [k + c * (x - k) + s * y for k, x, y in zip(parallel, v, cross(axis, v), strict=True)]


def dot(a: Vector, b: Vector) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def times(A: Sequence[Vector], v: Vector) -> Vector:
    return [dot(row, v) for row in A]


def add(a: Vector, b: Vector) -> list[Scalar]:
    return [x + y for x, y in zip(a, b, strict=True)]


def scale(k: Scalar, v: Vector) -> list[Scalar]:
    return [k * x for x in v]
