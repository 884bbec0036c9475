"""Ridge and Bayesian regression against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.simulated import exact_motion, noisy, robot, stacked_rows
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.linear.bayes import Bayes, Ridge, left_out_errors, posterior, trusted_std
from inertica.estimators.linear.least_squares import Wls
from inertica.identifiability.base import base_model
from inertica.logs.read import read_log
from inertica.physical.fit import Fit
from inertica.physical.scales import Reference
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.load import load


@pytest.fixture(scope="module")
def problem() -> Problem:
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=4.0)
    rng = np.random.default_rng(0)
    wrong = description.prior.with_values(description.prior.values * rng.uniform(0.7, 1.3, description.layout.size))
    return Problem(base, (noisy(motion, rng.normal(size=motion.tau.shape)),), wrong)


def weighted_rows(problem):
    W, y = stacked_rows(problem)
    sigma = problem.observations.sigmas
    return np.vstack([x / s for x, s in zip(W, sigma, strict=True)]), np.concatenate(
        [x / s for x, s in zip(y, sigma, strict=True)]
    )


def test_posterior_is_the_closed_form(problem):
    A, y = weighted_rows(problem)
    std = np.random.default_rng(1).uniform(0.1, 1.0, problem.base.layout.size)
    X = A @ problem.base.T
    P = np.linalg.inv(np.diag(std**-2) + X.T @ X)
    mean = problem.prior.values + P @ X.T @ (y - X @ problem.prior.values)
    system = problem.observations
    chi, covariance = posterior(system.stacked(1.0 / system.sigmas), problem.base.T, problem.prior.values, std)
    np.testing.assert_allclose(chi, mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(covariance, P, rtol=1e-6, atol=1e-9)


def test_bayes_reports_the_posterior_of_chi_and_beta(problem):
    std = np.full(problem.base.layout.size, 0.5)
    found = Bayes(prior_std=std).estimate(problem)
    T = problem.base.T
    np.testing.assert_allclose(found.covariance, T @ found.chi_covariance @ T.T)
    np.testing.assert_allclose(found.beta, problem.base.beta(found.chi))
    assert np.all(np.diag(found.chi_covariance) <= std**2 * (1 + 1e-12))


def test_trust_decides_between_prior_and_data(problem):
    sure = Bayes(trust=1e-6).estimate(problem)
    np.testing.assert_allclose(sure.chi, problem.prior.values, rtol=1e-3, atol=1e-6)
    open_minded = Bayes(trust=1e4).estimate(problem)
    data = Wls(hac=False).estimate(problem)
    assert np.abs((open_minded.beta - data.beta) / data.std).max() < 0.05


def test_fixed_parameters_stay(problem):
    layout = replace(problem.base.layout, fixed=frozenset({"Fv1"}))
    prior = problem.prior.on(layout)
    found = Bayes().estimate(replace(problem, base=base_model(layout), prior=prior))
    k = layout.index("Fv1")
    assert found.chi[k] == prior.values[k] and found.chi_covariance[k, k] == 0.0


def test_posterior_intervals_hold_when_truth_is_drawn_from_the_prior():
    description, base = robot("scara2")
    rng = np.random.default_rng(5)
    std = trusted_std(description.prior, {"all": 0.3})
    inside = []
    for k in range(60):
        truth = description.prior.with_values(description.prior.values + std * rng.normal(size=len(std)))
        motion = exact_motion(truth, seed=k % 3, duration=3.0)
        problem = Problem(base, (noisy(motion, 5.0 * rng.normal(size=motion.tau.shape)),), description.prior)
        found = Bayes(prior_std=std).estimate(problem)
        inside.append(np.abs(found.chi - truth.values) <= 1.96 * np.sqrt(np.diag(found.chi_covariance)) + 1e-12)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


def test_trust_by_group_and_name(problem):
    prior = problem.prior
    std = trusted_std(prior, {"all": 0.5, "masses": 0.1, "friction": 2.0, "ZZ1": 0.01})
    scales = trusted_std(prior, {"all": 1.0})
    names = prior.layout.names
    for name, factor in (("M1", 0.1), ("Fv1", 2.0), ("ZZ1", 0.01), ("MX1", 0.5)):
        assert std[names.index(name)] == pytest.approx(factor * scales[names.index(name)])
    with pytest.raises(InputError, match="shape"):
        Bayes(prior_std=np.ones(3)).estimate(problem)


def without(prior, *kinds: str, link: int | None = None):
    """The prior with zeros for the kinds of parameters, or for all of a link."""
    parameters = prior.layout.parameters
    out = np.where([p.kind in kinds for p in parameters], 0.0, prior.values)
    if link is not None:
        out[prior.layout.bodies[link][1]] = 0.0
    return prior.with_values(out)


def test_zero_friction_and_empty_links_are_unknown():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=4.0)
    noise = 0.01 * np.random.default_rng(3).normal(size=motion.tau.shape)
    for k, prior in enumerate((without(description.prior, "viscous", "coulomb", "armature"), without(description.prior, link=1))):
        bare = Problem(base, (noisy(motion, noise),), prior)
        found, data = Bayes().estimate(bare), Wls(hac=False).estimate(bare)
        assert np.abs((found.beta - data.beta) / data.std).max() < 0.05
        if k == 0:
            np.testing.assert_allclose(found.chi[base.layout.index("Fc1")], description.prior["Fc1"], rtol=0.01)
    told = Bayes(trust={"friction": 1e-6}).estimate(replace(bare, prior=without(description.prior, "viscous", "coulomb")))
    assert abs(told.chi[base.layout.index("Fc1")]) < 1e-3 * description.prior["Fc1"]


def test_a_zero_of_a_link_is_known_to_a_part_of_the_size_of_the_link():
    description, _ = robot("tx40")
    heavy = description.prior.with_values(100.0 * description.prior.values).replaced({"MY2": 0.0})
    size = Reference.of(heavy.layout, heavy.values).sizes[1]
    std = trusted_std(heavy, {"all": 1.0}, Fit(np.eye(1), np.full(1, 1e9), np.ones((1, heavy.layout.size))))
    assert std[heavy.layout.index("MY2")] == pytest.approx(0.1 * size.mass * size.length)


def test_a_real_arm_whose_file_has_no_friction(real_data, tmp_path):
    card = tmp_path / "card.yaml"
    card.write_text(f"model: {real_data}/tx40/tx40.urdf\ncoupling: [{{motor: 6, joints: [5, 6]}}]\n")
    description = load(card)
    log = read_log(f"{real_data}/tx40/tx40_joint_public.csv.gz@0:4.0", description)
    motion = prepare(log, Recipe(filter=Butterworth(cutoff=50.0), ratio=10, filter_torque=True))
    arm = Problem(base_model(description.layout), (motion,), description.prior)
    bayes, data = Bayes().estimate(arm), Wls(hac=False).estimate(arm)
    assert np.linalg.norm(bayes.sigma / data.sigma) / np.sqrt(6.0) == pytest.approx(1.0, abs=0.03)


def test_ridge_runs_from_least_squares_to_the_prior(problem):
    data = Wls().estimate(problem)
    np.testing.assert_allclose(Ridge(strength=1e-12).estimate(problem).beta, data.beta, rtol=1e-6)
    np.testing.assert_allclose(Ridge(strength=1e12).estimate(problem).beta, problem.prior_beta, rtol=1e-6)
    some = Ridge(strength=1e-2).estimate(problem)
    assert np.all(np.diag(some.diagnostics.plain_covariance) <= np.diag(data.diagnostics.plain_covariance) * (1 + 1e-9))
    A, y = weighted_rows(problem)
    D = np.diag(np.linalg.norm(A, axis=0) ** 2)
    expected = np.linalg.solve(A.T @ A + 1e-2 * D, A.T @ y + 1e-2 * D @ problem.prior_beta)
    np.testing.assert_allclose(some.beta, expected, rtol=1e-7)


def test_left_out_blocks_are_predicted_by_the_others(problem):
    system = problem.observations
    blocks = [block.stacked(weights=np.ones(2)) for block in system.blocks(4)]
    rows = system.stacked(np.ones(2))
    np.testing.assert_allclose(sum(s.R.T @ s.R for s in blocks), rows.R.T @ rows.R, rtol=1e-9, atol=1e-9)
    errors = left_out_errors(blocks, problem)
    W, y = stacked_rows(problem)
    m = len(problem.motions[0])
    index, period = np.flatnonzero(~problem.motions[0].mask), problem.motions[0].period
    total = 0.0
    for i in range(4):
        out = (np.mod(index / m / (period or 1.0), 1.0) * 4 + 1e-9).astype(int) == i  # a quarter of every period
        A, b = np.vstack([w[~out] for w in W]), np.concatenate([x[~out] for x in y])
        D = 1e-3 * np.diag(np.linalg.norm(A, axis=0) ** 2)
        beta = np.linalg.solve(A.T @ A + D, A.T @ b + D @ problem.prior_beta)
        total += sum(np.sum((w[out] @ beta - x[out]) ** 2) for w, x in zip(W, y, strict=True))
    assert errors[1e-3] == pytest.approx(total, rel=1e-8)


def test_ridge_follows_good_data_and_a_good_prior():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=4.0)
    rng = np.random.default_rng(2)
    good = description.prior
    poor = good.with_values(good.values * rng.uniform(0.3, 2.0, base.layout.size))
    clean = Problem(base, (noisy(motion, 0.01 * rng.normal(size=motion.tau.shape)),), poor)
    loud = Problem(base, (noisy(motion, 30.0 * rng.normal(size=motion.tau.shape)),), good)
    assert Ridge().estimate(clean).settings["strength"] <= 1e-6
    assert Ridge().estimate(loud).settings["strength"] >= 1e-2
