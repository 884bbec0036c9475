"""Total least squares against its definition, and what knowing the noise buys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

from estimators.simulated import SIGMA, exact_motion, measured, noisy, robot, stacked_rows
from inertica.errors import InputError
from inertica.estimators.base import NoiseLevels, Problem
from inertica.estimators.linear.least_squares import Ols, Wls
from inertica.estimators.linear.tls import Gtls, Tls, column_covariance
from inertica.estimators.noise import noise_levels, noise_of
from inertica.identifiability.base import base_model
from inertica.preprocessing.filters import Butterworth, Unfiltered, noise_gains
from inertica.robot.friction import Coulomb


@pytest.fixture(scope="module")
def problem() -> Problem:
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=5.0)
    error = np.random.default_rng(0).normal(size=motion.tau.shape)
    return Problem(base, (noisy(motion, error),), description.prior)


def test_tls_is_the_smallest_singular_vector_of_scaled_columns(problem):
    W, y = stacked_rows(problem)
    X = np.column_stack([np.vstack(W), np.concatenate(y)])
    norms = np.linalg.norm(X, axis=0)
    _, s, Vt = np.linalg.svd(X / norms)
    a = Vt[-1] / norms
    found = Tls().estimate(problem)
    np.testing.assert_allclose(found.beta, -a[:-1] / a[-1], rtol=1e-8)
    scaled = found.beta * norms[:-1] / norms[-1]
    D = X[:, :-1] / norms[:-1]
    published = (1 + scaled @ scaled) * s[-1] ** 2 / len(X) * np.linalg.inv(D.T @ D - s[-1] ** 2 * np.eye(len(scaled)))
    units = norms[-1] / norms[:-1]
    np.testing.assert_allclose(found.diagnostics.plain_covariance, published * np.outer(units, units), rtol=1e-7)


def test_unscaled_tls_is_as_the_survey_prints_it(problem):
    """Its eqs. 26 and 27, term by term, on the stacked rows."""
    W, y = stacked_rows(problem)
    W, y = np.vstack(W), np.concatenate(y)
    _, s, Vt = np.linalg.svd(np.column_stack([W, y]), full_matrices=False)
    expected = -Vt[-1, :-1] / Vt[-1, -1]
    found = Tls(scaled=False).estimate(problem)
    np.testing.assert_allclose(found.beta, expected, rtol=1e-7)
    spread = np.linalg.inv(W.T @ W - s[-1] ** 2 * np.eye(W.shape[1]))
    np.testing.assert_allclose(
        found.diagnostics.plain_covariance, (1.0 + expected @ expected) * s[-1] ** 2 / len(y) * spread, rtol=1e-6, atol=1e-12
    )
    assert np.abs(found.beta / Tls().estimate(problem).beta - 1.0).max() > 1e-3  # scaling makes a difference


def test_gtls_is_the_smallest_generalised_eigenvector(problem):
    rng = np.random.default_rng(1)
    size = problem.base.rank + 1
    root = rng.normal(size=(size, size))
    C = root @ root.T
    W, y = stacked_rows(problem)
    X = np.column_stack([np.vstack(W), np.concatenate(y)])
    _, vectors = eigh(X.T @ X, C)
    a = vectors[:, 0]
    found = Gtls(covariance=C, weighted=False).estimate(problem)
    np.testing.assert_allclose(found.beta, -a[:-1] / a[-1], rtol=1e-6)


def test_gtls_with_noise_in_the_torque_alone_is_least_squares(problem):
    size = problem.base.rank + 1
    C = np.zeros((size, size))
    C[-1, -1] = 1.0
    np.testing.assert_allclose(Gtls(covariance=C).estimate(problem).beta, Wls().estimate(problem).beta, rtol=1e-8)
    np.testing.assert_allclose(Gtls(covariance=C, weighted=False).estimate(problem).beta, Ols().estimate(problem).beta, rtol=1e-8)


def test_a_covariance_of_the_wrong_size_is_refused(problem):
    with pytest.raises(InputError, match=r"shape \(3, 3\), expected"):
        Gtls(covariance=np.eye(3)).estimate(problem)


def test_undetermined_parameters_keep_the_prior(problem):
    motion = problem.motions[0]
    still = replace(motion, q=motion.q * [1, 0], dq=motion.dq * [1, 0], ddq=motion.ddq * [1, 0])
    for method in (Tls(), Gtls()):
        found = method.estimate(replace(problem, motions=(still,)))
        i = problem.base.names.index("Fv2")
        assert found.beta[i] == pytest.approx(problem.prior_beta[i])
        assert np.isinf(found.std[i])


def test_column_covariance_is_that_of_repeated_measurements():
    """Predicted from one noisy motion, against the spread of regressors over many."""
    description, base = robot("scara2")
    exact = exact_motion(description.prior, rate=200.0, duration=3.0, amplitude=0.8)
    chosen = Butterworth(cutoff=40.0)
    tau = 0.1 * np.ones(2)
    truth = Problem(base, (measured(exact, 0.0, 0.0 * tau, 0, chosen),), description.prior).observations
    q = 1e-4
    sizes = [noise * q * np.ones(2) for noise in noise_gains(chosen, exact.dt)]
    levels = NoiseLevels(*sizes, tau)
    runs = 40
    spread = 0.0
    for k in range(runs):
        motion = measured(exact, q, tau, k, chosen)
        for rows, other in zip(truth.rows(), Problem(base, (motion,), description.prior).observations.rows(), strict=True):
            error = [np.column_stack([b - a, y]) for a, b, y in zip(rows.W, other.W, (other.y - rows.y).T, strict=True)]
            for j, columns in enumerate(truth.columns):
                full = np.zeros((len(error[j]), base.rank + 1))
                full[:, np.append(columns, base.rank)] = error[j]
                full = full[rows.use[:, j]]
                spread = spread + full.T @ full / runs
    one = Problem(base, (measured(exact, q, tau, 99, chosen),), description.prior, noise=levels)
    predicted = column_covariance(one, np.ones(2), 20, np.random.default_rng(0))
    smooth = np.array([not name.startswith("Fc") for name in base.names] + [True])
    a, b = np.diag(spread)[smooth], np.diag(predicted)[smooth]
    np.testing.assert_allclose(b[a > 1e-12 * a.max()], a[a > 1e-12 * a.max()], rtol=0.15)


def bias_study(methods, runs, coulomb):
    """Errors (runs, b) of methods on open-loop data with unfiltered position noise, in standard deviations of a noise-free motion."""
    description, _ = robot("tx40")
    layout = description.layout.with_terms(t for t in description.layout.terms if coulomb or not isinstance(t, Coulomb))
    truth, base = description.prior.on(layout), base_model(layout)
    exact = exact_motion(truth, rate=200.0)
    first = noisy(exact, SIGMA * np.random.default_rng(0).normal(size=exact.tau.shape))
    unit = Wls(hac=False).estimate(Problem(base, (first,), truth)).std
    levels = NoiseLevels(*(gain * 5e-5 * np.ones(6) for gain in noise_gains(Unfiltered(), exact.dt)), SIGMA)
    errors = {key: [] for key in methods}
    for k in range(runs):
        problem = Problem(base, (measured(exact, 5e-5, SIGMA, k),), truth, noise=levels)
        for key, method in methods.items():
            errors[key].append((method.estimate(problem).beta - base.beta(truth.values)) / unit)
    return {key: np.array(e) for key, e in errors.items()}


def bias(errors):
    """Norm of the mean error, and what chance alone would make of it."""
    return np.linalg.norm(errors.mean(axis=0)), np.linalg.norm(errors.std(axis=0, ddof=1)) / np.sqrt(len(errors))


def test_gtls_removes_the_bias_of_ols():
    errors = bias_study({"ols": Ols(), "wls": Wls(), "tls": Tls(), "gtls": Gtls()}, 10, coulomb=False)
    found = {key: bias(e) for key, e in errors.items()}
    assert found["ols"][0] > 5 * found["ols"][1], "without bias there is nothing to show"
    assert found["wls"][0] > 3 * found["wls"][1]
    assert found["gtls"][0] < 1.5 * found["gtls"][1]
    assert found["tls"][0] > found["wls"][0], "plain total least squares is no better, as the survey found"


def test_signs_of_noisy_velocities_are_beyond_gtls_but_it_still_helps():
    errors = bias_study({"ols": Ols(), "gtls": Gtls()}, 6, coulomb=True)
    assert bias(errors["gtls"])[0] < bias(errors["ols"])[0] / 3


def test_noise_is_read_off_the_data_when_nobody_states_it():
    description, base = robot("scara2")
    exact = exact_motion(description.prior, rate=500.0, duration=6.0)
    sigma = np.array([0.5, 0.2])
    for chosen in (Unfiltered(), Butterworth(cutoff=30.0)):
        motion = measured(exact, 2e-5, sigma, 0, chosen)
        found = noise_levels(motion)
        expected = [2e-5 * gain for gain in noise_gains(chosen, motion.dt)]
        np.testing.assert_allclose([x.mean() for x in (found.q, found.dq, found.ddq)], expected, rtol=0.15)
        np.testing.assert_allclose(found.tau, sigma, rtol=0.15)
        given = NoiseLevels(*(np.ones(2),) * 4)
        assert noise_of(Problem(base, (motion,), description.prior, noise=given)) == (given,)
