"""Errors that no model has: each does to a simulated log what it says."""

from __future__ import annotations

import numpy as np
import pytest
from effects import (
    stretched,
    tilted,
    with_elasticity,
    with_friction_drift,
    with_ripple,
    with_soft_drives,
)

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.experiment import Experiment
from inertica.logs.log import Log


@pytest.fixture(scope="module")
def log() -> Log:
    description = ia.load("planar2")
    (found,) = Experiment.of(description).run(ia.catalog_trajectory("planar2").trajectory, duration=4.0)
    return found


def test_ripple_has_the_amplitude_and_the_number_asked_for(log: Log) -> None:
    added = with_ripple(log, 0.05, per_turn=30).need("tau") - log.need("tau")
    assert np.allclose(np.abs(added).max(axis=0), 0.05 * log.truth["tau"].std(axis=0), rtol=0.01)
    q = log.truth["q"][:, 0]
    assert np.corrcoef(added[:, 0], np.sin(30 * q + 0.3))[0, 1] == pytest.approx(1.0)


def test_elastic_positions_deflect_by_what_is_stated_at_the_largest_torque(log: Log) -> None:
    deflected = with_elasticity(log, 0.005)
    away = deflected.need("q") - log.need("q")
    assert np.allclose(np.abs(away).max(axis=0), 0.005)
    assert np.array_equal(deflected.need("tau"), log.need("tau"))


def test_soft_drives_take_the_torque_of_the_links_own_motion(log: Log) -> None:
    """Against the torque along q - c tau, whose derivatives come from the same filter."""
    from inertica.preprocessing.filters import Butterworth

    description = ia.load("planar2")
    changed = with_soft_drives(log, description.prior, 1e-5, bandwidth=10.0)
    q, dq, ddq, tau = (np.array(log.truth[name]) for name in ("q", "dq", "ddq", "tau"))
    moved = Butterworth(cutoff=10.0).kinematics(tau, 1.0 / log.rate)
    c = 1e-5 / np.abs(moved.q).max(axis=0)
    engine = Engine(description.layout, threads=1)
    there = engine.inverse_dynamics(q - c * moved.q, dq - c * moved.dq, ddq - c * moved.ddq, description.prior)
    expected = there - engine.inverse_dynamics(q, dq, ddq, description.prior)
    same = np.sign(dq) == np.sign(dq - c * moved.dq)  # Coulomb friction jumps where the velocity changes sign
    found = changed.need("tau") - log.need("tau")
    assert np.allclose(found[same], expected[same], atol=1e-3 * np.abs(expected[same]).max())


def test_friction_falls_by_the_shares_given_at_the_end(log: Log) -> None:
    prior = ia.load("planar2").prior
    change = with_friction_drift(log, prior, viscous=0.3, coulomb=0.0).need("tau") - log.need("tau")
    assert not change[0].any()
    assert np.allclose(change[-1], -0.3 * np.array([prior["Fv1"], prior["Fv2"]]) * log.truth["dq"][-1])


def test_a_leaning_robot_has_the_same_gravity_in_another_direction() -> None:
    upright = ia.load("tx40")
    leaning = tilted(upright, 1.0)
    a, b = (np.array(d.robot.gravity) for d in (upright, leaning))
    assert np.rad2deg(np.arccos(a @ b / (a @ a))) == pytest.approx(1.0)
    assert np.linalg.norm(b) == pytest.approx(np.linalg.norm(a))


def test_one_distance_is_stretched() -> None:
    stated = ia.load("scara4").robot
    longer = stretched(ia.load("scara4"), 0.03).robot
    changed = [k for k in range(4) if longer.joints[k].position != stated.joints[k].position]
    assert len(changed) == 1
    k = changed[0]
    assert np.allclose(longer.joints[k].position, 1.03 * np.array(stated.joints[k].position))


def test_effects_need_to_know_what_happened(log: Log) -> None:
    measured = Log.from_arrays(log.t, {"q": log.need("q"), "tau": log.need("tau")})
    with pytest.raises(InputError, match="what really happened"):
        with_ripple(measured, 0.05)
