"""A new SDFormat file of a robot: joints, inertias, damping, friction, springs, limits.

Shapes for drawing and contact are not converted; every link has one joint, links that do not move are part of the one that carries
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

import numpy as np

from inertica.errors import InputError
from inertica.escape import xml_comment
from inertica.robot import inertia
from inertica.robot.cardwrite import rpy_of
from inertica.robot.floating import require_fixed_base
from inertica.robot.formats.sdf_file import DYNAMICS, MODEL, PRODUCTS, SYMBOLS, WORLD
from inertica.robot.layout import Parameters
from inertica.robot.loops import require_tree
from inertica.robot.model import EARTH, Robot
from inertica.robot.terms import Spring
from inertica.robot.writeback import MARK, label_texts, numbers

VERSION = "1.9"


def sdf_text(parameters: Parameters, labels: Mapping[str, str] | None = None) -> str:
    """The file as text.

    Args:
        parameters: of links, and Fv, Fc, Ks by name where the layout has them; every link must be a body that can exist.
        labels: parameter name -> trust label, written as a comment into each link.
    """
    robot = parameters.layout.robot
    require_fixed_base(robot, "a new SDFormat file")
    require_tree(robot, "a new SDFormat file")
    _check(parameters)
    words = label_texts(parameters, labels or {})
    lines = ['<?xml version="1.0"?>', f'<sdf version="{VERSION}">']
    elsewhere = robot.gravity != EARTH  # which only a world can say
    lines += [f'  <world name="{WORLD}">', f"  <gravity>{numbers(robot.gravity)}</gravity>"] if elsewhere else []
    lines += [f"  <model name={quoteattr(robot.name)}>"]
    if robot.base != WORLD:
        lines += [
            f"    <link name={quoteattr(robot.base)}/>",
            f'    <joint name={quoteattr(f"{WORLD}_{robot.base}")} type="fixed">',
        ]
        lines += [f"      <parent>{WORLD}</parent>", f"      <child>{_escaped(robot.base)}</child>", "    </joint>"]
    for j in range(robot.n):
        lines += [*_link(parameters, j, words.get(j)), *_joint(parameters, j)]
    return "\n".join([*lines, "  </model>", *(["  </world>"] if elsewhere else []), "</sdf>", ""])


def _check(parameters: Parameters) -> None:
    """What programs would refuse is refused here, with a sentence."""
    robot = parameters.layout.robot
    taken = {robot.base, f"{WORLD}_{robot.base}"}
    for j, joint in enumerate(robot.joints):
        if not inertia.physically_consistent(parameters.link(j)):
            raise InputError(
                f"the model is not written: SDFormat holds only bodies that can exist, and no real body has the parameters of "
                f"{joint.link}; use a physically consistent method",
                joint=joint.name,
            )
        for name in (joint.link, joint.name):
            if name in taken or name == WORLD:
                raise InputError(
                    f"the model is not written: in SDFormat links and joints share their names, and '{name}' is there twice; state "
                    "other names in the card (joints: [...])",
                    joint=joint.name,
                )
            taken.add(name)


def _link(parameters: Parameters, j: int, words: str | None) -> list[str]:
    joint, body = parameters.layout.robot.joints[j], inertia.to_com(parameters.link(j))
    six = inertia.ten(body.inertia, np.zeros(3), 0.0)[:6]
    products = "".join(f"<{name}>{float(value)!r}</{name}>" for name, value in zip(PRODUCTS, six, strict=True))
    return [
        f"    <link name={quoteattr(joint.link)}>",
        *([f"      {xml_comment(f'{MARK}: {words}')}"] if words else []),
        f"      <pose relative_to={quoteattr(joint.name)}>{numbers(joint.arm)} 0 0 0</pose>",
        f"      <inertial><pose>{numbers(body.com)} 0 0 0</pose><mass>{body.mass!r}</mass><inertia>{products}</inertia></inertial>",
        "    </link>",
    ]


def _joint(parameters: Parameters, j: int) -> list[str]:
    robot = parameters.layout.robot
    joint = robot.joints[j]
    parent = robot.joints[joint.parent].link if joint.parent >= 0 else robot.base
    low, high = robot.limits.lower[j], robot.limits.upper[j]
    endless = not joint.prismatic and not (math.isfinite(low) or math.isfinite(high))
    kind = "prismatic" if joint.prismatic else "continuous" if endless else "revolute"
    relative = quoteattr(MODEL if parent == WORLD else parent)
    return [
        f'    <joint name={quoteattr(joint.name)} type="{kind}">',
        f"      <pose relative_to={relative}>{numbers(joint.position)} {numbers(rpy_of(joint.rotation))}</pose>",
        f"      <parent>{_escaped(parent)}</parent>",
        f"      <child>{_escaped(joint.link)}</child>",
        f"      <axis><xyz>{numbers(joint.axis)}</xyz>{_limit(robot, j)}{_dynamics(parameters, j)}</axis>",
        "    </joint>",
    ]


def _limit(robot: Robot, j: int) -> str:
    limits = robot.limits
    stated = {"lower": limits.lower[j], "upper": limits.upper[j], "effort": limits.torque[j], "velocity": limits.velocity[j]}
    words = "".join(f"<{name}>{value!r}</{name}>" for name, value in stated.items() if math.isfinite(value))
    return f"<limit>{words}</limit>" if words else ""


def _dynamics(parameters: Parameters, j: int) -> str:
    layout, values = parameters.layout, dict[str, float]()
    for symbol, what in SYMBOLS.items():
        name = f"{symbol}{j + 1}"
        values[what] = parameters[name] if name in layout.names else 0.0
    values["springref"] = next((t.rest for t in layout.terms if isinstance(t, Spring) and t.at == j), 0.0)
    words = "".join(f"<{DYNAMICS[what]}>{value!r}</{DYNAMICS[what]}>" for what, value in values.items() if value)
    return f"<dynamics>{words}</dynamics>" if words else ""


def _escaped(name: str) -> str:
    return quoteattr(name)[1:-1]
