"""OpenUSD: a robot as an articulation of UsdPhysics, with friction and armature as PhysX reads them.

Angles of UsdPhysics are degrees, its numbers have single precision.  Shapes for drawing and contact are not converted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from inertica import __version__
from inertica.arrays import Array
from inertica.errors import InputError
from inertica.escape import code_comment, usd_name, usd_string
from inertica.robot import inertia
from inertica.robot.formats.mjcf_write import quaternion_of
from inertica.robot.loops import require_tree
from inertica.robot.model import Joint, matrix
from inertica.robot.terms import Spring
from inertica.workflow.export.actuator_format import (
    ActuatorFile,
    ActuatorFormat,
    Destination,
    delays_in_words,
    friction_in_words,
    gains_in_words,
    zeros_in_words,
)
from inertica.workflow.export.joint_actuators import JointActuators

Pose = tuple[Array, Array]
"""Rotation and position."""

FIXED = ["float physics:mass = 1.0", "float3 physics:diagonalInertia = (1.0, 1.0, 1.0)"]
"""Of a base that stands still: what it weighs does not matter, but PhysX wants a number."""

_HEAD = """#usda 1.0
(
    defaultPrim = "{name}"
    doc = "{robot}, written by inertica {version} ({origin})"
    kilogramsPerUnit = 1
    metersPerUnit = 1
    upAxis = "Z"
)

def PhysicsScene "physicsScene"
{{
    vector3f physics:gravityDirection = {down}
    float physics:gravityMagnitude = {size!r}
}}

def Xform "{name}" (
    displayName = {title}
    prepend apiSchemas = ["PhysicsArticulationRootAPI"]
)
{{"""


def write_usd(actuators: JointActuators, to: Destination) -> ActuatorFile:
    """The articulation as text of USD; referenced elsewhere it comes without its scene, which only states gravity."""
    require_tree(actuators.description.robot, "a USD file")
    lines = [*_head(actuators), *_Articulation(actuators).lines(), "}", ""]
    lost = [*gains_in_words(actuators), *zeros_in_words(actuators), *friction_in_words(actuators), *_springs(actuators)]
    if actuators.delayed():
        lost.append(f"drives of UsdPhysics have no delay: send commands late by {delays_in_words(actuators)}")
    return ActuatorFile("\n".join(lines).encode(), (), tuple(lost))


def _head(actuators: JointActuators) -> list[str]:
    robot = actuators.description.robot
    gravity = np.array(robot.gravity)
    size = float(np.linalg.norm(gravity))
    head = _HEAD.format(
        name=usd_name(robot.name), title=usd_string(robot.name), robot=code_comment(robot.name), version=__version__,
        origin=code_comment(actuators.origin), down=_tuple(gravity / size if size else (0.0, 0.0, -1.0)), size=size,
    )  # fmt: skip
    return head.split("\n")


def _springs(actuators: JointActuators) -> tuple[str, ...]:
    layout = actuators.links.layout
    names = ", ".join(actuators.names[t.at] for t in layout.terms if isinstance(t, Spring) and actuators.links[f"Ks{t.at + 1}"])
    return (f"UsdPhysics has no springs beside its drives: the springs of {names} are not in the file",) if names else ()


class _Articulation:
    """Links beside each other at the pose of all joints at zero, and the joints between them."""

    def __init__(self, actuators: JointActuators) -> None:
        self.actuators, self.robot = actuators, actuators.links.layout.robot
        robot, taken = self.robot, set[str]()
        self.root = robot.n - 1 if robot.floating else -1
        base = robot.joints[-1].link if robot.floating else robot.base
        self.links = {self.root: _unique(base, taken)}
        self.links |= {j: _unique(robot.joints[j].link, taken) for j in range(robot.driven)}
        self.joints = [_unique(robot.joints[j].name, taken) for j in range(robot.driven)]
        self.titles = {self.root: base} | {j: robot.joints[j].link for j in range(robot.driven)}

    def lines(self) -> Iterator[str]:
        poses = self._poses()
        for j, name in self.links.items():
            yield from self._link(j, name, poses[j])
        if not self.robot.floating:
            yield from _prim("PhysicsFixedJoint", _unique("root_joint", {*self.links.values(), *self.joints}), (), [
                f"rel physics:body1 = <{self._path(self.root)}>",
            ])  # fmt: skip
        for j in range(self.robot.driven):
            yield from self._joint(j)

    def _poses(self) -> dict[int, Pose]:
        """Of links in the frame of the base."""
        poses: dict[int, Pose] = {self.root: (np.eye(3), np.zeros(3))}
        for j in (j for j in self.robot.order if j < self.robot.driven):
            joint = self.robot.joints[j]
            (R, p), turn = poses[self._parent(joint)], np.array(joint.rotation)
            poses[j] = R @ turn, p + R @ (np.array(joint.position) + turn @ joint.arm)
        return poses

    def _parent(self, joint: Joint) -> int:
        return joint.parent if joint.parent >= 0 else self.root

    def _path(self, link: int) -> str:
        return f"/{usd_name(self.robot.name)}/{self.links[link]}"

    def _link(self, j: int, name: str, pose: Pose) -> Iterator[str]:
        masses = FIXED if j < 0 else self._masses(j)
        R, p = pose
        place = [
            f"quatd xformOp:orient = {_tuple(quaternion_of(matrix(R)))}",
            f"double3 xformOp:translate = {_tuple(p)}",
            'uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]',
        ]
        schemas = ("PhysicsRigidBodyAPI", "PhysicsMassAPI")
        yield from _prim("Xform", name, schemas, [*masses, *place], self.titles[j])

    def _masses(self, j: int) -> list[str]:
        ten = self.actuators.links.link(j)
        if not inertia.physically_consistent(ten):
            raise InputError(
                f"the model is not written: PhysX takes only bodies that can exist, and no real body has the parameters of "
                f"{self.titles[j]}; use a physically consistent method, or a model with masses",
                joint=self.robot.joints[j].name,
            )
        body = inertia.to_com(ten)
        moments, axes = np.linalg.eigh(body.inertia)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        return [
            f"float physics:mass = {body.mass!r}",
            f"point3f physics:centerOfMass = {_tuple(body.com)}",
            f"float3 physics:diagonalInertia = {_tuple(moments)}",
            f"quatf physics:principalAxes = {_tuple(quaternion_of(matrix(axes)))}",
        ]

    def _joint(self, j: int) -> Iterator[str]:
        """Its frame has z along the axis, since UsdPhysics knows the three axes of a frame only."""
        joint = self.robot.joints[j]
        instance, kind = ("linear", "Prismatic") if joint.prismatic else ("angular", "Revolute")
        along = _with_third_axis(np.array(joint.axis))
        drive = self._drive(j, instance)
        schemas = [f"PhysxJointAxisAPI:{instance}", *([f"PhysicsDriveAPI:{instance}"] if drive else [])]
        lines = [
            'uniform token physics:axis = "Z"',
            f"rel physics:body0 = <{self._path(self._parent(joint))}>",
            f"rel physics:body1 = <{self._path(j)}>",
            f"point3f physics:localPos0 = {_tuple(joint.position)}",
            f"quatf physics:localRot0 = {_tuple(quaternion_of(matrix(np.array(joint.rotation) @ along)))}",
            f"point3f physics:localPos1 = {_tuple(0.0 - np.array(joint.arm))}",
            f"quatf physics:localRot1 = {_tuple(quaternion_of(matrix(along)))}",
            *self._limits(j),
            *self._axis(j, instance),
            *drive,
        ]
        yield from _prim(f"Physics{kind}Joint", self.joints[j], schemas, lines, joint.name)

    def _per_degree(self, j: int) -> float:
        """What a number per rad is multiplied by."""
        return 1.0 if self.robot.joints[j].prismatic else math.pi / 180.0

    def _limits(self, j: int) -> list[str]:
        ends = {"lowerLimit": self.robot.limits.lower[j], "upperLimit": self.robot.limits.upper[j]}
        degree = self._per_degree(j)
        return [f"float physics:{name} = {float(end) / degree!r}" for name, end in ends.items() if math.isfinite(end)]

    def _axis(self, j: int, instance: str) -> list[str]:
        """Armature and friction."""
        v, degree = self.actuators.values, self._per_degree(j)
        values = {
            "armature": v.armature[j],
            "staticFrictionEffort": v.coulomb[j],
            "dynamicFrictionEffort": v.coulomb[j],
            "viscousFrictionCoefficient": v.viscous[j] * degree,
            "maxJointVelocity": self.robot.limits.velocity[j] / degree,
        }
        return [
            f"float physxJointAxis:{instance}:{name} = {float(value)!r}" for name, value in values.items() if np.isfinite(value)
        ]

    def _drive(self, j: int, instance: str) -> list[str]:
        v, degree = self.actuators.values, self._per_degree(j)
        if j not in self.actuators.driven:
            return []
        limit = v.torque_limit[j] if math.isfinite(v.torque_limit[j]) else self.robot.limits.torque[j]
        values = {"stiffness": v.kp[j] * degree, "damping": v.kd[j] * degree, "maxForce": limit}
        start = f"drive:{instance}:physics"
        return [
            f'uniform token {start}:type = "force"',
            *(f"float {start}:{name} = {float(value)!r}" for name, value in values.items() if math.isfinite(value)),
        ]


def _prim(kind: str, name: str, schemas: Sequence[str], lines: Sequence[str], title: str = "") -> Iterator[str]:
    metadata = [f"displayName = {usd_string(title)}"] if title and title != name else []
    if schemas:
        metadata.append("prepend apiSchemas = [" + ", ".join(f'"{schema}"' for schema in schemas) + "]")
    yield f'    def {kind} "{name}"' + (" (" if metadata else "")
    yield from (f"        {line}" for line in metadata)
    yield from ["    )"] if metadata else []
    yield "    {"
    yield from (f"        {line}" for line in lines)
    yield "    }"


def _with_third_axis(axis: Array) -> Array:
    """A rotation whose third column is the axis."""
    first = np.eye(3)[int(np.argmin(np.abs(axis)))]
    second = np.cross(axis, first)
    second /= np.linalg.norm(second)
    return np.column_stack([np.cross(second, axis), second, axis])


def _tuple(values: Sequence[float] | Array) -> str:
    return "(" + ", ".join(repr(float(value)) for value in values) + ")"


def _unique(name: str, taken: set[str]) -> str:
    """A name of a prim that no sibling has."""
    stem = usd_name(name)
    free = stem
    count = 1
    while free in taken:
        count += 1
        free = f"{stem}_{count}"
    taken.add(free)
    return free


USD = ActuatorFormat("usd", "an articulation of UsdPhysics", ".usda", write_usd)
