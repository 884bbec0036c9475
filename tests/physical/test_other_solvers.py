"""Cholesky coordinates and point masses against the cone solver."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.errors import InputError
from inertica.physical.cholesky import LogCholesky, _CholeskyFit, cholesky_solve
from inertica.physical.cone import Metric, Program
from inertica.physical.constraints import PHYSICAL, TotalMass
from inertica.physical.pointmass import pointmass_solve
from inertica.physical.priors import Euclidean
from inertica.robot import inertia
from physical.problems import case


@pytest.mark.parametrize("log", [True, False])
def test_the_chart_comes_back_and_knows_its_derivative(log: bool) -> None:
    problem = case("scara4", 0.1, 0)
    chart = LogCholesky(problem.reference, log=log)
    theta = chart.theta(problem.reference.values)
    chi, J = chart.chi(theta)
    assert np.allclose(chi, problem.reference.values, rtol=1e-10, atol=1e-14)
    h = 1e-6
    slopes = np.array([(chart.chi(theta + h * e)[0] - chart.chi(theta - h * e)[0]) / (2 * h) for e in np.eye(len(theta))]).T
    assert np.abs((slopes - J) / problem.reference.scale[:, None]).max() < 1e-7


@pytest.mark.parametrize("log", [True, False])
def test_every_point_of_the_chart_is_consistent(log: bool) -> None:
    problem = case("tx40", 0.1, 1)
    chart = LogCholesky(problem.reference, log=log)
    for seed in range(20):
        theta = np.random.default_rng(seed).normal(size=len(problem.reference.values)) * 2
        chi, _ = chart.chi(theta)
        assert all(inertia.physically_consistent(chi[w]) for _, w in problem.description.layout.bodies)
        assert all(v >= p.lower for p, v in zip(problem.description.layout.parameters, chi, strict=True) if p.kind == "viscous")


@pytest.mark.parametrize("log", [True, False])
def test_second_derivatives_in_the_chart_agree_with_differences(log: bool) -> None:
    problem = case("scara4", 0.5, 2)
    program = Program(problem.reference)
    metric = Metric.of(program, problem.fit, Euclidean().penalty(problem.reference, problem.fit))
    search = _CholeskyFit(program, metric, LogCholesky(problem.reference, log=log))
    theta = search.chart.theta(problem.reference.values)
    _, H = search.derivatives(theta)
    h = 1e-6
    bend = [(search.derivatives(theta + h * e)[0] - search.derivatives(theta - h * e)[0]) / (2 * h) for e in np.eye(len(theta))]
    assert np.abs(np.array(bend) - H).max() < 1e-6 * np.abs(H).max()


@pytest.mark.parametrize(("name", "noise"), [("scara4", 0.5), ("rv2sq", 0.5), ("tx40", 0.5)])
def test_cholesky_search_reaches_the_minimum_of_the_cone_program(name: str, noise: float) -> None:
    problem = case(name, noise, 3)
    program = Program(problem.reference)
    penalty = Euclidean().penalty(problem.reference, problem.fit)
    cone, found = program.solve(problem.fit, penalty), cholesky_solve(program, problem.fit, penalty)
    assert found.objective == pytest.approx(cone.objective, rel=1e-6)


def test_cholesky_search_refuses_what_it_cannot_keep() -> None:
    problem = case("scara4", 0.5, 4)
    program = Program(problem.reference, (*PHYSICAL, TotalMass(1.0, 1.0)))
    with pytest.raises(InputError, match="do not keep 'total mass 1 kg'"):
        cholesky_solve(program, problem.fit, Euclidean().penalty(problem.reference, problem.fit))


def test_point_masses_approach_the_minimum_from_above() -> None:
    problem = case("tx40", 0.5, 5)
    program = Program(problem.reference)
    penalty = Euclidean().penalty(problem.reference, problem.fit)
    coarse, fine = (pointmass_solve(program, problem.fit, penalty, count=count) for count in (3, 5))
    assert coarse.excess > fine.excess > -1e-7
    assert fine.excess < 0.2 and fine.distance < coarse.distance
    for (_, where), masses in zip(problem.description.layout.bodies, fine.masses, strict=True):
        assert masses.min() > -1e-6 * masses.max()
        assert fine.chi[where][9] == pytest.approx(masses.sum(), rel=1e-6)
