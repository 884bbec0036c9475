"""OLS and WLS against plain NumPy on stacked rows, and what they do when data are missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.simulated import SIGMA, exact_motion, noisy, robot, stacked_rows
from inertica.errors import InputError
from inertica.estimators import observe
from inertica.estimators.base import Problem
from inertica.estimators.linear.least_squares import Ols, Wls
from inertica.estimators.registry import METHODS, method
from inertica.identifiability.base import base_model


def tx40_problem(ratio: int = 1, fixed: frozenset[str] = frozenset()) -> Problem:
    """Two motions, one with a gap, torque noise, some parameters known."""
    description, base = robot("tx40")
    layout = replace(description.layout, fixed=fixed)
    prior = description.prior.on(layout)
    motions = []
    for k in range(2):
        motion = exact_motion(description.prior, seed=k, ratio=ratio, rate=100.0 * ratio, duration=6.0)
        error = SIGMA * np.random.default_rng(k).normal(size=motion.tau.shape)
        motions.append(noisy(motion, error))
    gap = np.zeros(len(motions[1]), bool)
    gap[200:260] = True
    motions[1] = replace(motions[1], masks={**motions[1].masks, "gap": gap})
    return Problem(base if not fixed else base_model(layout), tuple(motions), prior)


@pytest.mark.parametrize(("ratio", "fixed"), [(1, frozenset()), (4, frozenset()), (1, frozenset({"M3", "Fv1", "Fc4"}))])
def test_ols_is_numpy_lstsq_of_the_stacked_rows(ratio, fixed):
    problem = tx40_problem(ratio, fixed)
    W, y = stacked_rows(problem)
    expected = np.linalg.lstsq(np.vstack(W), np.concatenate(y), rcond=None)[0]
    found = Ols().estimate(problem)
    assert np.abs(found.beta - expected).max() < 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("ratio", [1, 4])
def test_wls_weighs_joints_by_their_own_residuals(ratio):
    problem = tx40_problem(ratio)
    W, y = stacked_rows(problem)
    rows, torque, sigma = [], [], []
    for A, b in zip(W, y, strict=True):
        x, _, rank, _ = np.linalg.lstsq(A, b, rcond=1e-10)
        sigma.append(np.linalg.norm(b - A @ x) / np.sqrt(len(b) - rank))
        rows.append(A / sigma[-1])
        torque.append(b / sigma[-1])
    A = np.vstack(rows)
    expected = np.linalg.lstsq(A, np.concatenate(torque), rcond=None)[0]
    found = Wls().estimate(problem)
    assert np.abs(found.beta - expected).max() < 1e-8 * np.abs(expected).max()
    np.testing.assert_allclose(found.diagnostics.plain_covariance, np.linalg.inv(A.T @ A), rtol=1e-6, atol=1e-12)
    if ratio == 1:
        np.testing.assert_allclose(sigma, SIGMA, rtol=0.15)


def test_noise_free_data_give_the_truth_exactly():
    description, base = robot("tx40")
    problem = Problem(base, (exact_motion(description.prior, duration=5.0),), description.prior)
    for estimator in (Ols(), Wls()):
        assert np.abs(estimator.estimate(problem).beta - problem.prior_beta).max() < 1e-9


def test_estimates_without_bias_when_the_motion_is_exact():
    description, base = robot("scara2")
    truth = base.beta(description.prior.values)
    problem = Problem(base, (exact_motion(description.prior, duration=4.0),), description.prior)
    W, _ = stacked_rows(problem)
    rng = np.random.default_rng(3)
    for weights in (np.ones(2), np.array([1.0, 5.0])):
        A = np.vstack([w * x for w, x in zip(weights, W, strict=True)])
        noise = rng.normal(size=(len(A), 4000)) * np.repeat([2.0, 0.4], len(W[0]))[:, None]
        y = (np.vstack(W) @ truth)[:, None] + noise
        estimates = np.linalg.lstsq(A, y * np.repeat(weights, len(W[0]))[:, None], rcond=None)[0]
        error = estimates.mean(axis=1) - truth
        assert np.all(np.abs(error) < 4.0 * estimates.std(axis=1) / np.sqrt(4000))


def test_rows_in_blocks_give_the_same_as_rows_in_memory(monkeypatch):
    problem = tx40_problem()
    whole = Wls().estimate(problem)
    monkeypatch.setattr(observe, "KEEP_BYTES", 0)
    monkeypatch.setattr(observe, "BLOCK", 256)
    parts = Wls().estimate(problem)
    np.testing.assert_allclose(parts.beta, whole.beta, rtol=0, atol=1e-9 * np.abs(whole.beta).max())
    np.testing.assert_allclose(parts.std, whole.std, rtol=0.1)  # correlations across borders of blocks are left out


def test_a_joint_that_does_not_move_keeps_the_prior_and_says_so():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=4.0)
    still = replace(motion, q=motion.q * [1, 0], dq=motion.dq * [1, 0], ddq=motion.ddq * [1, 0])
    problem = Problem(base, (still,), description.prior.with_values(1.1 * description.prior.values))
    found = Wls().estimate(problem)
    i = base.names.index("Fv2")
    assert found.beta[i] == pytest.approx(problem.prior_beta[i])
    assert np.isinf(found.std[i])
    assert "not determined" in found.warnings[0]
    assert np.isfinite(found.std).any()


def test_what_cannot_be_fitted_is_refused_with_a_sentence():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=2.0)
    masked = replace(motion, masks={"all": np.ones(len(motion), bool)})
    with pytest.raises(InputError, match="no samples are left"):
        Wls().estimate(Problem(base, (masked,), description.prior))
    with pytest.raises(InputError, match="2 joints"):
        Problem(robot("tx40")[1], (motion,))
    with pytest.raises(InputError, match="needs prior values"):
        method("bayes").estimate(Problem(base, (motion,)))


def test_every_method_carries_the_name_it_is_registered_under_and_fits_clean_data():
    description, base = robot("scara2")
    prior = description.prior
    rng = np.random.default_rng(0)
    motion = exact_motion(prior, duration=4.0)
    problem = Problem(base, (noisy(motion, 0.01 * rng.normal(size=motion.tau.shape)),), prior)
    for name in ("ols", "wls", "irls", "tls", "gtls", "ml", "ridge", "bayes", "svd", "svd-essential", "essential"):
        found = METHODS[name]().estimate(problem)
        assert found.method == name == METHODS[name]().name
        assert found.covariance.shape == found.diagnostics.plain_covariance.shape == (base.rank, base.rank)
        assert np.all(np.linalg.eigvalsh(found.covariance) > -1e-12)
        assert found.sigma.shape == (2,) and found.condition >= 1.0
        assert np.abs(found.beta - problem.prior_beta).max() < 0.05 * np.abs(problem.prior_beta).max(), name
    with pytest.raises(InputError, match="did you mean 'wls'"):
        method("wsl")
