"""The parts of the torque against Pinocchio, and their sum against the whole."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from generators import random_parameters, random_robot, random_tens, rich_layout, states
from inertica.dynamics.parts import parts
from inertica.robot.drives import Armature
from inertica.robot.friction import Coulomb, Viscous
from inertica.robot.layout import Layout, Parameters
from inertica.robot.terms import Spring
from referee import pinocchio_model


@pytest.mark.parametrize("seed", [0, 3, 5, 8])
def test_links_agree_with_pinocchio(seed):
    robot = random_robot(seed)
    n, rng = robot.n, np.random.default_rng(seed)
    tens, armature, viscous, coulomb, stiffness = random_tens(rng, n), *rng.uniform(0.1, 1.0, (4, n))
    per_joint = [(Armature(j), Viscous(j), Coulomb(j), Spring(j)) for j in range(n)]
    layout = Layout(robot, tuple(t for terms in per_joint for t in terms))
    chi = np.zeros(layout.size)
    for (term, where), _ in zip(layout.drives, range(layout.size), strict=False):
        kind = {Armature: armature, Viscous: viscous, Coulomb: coulomb, Spring: stiffness}[type(term)]
        chi[where] = kind[term.joint]
    for j in range(n):
        chi[layout.link(j)] = tens[j]
    q, dq, ddq = (x[0] for x in states(seed, 1, n))
    found = parts(Parameters(layout, chi), q, dq, ddq)
    model = pinocchio_model(robot, tens, armature)
    data = model.createData()
    M = pin.crba(model, data, q).copy()
    near = {"rtol": 1e-9, "atol": 1e-9 * np.abs(pin.rnea(model, data, q, dq, ddq)).max()}
    np.testing.assert_allclose(found.M, np.triu(M) + np.triu(M, 1).T, **near)
    np.testing.assert_allclose(found.gravity, pin.computeGeneralizedGravity(model, data, q), **near)
    np.testing.assert_allclose(
        found.coriolis, pin.nle(model, data, q, dq) - pin.computeGeneralizedGravity(model, data, q), **near
    )
    np.testing.assert_allclose(found.friction, viscous * dq + coulomb * np.sign(dq), **near)
    np.testing.assert_allclose(found.other, stiffness * q, **near)
    np.testing.assert_allclose(found.tau, pin.rnea(model, data, q, dq, ddq) + found.friction + found.other, **near)


@pytest.mark.parametrize("seed", [0, 3])
def test_the_rate_of_the_inertia_matrix_is_twice_the_symmetric_part_of_coriolis(seed):
    """dM/dt = C + C', which only the form of Christoffel symbols has; dM/dt by differences of Pinocchio's matrix."""
    robot = random_robot(seed)
    tens = random_tens(np.random.default_rng(seed), robot.n)
    layout = Layout(robot)
    chi = np.zeros(layout.size)
    for j in range(robot.n):
        chi[layout.link(j)] = tens[j]
    q, dq, _ = (x[0] for x in states(seed, 1, robot.n))
    found = parts(Parameters(layout, chi), q, dq)
    model, h = pinocchio_model(robot, tens), 1e-5
    rate = (_inertia(model, q + h * dq) - _inertia(model, q - h * dq)) / (2 * h)
    np.testing.assert_allclose(found.C + found.C.T, rate, rtol=1e-5, atol=1e-6 * max(np.abs(found.C).max(), 1.0))


def _inertia(model, q):
    M = pin.crba(model, model.createData(), q).copy()
    return np.triu(M) + np.triu(M, 1).T


def test_the_parts_add_up_with_every_kind_of_term():
    layout = rich_layout(random_robot(4))
    parameters = random_parameters(layout, 4)
    q, dq, ddq = (x[0] for x in states(1, 1, layout.robot.n))
    found = parts(parameters, q, dq, ddq)
    total = found.inertial + found.coriolis + found.gravity + found.friction + found.other
    np.testing.assert_allclose(total, found.tau, rtol=1e-9, atol=1e-9 * np.abs(found.tau).max())
