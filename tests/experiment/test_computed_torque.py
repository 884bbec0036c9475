"""Computed torque: the controller's model against Pinocchio, the loop against its closed form, and a card through the jobs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import inertica as ia
from generators import random_robot, random_tens, states
from inertica.dynamics.laws import ByModel, Saturated
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.closed_loop.loop_simulation import settling_time
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import ControlLoop, Experiment
from inertica.experiment.tuned import tuned
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.control import LAWS
from inertica.robot.description import Description
from inertica.robot.layout import Layout
from inertica.workflow.loop.fit_loop import fit_loop
from referee import inverse_dynamics

WN, ZETA = 30.0, 0.7


def controlled(rate: float = 1000.0, wn: float = WN, velocity: str = "true") -> Description:
    """A catalog robot whose controller has its model."""
    robot = ia.load("scara2")
    n = robot.robot.n
    loop = {"law": "computed-torque", "wn": [wn] * n, "zeta": [ZETA] * n, "rate": rate, "velocity": velocity}
    return replace(robot, loop=tuned(robot, loop))


@pytest.mark.parametrize("seed", range(4))
def test_torque_is_that_of_pinocchio_for_the_commanded_acceleration(seed: int) -> None:
    robot = random_robot(seed, 4)
    tens = random_tens(np.random.default_rng(seed), 4)
    layout = Layout(robot)
    law = Saturated(ByModel(LAWS["computed-torque"](), layout, tuple(tens.ravel().tolist())))
    (q, dq, _), reference = (states(k, 1, 4) for k in (seed, seed + 100))
    signals = {key: list(x[0]) for key, x in zip(("q", "dq", "ddq"), reference, strict=True)}
    kp, kd, limit = np.full(4, 50.0), np.full(4, 9.0), np.full(4, 5.0)
    tau, _ = law.torques(signals, list(q[0]), list(dq[0]), {"kp": kp, "kd": kd, "limit": limit}, {}, 1e-3)
    commanded = reference[2][0] + 50.0 * (reference[0][0] - q[0]) + 9.0 * (reference[1][0] - dq[0])
    expected = inverse_dynamics(robot, tens, q[0], dq[0], commanded)
    np.testing.assert_allclose(tau, np.clip(expected, -limit, limit), rtol=1e-9, atol=1e-9)


def test_errors_decay_as_those_of_a_double_integrator() -> None:
    """Without friction and with the right model e'' + kd e' + kp e = 0 in every joint, whatever the others do."""
    robot = controlled(rate=20000.0)
    smooth = robot.with_terms(tuple(t for t in robot.layout.terms if "Armature" in type(t).__name__))
    experiment = Experiment.of(smooth)
    reference = experiment.reference(catalog_trajectory("scara2").trajectory, 0.5)
    off = np.array([0.05, -0.1])
    loop, start = experiment.loop, (reference["q"][0] - off, reference["dq"][0])
    run = experiment.engine.simulate(
        smooth.prior.values, reference, loop.all_gains, loop.dt, law=loop.compiled_law, start=start, difference_velocity=False
    )
    t, w = loop.dt * np.arange(len(reference["q"]))[:, None], WN * np.sqrt(1.0 - ZETA**2)
    decay = np.exp(-ZETA * WN * t) * (np.cos(w * t) + ZETA * WN / w * np.sin(w * t)) * off
    assert np.abs(reference["q"] - run.q[0] - decay).max() < 2e-3 * np.abs(off).max()
    assert settling_time(loop, np.array([7.0, 0.3])) == pytest.approx(5.0 / (ZETA * WN))  # whatever the inertia


def test_gains_from_bandwidth_and_what_is_refused() -> None:
    loop = ControlLoop.of(controlled())
    np.testing.assert_allclose(loop.gains["kp"], WN**2)
    np.testing.assert_allclose(loop.gains["kd"], 2 * ZETA * WN)
    with pytest.raises(InputError, match="twice"):
        replace(loop, feedforward=True)
    with pytest.raises(InputError, match="none was given"):
        _ = replace(loop, model=None).compiled_law


def test_the_controller_keeps_its_model_where_values_change() -> None:
    robot = controlled()
    off = robot.with_prior(robot.prior.with_values(1.2 * robot.prior.values)).with_gravity([0.0, 9.81, 0.0])
    model = ControlLoop.of(off).model
    assert model is not None and model.layout.robot.gravity == off.robot.gravity
    np.testing.assert_array_equal(model.values, robot.prior.values)


@pytest.mark.parametrize("method", ["didim", "ekf-ct", "cloe"])
def test_links_that_the_controller_does_not_know(method: str) -> None:
    """The robot carries what the controller's model lacks; estimators simulate the controller as it is, and find the robot."""
    robot = controlled()
    heavy = robot.prior.replaced({"ZZ2": 1.3 * robot.prior["ZZ2"], "Fv1": 1.5 * robot.prior["Fv1"]})
    experiment = replace(Experiment.of(robot), truth=heavy)
    (log,) = experiment.run(catalog_trajectory("scara2").trajectory, seed=1, duration=4.0)
    base = ia.base_model(robot.layout)
    problem = Problem(base, (prepare(log, Recipe(filter=Unfiltered())),), robot.prior, ControlLoop.of(robot))
    options = {"preset": "relative"} if method == "ekf-ct" else {}
    found = ia.METHODS[method](**options).estimate(problem, np.random.default_rng(0)).beta
    np.testing.assert_allclose(found, base.beta(heavy.values), rtol=0.03, atol=2e-3)


@pytest.mark.parametrize("noise", [None, "standard"])
def test_fit_loop_tells_it_from_laws_without_a_model(noise: str | None) -> None:
    """A slow loop and links far from the controller's model, so that errors stand clear of the noise."""
    wn = 4.0
    robot = controlled(wn=wn, velocity="difference" if noise else "true")
    heavy = robot.prior.replaced({"ZZ1": 2.0 * robot.prior["ZZ1"], "ZZ2": 2.0 * robot.prior["ZZ2"], "Fv1": 0.3})
    experiment = replace(Experiment.of(robot, noise=noise), truth=heavy)
    (log,) = experiment.run(catalog_trajectory("scara2").trajectory, seed=1)
    fit = fit_loop(robot, [log], rate=1000.0)
    assert fit.law == "computed-torque" and fit.loop.compiled_law.references == ("q", "dq", "ddq")
    for joint in fit.joints:
        assert abs(joint.gains["kp"] - wn**2) < 4.0 * joint.std["kp"] < 0.3 * wn**2
        assert abs(joint.gains["kd"] - 2 * ZETA * wn) < 4.0 * joint.std["kd"]
        assert joint.wn == pytest.approx(wn, rel=0.1)
