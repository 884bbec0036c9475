"""Priors: derivatives against differences, agreement near the prior, invariance, and Newton's method against the cone solver."""

from __future__ import annotations

import numpy as np
import pytest

import inertica as ia
from inertica.estimators.options import with_options
from inertica.physical import logdet
from inertica.physical.cone import Program
from inertica.physical.conesets import Barrier, ConeSet
from inertica.physical.constraints import PHYSICAL, Equal, MassBounds, TotalMass, slack
from inertica.physical.logdet import newton_solve
from inertica.physical.priors import (
    BaseRidge,
    Entropic,
    Euclidean,
    Observability,
    Plain,
    Pullback,
    Riemannian,
    chosen_strength,
    metric_notes,
    metric_point,
    near_prior,
    second_order,
)
from inertica.physical.scales import Reference
from inertica.robot import inertia
from physical.problems import Case, case, cvxpy_objective

ALL = (Euclidean(0.3), Plain(0.3), Observability(0.3), BaseRidge(), Pullback(0.3), Entropic(0.3), Riemannian(0.3))


def off_prior(problem: Case, amount: float, seed: int = 0) -> np.ndarray:
    """Consistent parameters at a distance from the reference's values."""
    rng = np.random.default_rng(seed)
    chi = problem.reference.values * (1.0 + amount * rng.uniform(-1, 1, len(problem.reference.values)))
    for _, where, _ in problem.reference.bodies:
        C = np.eye(4) + amount * rng.normal(size=(4, 4)) * 0.3
        chi[where] = inertia.from_pseudo_inertia(C @ inertia.pseudo_inertia(problem.reference.values[where]) @ C.T)
    return chi


@pytest.mark.parametrize("prior", ALL, ids=lambda p: type(p).__name__)
def test_gradient_and_hessian_agree_with_differences(prior) -> None:
    problem = case("scara4", 0.3, 0)
    penalty = prior.penalty(problem.reference, problem.fit)
    chi, scale = off_prior(problem, 0.2), problem.reference.scale
    g, H = penalty.gradient(chi) * scale, penalty.hessian(chi) * np.outer(scale, scale)
    h = 1e-5
    steps = h * np.diag(scale)
    slope = np.array([(penalty.value(chi + s) - penalty.value(chi - s)) / (2 * h) for s in steps])
    assert np.abs(slope - g).max() < 1e-6 * np.abs(g).max()
    bend = np.array([(penalty.gradient(chi + s) - penalty.gradient(chi - s)) * scale / (2 * h) for s in steps])
    if isinstance(
        prior, Riemannian
    ):  # exact where it is convex: some way from the prior it is not, and something positive stands in
        assert np.linalg.eigvalsh(H)[0] > -1e-9 * np.abs(H).max()
        chi = off_prior(problem, 0.02)
        H = penalty.hessian(chi) * np.outer(scale, scale)
        bend = np.array([(penalty.gradient(chi + s) - penalty.gradient(chi - s)) * scale / (2 * h) for s in steps])
    assert np.abs(bend - H).max() < 1e-5 * np.abs(H).max()


def test_distances_on_the_cone_agree_to_second_order() -> None:
    problem = case("tx40", 0.3, 1)
    amounts = (1e-2, 1e-3)
    for other in (Entropic(1.0), Riemannian(1.0)):
        gaps = []
        for amount in amounts:
            chi = off_prior(problem, amount)
            for k, p in enumerate(problem.description.layout.parameters):
                if p.kind in ("armature", "viscous", "coulomb"):
                    chi[k] = problem.reference.values[k]
            flat = Pullback(1.0).penalty(problem.reference, problem.fit).value(chi)
            gaps.append(abs(other.penalty(problem.reference, problem.fit).value(chi) / flat - 1.0))
        assert gaps[1] < 0.2 * gaps[0] and gaps[1] < 1e-2


def test_cone_distances_do_not_depend_on_the_frame() -> None:
    problem = case("tx40", 0.3, 2)
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    Q *= np.sign(np.linalg.det(Q))
    chi = off_prior(problem, 0.2)
    moved_chi, moved_prior = np.array(chi), np.array(problem.reference.values)
    for _, where, _ in problem.reference.bodies:
        position = rng.normal(size=3)
        moved_chi[where] = inertia.change_frame(chi[where], Q, position)
        moved_prior[where] = inertia.change_frame(problem.reference.values[where], Q, position)
    moved = Reference.of(problem.description.layout, moved_prior)
    for prior in (Pullback(1.0), Entropic(1.0), Riemannian(1.0)):
        here = prior.penalty(problem.reference, problem.fit).value(chi)
        there = prior.penalty(moved, problem.fit).value(moved_chi)
        assert there == pytest.approx(here, rel=1e-6)


@pytest.mark.parametrize("prior", [Pullback(1.0), Entropic(1.0), Riemannian(1.0)], ids=lambda p: type(p).__name__)
def test_distances_start_from_a_real_body_where_the_prior_is_none(prior) -> None:
    problem = case("tx40", 0.3, 3)
    layout, values = problem.description.layout, np.array(problem.reference.values)
    two, four = layout.link(1), layout.link(3)
    values[two] = inertia.from_com(
        inertia.to_com(values[two]).mass, inertia.to_com(values[two]).com, np.zeros((3, 3))
    )  # a point mass
    values[four] = 0.0
    reference = Reference.of(layout, values)
    point = metric_point(reference)
    assert point.replaced == ("link 2",) and point.empty == ("link 4",)
    others = np.setdiff1d(np.arange(layout.size), np.r_[two, four])
    assert np.array_equal(point.values[others], values[others])
    assert inertia.physically_consistent(point.values[two]) and inertia.physically_consistent(point.values[four])
    assert point.values[two][9] == pytest.approx(values[two][9], rel=0.1)
    first, second = metric_notes(prior, reference)
    assert "prior of link 2 is not that of a real body" in first and "nothing about link 4" in second
    program, penalty = Program(reference), prior.penalty(reference, problem.fit)
    found = program.solve(problem.fit, penalty) if isinstance(prior, Pullback) else newton_solve(program, problem.fit, penalty)
    assert min(slack(b, found.chi) for b in program.blocks) > -1e-8


def test_sound_priors_are_taken_as_they_are() -> None:
    problem = case("tx40", 0.3, 3)
    point = metric_point(problem.reference)
    assert np.array_equal(point.values, problem.reference.values) and not point.replaced and not point.empty
    assert metric_notes(Entropic(), problem.reference) == ()
    assert metric_notes(Euclidean(), Reference.of(problem.description.layout)) == ()


def test_unknown_friction_is_not_pulled_to_zero() -> None:
    problem = case("tx40", 0.01, 4)
    values = np.array(problem.reference.values)
    names = [p.name for p in problem.description.layout.parameters if p.kind in ("viscous", "coulomb", "armature")]
    index = [problem.description.layout.index(n) for n in names]
    values[index] = 0.0
    reference = Reference.of(problem.description.layout, values)
    found = Program(reference).solve(problem.fit, Euclidean().penalty(reference, problem.fit))
    loose = Program(reference).solve(problem.fit, Euclidean(1e-6).penalty(reference, problem.fit))
    sd = np.sqrt(np.diag(np.linalg.inv(problem.fit.R.T @ problem.fit.R)))
    assert np.abs((problem.base.beta(found.chi) - problem.base.beta(loose.chi)) / sd).max() < 0.2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prior", [Euclidean(), Pullback(0.3)], ids=["euclidean", "pullback"])
def test_barrier_method_agrees_with_the_cone_solver(prior, seed: int) -> None:
    problem = case(("tx40", "jaco2", "rv2sq", "scara4")[seed], (0.1, 0.5)[seed % 2], 20 + seed)
    extra = (TotalMass(1.0, 100.0), MassBounds({1: (0.1, 50.0)}), Equal({"Fv1": 1.0, "Fv2": -1.0})) if seed != 1 else ()
    program = Program(problem.reference, (*PHYSICAL, *extra))
    penalty = prior.penalty(problem.reference, problem.fit)
    cone, newton = program.solve(problem.fit, penalty), newton_solve(program, problem.fit, penalty)
    assert newton.objective == pytest.approx(cone.objective, rel=1e-7)
    assert min(slack(b, newton.chi) for b in program.blocks) > -1e-8


@pytest.mark.parametrize("strength", [0.3, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("name", ["tx40", "scara4"])
def test_riemannian_fits_keep_bounds_that_bind(name: str, strength: float) -> None:
    """The distance grows by logarithms only, so a heavy barrier would carry bodies away; and it is not convex."""
    problem = case(name, 0.5, 3)
    masses = {body.link + 1: problem.reference.values[where][9] for body, where, _ in problem.reference.bodies}
    program = Program(problem.reference, (*PHYSICAL, MassBounds({j: (0.9 * m, 0.95 * m) for j, m in masses.items()})))
    penalty = Riemannian(strength).penalty(problem.reference, problem.fit)
    found = newton_solve(program, problem.fit, penalty)
    assert found.active and min(slack(b, found.chi) for b in program.blocks) > -1e-8
    other = newton_solve(program, problem.fit, Entropic(strength).penalty(problem.reference, problem.fit)).chi
    assert found.objective <= problem.fit.squares(other) + penalty.value(other)
    for share in (1e-3, 1e-2, 0.1):  # towards another feasible point the objective does not fall
        at = found.chi + share * (other - found.chi)
        assert problem.fit.squares(at) + penalty.value(at) >= found.objective * (1.0 - 1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("prior", [Entropic(0.1), Entropic(10.0), Riemannian(1.0)], ids=["entropic", "strong", "riemannian"])
def test_newton_finds_a_stationary_point_inside(prior, seed: int) -> None:
    problem = case(("tx40", "jaco2", "rv2sq", "scara4", "panda7", "tx40_coupled")[seed], (0.0, 0.1, 0.5)[seed % 3], 40 + seed)
    program = Program(problem.reference)
    penalty = prior.penalty(problem.reference, problem.fit)
    found = newton_solve(program, problem.fit, penalty)
    assert min(slack(b, found.chi) for b in program.blocks) > 0.0
    S = problem.reference.scale
    slope = 2.0 * problem.fit.A.T @ (problem.fit.A @ found.chi - problem.fit.z) + penalty.gradient(found.chi)
    H = 2.0 * problem.fit.A.T @ problem.fit.A + penalty.hessian(found.chi)
    step = np.linalg.lstsq(H * np.outer(S, S), slope * S, rcond=None)[0]
    if seed % 3:  # exact data leave slopes of rounding size times 1e18
        assert slope * S @ step < 1e-7 * found.objective
    worse = [program.chi((found.chi / S)[program.free] + 1e-3 * d) for d in np.random.default_rng(seed).normal(size=(20, len(S)))]
    assert min(problem.fit.squares(c) + penalty.value(c) for c in worse) > found.objective


@pytest.mark.parametrize("strength", [0.3, 30.0])
def test_near_the_prior_it_is_a_matter_of_least_squares(strength: float) -> None:
    problem = case("scara4", 0.2, 3)
    penalty = Entropic(strength).penalty(problem.reference, problem.fit)
    quadratic = second_order(penalty, penalty.origin)
    rows = np.vstack([problem.fit.A, quadratic.W]) * problem.reference.scale
    right = np.concatenate([problem.fit.z, quadratic.W @ quadratic.centre])
    expected = problem.reference.scale * np.linalg.lstsq(rows, right, rcond=None)[0]
    found = near_prior(problem.reference, problem.fit, penalty)
    assert np.abs(problem.fit.A @ (found - expected)).max() < 1e-9 * np.abs(problem.fit.z).max()
    assert np.abs((found - expected) / problem.reference.scale).max() < 1e-6


@pytest.mark.parametrize("statements", [(), (TotalMass(20.0, 20.0),)], ids=["bodies", "with-an-equation"])
def test_large_robots_are_fitted_alike(statements: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their second derivatives are computed as sparse matrices."""
    problem, found = case("scara4", 0.5, 2), []
    program = Program(problem.reference, (*PHYSICAL, *statements))
    for large in (False, True):
        monkeypatch.setattr(logdet, "is_large", lambda robot, large=large: large)
        found.append(newton_solve(program, problem.fit, Entropic(0.3).penalty(problem.reference, problem.fit)))
    assert found[0].chi / problem.reference.scale == pytest.approx(found[1].chi / problem.reference.scale, abs=1e-9)
    assert found[0].iterations == found[1].iterations


def test_constraints_of_the_entropic_fit_are_kept_when_they_bind() -> None:
    problem = case("tx40", 0.5, 60)
    program = Program(problem.reference, (*PHYSICAL, MassBounds({2: (0.0, 3.0)}), TotalMass(20.0, 20.0)))
    penalty = Entropic(0.1).penalty(problem.reference, problem.fit)
    found = newton_solve(program, problem.fit, penalty)
    assert {"link 2: mass at most 3 kg", "total mass 20 kg"} <= {b.name for b in found.active}
    assert min(slack(b, found.chi) for b in program.blocks) > -1e-8


@pytest.mark.filterwarnings("error")
def test_a_column_whose_squares_overflow_stays_where_it_is() -> None:
    from inertica.physical.path import _least_squares

    rng = np.random.default_rng(5)
    rows, right = rng.normal(size=(12, 3)), rng.normal(size=12)
    found = _least_squares(rows * [1.0, 1e200, 1.0], right)
    assert found[1] == 0.0 and found[[0, 2]] == pytest.approx(np.linalg.lstsq(rows[:, [0, 2]], right)[0], rel=1e-9)


def test_the_log_det_solver_agrees_with_cvxpy() -> None:
    import cvxpy as cp

    problem = case("scara4", 0.5, 61)
    reference, fit = problem.reference, problem.fit
    penalty = Entropic(0.5).penalty(reference, fit)
    found = newton_solve(Program(reference), fit, penalty)
    x = cp.Variable(len(reference.scale))
    chi = cp.multiply(reference.scale, x)
    cost = []
    for where, maps in zip(penalty.where, penalty.maps, strict=True):
        K = sum(chi[int(k)] * m for k, m in zip(where, maps, strict=True))
        cost.append(2.0 * (cp.trace(K) - cp.log_det(K) - 4.0))
    ratio = cp.multiply(1.0 / penalty.scalar_prior, chi[penalty.scalars])
    cost.append(2.0 * cp.sum(ratio - cp.log(ratio) - 1.0))
    if len(penalty.other):  # expressions of size zero are known to newer versions of cvxpy only
        cost.append(cp.sum_squares(cp.multiply(1.0 / penalty.other_scale, chi[penalty.other] - penalty.other_prior)))
    objective = cp.sum_squares(fit.A @ chi - fit.z) + penalty.factor * sum(cost)
    cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    theirs = reference.scale * x.value
    assert found.objective == pytest.approx(fit.squares(theirs) + penalty.value(theirs), rel=1e-7)


def test_barrier_derivatives_agree_with_differences() -> None:
    from inertica.physical.regions import CentreInEllipsoid, Ellipsoid

    problem = case("scara4", 0.3, 62)
    com = inertia.to_com(problem.reference.values[problem.description.layout.link(1)]).com
    extra = CentreInEllipsoid({2: Ellipsoid.of_axes(com, [0.2, 0.3, 0.4])})
    program = Program(problem.reference, (*PHYSICAL, extra))
    barrier = Barrier(ConeSet.of_blocks(program.ordered, program.reference))
    x = problem.reference.values / problem.reference.scale
    g, H = barrier.derivatives(x)
    h = 1e-6
    slope = np.array([(barrier.value(x + h * e) - barrier.value(x - h * e)) / (2 * h) for e in np.eye(len(x))])
    bend = np.array([(barrier.derivatives(x + h * e)[0] - barrier.derivatives(x - h * e)[0]) / (2 * h) for e in np.eye(len(x))])
    assert np.abs(slope - g).max() < 1e-6 * np.abs(g).max()
    assert np.abs(bend - H).max() < 1e-5 * np.abs(H).max()


def test_the_strength_with_the_lowest_score_is_chosen() -> None:
    best, scores = chosen_strength((0.1, 1.0, 10.0), lambda s: abs(np.log10(s) - 0.2))
    assert best == 1.0 and set(scores) == {0.1, 1.0, 10.0}
    assert chosen_strength((0.1, 1.0), lambda s: 0.0)[0] == 1.0


def test_the_plain_pull_is_equation_65() -> None:
    """min |W beta - y|^2 + lambda |chi - chi_0|^2 over links that could exist, as cvxpy solves it."""
    problem, strength = case("scara2", 0.3, 1), 1e-3
    penalty = Plain(strength).penalty(problem.reference, problem.fit)
    chi = off_prior(problem, 0.1)
    assert penalty.value(chi) == pytest.approx(strength * np.sum((chi - problem.reference.values) ** 2), rel=1e-12)
    program = Program(problem.reference)
    found = program.solve(problem.fit, penalty)
    value, _ = cvxpy_objective(program, problem.fit, penalty)
    assert found.squares + penalty.value(found.chi) == pytest.approx(value, rel=1e-5)


def test_the_plain_pull_has_a_name_and_a_given_strength() -> None:
    found = ia.method("pc-ols+plain")
    assert found.name == "pc-ols+plain" and found.solve.strength == "given" and found.solve.prior == Plain(1e-3)
    assert with_options(found, {"prior-strength": "0.01"}).solve.prior == Plain(0.01)
