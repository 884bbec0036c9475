"""Closed loops: dynamics and base parameters against Pinocchio's constrained dynamics and closed forms."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from generators import random_tens
from inertica.dynamics.engine import Engine
from inertica.dynamics.equations import plain_regressor
from inertica.identifiability.base import base_model
from inertica.robot import inertia
from inertica.robot.layout import Layout
from inertica.robot.loops import complete, gap
from mechanisms import (
    MECHANISMS,
    differential_wrist,
    follow_in_pinocchio,
    four_bar,
    inside_pinocchio,
    parallelogram_arm,
    rank,
    states,
)
from referee import relative


@pytest.mark.parametrize("name", MECHANISMS)
def test_forward_dynamics_agree_with_pinocchios_constrained_ones(name: str) -> None:
    robot = MECHANISMS[name]()
    layout = Layout(robot)
    tens = random_tens(np.random.default_rng(1), robot.n)
    model, closures = inside_pinocchio(robot, tens)
    data, datas = model.createData(), pin.StdVec_RigidConstraintData()
    datas.extend(c.createData() for c in closures)
    engine, (q, dq, _) = Engine(layout, threads=1), states(robot, 10, 2)
    tau = np.random.default_rng(3).normal(size=q.shape)
    free = np.zeros(q.shape)
    free[:, robot.independent] = tau[:, robot.independent]
    settings = pin.ProximalSettings(1e-15, 1e-9, 200)  # closures that say something twice need the last bit of regularisation
    expected = np.empty(q.shape)
    pin.initConstraintDynamics(model, data, closures, datas)
    for k in range(len(q)):
        expected[k] = pin.constraintDynamics(model, data, q[k], dq[k], free[k], closures, datas, settings)
    assert relative(engine.forward_dynamics(q, dq, tau, tens.ravel()), expected) < 1e-8
    found = engine.inverse_dynamics(q, dq, expected, tens.ravel())
    assert relative(found[:, robot.independent], free[:, robot.independent]) < 1e-8
    assert not found[:, robot.dependent].any()


@pytest.mark.parametrize("name", MECHANISMS)
def test_projected_regressor_and_rank_agree_with_pinocchios(name: str) -> None:
    robot = MECHANISMS[name]()
    layout = Layout(robot)
    model, closures = inside_pinocchio(robot, random_tens(np.random.default_rng(1), robot.n))
    data, (q, dq, ddq) = model.createData(), states(robot, 40 + 4 * robot.n, 7)
    order = np.concatenate([10 * j + np.argsort(inertia.to_pinocchio(np.arange(10))) for j in range(robot.n)])
    expected = np.empty((len(q), len(robot.independent), layout.size))
    for k in range(len(q)):
        Y = np.array(pin.computeJointTorqueRegressor(model, data, q[k], dq[k], ddq[k]))[:, order]
        G = follow_in_pinocchio(robot, model, closures, q[k])
        expected[k] = Y[list(robot.independent)] + G.T @ Y[list(robot.dependent)]
    found = Engine(layout, threads=1).regressor(q, dq, ddq)
    assert relative(found[:, robot.independent], expected) < 1e-10
    assert relative(plain_regressor(layout, q, dq, ddq), found) < 1e-12
    assert base_model(layout).rank == rank(robot, expected)


@pytest.mark.parametrize("name", MECHANISMS)
def test_derivatives_are_those_of_the_closed_motion(name: str) -> None:
    """By differences of whole motions that stay closed: the dependent joints follow, although they are inputs, too."""
    robot = MECHANISMS[name]()
    layout, rng = Layout(robot), np.random.default_rng(1)
    engine, chi, (q, dq, ddq) = Engine(layout, threads=1), random_tens(rng, robot.n).ravel(), states(robot, 3, 4, reach=0.3)
    by_q, by_dq, by_ddq = engine.torque_derivatives(q, dq, ddq, chi)
    step = 1e-6
    for i in robot.independent:
        for k, exact in enumerate((by_q, by_dq, by_ddq)):
            ends = []
            for sign in (1.0, -1.0):
                motion = [np.array(x) for x in (q, dq, ddq)]
                motion[k][:, i] += sign * step
                ends.append(engine.inverse_dynamics(*complete(robot, *motion), chi))
            assert relative(exact[:, :, i], (ends[0] - ends[1]) / (2 * step)) < 1e-5
    assert not by_q[:, :, robot.dependent].any() or np.abs(by_q[:, :, robot.dependent]).max() < 1e-6 * np.abs(by_q).max()


@pytest.mark.parametrize("name", MECHANISMS)
def test_velocities_and_accelerations_are_those_of_the_path(name: str) -> None:
    robot = MECHANISMS[name]()
    ind, t = list(robot.independent), 1e-3 * np.arange(5)
    q = np.tile(robot.loops.start, (5, 1))
    rates, bends = np.random.default_rng(2).normal(size=(2, len(ind)))
    q[:, ind] += t[:, None] * rates + 0.5 * t[:, None] ** 2 * bends
    dq, ddq = np.zeros((2, *q.shape))
    dq[:, ind], ddq[:, ind] = rates + t[:, None] * bends, bends
    q, dq, ddq = complete(robot, q, dq, ddq)
    weights = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12e-3
    assert np.allclose(dq[2], weights @ q, atol=1e-8)
    assert np.allclose(ddq[2], weights @ dq, atol=1e-7)
    assert max(gap(robot, x)[1] for x in q) < 1e-12


def test_mass_matrix_of_a_parallelogram_in_closed_form() -> None:
    L, c, f, r = 0.4, 0.12, 0.15, 0.2  # upper arm, crank, centres of forearm and rod
    m_fore, m_rod, (upper, fore, crank, rod) = 1.5, 0.4, (0.05, 0.02, 0.003, 0.007)
    robot = parallelogram_arm(L, c)
    tens = np.zeros((5, 10))
    tens[1:, 3] = upper, fore + m_fore * f * f, crank, rod + m_rod * r * r
    tens[2, [6, 9]], tens[4, [8, 9]] = (m_fore * f, m_fore), (m_rod * r, m_rod)
    q = states(robot, 6, 3)[0]
    M = Engine(Layout(robot), threads=1).mass_matrix(q, tens.ravel())
    a, b = q[:, 1], q[:, 3]
    assert np.allclose(q[:, 2], b - a) and np.allclose(q[:, 4], a - b)
    assert np.allclose(M[:, 1, 1], upper + m_fore * L * L + rod + m_rod * r * r, atol=1e-12)
    assert np.allclose(M[:, 3, 3], crank + fore + m_fore * f * f + m_rod * c * c, atol=1e-12)
    assert np.allclose(M[:, 1, 3], (m_fore * L * f - m_rod * c * r) * np.sin(a - b), atol=1e-12)


def test_reflected_inertia_of_a_four_bar_in_closed_form() -> None:
    a, b, c, d = 0.3, 0.8, 0.6, 1.0
    robot = four_bar(a, b, c, d)
    q = states(robot, 8, 3)[0]
    crank, coupler, rocker = q[:, 0], q[:, 0] + q[:, 1], q[:, 2]
    # Freudenstein's equation, and the ratio of rates by the sine rule
    left = a * a - b * b + c * c + d * d - 2 * a * d * np.cos(crank) + 2 * c * d * np.cos(rocker)
    assert np.allclose(left, 2 * a * c * np.cos(crank - rocker), atol=1e-12)
    ratio = a * np.sin(crank - coupler) / (c * np.sin(rocker - coupler))
    tens = np.zeros((3, 10))
    tens[0, 5], tens[2, 5] = 0.02, 0.3
    M = Engine(Layout(robot), threads=1).mass_matrix(q, tens.ravel())
    assert np.allclose(M[:, 0, 0], 0.02 + 0.3 * ratio**2, atol=1e-12)


def test_relations_of_joints_in_closed_form() -> None:
    robot = differential_wrist()
    q, dq, ddq = states(robot, 6, 3)
    bevel = 2.0 * q[:, 1], 2.0 * np.ones(6), -2.0 * q[:, 1] + 0.3 * np.sin(q[:, 1]), -2.0 + 0.3 * np.cos(q[:, 1])
    assert np.allclose(q[:, 2:], np.stack([q[:, 0] + bevel[0], q[:, 0] + bevel[2]], axis=1), atol=1e-12)
    tens = np.zeros((4, 10))
    tens[0, 3], tens[1, 0], tens[2, 3], tens[3, 3] = 0.1, 0.05, 0.02, 0.03
    M = Engine(Layout(robot), threads=1).mass_matrix(q, tens.ravel())
    assert np.allclose(M[:, 0, 0], 0.1 + 0.02 + 0.03, atol=1e-12)
    assert np.allclose(M[:, 1, 1], 0.05 + 0.02 * bevel[1] ** 2 + 0.03 * bevel[3] ** 2, atol=1e-12)
    assert np.allclose(M[:, 0, 1], 0.02 * bevel[1] + 0.03 * bevel[3], atol=1e-12)
    bent = -0.3 * np.sin(q[:, 1]) * dq[:, 1] ** 2
    assert np.allclose(ddq[:, 3], ddq[:, 0] + bevel[3] * ddq[:, 1] + bent, atol=1e-12)
