"""Robots to and from the objects of other programs: Pinocchio's `Model` and MuJoCo's `MjSpec`.

What comes in is kept as an MJCF file with a robot card, so that results can be saved and values written back as for any other robot.
"""

from __future__ import annotations

import atexit
import math
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from inertica.arrays import Array
from inertica.errors import InputError, ModelWarning
from inertica.escape import file_stem
from inertica.frames import optional
from inertica.robot import inertia
from inertica.robot.cardwrite import limits_entry
from inertica.robot.description import Description
from inertica.robot.floating import require_fixed_base
from inertica.robot.formats.mjcf import MJCF
from inertica.robot.formats.mjcf_write import WORLD, mjcf_text
from inertica.robot.formats.model_format import ModelFormat
from inertica.robot.layout import Layout, Parameters
from inertica.robot.load import load
from inertica.robot.loops import require_tree
from inertica.robot.model import Joint, Limits, Robot, matrix, squared_up, vector
from inertica.workflow.export.held import held
from inertica.workflow.identify.result import Result
from inertica.writing import write_whole

Model = Result | Description | Parameters | str | Path

PINOCCHIO = replace(MJCF, holds=("Ia", "Fv", "Fc"))
"""What its models have a place for: as MJCF, but no springs."""

HUGE = 1e300
"""Limits beyond this are none; Pinocchio writes the largest number there is."""


def to_pinocchio(model: Model) -> Any:
    """A `pinocchio.Model` with the same links, drive inertia, viscous and Coulomb friction, and limits.

    Its configuration and velocity are q and dq of the robot, joint by joint.  Note that Pinocchio's `rnea` counts armature but no
    friction.  What it has no place for is said in a warning.

    Examples:
        >>> ia.to_pinocchio("card.yaml").nv
        3
    """
    pin = optional("pinocchio", "a Pinocchio model", "pin")
    parameters = _plain(model, "a Pinocchio model", PINOCCHIO)
    robot = parameters.layout.robot
    require_fixed_base(robot, "a Pinocchio model")
    require_tree(robot, "a Pinocchio model")
    out = pin.Model()
    out.name = robot.name
    out.gravity.linear = np.array(robot.gravity)
    for j, joint in enumerate(robot.joints):
        arm = np.zeros(3) if joint.parent < 0 else np.array(robot.joints[joint.parent].arm)
        kind = pin.JointModelPrismaticUnaligned if joint.prismatic else pin.JointModelRevoluteUnaligned
        placement = pin.SE3(np.array(joint.rotation), arm + np.array(joint.position))
        bounds = [np.array([x]) for x in _finite(robot.limits, j)]
        index = out.addJoint(joint.parent + 1, kind(np.array(joint.axis)), placement, joint.name, *bounds)
        body = inertia.to_com(inertia.change_frame(parameters.link(j), np.eye(3), joint.arm))
        out.appendBodyToJoint(index, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
        out.addBodyFrame(joint.link, index, pin.SE3(np.eye(3), np.array(joint.arm)), 0)
    for attribute, symbol in (("armature", "Ia"), ("damping", "Fv"), (dry_friction_field(out), "Fc")):
        setattr(out, attribute, np.array([parameters[f"{symbol}{j + 1}"] for j in range(robot.n)]))
    if hasattr(out, "lowerDryFrictionLimit"):
        out.lowerDryFrictionLimit = -np.array(out.upperDryFrictionLimit)
    return out


def from_pinocchio(model: Any, file: str | Path | None = None) -> Description:
    """A robot of a `pinocchio.Model` whose joints turn or slide about one axis each.

    Args:
        model: the model.
        file: where to keep it as MJCF, with a card beside it; a folder that goes when the program ends by default.

    Examples:
        >>> ia.from_pinocchio(ia.to_pinocchio("card.yaml"), "arm.xml").robot.n
        3
    """
    pin = optional("pinocchio", "a Pinocchio model", "pin")
    robot, tens = _robot_of(pin, model)
    drives = {"Ia": model.armature, "Fv": model.damping, "Fc": getattr(model, dry_friction_field(model))}
    layout = held(Layout(robot).zeros(), PINOCCHIO).parameters.layout
    values = {name: float(v) for j, ten in enumerate(tens) for name, v in zip(layout.names[layout.link(j)], ten, strict=True)}
    values |= {f"{symbol}{j + 1}": float(x) for symbol, xs in drives.items() for j, x in enumerate(xs)}
    return _through_a_file(
        mjcf_text(layout.zeros("pinocchio").replaced(values)), robot.name, file, robot.joint_names, robot.limits
    )


def to_mujoco(model: Model) -> Any:
    """A `mujoco.MjSpec` with the same links, armature, damping, friction loss, springs, gravity and limits; shapes are not converted.

    Examples:
        >>> ia.to_mujoco("card.yaml").compile().nv
        3
    """
    mujoco = optional("mujoco", "an MjSpec")
    return mujoco.MjSpec.from_string(mjcf_text(_plain(model, "an MjSpec", MJCF)))


def from_mujoco(spec: Any, file: str | Path | None = None) -> Description:
    """A robot of a `mujoco.MjSpec`.

    Args:
        spec: of the model; it is copied and compiled, as MuJoCo asks before it writes XML.
        file: where to keep it as MJCF; a folder that goes when the program ends by default.

    Examples:
        >>> ia.from_mujoco(ia.to_mujoco("card.yaml"), "arm2.xml").robot.n
        3
    """
    copy = spec.copy()
    copy.compile()
    return _through_a_file(copy.to_xml(), str(copy.modelname or "robot"), file)


def _plain(model: Model, what: str, form: ModelFormat) -> Parameters:
    """Values of what has a place; the rest is told."""
    description = load(model) if isinstance(model, (str, Path)) else model
    parameters = (
        description.prior
        if isinstance(description, Description)
        else description.parameters
        if isinstance(description, Result)
        else description
    )
    parts = held(parameters, form)
    if parts.left:
        warnings.warn(ModelWarning(f"{what} has no place for {', '.join(parts.left)}"), stacklevel=3)
    return parts.parameters


def _finite(limits: Limits, j: int) -> list[float]:
    """Effort, velocity, lower and upper limit, infinite ones as large numbers."""
    values = (limits.torque[j], limits.velocity[j], limits.lower[j], limits.upper[j])
    return [x if math.isfinite(x) else math.copysign(float(np.finfo(float).max), x) for x in values]


def dry_friction_field(model: Any) -> str:
    """Pinocchio 4 has friction limits for either direction."""
    return "upperDryFrictionLimit" if hasattr(model, "upperDryFrictionLimit") else "friction"


def _robot_of(pin: Any, model: Any) -> tuple[Robot, list[Array]]:
    """Geometry and ten parameters per link; the axis is the joint's column of its own Jacobian."""
    data = model.createData()
    pin.computeJointJacobians(model, data, pin.neutral(model))
    bodies = {f.parentJoint: f.name for f in reversed(list(model.frames)) if f.type == pin.FrameType.BODY}
    joints, tens, limits = [], [], []
    for i in range(1, model.njoints):
        name, nv = model.names[i], model.joints[i].nv
        column = (
            pin.getJointJacobian(model, data, i, pin.ReferenceFrame.LOCAL)[:, model.joints[i].idx_v] if nv == 1 else np.ones(6)
        )
        slides, turns = np.any(np.abs(column[:3]) > 1e-12), np.any(np.abs(column[3:]) > 1e-12)
        if slides == turns:
            raise InputError(
                f"joint {name} of {model.name} is a {model.joints[i].shortname()}; joints are read that turn or slide about one axis",
                joint=str(name),
            )
        axis = squared_up_axis(column[:3] if slides else column[3:])
        place = model.jointPlacements[i]
        link = bodies.get(i, f"{name}_link")
        joints.append(
            Joint(
                name, f"{link}_body" if link == WORLD else link, model.parents[i] - 1, matrix(squared_up(place.rotation)),
                vector(place.translation), axis, bool(slides),
            )
        )  # fmt: skip
        body = model.inertias[i]
        tens.append(inertia.from_com(body.mass, body.lever, body.inertia))
        limits.append(_limits_of(model, i))
    lower, upper, velocity, torque = (tuple(column) for column in zip(*limits, strict=True))
    robot_limits = Limits(lower, upper, velocity, (math.inf,) * len(joints), torque)
    return Robot(model.name or "robot", tuple(joints), vector(model.gravity.linear), robot_limits), tens


def squared_up_axis(axis: Array) -> tuple[float, float, float]:
    """A unit vector without the dust of rounding."""
    clean = np.where(np.abs(axis) < 1e-12, 0.0, axis)
    return vector(clean / np.linalg.norm(clean))


def _limits_of(model: Any, i: int) -> tuple[float, float, float, float]:
    joint = model.joints[i]
    k, v = joint.idx_q, joint.idx_v
    bounded = joint.nq == 1  # an unbounded joint has cosine and sine instead
    low, high = (
        float(x[k]) if bounded else s * math.inf for x, s in ((model.lowerPositionLimit, -1), (model.upperPositionLimit, 1))
    )
    speed, effort = (float(getattr(model, name)[v]) for name in (_upper(model, "Velocity"), _upper(model, "Effort")))
    return tuple(math.copysign(math.inf, x) if abs(x) > HUGE else x for x in (low, high, speed, effort))  # type: ignore[return-value]


def _upper(model: Any, what: str) -> str:
    return f"upper{what}Limit" if hasattr(model, f"upper{what}Limit") else f"{what.lower()}Limit"


def _through_a_file(
    text: str, name: str, file: str | Path | None, joints: Sequence[str] | None = None, limits: Limits | None = None
) -> Description:
    """Writes MJCF text, with a card for what it cannot say, and reads it."""
    path = Path(file) if file is not None else _folder() / f"{file_stem(name)}.xml"
    write_whole(path, text)
    if limits is None:
        return load(path)
    card = path.with_suffix(".yaml")
    stated = {"model": path.name, "name": name, "joints": list(joints or ()), "limits": limits_entry(limits)}
    write_whole(card, yaml.safe_dump(stated, sort_keys=False))
    return load(card)


def _folder() -> Path:
    path = Path(tempfile.mkdtemp(prefix="inertica-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
