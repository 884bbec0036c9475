"""Intervals with active constraints: limits without them, coverage, one-sidedness on the boundary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import lambertw
from scipy.stats import binom, chi2

from inertica.physical import cuts
from inertica.physical.active import response
from inertica.physical.cone import Metric, Program
from inertica.physical.constraints import MARGIN, PHYSICAL, MassBounds
from inertica.physical.logdet import newton_solve
from inertica.physical.priors import Entropic, Euclidean, Quadratic, Riemannian
from inertica.physical.profile import level_ends
from inertica.physical.pseudo import side, smat
from inertica.physical.scales import Reference
from inertica.physical.uncertainty import profile_intervals
from inertica.robot import inertia
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


@pytest.mark.parametrize("seed", [1, 2])
def test_large_robots_have_intervals_that_hold_those_of_all_constraints(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each end is cut by the constraints on its own parameter alone: never shorter than true, and cut where its own body says so."""
    problem, found = case("scara4", 0.5, seed), []
    program, penalty = Program(problem.reference), Euclidean(10.0).penalty(problem.reference, problem.fit)
    chi = program.solve(problem.fit, penalty).chi
    for large in (False, True):
        monkeypatch.setattr(cuts, "is_large", lambda robot, large=large: large)
        found.append(profile_intervals(program, problem.fit, penalty, chi))
    whole, own = found
    slack = 1e-2 * whole.free_std
    assert (own.lower <= whole.lower + slack).all() and (own.upper >= whole.upper - slack).all()
    free = np.array(Metric.of(program, problem.fit, penalty).x * program.scale)
    assert ((own.lower > free - 1.95 * own.free_std) | (own.upper < free + 1.95 * own.free_std)).any()


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
        covered.append(found.lower[k] == 0.0 <= found.upper[k])
    assert min(starts) >= 0.0
    assert np.mean(covered) >= 0.75


@pytest.mark.parametrize("prior", [Euclidean(1.0), Entropic(1.0)])
def test_data_beyond_a_bound_do_not_make_an_interval_of_no_length(prior: Euclidean | Entropic) -> None:
    """As where two friction laws share one torque: the data ask for negative friction, many standard deviations below zero."""
    problem = case("scara4", 0.5, 0)
    k, values = problem.description.layout.index("Fv2"), np.array(problem.reference.values)
    values[k] = 0.0  # nothing is known of it
    reference = Reference.of(problem.description.layout, values)
    program, penalty = Program(reference), prior.penalty(reference, problem.fit)
    std = profile_intervals(program, problem.fit, penalty, newton_solve(program, problem.fit, penalty).chi).free_std[k]
    wrong = replace(problem.fit, z=problem.fit.z - (problem.truth[k] + 30.0 * std) * problem.fit.A[:, k])
    chi = newton_solve(program, wrong, penalty).chi
    found = profile_intervals(program, wrong, penalty, chi)
    assert chi[k] < std and found.lower[k] == 0.0
    assert 10.0 * std < found.upper[k] < 50.0 * std


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


@pytest.mark.parametrize("strength", [0.01, 10.0])
def test_ends_agree_with_cone_programs_solved_for_every_end(strength: float) -> None:
    """Ends that need no program are left alone: here every one is a program stated in cvxpy, in the parameters themselves."""
    import cvxpy as cp

    problem = case("scara2", 0.5, 4)
    program, penalty = Program(problem.reference), Euclidean(strength).penalty(problem.reference, problem.fit)
    outcome = program.solve(problem.fit, penalty)
    found = profile_intervals(program, problem.fit, penalty, outcome.chi)
    metric = Metric.of(program, problem.fit, penalty)
    x = cp.Variable(len(program.scale))
    away = metric.M @ (outcome.chi / program.scale - metric.x)
    held = [cp.norm(metric.M @ (x - metric.x)) <= np.sqrt(away @ away + chi2.ppf(0.995, 1))]
    for block in program.blocks:
        v = block.F * program.scale @ x + block.f
        held.append(v >= 0 if block.cone == "nonnegative" else _matrix(v) >> 0)
    for k in range(0, len(program.scale), 3):
        middle, std = metric.x[k] * program.scale[k], found.free_std[k]
        for sign, end in ((-1.0, found.lower[k]), (1.0, found.upper[k])):
            furthest = sign * program.scale[k] * cp.Problem(cp.Maximize(sign * x[k]), held).solve(solver=cp.CLARABEL)
            normal = middle + sign * 1.959964 * std
            expected = sign * max(min(sign * normal, sign * furthest), sign * outcome.chi[k])
            assert end == pytest.approx(expected, abs=3e-3 * std), problem.description.layout.names[k]


def _matrix(v):
    import cvxpy as cp

    d = side(v.shape[0])
    basis = [smat(unit) for unit in np.eye(v.shape[0])]
    return sum((v[i] * E for i, E in enumerate(basis)), cp.Constant(np.zeros((d, d))))


@pytest.mark.parametrize("prior", [Entropic, Riemannian])
def test_ends_under_priors_on_the_cone_are_those_of_the_true_cost(prior) -> None:
    """At an end the cost is at its level and its slope points along the parameter: that is the largest value, to first order."""
    problem = case("scara4", 0.5, 3)
    program, penalty = Program(problem.reference), prior(3.0).penalty(problem.reference, problem.fit)
    chi = newton_solve(program, problem.fit, penalty).chi
    ends = level_ends(program, problem.fit, penalty, chi, 3.84)

    def cost(at: np.ndarray) -> float:
        return problem.fit.squares(at) + penalty.value(at)

    k = len(program.scale)
    for row, x in enumerate(ends.points):
        at = program.chi(x)
        slope = (2.0 * problem.fit.A.T @ (problem.fit.A @ at - problem.fit.z) + penalty.gradient(at)) * program.scale
        assert cost(at) - cost(chi) == pytest.approx(3.84, abs=0.05)
        H = 2.0 * problem.fit.A.T @ problem.fit.A + penalty.hessian(at)
        flat = np.delete(np.arange(k), row % k)
        part = np.linalg.solve((H * np.outer(program.scale, program.scale))[np.ix_(flat, flat)], slope[flat])
        assert slope[flat] @ part < 0.02  # what a Newton step in the others would still gain
    assert (ends.lower < chi / program.scale).all() and (chi / program.scale < ends.upper).all()


def test_intervals_of_masses_under_priors_on_the_cone_are_longer_upwards() -> None:
    problem = case("scara4", 0.5, 3)
    layout = problem.description.layout
    program, penalty = Program(problem.reference), Entropic(3.0).penalty(problem.reference, problem.fit)
    chi = newton_solve(program, problem.fit, penalty).chi
    which = [layout.index(f"M{j}") for j in (1, 2, 3, 4)]
    found = profile_intervals(program, problem.fit, penalty, chi, which=which)
    assert (found.lower[which] > 0.0).all()
    assert (found.upper[which] - chi[which] > 1.2 * (chi[which] - found.lower[which])).all()
    std = np.sqrt(np.diag(response(program, problem.fit, penalty, chi).inverse))[which]
    assert found.free_std[which] == pytest.approx(std, rel=1e-6)


def test_bounds_stated_by_the_user_cut_intervals_under_any_prior() -> None:
    problem = case("scara4", 0.5, 3)
    k = problem.description.layout.index("M2")
    entropic = Entropic(3.0).penalty(problem.reference, problem.fit)
    top = 0.9 * newton_solve(Program(problem.reference), problem.fit, entropic).chi[k]
    program = Program(problem.reference, (*PHYSICAL, MassBounds({2: (0.5 * top, top)})))
    for prior in (Entropic(3.0), Euclidean(3.0)):
        penalty = prior.penalty(problem.reference, problem.fit)
        outcome = newton_solve(program, problem.fit, penalty)
        found = profile_intervals(program, problem.fit, penalty, outcome.chi, which=[k])
        assert 0.5 * top - 1e-9 <= found.lower[k] < found.upper[k] <= top + 1e-6


def test_a_prior_too_weak_to_bound_a_parameter_leaves_it_open() -> None:
    problem = case("scara4", 0.5, 3)
    program, penalty = Program(problem.reference), Riemannian(1e-3).penalty(problem.reference, problem.fit)
    chi = newton_solve(program, problem.fit, penalty).chi
    found = profile_intervals(program, problem.fit, penalty, chi)
    assert np.isinf(found.upper).any() and not np.isnan(found.upper).any()
    assert ((found.lower <= chi) & (chi <= found.upper)).all()


def covered(name: str, runs: int, noise: float, strength: float, truth: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    """(runs, P) whether intervals hold the truth, with data and prior drawn anew; and the share of runs with active constraints."""
    description, _ = robot(name)
    truth = description.prior.values if truth is None else truth
    own = Reference.of(description.layout, truth)
    out, active = [], 0
    for run in range(runs):
        rng = np.random.default_rng([run, 9])
        fit = case(name, noise, run, truth=truth).fit
        prior = truth + own.scale / np.sqrt(strength) * rng.normal(size=len(truth))
        penalty = Quadratic(np.sqrt(strength) * np.diag(1.0 / own.scale), prior)
        program = Program(own)
        outcome = program.solve(fit, penalty)
        active += bool(outcome.active)
        found = profile_intervals(program, fit, penalty, outcome.chi)
        near = 2.0 * MARGIN * own.scale + 1e-3 * found.free_std
        out.append((found.lower - near <= truth) & (truth <= found.upper + near))
    return np.array(out), active / runs


def drawn(prior: type, truth: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Bodies and drives around true ones: strength d^2 is chi-square, all directions alike (as benchmarks/interval_coverage.py)."""

    def ratio(n: np.ndarray) -> np.ndarray:
        if prior is Riemannian:
            return np.exp(n)
        left = -np.exp(-1.0 - 0.5 * n**2)
        return np.where(n < 0.0, -lambertw(left, 0).real, -lambertw(left, -1).real)

    layout = robot("scara2")[0].layout
    out = truth / ratio(rng.normal(size=len(truth)) / np.sqrt(strength))
    for _, where in layout.bodies:
        L = np.linalg.cholesky(inertia.pseudo_inertia(truth[where]))
        N = rng.normal(size=(4, 4)) / np.sqrt(strength)
        n, U = np.linalg.eigh(0.5 * (N + N.T))
        out[where] = inertia.from_pseudo_inertia(L @ (U / ratio(n)) @ U.T @ L.T)
    return out


def covered_on_the_cone(prior: type, runs: int, strength: float) -> tuple[np.ndarray, float]:
    """The same under an entropic or Riemannian prior, with masses stated to 10 %."""
    description, _ = robot("scara2")
    truth = description.prior.values
    bounds = {b.link + 1: (0.9 * truth[w][9], 1.1 * truth[w][9]) for b, w in description.layout.bodies}
    out, active = [], 0
    for run in range(runs):
        fit = case("scara2", 0.5, run).fit
        reference = Reference.of(description.layout, drawn(prior, truth, strength, np.random.default_rng([run, 9])))
        program, penalty = Program(reference, (*PHYSICAL, MassBounds(bounds))), prior(strength).penalty(reference, fit)
        outcome = newton_solve(program, fit, penalty)
        active += bool(outcome.active)
        found = profile_intervals(program, fit, penalty, outcome.chi)
        out.append((found.lower <= truth) & (truth <= found.upper))
    return np.array(out), active / runs


def flat(name: str) -> np.ndarray:
    """True parameters on the boundary: links without any extent in one direction, no armature, no viscous friction."""
    layout, values = robot(name)[0].layout, np.array(robot(name)[0].prior.values)
    for _, where, size in Reference.of(layout, values).bodies:
        e, V = np.linalg.eigh(size.pseudo @ inertia.pseudo_inertia(values[where]) @ size.pseudo)
        back = np.diag(1.0 / np.diag(size.pseudo)) @ V
        values[where] = inertia.from_pseudo_inertia((back * np.concatenate([[0.0], e[1:]])) @ back.T)
    values[[k for k, p in enumerate(layout.parameters) if p.kind in ("armature", "viscous")]] = 0.0
    return values


def judged(inside: np.ndarray, active: float, often: float = 0.9) -> None:
    runs = len(inside)
    assert active > often
    assert 0.92 <= inside.mean() <= 0.98
    assert (inside.sum(axis=0) >= binom.ppf(0.0005, runs, 0.95)).all(), "a parameter is below its 99.9 % band"


def test_coverage_with_active_constraints_and_a_random_prior() -> None:
    judged(*covered("scara2", 40, 0.5, 10.0))


@pytest.mark.parametrize("prior", [Entropic, Riemannian])
def test_coverage_under_priors_on_the_cone(prior: type) -> None:
    judged(*covered_on_the_cone(prior, 60, 30.0), often=0.6)


def test_coverage_with_the_truth_on_the_boundary() -> None:
    judged(*covered("scara2", 40, 0.5, 10.0, flat("scara2")))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scara4", "scara2"])
def test_coverage_over_400_runs(name: str) -> None:
    judged(*covered(name, 400, 0.5, 10.0))


@pytest.mark.slow
@pytest.mark.parametrize("prior", [Entropic, Riemannian])
def test_coverage_under_priors_on_the_cone_over_400_runs(prior: type) -> None:
    judged(*covered_on_the_cone(prior, 400, 30.0), often=0.6)


@pytest.mark.slow
def test_coverage_with_the_truth_on_the_boundary_over_400_runs() -> None:
    judged(*covered("scara2", 400, 0.5, 10.0, flat("scara2")))
