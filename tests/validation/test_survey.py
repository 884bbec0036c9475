"""d_q and d_tau are the survey's equations 69 and 70, with a rule for samples at zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import inertica as ia
from estimators import closed
from inertica.validation.survey import NEAR_ZERO, desired_motion, log_torque_difference, mean_ratio


def test_samples_near_zero_do_not_count() -> None:
    q = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 0.9 * NEAR_ZERO * 5.0], [0.0, 2.0]])
    other = q + np.array([[0.5, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    assert mean_ratio(q, other) == np.mean([0.5 / 5.0, 0.5 / 2.0])
    assert np.isnan(mean_ratio(np.zeros((3, 2)), np.ones((3, 2))))


def test_d_tau_is_taken_on_the_desired_motion() -> None:
    log = closed.experiment_log("tx40", None)
    truth = ia.load("tx40").prior
    trajectory = ia.catalog_trajectory("tx40").trajectory
    engine = ia.engine(ia.base_model(truth.layout))
    exact = trajectory(log.t)
    along = engine.inverse_dynamics(exact.q, exact.dq, exact.ddq, truth)
    tau = log.need("tau")
    size = np.linalg.norm(tau, axis=1)
    use = size > NEAR_ZERO * size.max()
    assert not use.all()  # it starts at rest with a torque of zero, which would decide the mean
    by_hand = np.mean(np.linalg.norm(tau - along, axis=1)[use] / size[use])
    found = log_torque_difference(truth, log)
    assert found is not None
    np.testing.assert_allclose(found, by_hand, rtol=0.05)  # derivatives of the sampled reference, and Coulomb at its reversals
    worse = log_torque_difference(replace(truth, values=1.2 * truth.values), log)
    assert worse is not None and worse > found + 0.1


def test_a_log_without_reference_has_no_d_tau() -> None:
    log = closed.experiment_log("tx40", None)
    bare = replace(log, signals={k: v for k, v in log.signals.items() if k != "qr"})
    assert desired_motion(bare) is None
    assert log_torque_difference(ia.load("tx40").prior, bare) is None
