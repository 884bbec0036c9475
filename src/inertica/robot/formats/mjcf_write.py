"""A new MJCF file of a robot, for results whose model came in another format: joints, inertias, armature, damping, friction,
springs, gravity.

Shapes for drawing and contact are not converted; every body has one joint, links that do not move are part of the one that carries
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.escape import xml_comment
from inertica.robot import inertia
from inertica.robot.layout import Parameters
from inertica.robot.loops import require_tree
from inertica.robot.model import IDENTITY, ORIGIN, Joint, Matrix, Robot
from inertica.robot.terms import Spring
from inertica.robot.writeback import MARK, label_texts, numbers

WORLD = "world"
FILL = {"armature": "Ia", "damping": "Fv", "frictionloss": "Fc", "stiffness": "Ks"}


def mjcf_text(parameters: Parameters, labels: Mapping[str, str] | None = None) -> str:
    """The file as text.

    Args:
        parameters: of links, and Ia, Fv, Fc, Ks by name where the layout has them; every link must be a body that can exist.
        labels: parameter name -> trust label, written as a comment into each body.
    """
    robot = parameters.layout.robot
    require_tree(robot, "a new MJCF file")
    _check(parameters)
    lines = [
        f"<mujoco model={quoteattr(robot.name)}>",
        '  <compiler angle="radian" autolimits="true"/>',
        f'  <option gravity="{numbers(robot.gravity)}"/>',
        "  <worldbody>",
    ]
    words = label_texts(parameters, labels or {})
    lines += _bodies(parameters, words, -1, "    ")
    return "\n".join([*lines, "  </worldbody>", "</mujoco>", ""])


def _check(parameters: Parameters) -> None:
    """What MuJoCo would refuse is refused here, with a sentence."""
    robot = parameters.layout.robot
    for j in robot.links:
        joint = robot.joints[j]
        if not inertia.physically_consistent(parameters.link(j)):
            raise InputError(
                f"the model is not written: MuJoCo refuses moving bodies that cannot exist, and no real body has the parameters of "
                f"{joint.link}; use a physically consistent method",
                joint=joint.name,
            )
        if joint.link == WORLD:
            raise InputError("the model is not written: in MJCF the name 'world' belongs to the base, and a moving link has it")


def _bodies(parameters: Parameters, words: Mapping[int, str], parent: int, indent: str) -> list[str]:
    """The bodies that a link carries, each with those that it carries."""
    robot, out = parameters.layout.robot, []
    for j in robot.links:
        joint, free = robot.joints[j], robot.floating and j == robot.n - 1
        if (-1 if free else joint.parent) != parent:
            continue
        out.append(f"{indent}<body name={quoteattr(joint.link)}{_pose(joint)}>")
        if j in words:
            out.append(f"{indent}  {xml_comment(f'{MARK}: {words[j]}')}")
        out.append(f"{indent}  {_inertial(parameters.link(j))}")
        out.append(f"{indent}  {'<freejoint/>' if free else _joint(robot, j, parameters)}")
        out += _bodies(parameters, words, j, indent + "  ")
        out.append(f"{indent}</body>")
    return out


def _pose(joint: Joint) -> str:
    """Where the link frame is in its parent's with the joint at zero."""
    position = np.array(joint.position) + np.array(joint.rotation) @ joint.arm
    text = f' pos="{numbers(position)}"' if np.any(position) else ""
    return text + (f' quat="{numbers(quaternion_of(joint.rotation))}"' if joint.rotation != IDENTITY else "")


def _inertial(ten: Array) -> str:
    body = inertia.to_com(ten)
    full = body.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return f'<inertial pos="{numbers(body.com)}" mass="{body.mass!r}" fullinertia="{numbers(full)}"/>'


def _joint(robot: Robot, j: int, parameters: Parameters) -> str:
    joint, limits = robot.joints[j], robot.limits
    kind = "slide" if joint.prismatic else "hinge"
    text = f'<joint name={quoteattr(joint.name)} type="{kind}" axis="{numbers(joint.axis)}"'
    if joint.arm != ORIGIN:
        text += f' pos="{numbers(0.0 - np.array(joint.arm))}"'
    if math.isfinite(limits.lower[j]) and math.isfinite(limits.upper[j]):
        text += f' range="{numbers((limits.lower[j], limits.upper[j]))}"'
    if math.isfinite(limits.torque[j]):
        text += f' actuatorfrcrange="{numbers((-limits.torque[j], limits.torque[j]))}"'
    for attribute, symbol in FILL.items():
        name = f"{symbol}{j + 1}"
        value = parameters[name] if name in parameters.layout.names else 0.0
        text += f' {attribute}="{value!r}"' if value else ""
    rest = next((t.rest for t in parameters.layout.terms if isinstance(t, Spring) and t.at == j), 0.0)
    return text + (f' springref="{rest!r}"/>' if rest else "/>")


def quaternion_of(rotation: Matrix) -> Array:
    """w x y z of a rotation matrix, w not negative; from the largest component, which loses no digits (Shepperd)."""
    R = np.array(rotation)
    t = np.trace(R)
    squares = np.array([t, R[0, 0], R[1, 1], R[2, 2]])
    k = int(np.argmax(squares))
    if k == 0:
        q = np.array([1.0 + t, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i, j, m = ((0, 1, 2), (1, 2, 0), (2, 0, 1))[k - 1]
        q = np.empty(4)
        q[0] = R[m, j] - R[j, m]
        q[1 + i] = 1.0 + R[i, i] - R[j, j] - R[m, m]
        q[1 + j] = R[j, i] + R[i, j]
        q[1 + m] = R[m, i] + R[i, m]
    q = q / np.linalg.norm(q)
    return np.where(q == 0.0, 0.0, -q if q[0] < 0.0 else q)
