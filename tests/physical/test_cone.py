"""The cone solver against cvxpy, against exact data, and on every kind of constraint."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from inertica.physical.certified import _Task
from inertica.physical.cone import InfeasibleError, Metric, Program
from inertica.physical.conesets import Accuracy
from inertica.physical.constraints import (
    PHYSICAL,
    Bounds,
    Equal,
    MassBounds,
    PositiveInertia,
    RealBody,
    Signs,
    TotalMass,
    slack,
    symmetric,
)
from inertica.physical.priors import Euclidean, Observability, Pullback
from inertica.physical.regions import (
    Box,
    CentreInBox,
    CentreInEllipsoid,
    Ellipsoid,
    MassInEllipsoid,
    MassInHull,
)
from inertica.physical.scales import Reference
from inertica.robot import inertia
from physical.problems import NOISES, ROBOTS, Case, case, cvxpy_objective

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
PRIORS = (Euclidean(), Pullback(0.3), Euclidean(1.0), Observability(1.0))


def agree(problem: Case, prior, constraints=PHYSICAL) -> None:
    program = Program(problem.reference, constraints)
    penalty = prior.penalty(problem.reference, problem.fit)
    ours = program.solve(problem.fit, penalty)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy says when Clarabel stops short of 1e-10
        theirs, _ = cvxpy_objective(program, problem.fit, penalty, **TIGHT)
    # a solve that stops short of 1e-7 says by its certified gap how far the minimum may be
    assert ours.objective == pytest.approx(theirs, rel=1e-7, abs=ours.gap) and ours.gap < 1e-6 * ours.objective
    assert min(slack(b, ours.chi) for b in program.blocks) > -1e-8


def listed(count: int, first: int = 0) -> list[tuple[str, float, int]]:
    return [(ROBOTS[k % len(ROBOTS)], NOISES[k // len(ROBOTS) % len(NOISES)], k) for k in range(first, first + count)]


@pytest.mark.parametrize(("name", "noise", "seed"), listed(25))
def test_objective_agrees_with_cvxpy(name: str, noise: float, seed: int) -> None:
    agree(case(name, noise, seed), PRIORS[seed % len(PRIORS)])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "noise", "seed"), listed(185, 25))
def test_objective_agrees_with_cvxpy_at_length(name: str, noise: float, seed: int) -> None:
    agree(case(name, noise, seed), PRIORS[seed % len(PRIORS)])


@pytest.mark.parametrize("seed", range(3))
def test_all_kinds_of_constraints_together_agree_with_cvxpy(seed: int) -> None:
    problem = case("tx40", 0.5, 100 + seed)
    true = [inertia.to_com(problem.truth[w]) for _, w in problem.description.layout.bodies]
    near = Ellipsoid.of_axes(true[2].com, [0.05, 0.05, 0.08])
    wide = Ellipsoid.of_axes(true[3].com, [0.3, 0.2, 0.4])
    corners = true[1].com + 0.3 * (np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), -1).reshape(-1, 3))
    constraints = (
        *PHYSICAL,
        PositiveInertia(links=(1, 2)),
        MassBounds({4: (3.0, 4.0), 5: (0.9, 1.1)}),
        TotalMass(22.0, 22.5),
        CentreInBox({1: Box(true[0].com - 0.05, true[0].com + 0.05)}),
        CentreInEllipsoid({3: near}),
        MassInEllipsoid({4: wide}),
        MassInHull({2: corners}),
        Equal({"Fv5": 1.0, "Fv6": -1.0}),
        Bounds({"Ia1": (0.1, 0.5)}),
        *symmetric(6, "xz"),
    )
    agree(problem, Euclidean(), constraints)


@pytest.mark.parametrize("name", [r for r in ROBOTS if r != "scara2"])
@pytest.mark.parametrize("seed", range(3))
def test_exact_data_give_the_truth_from_any_prior(name: str, seed: int) -> None:
    problem = case(name, 0.0, seed)
    program = Program(problem.reference)
    found = program.solve(problem.fit, Euclidean().penalty(problem.reference, problem.fit))
    beta = problem.base.beta(problem.truth)
    assert np.abs(problem.base.beta(found.chi) - beta).max() < 1e-9 * np.abs(beta).max()
    assert min(slack(b, found.chi) for b in program.blocks) > -1e-9


def test_an_unconstrained_minimum_that_is_feasible_is_returned_as_it_is() -> None:
    problem = case("tx40", 0.5, 0)
    penalty = Euclidean(1e6).penalty(problem.reference, problem.fit)
    found = Program(problem.reference).solve(problem.fit, penalty)
    assert found.status == "unconstrained minimum" and found.active == ()
    plain = np.linalg.lstsq(np.vstack([problem.fit.A, penalty.W]), np.r_[problem.fit.z, penalty.W @ penalty.centre], rcond=None)[
        0
    ]
    assert np.allclose(found.chi, plain, rtol=1e-8, atol=1e-10)


def test_margin_is_kept() -> None:
    problem = case("tx40", 0.5, 3)
    for margin in (1e-5, 1e-3, 1e-2):
        program = Program(problem.reference, (RealBody(margin), Signs()))
        found = program.solve(problem.fit, Euclidean().penalty(problem.reference, problem.fit))
        sizes = problem.reference.sizes
        smallest = [
            np.linalg.eigvalsh(s.pseudo @ inertia.pseudo_inertia(found.chi[w]) @ s.pseudo)[0]
            for (_, w), s in zip(problem.description.layout.bodies, sizes, strict=True)
        ]
        assert min(smallest) == pytest.approx(margin, rel=1e-3)
        assert found.active


def test_fixed_parameters_keep_their_values() -> None:
    problem = case("tx40", 0.5, 4)
    layout = replace(problem.description.layout, fixed=frozenset({"M3", "Fv1", "MZ4"}))
    reference = Reference.of(layout, problem.reference.values)
    found = Program(reference).solve(problem.fit, Euclidean().penalty(reference, problem.fit))
    for name in layout.fixed:
        assert found.chi[layout.index(name)] == reference.values[layout.index(name)]


def test_a_solver_that_does_not_get_there_gives_way_to_another() -> None:
    problem = case("tx40", 0.5, 5)
    penalty = Euclidean().penalty(problem.reference, problem.fit)
    exact = Program(problem.reference).solve(problem.fit, penalty)
    found = Program(problem.reference, accuracy=Accuracy(steps=3)).solve(problem.fit, penalty)
    assert found.status == "barrier" and found.gap <= 1e-4
    assert min(slack(b, found.chi) for b in Program(problem.reference).blocks) >= 0.0
    sd = np.sqrt(np.diag(np.linalg.inv(problem.fit.A.T @ problem.fit.A + penalty.W.T @ penalty.W)))
    assert np.abs((found.chi - exact.chi) / sd).max() < np.sqrt(found.gap) + np.sqrt(exact.gap)


@pytest.mark.parametrize("steps", [3, 6, 9, 100])
def test_the_gap_is_never_less_than_what_is_left(steps: int) -> None:
    """Whatever the solver reached: the least cost, by cvxpy, is not further below than the gap says."""
    problem = case("scara4", 0.5, 9)
    program = Program(problem.reference, accuracy=Accuracy(steps=steps))
    penalty = Euclidean().penalty(problem.reference, problem.fit)
    metric = Metric.of(program, problem.fit, penalty)
    found = next(_Task(metric.M, metric.x, program.cones, program.inside).by_residuals(program.accuracy))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        least, _ = cvxpy_objective(program, problem.fit, penalty, **TIGHT)
    chi = program.chi(found.x)
    assert min(slack(b, chi) for b in program.blocks) >= 0.0
    assert problem.fit.squares(chi) + penalty.value(chi) - least <= found.gap + 1e-6 * least
    assert found.gap < 1e-4 if steps == 100 else found.gap > 0.0


def test_multipliers_of_one_way_prove_points_of_another() -> None:
    problem = case("scara4", 0.5, 9)
    program = Program(problem.reference)
    penalty = Euclidean().penalty(problem.reference, problem.fit)
    metric = Metric.of(program, problem.fit, penalty)
    alone, after = (_Task(metric.M, metric.x, program.cones, program.inside) for _ in range(2))
    assert next(after.by_residuals(program.accuracy)).gap < 1e-4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        least, _ = cvxpy_objective(program, problem.fit, penalty, **TIGHT)
    pairs = list(zip(alone.by_barrier(1e-4), after.by_barrier(1e-4), strict=False))
    assert any(ours.gap < 0.5 * other.gap for other, ours in pairs)
    for other, ours in pairs:
        chi = program.chi(ours.x)
        assert ours.gap <= other.gap
        assert problem.fit.squares(chi) + penalty.value(chi) - least <= ours.gap + 1e-6 * least


def test_bounds_that_leave_no_room_are_kept() -> None:
    problem = case("tx40", 0.5, 5)
    program = Program(problem.reference, (*PHYSICAL, Bounds({"Fv1": (0.0, 0.0), "M2": (4.0, 4.0)})))
    found = program.solve(problem.fit, Euclidean().penalty(problem.reference, problem.fit))
    layout = problem.description.layout
    assert found.gap <= 1e-2 and abs(found.chi[layout.index("Fv1")]) < 1e-7
    assert found.chi[layout.index("M2")] == pytest.approx(4.0, abs=1e-6)


def test_fixed_values_that_no_body_has_are_named() -> None:
    problem = case("tx40", 0.1, 6)
    layout = replace(problem.description.layout, fixed=frozenset({"XX2", "YY2"}))
    values = np.array(problem.reference.values)
    values[layout.index("XX2")], values[layout.index("YY2")] = 1.0, -1.0
    reference = Reference.of(layout, values)
    with pytest.raises(InfeasibleError, match=r"link 2: a body that can exist', with the fixed values XX2 = 1, YY2 = -1"):
        Program(reference).solve(problem.fit, Euclidean().penalty(reference, problem.fit))


def test_conflicts_are_named_by_a_smallest_group() -> None:
    problem = case("tx40", 0.1, 6)
    box = CentreInBox({2: Box(np.array([-1.0, -1.0, -1.0]), np.array([0.2, 1.0, 1.0]))})
    constraints = (
        *PHYSICAL,
        MassBounds({2: (5.0, 6.0), 3: (4.0, 9.0)}),
        Bounds({"MX2": (2.0, np.inf)}),
        TotalMass(1.0, 99.0),
        box,
    )
    program = Program(problem.reference, constraints)
    with pytest.raises(InfeasibleError) as error:
        program.solve(problem.fit, Euclidean().penalty(problem.reference, problem.fit))
    said = "link 2: mass at most 6 kg; MX2 at least 2; link 2: centre of mass in its box; drop"
    assert f"tx40: these constraints exclude each other: {said}" in str(error.value)


def test_a_total_mass_conflicts_with_all_that_have_mass() -> None:
    problem = case("scara2", 0.1, 6)
    program = Program(problem.reference, (*PHYSICAL, MassBounds({1: (5.0, 6.0)}), TotalMass(0.0, 4.0)))
    names = {b.name for b in program.conflict}
    assert names == {"link 1: mass at least 5 kg", "total mass at most 4 kg", "link 2: a body that can exist"}


def test_bounds_that_no_body_meets_are_named_with_the_body() -> None:
    problem = case("tx40", 0.1, 7)
    program = Program(problem.reference, (*PHYSICAL, Bounds({"XX3": (0.5, 1.0), "YY3": (-1.0, 0.1), "ZZ3": (-1.0, 0.1)})))
    names = {b.name for b in program.conflict}
    assert names == {"link 3: a body that can exist", "XX3 at least 0.5", "YY3 at most 0.1", "ZZ3 at most 0.1"}


def test_a_feasible_set_has_no_conflict() -> None:
    assert Program(case("scara4", 0.1, 8).reference).conflict == []
