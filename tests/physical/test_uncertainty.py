"""Intervals with active constraints: limits without them, coverage, one-sidedness on the boundary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from inertica.physical.active import response
from inertica.physical.cone import Metric, Program
from inertica.physical.fit import Fit
from inertica.physical.logdet import newton_solve
from inertica.physical.priors import Entropic, Euclidean, Quadratic
from inertica.physical.scales import Reference
from inertica.physical.uncertainty import profile_intervals
from physical.problems import case, robot


def test_without_active_constraints_they_are_the_usual_ones() -> None:
    problem = case("scara4", 0.5, 0)
    penalty = Euclidean(1e6).penalty(problem.reference, problem.fit)
    program = Program(problem.reference)
    chi = program.solve(problem.fit, penalty).chi
    found = profile_intervals(program, problem.fit, penalty, chi)
    H = problem.fit.A.T @ problem.fit.A + penalty.W.T @ penalty.W
    std = np.sqrt(np.diag(np.linalg.inv(H)))
    assert found.free_std == pytest.approx(std, rel=1e-6)
    assert (found.upper - chi) == pytest.approx(1.96 * std, rel=1e-3)
    assert (chi - found.lower) == pytest.approx(1.96 * std, rel=1e-3)
    assert found.std == pytest.approx(std, rel=1e-3) and not found.one_sided.any()
    assert np.sqrt(np.diag(response(program, problem.fit, penalty, chi).inverse)) == pytest.approx(std, rel=1e-6)


def test_the_boundary_makes_them_one_sided_and_never_wider() -> None:
    problem = case("scara4", 0.5, 1)
    program, penalty = Program(problem.reference), Euclidean(10.0).penalty(problem.reference, problem.fit)
    outcome = program.solve(problem.fit, penalty)
    found = profile_intervals(program, problem.fit, penalty, outcome.chi)
    assert outcome.active and found.one_sided.any()
    middle = Metric.of(program, problem.fit, penalty).x * program.scale
    assert (found.upper <= np.maximum(middle + 1.9601 * found.free_std, outcome.chi)).all()
    assert (found.lower >= np.minimum(middle - 1.9601 * found.free_std, outcome.chi)).all()
    signed = [k for k, p in enumerate(problem.description.layout.parameters) if p.lower == 0.0]
    assert (found.lower[signed] >= 0.0).all()
    assert ((found.lower <= outcome.chi) & (outcome.chi <= found.upper)).all()


def test_a_true_zero_has_an_interval_that_starts_there() -> None:
    """Truth on the boundary: friction that is exactly zero."""
    description, _ = robot("scara4")
    k = description.layout.index("Fv2")
    truth = np.array(description.prior.values)
    truth[k] = 0.0
    starts, covered = [], []
    for seed in range(12):
        problem = case("scara4", 0.5, 200 + seed, truth=truth)
        values = np.array(problem.reference.values)
        values[k] = 0.0
        reference = Reference.of(description.layout, values)
        program, penalty = Program(reference), Euclidean().penalty(reference, problem.fit)
        found = profile_intervals(program, problem.fit, penalty, program.solve(problem.fit, penalty).chi, which=[k])
        starts.append(found.lower[k])
        covered.append(found.lower[k] <= 1e-7 <= found.upper[k] + 1e-7)
    assert min(starts) >= 0.0 and np.mean(np.array(starts) < 1e-7) > 0.8
    assert np.mean(covered) >= 0.75


def test_parameters_that_are_fixed_or_not_asked_for() -> None:
    problem = case("scara4", 0.3, 2)
    layout = replace(problem.description.layout, fixed=frozenset({"M3"}))
    reference = Reference.of(layout, problem.reference.values)
    program, penalty = Program(reference), Euclidean().penalty(reference, problem.fit)
    chi = program.solve(problem.fit, penalty).chi
    k = layout.index("Fv1")
    found = profile_intervals(program, problem.fit, penalty, chi, which=[k, layout.index("M3")])
    assert found.lower[layout.index("M3")] == found.upper[layout.index("M3")] == chi[layout.index("M3")]
    assert found.lower[k] < chi[k] < found.upper[k]
    assert np.isnan(found.lower).sum() == layout.size - 2


def test_entropic_fits_have_intervals_too() -> None:
    problem = case("scara4", 0.5, 3)
    program, penalty = Program(problem.reference), Entropic(1.0).penalty(problem.reference, problem.fit)
    chi = newton_solve(program, problem.fit, penalty).chi
    which = [problem.description.layout.index(n) for n in ("M1", "ZZ2", "Fv1")]
    found = profile_intervals(program, problem.fit, penalty, chi, which=which)
    assert (found.lower[which] < chi[which]).all() and (chi[which] < found.upper[which]).all()
    std = np.sqrt(np.diag(response(program, problem.fit, penalty, chi).inverse))[which]
    assert found.free_std[which] == pytest.approx(std, rel=1e-6)


def covered(name: str, runs: int, noise: float, strength: float) -> tuple[np.ndarray, float]:
    """(runs, P) whether intervals hold the truth, with data and prior drawn anew; and the share of runs with active constraints."""
    description, _ = robot(name)
    truth = description.prior.values
    own = Reference.of(description.layout, truth)
    out, active = [], 0
    for run in range(runs):
        rng = np.random.default_rng([run, 9])
        problem = case(name, noise, run)
        prior = truth + own.scale / np.sqrt(strength) * rng.normal(size=len(truth))
        penalty = Quadratic(np.sqrt(strength) * np.diag(1.0 / own.scale), prior)
        program = Program(own)
        fit: Fit = problem.fit
        outcome = program.solve(fit, penalty)
        active += bool(outcome.active)
        found = profile_intervals(program, fit, penalty, outcome.chi)
        out.append((found.lower <= truth) & (truth <= found.upper))
    return np.array(out), active / runs


def judged(inside: np.ndarray, active: float) -> None:
    runs = len(inside)
    assert active > 0.9
    assert 0.92 <= inside.mean() <= 0.98
    assert (inside.sum(axis=0) >= binom.ppf(0.001, runs, 0.95)).all(), "a parameter is below its 99.9 % band"


def test_coverage_with_active_constraints_and_a_random_prior() -> None:
    judged(*covered("scara2", 40, 0.5, 10.0))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scara4", "scara2"])
def test_coverage_over_400_runs(name: str) -> None:
    judged(*covered(name, 400, 0.5, 10.0))
