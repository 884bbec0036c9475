"""Intervals of standard parameters: with coloured residuals, with constraints, and for methods that have neither."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from estimators.simulated import exact_motion, noisy, robot
from inertica.arrays import Array
from inertica.estimators.base import Problem
from inertica.estimators.covariance import hac
from inertica.estimators.evidence import Evidence, Scores
from inertica.estimators.intervals import consistent_intervals, noise_intervals, standard_intervals
from inertica.estimators.linear.least_squares import Wls
from inertica.estimators.registry import method
from inertica.identifiability.labels import DETERMINED, WEAK, trust_labels
from inertica.physical.constraints import Equal

NAME = "scara4"


def problem_of(seed: int, colour: float = 0.9, level: float = 1.0, ratio: int = 1) -> Problem:
    """Torque noise that a first-order filter has coloured."""
    description, base = robot(NAME)
    motion = exact_motion(description.prior, duration=6.0, seed=3, ratio=ratio)
    white = np.random.default_rng(seed).normal(size=motion.tau.shape)
    error = lfilter([np.sqrt(1.0 - colour**2)], [1.0, -colour], white, axis=0)
    return Problem(base, (noisy(motion, level * error),), description.prior)


def test_evidence_says_what_the_covariance_says() -> None:
    problem = problem_of(0)
    found = Wls().estimate(problem)
    R, z = found.evidence.whitened()
    assert np.linalg.solve(R, z) == pytest.approx(found.beta, rel=1e-7)
    assert np.linalg.inv(R.T @ R) == pytest.approx(found.covariance, rel=1e-6, abs=1e-12 * np.abs(found.covariance).max())


def test_evidence_without_colour_is_the_system_itself() -> None:
    system = problem_of(1).observations
    stacked = system.stacked(1.0 / system.sigmas)
    R, z = Evidence(stacked.R, stacked.z).whitened()
    assert pytest.approx(stacked.R.T @ stacked.R, rel=1e-9, abs=1e-9) == R.T @ R
    assert R.T @ z == pytest.approx(stacked.R.T @ stacked.z, rel=1e-9, abs=1e-9)


def test_unresolved_directions_have_no_evidence() -> None:
    R = np.diag([2.0, 0.0, 1.0])
    rows, z = Evidence(R, np.array([2.0, 0.0, 3.0])).whitened()
    assert np.linalg.matrix_rank(rows) == 2 and np.all(rows[:, 1] == 0.0)
    assert rows.T @ z == pytest.approx([4.0, 0.0, 3.0])


def test_evidence_of_parameters_that_are_hardly_told_apart() -> None:
    """Two columns that differ by a ten millionth: what their sum says is not lost in what their difference does not say."""
    rng = np.random.default_rng(5)
    W = rng.normal(size=(200, 3))
    W[:, 1] = W[:, 0] + 1e-7 * W[:, 1]
    R, factor, beta = np.linalg.qr(W)[1], np.array([1.0, 1.5, 3.0]), np.array([1.0, -2.0, 0.5])
    scores = Scores(4.0 * R.T @ R, 3.0 * R.T @ R)  # errors of variance four
    rows, z = Evidence(R, R @ beta, scores, widened=factor).whitened()
    own = R / factor / 2.0
    for known in (np.array([1.0, 1.5, 0.0]), np.array([0.0, 0.0, 1.0])):  # as little as the sum is moved by
        assert np.linalg.norm(rows @ known) == pytest.approx(np.linalg.norm(own @ known), rel=1e-6)
    assert z == pytest.approx(rows @ beta, rel=1e-6)


def hardly_told_apart(share: float) -> Array:
    """R of 200 rows whose first two columns differ by this share; their sum is known well, their difference is not."""
    W = np.random.default_rng(5).normal(size=(200, 3))
    W[:, 1] = W[:, 0] + share * W[:, 1]
    return np.linalg.qr(W)[1]


def test_evidence_with_changes_says_what_its_covariance_does() -> None:
    R, beta, rng = hardly_told_apart(0.1), np.array([1.0, -2.0, 0.5]), np.random.default_rng(8)
    scores = Scores(4.0 * R.T @ R, 6.0 * R.T @ R)
    evidence = Evidence(R, R @ beta, scores, widened=np.array([1.0, 1.5, 3.0]), changes=rng.normal(size=(3, 2)))
    found, covariance = evidence.least_squares(np.zeros(3))
    rows, z = evidence.whitened()
    assert found == pytest.approx(beta) and np.linalg.solve(rows, z) == pytest.approx(beta)
    assert np.linalg.inv(rows.T @ rows) == pytest.approx(covariance, rel=1e-9)


def test_a_change_leaves_alone_what_is_known_of_parameters_that_are_hardly_told_apart() -> None:
    """A change of their difference does nothing to their sum; factors on their standard deviations do."""
    R, total = hardly_told_apart(1e-4), np.array([1.0, 1.0, 0.0])
    plain = Evidence(R, R @ np.array([1.0, -2.0, 0.5]))
    std = np.sqrt(np.diag(plain.least_squares(np.zeros(3))[1]))
    change = 3.0 * std[0] * np.array([[1.0], [-1.0], [0.0]])
    wider = np.sqrt(std**2 + change[:, 0] ** 2) / std
    assert wider[0] != pytest.approx(wider[1], rel=1e-6)

    def of_sum(evidence: Evidence) -> float:
        rows, _ = evidence.whitened()
        return float(np.linalg.norm(np.linalg.solve(rows.T, total)))

    added, multiplied = replace(plain, changes=change), replace(plain, widened=wider)
    assert of_sum(added) == pytest.approx(of_sum(plain), rel=1e-3)
    assert of_sum(multiplied) > 2.0 * of_sum(plain)


@pytest.mark.parametrize("name", ["pc-ols", "pc-wls", "pc-irls"])
def test_constraints_do_not_feign_certainty(name: str) -> None:
    """A parameter held at its limit keeps an interval, and the truth is in it; no interval is wider than that of the data alone."""
    problem = problem_of(2, level=6.0)
    estimator = method(name)
    found = estimator.estimate(problem)
    plain = method(name.removeprefix("pc-")).estimate(problem)
    ends = standard_intervals(found, problem, problem.prior)
    alone = [k for k, label in enumerate(trust_labels(plain.base, plain.beta, plain.std).values()) if label in (DETERMINED, WEAK)]
    free = noise_intervals(plain, problem.prior)
    width, wide = (np.diff(x, axis=1)[alone, 0] for x in (ends, free))
    assert (ends[:, 0] <= found.chi).all() and (found.chi <= ends[:, 1]).all()
    assert any("held back" in w for w in found.warnings)
    assert np.isfinite(ends).all() and (width < 1.1 * wide).all() and (width > 0.01 * wide).all()
    truth = problem.prior.values
    assert ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean() > 0.9


def test_coverage_with_coloured_residuals_and_active_constraints() -> None:
    inside, held, narrow = [], 0, []
    for seed in range(40):
        problem = problem_of(100 + seed, level=4.0, ratio=2)
        estimator = method("pc-wls")
        found = estimator.estimate(problem)
        held += any("held back" in w for w in found.warnings)
        alone = [
            problem.base.layout.names.index(n)
            for n in ("Fv1", "Fc1", "Fv2", "Fc2", "ZZ4", "Ia4", "Fv4")
            if n in problem.base.layout.names
        ]
        ends = consistent_intervals(found.evidence, problem, found.chi)
        truth = problem.prior.values
        inside.append(((ends.lower <= truth) & (truth <= ends.upper))[alone])
        system = problem.observations
        sigma = system.sigmas
        narrow.append(
            np.sqrt(np.diag(found.diagnostics.plain_covariance)).mean()
            / np.sqrt(np.diag(hac(system, found.beta, found.diagnostics.plain_covariance, 1.0 / sigma))).mean()
        )
    assert held > 20
    assert np.mean(inside) > 0.90
    assert np.mean(narrow) < 0.6  # the textbook formula would promise far too much here


def test_methods_without_prior_leave_sums_without_limits() -> None:
    problem = problem_of(3)
    found = Wls().estimate(problem)
    ends = standard_intervals(found, problem, problem.prior)
    labels = trust_labels(found.base, found.beta, found.std)
    for k, label in enumerate(labels.values()):
        assert np.isfinite(ends[k]).all() == (label in (DETERMINED, WEAK, "fixed")), (k, label)


@pytest.mark.parametrize("name", ["pc-wls", "pc-wls+entropic"])
def test_equations_leave_no_width_and_tie_what_they_equate(name: str) -> None:
    problem = problem_of(4)
    truth = problem.prior
    stated = (
        Equal({"M3": 1.0}, truth["M3"]),
        Equal({"Fv1": 1.0}, truth["Fv1"]),
        Equal({"Fc1": 1.0, "Fc2": -2.0}, truth["Fc1"] - 2 * truth["Fc2"]),
    )
    problem = replace(problem, constraints=stated)
    found = method(name).estimate(problem)
    ends = standard_intervals(found, problem, truth)
    labels = trust_labels(found.base, found.beta, found.std, intervals=ends)
    index = truth.layout.index
    assert (
        labels["M3"] == labels["Fv1"] == "fixed"
        and (ends[[index("M3"), index("Fv1")], 0] == found.chi[[index("M3"), index("Fv1")]]).all()
    )
    if name == "pc-wls":
        first, second = (ends[index(n)] - found.chi[index(n)] for n in ("Fc1", "Fc2"))
        assert first == pytest.approx(2.0 * second, rel=1e-6)
