"""Constraints and kinematics: against Pinocchio, against differences, and what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import inertica as ia
from generators import random_parameters, random_robot, random_tens, rich_layout, states
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation import HalfSpaces, JointLimits, Samples, TorqueLimits, above, robot_constraints, within_box
from inertica.excitation.constraints import usual_margin
from inertica.excitation.kinematics import frames
from inertica.excitation.softened import softened
from inertica.robot.model import Limits
from referee import pinocchio_model


@pytest.mark.parametrize("seed", range(12))
def test_frames_agree_with_pinocchio(seed):
    robot = random_robot(seed)
    model = pinocchio_model(robot, random_tens(np.random.default_rng(seed), robot.n))
    data = model.createData()
    q, _, _ = states(seed, 5, robot.n)
    placed = frames(robot, q)
    for k in range(5):
        pin.computeJointJacobians(model, data, q[k])
        for j, joint in enumerate(robot.joints):
            M = data.oMi[j + 1]
            origin = M.act(np.array(joint.arm))
            assert np.allclose(placed.rotation[k, j], M.rotation, atol=1e-12)
            assert np.allclose(placed.origin[k, j], origin, atol=1e-12)
            J = pin.getJointJacobian(model, data, j + 1, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            expected = J[:3] + np.cross(J[3:].T, origin - M.translation).T
            assert np.allclose(placed.jacobian(j, placed.point(j))[k], expected, atol=1e-12)


def test_base_translation_counts():
    """The shoulder of the TX40 stands 0.32 m above the base: stretched upwards its last frame is at 0.32 + 0.225 + 0.225."""
    robot = ia.load("tx40").robot
    assert frames(robot, np.zeros((1, 6))).point(-1)[0, 2] == pytest.approx(0.77)


def _random_limits(n):
    rng = np.random.default_rng(1)
    a, b, c, d = rng.uniform(0.5, 2.0, (4, n))
    return Limits(tuple(-a), tuple(b), tuple(c), tuple(d), tuple(rng.uniform(1.0, 5.0, n)))


def _constraints(seed=6, n=4):
    robot = replace(random_robot(seed, n), limits=_random_limits(n))
    layout = softened(rich_layout(robot), 0.05)
    chi = random_parameters(layout, 0).values
    return robot, [
        JointLimits(robot, robot.limits, 0.1),
        TorqueLimits(Engine(layout), chi, robot.limits.torque, 0.2),
        above(robot, 0.1, frame=2, point=(0.1, 0.2, 0.3)),
        within_box(robot, (-0.5, -0.4, -np.inf), (0.3, np.inf, 0.2)),
    ]


@pytest.mark.parametrize("which", range(4))
def test_pull_agrees_with_differences(which):
    robot, constraints = _constraints()
    c = constraints[which]
    motion = Samples(*states(3, 9, robot.n))
    rng = np.random.default_rng(2)
    weights = rng.normal(size=(9, len(c.labels))) * (rng.random((9, 1)) < 0.7)
    gradient = c.gradient(motion, weights)
    for _ in range(3):
        step, h = rng.normal(size=(3, 9, robot.n)), 1e-6
        there, back = (float(np.sum(weights * c.excess(Samples(*(np.array(motion) + s * h * step))))) for s in (1, -1))
        assert (there - back) / (2 * h) == pytest.approx(float(np.sum(np.array(gradient) * step)), rel=1e-5, abs=1e-6)


def test_joint_limits_by_hand():
    robot = replace(random_robot(1, 1), limits=Limits((-1.0,), (3.0,), (2.0,), (np.inf,), (np.inf,)))
    c = JointLimits(robot, robot.limits, margin=(0.5, 0.1, 0.0))
    excess = c.excess(
        Samples(np.array([[2.8], [-0.5], [0.0]]), np.array([[0.0], [-2.0], [1.9]]), np.array([[1e9], [0.0], [0.0]]))
    )
    assert excess[0, 0] == pytest.approx(0.3 / 1.5) and excess[1, 0] == pytest.approx(0.0, abs=1e-12)
    assert excess[1, 1] == pytest.approx(0.1 / 1.9) and excess[2, 1] == pytest.approx(0.0, abs=1e-12)
    assert np.all(excess[:, 2] == -np.inf)


def test_torque_limit_by_hand():
    description = ia.load("planar2")
    engine = Engine(description.layout)
    motion = Samples(*states(0, 6, 2))
    tau = engine.inverse_dynamics(*motion, np.asarray(description.prior))
    c = TorqueLimits(engine, np.asarray(description.prior), (100.0, np.inf), 0.1)
    excess = c.excess(motion)
    assert np.allclose(excess[:, 0], np.abs(tau[:, 0]) / 90.0 - 1.0) and np.all(excess[:, 1] == -1.0)


def test_box_holds_inside_only():
    robot = ia.load("tx40").robot
    rng = np.random.default_rng(0)
    q = rng.uniform(-2, 2, (200, 6))
    p = frames(robot, q).point(-1)
    c = within_box(robot, (-0.2, -0.3, 0.1), (0.4, 0.3, 0.6))
    still = Samples(q, 0 * q, 0 * q)
    inside = np.all((p >= [-0.2, -0.3, 0.1]) & (p <= [0.4, 0.3, 0.6]), axis=1)
    assert 0 < inside.sum() < 200
    assert np.array_equal(c.excess(still).max(axis=1) <= 0.0, inside)


def test_up_is_against_gravity():
    planar = ia.load("planar2").robot
    assert above(planar, 0.0).normals == ((0.0, 1.0, 0.0),)


def test_constraints_of_a_description():
    description = ia.load("rv2sq")
    made = robot_constraints(description, Engine(description.layout), floor=0.3)
    assert [type(c).__name__ for c in made] == ["JointLimits", "TorqueLimits", "HalfSpaces"]


def test_bad_values_are_named():
    robot = ia.load("tx40").robot
    with pytest.raises(InputError, match="position limits leave no room"):
        JointLimits(robot, robot.limits, 10.0)
    with pytest.raises(InputError, match="no link 7"):
        above(robot, 0.0, frame=6)
    with pytest.raises(InputError, match="length 1"):
        HalfSpaces(robot, -1, ((0.0, 0.0, 2.0),), (0.0,))


def test_the_usual_margin_is_a_share_of_each_joints_own_limits():
    limits = Limits((-1.0, -np.inf), (3.0, np.inf), (2.0, 0.5), (np.inf, 10.0), (np.inf, np.inf))
    assert np.allclose(usual_margin(limits), [[0.08, 0.0], [0.04, 0.01], [0.0, 0.2]])
    robot = replace(random_robot(1, 2), limits=limits)
    lower, upper = JointLimits(robot, limits, usual_margin(limits)).bounds
    assert np.allclose(upper, [[2.92, np.inf], [1.96, 0.49], [np.inf, 9.8]])
    assert np.allclose(lower, [[-0.92, -np.inf], [-1.96, -0.49], [-np.inf, -9.8]])


def _scaled(robot, length, time):
    """The same robot in other units; joints without limits of velocity."""
    joints = tuple(
        replace(j, position=tuple(length * x for x in j.position), arm=tuple(length * x for x in j.arm)) for j in robot.joints
    )
    return replace(robot, joints=joints, gravity=tuple(length / time**2 * g for g in robot.gravity), limits=None)


@pytest.mark.parametrize(("length", "time"), [(0.1, 1.0), (10.0, 1.0), (1.0, 10.0), (1e3, 1e-3)])
def test_units_change_no_weight_of_places_and_no_width_of_signs(length, time):
    here = random_robot(3, 3)
    there = _scaled(here, length, time)
    q, dq, ddq = states(3, 8, 3)
    slide = np.array([length if j.prismatic else 1.0 for j in here.joints])
    near = above(_scaled(here, 1.0, 1.0), 0.1).excess(Samples(q, dq, ddq))
    far = above(there, 0.1 * length).excess(Samples(slide * q, dq, ddq))
    assert np.allclose(near, far, rtol=1e-9)
    soft = [softened(rich_layout(robot), 0.05) for robot in (_scaled(here, 1.0, 1.0), there)]
    sharp = [getattr(term, "width", None) == 0.0 and term.joint is not None for term in rich_layout(there).terms]
    assert any(sharp)
    for was_sharp, a, b in zip(sharp, *(layout.terms for layout in soft), strict=True):
        if was_sharp:
            assert b.width == pytest.approx(a.width * slide[a.joint] / time, rel=1e-9)
