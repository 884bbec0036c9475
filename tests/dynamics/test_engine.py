"""The compiled dynamics against Pinocchio and against themselves."""

from __future__ import annotations

import numpy as np
import pytest

from generators import random_parameters, random_robot, random_tens, rich_layout, states
from inertica.dynamics.engine import Engine
from inertica.dynamics.equations import Equations, on_arrays, plain_regressor
from inertica.errors import InputError
from inertica.robot.drives import Armature
from inertica.robot.files import catalog
from inertica.robot.friction import LuGre
from inertica.robot.layout import Layout
from inertica.robot.load import load
from inertica.robot.terms import UserTerm
from referee import check_against_pinocchio, relative


@pytest.mark.parametrize("seed", range(54))
def test_random_robots_agree_with_pinocchio(seed: int) -> None:
    robot = random_robot(seed)
    rng = np.random.default_rng(1000 + seed)
    layout = Layout(robot, tuple(Armature(j) for j in range(robot.n)))
    check_against_pinocchio(layout, random_tens(rng, robot.n), rng.uniform(0.05, 1.0, robot.n), seed)


@pytest.mark.parametrize("name", catalog())
def test_catalog_robots_agree_with_pinocchio(name: str) -> None:
    description = load(name)
    robot = description.robot
    layout = Layout(robot, tuple(Armature(j) for j in range(robot.n)))
    tens = np.array([description.prior.link(j) for j in range(robot.n)])
    if description.prior.inconsistent_links():  # a published set that no body can have has no forward dynamics to compare
        tens = random_tens(np.random.default_rng(3), robot.n)
    armature = np.array(
        [description.prior[f"Ia{j + 1}"] if f"Ia{j + 1}" in description.layout.names else 0.3 for j in range(robot.n)]
    )
    check_against_pinocchio(layout, tens, armature, 11)


@pytest.mark.parametrize("seed", range(12))
def test_all_terms_together_are_linear_and_consistent(seed: int) -> None:
    """tau = Y chi, tau = M ddq + h, forward dynamics invert inverse dynamics, compiled = plain, with every kind of term."""
    layout = rich_layout(random_robot(seed, n=2 + seed % 5))
    engine = Engine(layout, threads=1)
    chi = random_parameters(layout, seed)
    q, dq, ddq = states(seed, 40, layout.robot.n)
    Y = engine.regressor(q, dq, ddq)
    assert relative(Y, plain_regressor(layout, q, dq, ddq)) < 1e-12
    tau = engine.inverse_dynamics(q, dq, ddq, chi)
    assert relative(Y @ chi.values, tau) < 1e-12
    M, h = engine.mass_matrix(q, chi), engine.bias_forces(q, dq, chi)
    assert relative(np.einsum("kij,kj->ki", M, ddq) + h, tau) < 1e-12
    assert relative(engine.forward_dynamics(q, dq, tau, chi), ddq) < 1e-9
    equations = Equations(layout)
    shapes = [s.value for s in layout.shapes]
    plain = on_arrays(lambda *x: equations.inverse_dynamics(*x, chi.values, shapes), q, dq, ddq)
    assert relative(np.stack(np.broadcast_arrays(*plain), axis=-1), tau) < 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_torque_derivatives_agree_with_central_differences(seed: int) -> None:
    layout = rich_layout(random_robot(seed, n=2 + seed % 4))
    engine = Engine(layout, threads=1)
    chi = random_parameters(layout, seed)
    motion = states(seed, 20, layout.robot.n)
    n, step = layout.robot.n, 1e-6
    for k, exact in enumerate(engine.torque_derivatives(*motion, chi)):
        for j in range(n):
            moved = [np.array(x) for x in (*motion, *motion)]
            moved[k][:, j] += step
            moved[3 + k][:, j] -= step
            numeric = (engine.inverse_dynamics(*moved[:3], chi) - engine.inverse_dynamics(*moved[3:], chi)) / (2 * step)
            assert relative(exact[:, :, j], numeric) < 1e-6


def test_shapes_are_inputs_not_constants() -> None:
    layout = rich_layout(random_robot(1, n=4))
    engine = Engine(layout, threads=1)
    chi = random_parameters(layout, 0)
    q, dq, ddq = states(0, 10, 4)
    other = np.array([s.value for s in layout.shapes]) * 1.3
    assert relative(engine.regressor(q, dq, ddq, other), plain_regressor(layout, q, dq, ddq, other)) < 1e-12
    assert not np.allclose(engine.inverse_dynamics(q, dq, ddq, chi, other), engine.inverse_dynamics(q, dq, ddq, chi))


def test_batches_of_any_size_threads_and_own_parameters_agree() -> None:
    layout = Layout(random_robot(4, n=3), tuple(Armature(j) for j in range(3)))
    one, many = Engine(layout, threads=1), Engine(layout, threads=2)
    chi = random_parameters(layout, 0)
    q, dq, ddq = states(0, 5001, 3)
    whole = one.inverse_dynamics(q, dq, ddq, chi)
    assert np.array_equal(whole, many.inverse_dynamics(q, dq, ddq, chi))
    assert np.array_equal(whole[:3], one.inverse_dynamics(q[:3], dq[:3], ddq[:3], chi))
    assert np.array_equal(whole[:900], one.inverse_dynamics(q[:900], dq[:900], ddq[:900], np.tile(chi.values, (900, 1))))
    assert one.inverse_dynamics(q[:0], dq[:0], ddq[:0], chi).shape == (0, 3)
    entries = one.regressor_entries(q, dq, ddq)
    dense = one.regressor(q, dq, ddq)
    assert np.array_equal(entries, np.stack([dense[:, i, k] for i, k in one.entries], axis=-1))
    assert np.count_nonzero(dense) == entries.size
    for where, chunk in one.regressor_chunks(q, dq, ddq):
        assert np.array_equal(chunk.T, entries[where])


def test_wrong_shapes_are_named() -> None:
    layout = Layout(random_robot(4, n=3))
    engine = Engine(layout)
    q = np.zeros((5, 3))
    with pytest.raises(InputError, match=r"ddq has shape \(5, 2\); expected \(5, 3\)"):
        engine.regressor(q, q, np.zeros((5, 2)))
    with pytest.raises(InputError, match="chi has 4 values"):
        engine.inverse_dynamics(q, q, q, np.zeros(4))


def test_terms_that_would_break_the_forward_dynamics_are_refused() -> None:
    robot = random_robot(3, n=2)
    with pytest.raises(InputError, match="square is not affine"):
        Engine(Layout(robot, (UserTerm("square", lambda x: {0: x.ddq[0] * x.ddq[0]}),)))
    with pytest.raises(InputError, match="lopsided makes the inertia matrix unsymmetric"):
        Engine(Layout(robot, (UserTerm("lopsided", lambda x: {0: x.ddq[1]}),)))
    with pytest.raises(InputError, match="LuGre"):
        Engine(Layout(robot, (LuGre(0),))).regressor(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 2)))
