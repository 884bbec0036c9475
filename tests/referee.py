"""Independent models to compare with: our robots inside Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from inertica.robot import inertia
from inertica.robot.model import Robot


def pinocchio_model(robot: Robot, tens: ArrayLike, armature: ArrayLike | None = None) -> pin.Model:
    """A Pinocchio model of a robot with ten inertial parameters per link; configuration and velocity are our q and dq.

    Pinocchio's bodies sit in a frame on the joint axis; ours may have their origin at `arm` from it.
    """
    model = pin.Model()
    model.name = robot.name
    model.gravity.linear = np.array(robot.gravity)
    for joint, ten in zip(robot.joints, np.asarray(tens, float).reshape(-1, 10), strict=True):
        parent_arm = np.zeros(3) if joint.parent < 0 else np.array(robot.joints[joint.parent].arm)
        placement = pin.SE3(np.array(joint.rotation), parent_arm + np.array(joint.position))
        kind = pin.JointModelPrismaticUnaligned if joint.prismatic else pin.JointModelRevoluteUnaligned
        index = model.addJoint(joint.parent + 1, kind(np.array(joint.axis)), placement, joint.name)
        body = inertia.to_com(inertia.change_frame(ten, np.eye(3), joint.arm))
        model.appendBodyToJoint(index, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
    if armature is not None:
        model.armature = np.asarray(armature, float)
    return model


def inverse_dynamics(
    robot: Robot, tens: ArrayLike, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, armature: ArrayLike | None = None
):
    """Torques of rigid links and armatures, by Pinocchio."""
    model = pinocchio_model(robot, tens, armature)
    return pin.rnea(model, model.createData(), np.asarray(q, float), np.asarray(dq, float), np.asarray(ddq, float))
