"""The neural estimators reach least squares where they say so, and say how far from it they end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import inertica as ia
from estimators import closed, simulated
from inertica.errors import InputError
from inertica.estimators.base import Estimator, Problem
from inertica.estimators.checks import example_problem
from inertica.estimators.neural.approach import SETTLED
from inertica.estimators.neural.loops import one_pass, relax
from inertica.preprocessing.filters import Butterworth


def _tx40(run: int = 0) -> Problem:
    problem = closed.problem("tx40", [closed.experiment_log("tx40", "standard", run)], chosen=Butterworth(cutoff=50.0), border=50)
    assert problem.prior is not None
    off = 1.0 + 0.15 * np.random.default_rng(0).uniform(-1.0, 1.0, len(problem.prior.values))
    return replace(problem, prior=replace(problem.prior, values=off * problem.prior.values))


@pytest.mark.parametrize("method", [ia.AdaNN(gradient="batch"), ia.Htrnn(), ia.Htrnn(activation="clipped")])
@pytest.mark.parametrize("problem", [example_problem, _tx40])
def test_batch_forms_reach_least_squares(method: Estimator, problem: object) -> None:
    posed = problem()  # type: ignore[operator]
    found, least = method.estimate(posed), ia.Ols(hac=False).estimate(posed)
    W, y = (np.concatenate(x) for x in _rows(posed))
    assert found.stop_reason == SETTLED
    assert np.all(np.abs(W.T @ (y - W @ found.beta)) <= 1.01e-9 * np.linalg.norm(W, axis=0) * np.linalg.norm(y))
    np.testing.assert_allclose(found.beta, least.beta, rtol=0.0, atol=1e-6 * np.abs(least.beta).max())
    assert found.history["left"][-1] < 1e-7 < found.history["left"][0]
    assert not found.warnings


def _rows(problem: Problem) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Full rows of W and y, joint by joint, by the plain way."""
    W, y, system = [], [], problem.observations
    for rows in system.rows():
        for j, columns in enumerate(system.columns):
            full = np.zeros((len(rows.y), problem.base.rank))
            full[:, columns] = rows.W[j]
            W.append(full[rows.use[:, j]])
            y.append(rows.y[rows.use[:, j], j])
    return W, y


def test_one_step_is_that_of_the_paper() -> None:
    """Two samples in a known order, eq. 50 and the normalised rule written out."""
    W, y = np.array([[1.0, 2.0, 0.0, 1.0], [0.5, 1.0, 3.0, 2.0]]), np.array([[1.0, 2.0], [0.0, 1.0]])
    Y = [np.array([[w[0], w[1], 0.0], [0.0, w[2], w[3]]]) for w in W]
    for normalised, rate in ((False, 0.01), (True, 0.5)):
        expected, beta = np.array([1.0, -1.0, 0.5]), np.array([1.0, -1.0, 0.5])
        for k in (1, 0):
            g = Y[k].T @ (y[k] - Y[k] @ expected)
            expected = expected + (rate * (g @ g) / np.sum((Y[k] @ g) ** 2) if normalised else rate) * g
        one_pass(beta, W, y, np.array([0, 2, 4]), np.array([0, 1, 1, 2]), np.array([1, 0]), normalised, rate)
        np.testing.assert_allclose(beta, expected, rtol=1e-14)


def test_the_network_relaxes_by_the_corrected_equations() -> None:
    rng = np.random.default_rng(0)
    R, z, u = np.triu(rng.normal(size=(3, 3))), rng.normal(size=3), 0.1 * rng.normal(size=3)
    alpha, theta, eta, expected = 2.0, 5.0, 0.01, u.copy()
    for _ in range(3):
        s = alpha * np.tanh(expected / theta)
        expected = expected + eta * (-R.T @ R @ s + R.T @ z)
    assert relax(u, R.T @ R, R.T @ z, np.zeros(3), alpha, theta, eta, 3, False) == 3
    np.testing.assert_allclose(u, expected, rtol=1e-13)


def test_the_stochastic_form_ends_on_noise_and_says_so() -> None:
    """Without noise it reaches the truth; with noise it stays a distance from least squares that grows with its rate."""
    truth = simulated.robot("scara2")[0].prior
    exact = simulated.exact_motion(truth, duration=5.0)
    prior = replace(truth, values=1.1 * truth.values)
    clean = Problem(simulated.robot("scara2")[1], (exact,), prior)
    found = ia.AdaNN(passes=200).estimate(clean)
    np.testing.assert_allclose(found.beta, clean.base.beta(truth.values), rtol=1e-3, atol=1e-4)
    noisy = example_problem()
    left = [ia.AdaNN(rate=rate).estimate(noisy).history["left"][-1] for rate in (1.0, 0.1)]
    assert left[0] > 2.0 * left[1] > 0.0
    assert any("least squares" in w for w in ia.AdaNN().estimate(noisy).warnings)


def test_rates_that_cannot_work_are_named() -> None:
    with pytest.raises(InputError, match="run away; for these data stay below"):
        ia.AdaNN(gradient="batch", rule="fixed", rate=10.0).estimate(example_problem())
    stable = float(ia.Htrnn().estimate(example_problem()).settings["stable"])  # type: ignore[arg-type]
    assert any("oscillate" in w for w in ia.Htrnn(eta=20.0 * stable, passes=1).estimate(example_problem()).warnings)
    with pytest.raises(InputError, match="above 1"):
        ia.Htrnn(range=0.9)


def test_a_parameter_outside_the_range_is_reported() -> None:
    problem = example_problem()
    assert problem.prior is not None
    small = replace(problem, prior=replace(problem.prior, values=0.2 * problem.prior.values))
    for activation in ("tanh", "clipped"):
        assert any("held by the range" in w for w in ia.Htrnn(activation=activation).estimate(small).warnings)
