"""Independent models to compare with: our robots inside Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from generators import states
from inertica.dynamics.engine import Engine
from inertica.robot import inertia
from inertica.robot.layout import Layout
from inertica.robot.model import Robot

SAMPLES = 5


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


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300))


def check_against_pinocchio(layout: Layout, tens: np.ndarray, armature: np.ndarray, seed: int) -> None:
    """Regressor, inverse dynamics, mass matrix, bias and forward dynamics of links with armature."""
    robot = layout.robot
    engine = Engine(layout, threads=1)
    model = pinocchio_model(robot, tens, armature)
    data = model.createData()
    chi = np.zeros(layout.size)
    for j in range(robot.n):
        chi[layout.link(j)] = tens[j]
        chi[layout.index(f"Ia{j + 1}")] = armature[j]
    q, dq, ddq = states(seed, SAMPLES, robot.n)
    tau = np.array([pin.rnea(model, data, *s) for s in zip(q, dq, ddq, strict=True)])
    inertial = [np.r_[layout.link(j)] for j in range(robot.n)]
    found = engine.regressor(q, dq, ddq)[:, :, np.concatenate(inertial)]
    if not any(any(j.arm) for j in robot.joints):  # Pinocchio's regressor is about the joint's point
        expected = np.array([pin.computeJointTorqueRegressor(model, data, *s).copy() for s in zip(q, dq, ddq, strict=True)])
        expected = expected.reshape(SAMPLES, robot.n, -1)
        order = np.concatenate([10 * j + np.argsort(inertia.to_pinocchio(np.arange(10))) for j in range(robot.n)])
        assert relative(found, expected[:, :, order]) < 1e-10
    assert relative(found @ tens.ravel() + armature * ddq, tau) < 1e-10
    assert relative(engine.inverse_dynamics(q, dq, ddq, chi), tau) < 1e-10
    M = np.array([pin.crba(model, data, x).copy() for x in q]).reshape(SAMPLES, robot.n, robot.n)
    M = np.triu(M) + np.swapaxes(np.triu(M, 1), 1, 2)
    assert relative(engine.mass_matrix(q, chi), M) < 1e-10
    h = np.array([pin.nle(model, data, x, v).copy() for x, v in zip(q, dq, strict=True)])
    assert relative(engine.bias_forces(q, dq, chi), h) < 1e-10
    expected = np.array([pin.aba(model, data, *s) for s in zip(q, dq, tau, strict=True)])
    assert relative(engine.forward_dynamics(q, dq, tau, chi), expected) < 1e-10
