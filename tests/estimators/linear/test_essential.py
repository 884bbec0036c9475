"""Backward elimination against refits of the rows, and standard parameters by SVD."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.simulated import SIGMA, exact_motion, noisy, robot, stacked_rows
from inertica.estimators.base import Problem
from inertica.estimators.linear.essential import Essential, eliminate
from inertica.estimators.linear.least_squares import Wls
from inertica.estimators.linear.svd import Svd, SvdEssential, link_tolerance
from inertica.robot import inertia


@pytest.fixture(scope="module")
def problem() -> Problem:
    description, base = robot("tx40")
    motion = exact_motion(description.prior, duration=6.0)
    rng = np.random.default_rng(0)
    prior = description.prior.with_values(description.prior.values * rng.uniform(0.9, 1.1, description.layout.size))
    return Problem(base, (noisy(motion, SIGMA * rng.normal(size=motion.tau.shape)),), prior)


def brute_force(A, y, ratio, relative=None):
    """The same rule with a refit of all rows at every step."""
    kept, history = list(range(A.shape[1])), []
    while True:
        X = A[:, kept]
        beta = np.linalg.lstsq(X, y, rcond=None)[0]
        std = np.sqrt(np.diag(np.linalg.inv(X.T @ X)))
        spread = 100 * std / np.abs(beta)
        history.append(np.linalg.norm(y - X @ beta) / np.sqrt(len(y)))
        if (spread.max() <= relative) if relative else (spread.max() < ratio * spread.min()):
            return kept, beta, history
        kept.pop(int(np.argmax(spread)))


@pytest.mark.parametrize(("ratio", "relative"), [(30.0, None), (10.0, None), (30.0, 30.0)])
def test_elimination_is_that_of_brute_force(problem, ratio, relative):
    system = problem.observations
    sigma = system.sigmas
    W, y = stacked_rows(problem)
    A = np.vstack([x / s for x, s in zip(W, sigma, strict=True)])
    target = np.concatenate([x / s for x, s in zip(y, sigma, strict=True)])
    kept, beta, history = brute_force(A, target, ratio, relative)
    found = eliminate(system.stacked(1.0 / sigma), len(target), problem.base.names, ratio, relative)
    assert list(found.retained) == kept and 5 < len(kept) < problem.base.rank
    np.testing.assert_allclose(found.beta[kept], beta, rtol=1e-6)
    np.testing.assert_allclose([found.residual, *(d.residual for d in found.dropped)], history, rtol=1e-9)
    assert [d.name for d in found.dropped] == [problem.base.names[i] for i in _order(A, target, len(found.dropped))]


def _order(A, y, count):
    kept, gone = list(range(A.shape[1])), []
    for _ in range(count):
        X = A[:, kept]
        beta = np.linalg.lstsq(X, y, rcond=None)[0]
        worst = int(np.argmax(np.sqrt(np.diag(np.linalg.inv(X.T @ X))) / np.abs(beta)))
        gone.append(kept.pop(worst))
    return gone


def test_what_was_dropped_and_what_it_cost(problem):
    found = Essential().estimate(problem)
    dropped = found.settings["dropped"]
    assert np.count_nonzero(found.beta) == problem.base.rank - len(dropped)
    increase = [d.increase for d in dropped]
    assert increase == sorted(increase) and 0.0 < increase[-1] < 0.1
    essential = found.beta != 0.0
    assert found.relative_std[essential].max() < 30.0 * 1.5 * found.relative_std[essential].min()
    assert "base parameters are essential" in found.stop_reason


def test_clean_data_lose_no_parameter_that_matters():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=4.0)
    error = 1e-3 * np.random.default_rng(0).normal(size=motion.tau.shape)
    problem = Problem(base, (noisy(motion, error),), description.prior)
    assert np.count_nonzero(Essential().estimate(problem).beta) == base.rank
    assert Essential(keep=0.0).estimate(problem).settings["dropped"][-1].increase > 1.0, (
        "the ratio rule alone has no such scruples"
    )


def test_fewer_parameters_remain_when_the_noise_grows(problem):
    description, _ = robot("tx40")
    motion = exact_motion(description.prior, duration=6.0)
    counts = []
    for size in (0.01, 1.0, 10.0):
        error = size * SIGMA * np.random.default_rng(1).normal(size=motion.tau.shape)
        found = Essential(relative=30.0).estimate(Problem(problem.base, (noisy(motion, error),), problem.prior))
        counts.append(np.count_nonzero(found.beta))
    assert counts[0] > counts[1] > counts[2]


def test_svd_fits_as_well_as_least_squares_and_is_nearest_the_prior(problem):
    found, best = Svd().estimate(problem), Wls().estimate(problem)
    np.testing.assert_allclose(found.beta, best.beta, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(problem.base.beta(found.chi), found.beta)
    assert found.settings["rank"] == problem.base.rank
    np.testing.assert_allclose(found.diagnostics.plain_covariance, best.diagnostics.plain_covariance, rtol=1e-5, atol=1e-12)
    change = found.chi - problem.prior.values
    null = np.linalg.svd(problem.base.T)[2][problem.base.rank :]
    assert np.abs(null @ change).max() < 1e-8  # no part of the change is invisible in the torque
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = found.chi + null.T @ rng.normal(size=len(null))
        assert np.linalg.norm(other - problem.prior.values) > np.linalg.norm(change)


def test_svd_solution_is_that_of_the_stacked_standard_regressor(problem):
    sigma = problem.observations.sigmas
    W, y = stacked_rows(problem)
    A = np.vstack([x / s for x, s in zip(W, sigma, strict=True)]) @ problem.base.T
    target = np.concatenate([x / s for x, s in zip(y, sigma, strict=True)])
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    b = problem.base.rank
    ref = problem.prior.values
    expected = ref + Vt[:b].T @ ((U.T @ (target - A @ ref))[:b] / s[:b])
    np.testing.assert_allclose(Svd().estimate(problem).chi, expected, rtol=1e-6, atol=1e-7)


def test_svd_essential_moves_essential_parameters_only(problem):
    essential = Essential().estimate(problem)
    names = {problem.base.names[i] for i in np.flatnonzero(essential.beta)}
    found = SvdEssential().estimate(problem)
    moved = {name for name, a, b in zip(problem.base.layout.names, found.chi, problem.prior.values, strict=True) if a != b}
    assert moved == names
    assert found.settings["rank"] == len(names)
    sigma = problem.observations.sigmas
    misfit = [np.sum((x.sigma / sigma) ** 2) for x in (Svd().estimate(problem), found, essential)]
    assert misfit[0] < misfit[1] < misfit[2]  # prior values are better than the zeros of plain elimination


def test_cholesky_tolerance():
    rng = np.random.default_rng(0)
    good = inertia.from_com(2.0, rng.normal(size=3), np.diag([1.0, 2.0, 2.5]))
    assert link_tolerance(good) == 0.0
    singular = inertia.from_com(2.0, np.zeros(3), np.diag([1.0, 1.0, 0.0]))
    assert link_tolerance(singular) == 0.0
    bad = inertia.from_com(2.0, [0.1, 0.2, 0.3], np.diag([1.0, -0.04, 1.0]))
    assert link_tolerance(bad) == pytest.approx(0.04)
    coupled = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert link_tolerance(inertia.from_com(1.0, np.zeros(3), coupled)) == pytest.approx(3.0)
    assert link_tolerance(inertia.ten(np.eye(3), np.zeros(3), -1.0)) == np.inf


def test_links_of_the_prior_pass_the_check():
    description, _ = robot("tx40")
    broken = description.prior.replaced({"YY2": -0.1, "M5": -1.0})
    for parameters, tolerance, count in ((description.prior, 0.0, 6), (broken, 0.0, 4), (broken, 1.0, 5)):
        assert sum(link_tolerance(parameters.link(j)) <= tolerance for j in range(6)) == count
