"""Robots with a floating base inside Pinocchio: a free-flyer, whose velocity is the twist in the frame of the base."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from inertica.dynamics.engine import Engine
from inertica.robot import floating, inertia
from inertica.robot.layout import Layout
from inertica.robot.model import FREE, Robot
from referee import relative


def robot_data() -> Path:
    """The folder of robots of the package example-robot-data; the test is skipped without it."""
    try:
        folder = Path(str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")))
    except PackageNotFoundError:
        pytest.skip("the package example-robot-data is not installed")
    return folder


def flyer(robot: Robot, tens: np.ndarray) -> pin.Model:
    """The free-flyer of a robot of ours; ten parameters for every link of `robot.links`."""
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    index = {robot.n - 1: model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "flyer")}
    for j in range(robot.driven):
        joint = robot.joints[j]
        at = pin.SE3(np.array(joint.rotation), np.array(joint.position) + robot.joints[joint.parent].arm)
        kind = pin.JointModelPrismaticUnaligned if joint.prismatic else pin.JointModelRevoluteUnaligned
        index[j] = model.addJoint(index[joint.parent], kind(np.array(joint.axis)), at, joint.name)
    for j, ten in zip(robot.links, tens, strict=True):
        body = inertia.to_com(inertia.change_frame(ten, np.eye(3), robot.joints[j].arm))
        model.appendBodyToJoint(index[j], pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
    return model


def placed(model: pin.Model, robot: Robot) -> np.ndarray:
    """Where Pinocchio has the efforts of our joints: the driven ones, then the force and the moment on the base."""
    driven = [model.joints[model.getJointId(name)].idx_v for name in robot.joint_names[: robot.driven]]
    return np.array([*driven, *range(FREE)])


def configuration(model: pin.Model, robot: Robot, q: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Pinocchio's configuration at our joint coordinates and an orientation of the base."""
    out = pin.neutral(model)
    out[3:7] = pin.Quaternion(rotation).coeffs()
    for name, x in zip(robot.joint_names[: robot.driven], q, strict=False):
        joint = model.joints[model.getJointId(name)]
        out[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
    return out


def regressor(model: pin.Model, robot: Robot, at: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """(n, 10 links) in our order of rows, links and parameters."""
    Y = np.asarray(pin.computeJointTorqueRegressor(model, model.createData(), at, velocity, acceleration))
    names = ["flyer", *robot.joint_names[: robot.driven]]
    ten = np.argsort(inertia.to_pinocchio(np.arange(10)))
    return Y[placed(model, robot)][:, np.concatenate([10 * (model.getJointId(name) - 1) + ten for name in names])]


def check_wrench(layout: Layout, chi: np.ndarray, model: pin.Model, seed: int) -> None:
    """Regressor and inverse dynamics with twist and specific force as inputs: efforts of the base joints are its own wrench."""
    robot, rng = layout.robot, np.random.default_rng(seed)
    engine, where, n = Engine(layout, threads=1), placed(model, robot), robot.driven
    q, dq, ddq = rng.normal(size=(3, 5, n))
    twist, acceleration = rng.normal(size=(2, 5, FREE))
    expected, rows, force = [], [], np.empty((5, 3))
    for k in range(5):
        R = np.asarray(pin.rpy.rpyToMatrix(*rng.uniform(-np.pi, np.pi, 3)))
        velocity, rate = np.empty(model.nv), np.empty(model.nv)
        velocity[where], rate[where] = [*dq[k], *twist[k]], [*ddq[k], *acceleration[k]]
        at = configuration(model, robot, q[k], R)
        force[k] = acceleration[k, :3] + np.cross(twist[k, 3:], twist[k, :3]) - R.T @ robot.gravity
        expected.append(pin.rnea(model, model.createData(), at, velocity, rate)[where])
        rows.append(regressor(model, robot, at, velocity, rate))
    base = floating.in_base_frame(twist[:, 3:], acceleration[:, 3:], force, robot.gravity)
    motion = [np.concatenate(pair, axis=1) for pair in zip((q, dq, ddq), base, strict=True)]
    order = [*range(n), *n + np.array([0, 1, 2, 5, 4, 3])]  # moments about x, y, z are those of roll, pitch, yaw
    assert relative(engine.inverse_dynamics(*motion, chi)[:, order], np.array(expected)) < 1e-10
    if not any(any(joint.arm) for joint in robot.joints):  # Pinocchio's regressor is about the joint's point
        inertial = np.concatenate([np.arange(layout.size)[layout.link(j)] for j in robot.links])
        assert relative(engine.regressor(*motion)[:, order][:, :, inertial], np.array(rows)) < 1e-10


def check_coordinates(layout: Layout, chi: np.ndarray, model: pin.Model, seed: int) -> None:
    """Inverse dynamics, mass matrix and forward dynamics along the path of the base, with textbook rates of yaw, pitch, roll."""
    robot, rng = layout.robot, np.random.default_rng(seed)
    engine, data, where, n = Engine(layout, threads=1), model.createData(), placed(model, robot), robot.driven
    q, dq, ddq = rng.normal(size=(3, 5, robot.n))
    tau, M = np.empty((5, robot.n)), np.empty((5, robot.n, robot.n))
    for k in range(5):
        (_, b, c), (db, dc) = q[k, n + 3 :], dq[k, n + 4 :]
        sb, cb, sc, cc = np.sin(b), np.cos(b), np.sin(c), np.cos(c)
        R = np.asarray(pin.rpy.rpyToMatrix(*q[k, n + 3 :][::-1]))
        E = np.array([[-sb, 0, 1], [sc * cb, cc, 0], [cc * cb, -sc, 0]])
        dE = np.array([[-cb * db, 0, 0], [cc * dc * cb - sc * sb * db, -sc * dc, 0], [-sc * dc * cb - cc * sb * db, -cc * dc, 0]])
        J = np.zeros((model.nv, robot.n))
        J[where[:n], range(n)], J[:3, n : n + 3], J[3:6, n + 3 :] = 1.0, R.T, E
        velocity, rate = J @ dq[k], J @ ddq[k]
        rate[3:6] += dE @ dq[k, n + 3 :]
        rate[:3] -= np.cross(velocity[3:6], velocity[:3])
        at = configuration(model, robot, q[k], R)
        tau[k] = J.T @ pin.rnea(model, data, at, velocity, rate)
        upper = np.triu(pin.crba(model, data, at))
        M[k] = J.T @ (upper + np.triu(upper, 1).T) @ J
    assert relative(engine.inverse_dynamics(q, dq, ddq, chi), tau) < 1e-10
    assert relative(engine.mass_matrix(q, chi), M) < 1e-10
    assert relative(engine.forward_dynamics(q, dq, tau, chi), ddq) < 1e-7


def rank(model: pin.Model, robot: Robot, rows: slice, seed: int = 5) -> int:
    """Numerical rank of Pinocchio's regressor over random motions of the free-flyer, on some rows in our order."""
    rng = np.random.default_rng(seed)
    stack = []
    for _ in range(40 + 4 * robot.n):
        q, R = rng.uniform(-3, 3, robot.driven), np.asarray(pin.rpy.rpyToMatrix(*rng.uniform(-3, 3, 3)))
        at = configuration(model, robot, q, R)
        stack.append(regressor(model, robot, at, *rng.normal(size=(2, model.nv)))[rows])
    W = np.concatenate(stack)
    norms = np.linalg.norm(W, axis=0)
    s = np.linalg.svd(W / np.where(norms > 1e-12 * norms.max(), norms, 1.0), compute_uv=False)
    return int(np.sum(s > 1e-9 * s[0]))
