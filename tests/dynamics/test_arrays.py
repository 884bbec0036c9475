"""Large robots: loops over bodies on arrays against Pinocchio, and against compiled straight-line code on small robots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from generators import random_parameters, random_robot, random_tens, rich_layout, states
from inertica.dynamics import model
from inertica.dynamics.arrays import array_regressor, is_large
from inertica.dynamics.engine import Engine
from inertica.dynamics.equations import plain_regressor
from inertica.dynamics.weight import Weight
from inertica.identifiability.base import base_model
from inertica.robot.drives import Armature
from inertica.robot.layout import Layout
from inertica.robot.load import load
from inertica.robot.terms import RigidBody
from referee import check_against_pinocchio, relative


def on_arrays(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine of a small robot as if it were a large one."""
    with monkeypatch.context() as patch:
        patch.setattr(model, "is_large", lambda robot: True)
        engine = Engine(layout, threads=1)
    assert engine.loops_over_bodies
    return engine


@pytest.mark.parametrize("seed", [1, 2])
def test_thirty_joints_agree_with_pinocchio(seed: int) -> None:
    robot = random_robot(seed, n=30)
    assert is_large(robot) and not is_large(random_robot(seed, n=7))
    layout = Layout(robot, tuple(Armature(j) for j in range(robot.n)))
    rng = np.random.default_rng(seed)
    check_against_pinocchio(layout, random_tens(rng, robot.n), rng.uniform(0.05, 1.0, robot.n), seed)


@pytest.mark.parametrize("seed", range(6))
def test_trees_with_all_terms_and_a_payload_agree_with_compiled_code(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = rich_layout(random_robot(seed, n=3 + seed % 5))
    turned = any_rotation()
    layout = replace(layout, payloads=(*layout.payloads, RigidBody(1, "load", turned, (0.1, -0.2, 0.05))))
    chi = random_parameters(layout, seed)
    q, dq, ddq = states(seed, 700, layout.robot.n)
    compiled, ours = Engine(layout, threads=1), on_arrays(layout, monkeypatch)
    assert set(ours.entries) <= set(compiled.entries)
    Y = compiled.regressor(q, dq, ddq)
    assert relative(ours.regressor(q, dq, ddq), Y) < 1e-12
    assert (
        relative(array_regressor(layout, q[:50], dq[:50], ddq[:50]), plain_regressor(layout, q[:50], dq[:50], ddq[:50])) < 1e-12
    )
    tau = compiled.inverse_dynamics(q, dq, ddq, chi)
    assert relative(ours.inverse_dynamics(q, dq, ddq, chi), tau) < 1e-12
    own = np.tile(chi.values, (len(q), 1))
    assert np.array_equal(ours.inverse_dynamics(q, dq, ddq, own), ours.inverse_dynamics(q, dq, ddq, chi))
    assert relative(ours.mass_matrix(q, chi), compiled.mass_matrix(q, chi)) < 1e-12
    assert relative(ours.forward_dynamics(q, dq, tau, chi), ddq) < 1e-9


def any_rotation() -> tuple[tuple[float, ...], ...]:
    """A general rotation."""
    Q = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
    return tuple(map(tuple, Q * np.sign(np.linalg.det(Q))))


def test_seven_joints_agree_with_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regressor, R factors with and without weights, and the weight under any gravity."""
    description = load("panda7")
    layout = description.layout
    compiled, ours = Engine(layout, threads=1), on_arrays(layout, monkeypatch)
    kept = base_model(layout).retained.tolist()
    rng = np.random.default_rng(3)
    q, dq, ddq, tau = rng.normal(size=(4, 1200, 7))
    assert relative(ours.regressor(q, dq, ddq), compiled.regressor(q, dq, ddq)) < 1e-12
    for weights in (None, rng.random((1200, 7))):
        found, expected = (e.factors(q, dq, ddq, tau, kept, weights=weights) for e in (ours, compiled))
        assert np.array_equal(found.counts, expected.counts)
        for own, other in zip(found.joints, expected.joints, strict=True):
            assert relative(own.gram(layout.size), other.gram(layout.size)) < 1e-12
            assert np.isclose(own.size, other.size, rtol=1e-12)
        ours_all, compiled_all = found.stacked(kept), expected.stacked(kept)
        assert np.isclose(ours_all.rest, compiled_all.rest, rtol=1e-12)
        assert relative(np.linalg.solve(ours_all.R, ours_all.z), np.linalg.solve(compiled_all.R, compiled_all.z)) < 1e-9
    expected = Weight(layout, threads=1)
    with monkeypatch.context() as patch:
        patch.setattr(model, "is_large", lambda robot: True)
        weight = Weight(layout, threads=1)
        assert weight.pulls == expected.pulls
        assert relative(weight.slopes(q[:50]), expected.slopes(q[:50])) < 1e-12


def test_factors_of_nearly_dependent_columns_keep_their_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where products of columns would lose digits, rows are reflected instead."""
    layout = load("tx40").layout
    engine = on_arrays(layout, monkeypatch)
    q, dq, ddq, tau = np.random.default_rng(0).normal(size=(4, 900, 6))
    factor = engine.factors(q * 1e-5, dq, ddq, tau).joints[0]
    W = engine.regressor(q * 1e-5, dq, ddq)[:, 0, factor.columns]
    direct = np.linalg.svd(W, compute_uv=False)
    assert np.allclose(np.linalg.svd(factor.R, compute_uv=False), direct, atol=1e-13 * direct[0])


def test_only_joints_that_carry_a_link_feel_it() -> None:
    """A wrench of one link is felt by the joints that carry it and by no other."""
    robot = random_robot(3, n=60)  # branched
    layout = Layout(robot, (), ())
    q, dq, ddq = states(0, 4, robot.n)
    Y = array_regressor(layout, q, dq, ddq)
    for link in range(robot.n):
        felt = np.flatnonzero(np.abs(Y[:, :, layout.link(link)]).max(axis=(0, 2)))
        assert set(felt) <= set(robot.ancestors(link))
    tens = random_tens(np.random.default_rng(1), robot.n)
    assert relative(Y @ tens.ravel(), plain_regressor(layout, q, dq, ddq) @ tens.ravel()) < 1e-12
