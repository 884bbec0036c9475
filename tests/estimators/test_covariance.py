"""Intervals: how often they hold the truth, with white and with filtered, decimated errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import toeplitz

from estimators.simulated import SIGMA, exact_motion, repeated, robot
from inertica.estimators.base import Problem
from inertica.estimators.covariance import (
    Colour,
    Influences,
    autocovariance,
    combination_covariance,
    correlated_lags,
    correlation_time,
    long_run,
    parzen,
)
from inertica.estimators.evidence import ScaledSvd
from inertica.estimators.linear.least_squares import Ols, Wls
from inertica.preprocessing.filters import Butterworth

RUNS = 400


def white(shape, rng):
    return SIGMA[: shape[1]] * rng.normal(size=shape)


def coloured(motion, cutoff):
    low_pass = Butterworth(cutoff=cutoff)
    return lambda rng: low_pass.smoothed(white(motion.tau.shape, rng), motion.dt)


def covered(problem, method, error, runs=RUNS):
    """Share of 95 % intervals that hold the truth: (b,) with serial correlation, and pooled by the plain formula."""
    beta, std, plain = repeated(problem, method, error, runs)
    miss = np.abs(beta - problem.prior_beta)
    return (miss <= 1.96 * std).mean(axis=0), float((miss <= 1.96 * plain).mean())


def check_single(share, runs=RUNS):
    low, high = stats.binom.interval(0.999, runs, 0.95)
    assert share.min() >= low / runs and share.max() <= high / runs


@pytest.mark.parametrize("method", [Ols(), Wls()])
def test_white_noise_small_robot(method):
    description, base = robot("scara2")
    problem = Problem(base, (exact_motion(description.prior, duration=5.0),), description.prior)
    share, plain = covered(problem, method, lambda rng: white(problem.motions[0].tau.shape, rng))
    assert 0.93 <= share.mean() <= 0.97
    assert 0.93 <= plain <= 0.97
    check_single(share)


def test_filtered_and_decimated_small_robot():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, rate=500.0, duration=6.0, ratio=5)
    problem = Problem(base, (motion,), description.prior)
    share, plain = covered(problem, Wls(), coloured(motion, 20.0))
    assert 0.90 <= share.mean() <= 0.98
    assert plain < 0.85, "the plain formula should promise too much here, or the test shows nothing"
    check_single(share)


@pytest.mark.slow
@pytest.mark.parametrize("method", [Ols(), Wls()])
def test_white_noise_six_joints(method):
    description, base = robot("tx40")
    problem = Problem(base, (exact_motion(description.prior),), description.prior)
    share, _ = covered(problem, method, lambda rng: white(problem.motions[0].tau.shape, rng))
    assert 0.93 <= share.mean() <= 0.97
    check_single(share)


@pytest.mark.slow
@pytest.mark.parametrize("cutoff", [20.0, 5.0])
def test_filtered_and_decimated_six_joints(cutoff):
    description, base = robot("tx40")
    motion = exact_motion(description.prior, rate=500.0, ratio=5)
    problem = Problem(base, (motion,), description.prior)
    share, plain = covered(problem, Wls(), coloured(motion, cutoff))
    assert 0.90 <= share.mean() <= 0.98
    assert plain < 0.85
    check_single(share)


def test_errors_that_grow_with_velocity_are_noticed():
    """The stationary estimate alone takes the errors for equally large throughout."""
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=5.0)
    problem = Problem(base, (motion,), description.prior)
    size = (motion.dq / motion.dq.std(axis=0)) ** 2
    share, plain = covered(problem, Wls(), lambda rng: size * rng.normal(size=size.shape), runs=200)
    assert plain < share.mean()
    assert 0.90 <= share.mean() <= 0.98


def test_colour_between_rows_is_the_toeplitz_product():
    rng = np.random.default_rng(0)
    W, gamma = rng.normal(size=(200, 4)), np.array([1.0, 0.6, 0.25, 0.05])
    full = toeplitz(np.concatenate([gamma, np.zeros(196)]))
    np.testing.assert_allclose(Colour(gamma).between(W), W.T @ full @ W, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(Colour(gamma[:1]).between(W), W.T @ W)


def test_autocovariance_counts_only_pairs_in_use():
    rng = np.random.default_rng(1)
    use = rng.random(300) < 0.7
    r = rng.normal(size=300) * use
    found = autocovariance(r, use)
    for lag in (0, 1, 7):
        pairs = use[lag:] & use[: len(use) - lag]
        assert found[lag] == pytest.approx((r[lag:] * r[: len(r) - lag]).sum() / pairs.sum())


def test_correlation_ends_where_it_ends():
    rng = np.random.default_rng(2)
    e = rng.normal(size=20000)
    assert correlated_lags(autocovariance(e, np.ones(len(e), bool)), len(e)) == 0
    average = np.convolve(e, np.ones(4) / 2.0, "valid")  # variance 1, correlated over three lags
    assert correlated_lags(autocovariance(average, np.ones(len(average), bool)), len(average)) == 3
    assert correlation_time(average[:, None]) == pytest.approx(4.0, rel=0.15)


def test_samples_seen_twice_do_not_count_twice():
    """Holding every sample once more halves the plain variance; the one that knows of the correlation stays."""
    description, base = robot("scara2")
    motion = exact_motion(description.prior, rate=100.0, duration=20.0)
    rng = np.random.default_rng(4)
    error = np.repeat(rng.normal(size=(len(motion) // 4 + 1, 2)), 4, axis=0)[: len(motion)]
    problem = Problem(base, (replace(motion, tau=motion.tau + error),), description.prior)
    found = Wls().estimate(problem)
    ratio = found.std / np.sqrt(np.diag(found.diagnostics.plain_covariance))
    assert np.median(ratio) == pytest.approx(2.0, rel=0.25)


def test_combinations_of_coloured_residuals_have_the_covariance_of_their_colour() -> None:
    """sum V'r of AR(1) residuals r of two joints: V' C V with the Toeplitz matrix C of their autocovariance."""
    rng, N, rho = np.random.default_rng(8), 2000, 0.8
    r = rng.normal(size=(N, 2))
    for k in range(1, N):
        r[k] = rho * r[k - 1] + np.sqrt(1.0 - rho**2) * r[k]
    t = np.arange(N) / N
    V = [np.column_stack([np.sin(12.0 * t), np.cos(31.0 * t)]), np.column_stack([t, np.sin(50.0 * t)])]
    C = toeplitz(rho ** np.arange(N))
    exact = np.diag(sum(v.T @ C @ v for v in V))
    of = Influences(V, r, np.ones((N, 2), bool))
    found = np.diag(combination_covariance([of], 2))
    assert np.sqrt(found / exact) == pytest.approx(1.0, abs=0.3)
    twice = np.diag(combination_covariance([of] * 2, 2))
    assert twice == pytest.approx(2.0 * found)


def test_errors_that_return_every_period_count_once() -> None:
    """Twenty times the same residuals beside the same rows: their sum is twenty times that of one period, and so is its error."""
    rng, periods, N = np.random.default_rng(9), 20, 400
    r, V = rng.normal(size=(N, 1)), rng.normal(size=(N, 2))
    again = [np.tile(V, (periods, 1))]
    residual, use = np.tile(r, (periods, 1)), np.ones((periods * N, 1), bool)
    once = np.diag(combination_covariance([Influences([V], r, use[:N])], 2))
    told = np.diag(combination_covariance([Influences(again, residual, use, 1.0 / periods)], 2))
    assert np.sqrt(told / once) == pytest.approx(periods, rel=0.2)
    fresh = rng.normal(size=residual.shape)
    independent = np.diag(combination_covariance([Influences(again, fresh, use, 1.0 / periods)], 2))
    assert np.sqrt(independent / once) == pytest.approx(np.sqrt(periods), rel=0.3)


def test_sum_of_weighted_autocovariances():
    scores = np.random.default_rng(3).normal(size=(300, 4))
    kernel = np.array([1.0] + [parzen(lag / 9) for lag in range(1, 9)])
    weights = toeplitz(np.concatenate([kernel, np.zeros(291)]))
    np.testing.assert_allclose(long_run(scores, 9), scores.T @ weights @ scores, rtol=0, atol=1e-11)
    np.testing.assert_allclose(long_run(scores, 1), scores.T @ scores, rtol=0, atol=1e-12)


def test_residuals_without_rows_are_those_of_the_rows():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=3.0)
    problem = Problem(base, (motion,), description.prior)
    beta = 1.1 * problem.prior_beta
    quick = problem.observations.records_without_rows(beta)
    for (r, use), (other, there) in zip(quick, problem.observations.records(beta), strict=True):
        assert np.array_equal(use, there)
        np.testing.assert_allclose(r, other, rtol=0, atol=1e-12 * np.abs(motion.tau).max())


def test_units_of_parameters_do_not_matter_to_what_is_resolved() -> None:
    """R x = z and R'x = g with columns in other units: the same solutions in them, also where a direction is unknown."""
    rng = np.random.default_rng(4)
    R = rng.normal(size=(6, 6))
    R[:, 4] = R[:, 0] - 2.0 * R[:, 1]
    units, x = np.logspace(-8.0, 8.0, 6), rng.normal(size=6)
    svd, other = ScaledSvd.of(R), ScaledSvd.of(R * units)
    assert np.count_nonzero(svd.known) == np.count_nonzero(other.known) == 5
    z, g = R @ x, R.T @ x
    np.testing.assert_allclose(R @ svd.solve(z), z, atol=1e-12)
    np.testing.assert_allclose(units * other.solve(z), svd.solve(z), atol=1e-9)
    np.testing.assert_allclose(R.T @ svd.solve_transposed(g), g, atol=1e-12)
    np.testing.assert_allclose(other.solve_transposed(units * g), svd.solve_transposed(g), atol=1e-9)
    np.testing.assert_allclose(svd.solve(np.column_stack([z, 2.0 * z]))[:, 1], 2.0 * svd.solve(z))


def test_a_parameter_that_no_row_has_is_not_known_from_rounding() -> None:
    R = np.random.default_rng(5).normal(size=(7, 7))
    R[:, [2, 5]] = 0.0
    assert not np.any(ScaledSvd.of(R).half[[2, 5]])
