"""Rehearsals: planted values that can be real, a controller that knows the model alone, and a right model that is not suspected."""

from dataclasses import replace

import numpy as np

import inertica as ia
from inertica.studio import rehearsal


def test_the_controller_feeds_forward_the_model_and_not_what_was_planted():
    scara, trajectory = ia.load("scara2"), ia.catalog_trajectory("scara2").trajectory
    fed = replace(scara, loop={**scara.loop, "feedforward": True})
    robot = rehearsal.planted(fed, trajectory, rehearsal.RehearsalOptions(spread=0.3, seed=4))
    ratio = robot.truth.values / np.where(scara.prior.values == 0.0, np.nan, scara.prior.values)
    assert np.nanmin(ratio) >= 0.7 and np.nanmax(ratio) <= 1.3 and np.nanmax(np.abs(ratio - 1.0)) > 0.1
    assert ia.check_model(robot.truth, configurations=50).consistent
    assert np.array_equal(robot.description.prior.values, scara.prior.values)
    experiment = replace(ia.Experiment.of(robot.description), truth=robot.truth)
    t = np.arange(200) / experiment.loop.rate
    motion = trajectory(t)
    known = ia.Engine(scara.layout).inverse_dynamics(motion.q, motion.dq, motion.ddq, scara.prior)
    assert np.allclose(experiment.reference(trajectory, t[-1])["tau"], known, rtol=1e-9, atol=1e-12)


def test_a_rehearsed_tx40_is_not_suspected_of_another_model():
    """Torque noise hides traces of reversals that replicas, which have none, show: both have to be weighed alike."""
    tx40, trajectory = ia.load("tx40"), ia.catalog_trajectory("tx40", "identification").trajectory
    options = rehearsal.RehearsalOptions(seed=3)
    robot = rehearsal.planted(tx40, trajectory, options)
    result = ia.identify(tx40, [rehearsal.recorded(robot, trajectory, options)])
    found = result.lack_of_fit
    assert found is not None and found.replicas == 4 and found.named == ()
    assert min(test.p for test in found.tests if test.tested) > 0.01  # by weights of their own 1e-5 (delay of joint 6)
