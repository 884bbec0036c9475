"""Maximum likelihood: exact derivatives, known special cases, and less bias than least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from estimators.linear.test_tls import bias, bias_study
from estimators.simulated import SIGMA, exact_motion, measured, noisy, repeated, robot, stacked_rows
from generators import random_robot, rich_layout, states
from inertica.dynamics.engine import Engine
from inertica.estimators.base import NoiseLevels, Problem
from inertica.estimators.linear.least_squares import Ols
from inertica.estimators.linear.ml import Ml, _Criterion
from inertica.preprocessing.filters import Unfiltered, noise_gains


def noisy_problem(name="scara2", seed=0, fixed=frozenset()):
    from inertica.identifiability.base import base_model

    description, base = robot(name)
    layout = replace(description.layout, fixed=fixed)
    exact = exact_motion(description.prior, rate=200.0, duration=4.0)
    n = description.robot.n
    motion = measured(exact, 5e-5, SIGMA[:n], seed)
    levels = NoiseLevels(*(gain * 5e-5 * np.ones(n) for gain in noise_gains(Unfiltered(), exact.dt)), SIGMA[:n])
    return Problem(base_model(layout) if fixed else base, (motion,), description.prior.on(layout), noise=levels)


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_regressor_rates_are_derivatives(seed):
    layout = rich_layout(random_robot(seed, 4))
    engine = Engine(layout)
    motion, rng, h = states(seed, 20, 4), np.random.default_rng(seed), 1e-6
    rates = [rng.normal(size=(20, 4)) for _ in range(3)]
    up, down = (engine.regressor_entries(*(x + s * h * r for x, r in zip(motion, rates, strict=True))) for s in (1, -1))
    expected = (up - down) / (2 * h)
    np.testing.assert_allclose(engine.regressor_rates(motion, rates), expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("fixed", [frozenset(), frozenset({"Fv1"})])
def test_the_gradient_is_exact(fixed):
    problem = noisy_problem(fixed=fixed)
    criterion = _Criterion(problem, (problem.noise,))
    beta = 1.2 * problem.prior_beta
    stacked = criterion.linearised(beta)
    gradient = stacked.R.T @ (stacked.R @ beta - stacked.z)
    for i, value in enumerate(gradient):
        h = 1e-5 * max(abs(beta[i]), 0.1)
        step = np.zeros(len(beta))
        step[i] = h
        numeric = (criterion.cost(beta + step) - criterion.cost(beta - step)) / (2 * h)
        assert numeric == pytest.approx(value, rel=1e-5, abs=1e-6 * np.abs(gradient).max())


def test_the_minimum_is_stationary_and_reported():
    problem = noisy_problem()
    found = Ml().estimate(problem)
    criterion = _Criterion(problem, (problem.noise,))
    stacked = criterion.linearised(found.beta)
    gradient = stacked.R.T @ (stacked.R @ found.beta - stacked.z)
    scale = np.sqrt(np.diag(found.diagnostics.plain_covariance))
    assert np.abs(gradient * scale).max() < 5e-3
    assert list(found.history["criterion"]) == sorted(found.history["criterion"], reverse=True)
    assert "moved by more than 0.001" in found.stop_reason
    assert found.settings["mean_square"] == pytest.approx(1.0, abs=0.1)


def test_without_noise_of_the_motion_it_is_weighted_least_squares():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=4.0)
    sigma = np.array([2.0, 0.3])
    problem = Problem(base, (noisy(motion, sigma * np.random.default_rng(1).normal(size=motion.tau.shape)),), description.prior)
    W, y = stacked_rows(problem)
    rows = np.vstack([x / s for x, s in zip(W, sigma, strict=True)])
    expected = np.linalg.lstsq(rows, np.concatenate([x / s for x, s in zip(y, sigma, strict=True)]), rcond=None)[0]
    zero = np.zeros(2)
    found = Ml().estimate(replace(problem, noise=NoiseLevels(zero, zero, zero, sigma)))
    np.testing.assert_allclose(found.beta, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.diagnostics.plain_covariance, np.linalg.inv(rows.T @ rows), rtol=1e-6)


def test_ml_removes_the_bias_of_ols():
    errors = bias_study({"ols": Ols(), "ml": Ml()}, 6, coulomb=False)
    found = {key: bias(e) for key, e in errors.items()}
    assert found["ols"][0] > 4 * found["ols"][1]
    assert found["ml"][0] < 1.6 * found["ml"][1]


def test_rows_whose_friction_may_have_either_sign_are_left_out():
    errors = bias_study({"ols": Ols(), "ml": Ml(), "all rows": Ml(certain=0.0)}, 4, coulomb=True)
    found = {key: bias(e)[0] for key, e in errors.items()}
    assert found["all rows"] < found["ols"] / 2  # signs are beyond its linearisation, but it helps even so
    assert found["ml"] < found["all rows"] / 2


def test_prewhitening_sharpens_the_estimate_when_torque_errors_are_coloured():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=5.0)
    sigma, zero = np.array([2.0, 2.0]), np.zeros(2)
    problem = Problem(base, (motion,), description.prior, noise=NoiseLevels(zero, zero, zero, sigma))

    def drifting(rng):
        return 0.5 * lfilter([1.0], [1.0, -0.95], rng.normal(size=motion.tau.shape), axis=0)

    squares = {}
    for order in (0, 2):
        beta, std, _ = repeated(problem, Ml(prewhiten=order), drifting, 25)
        squares[order] = np.mean((beta - problem.prior_beta) ** 2, axis=0)
        assert (np.abs(beta - problem.prior_beta) < 1.96 * std).mean() > 0.85
    assert np.mean(squares[2] / squares[0]) < 0.7


def test_decimated_motions_and_masked_samples_are_accepted():
    description, base = robot("scara2")
    exact = exact_motion(description.prior, rate=500.0, duration=4.0, ratio=5)
    motion = measured(exact, 1e-5, SIGMA[:2], 0)
    gap = np.zeros(len(motion), bool)
    gap[500:700] = True
    masked = replace(motion, masks={**motion.masks, "gap": gap}, resting=np.abs(motion.dq) < 0.05)
    found = Ml().estimate(Problem(base, (masked, motion), description.prior))
    assert found.settings["noise"] == "fourth differences"
    assert np.all(np.abs(found.beta - base.beta(description.prior.values)) < 5 * found.std)
