"""The prior itself and least squares held near it: cad, uls, cls-1, cls-2, cls-3."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import inertica as ia
from estimators.simulated import exact_motion, noisy, robot, stacked_rows
from inertica.errors import InputError
from inertica.estimators.base import Estimate, Problem
from inertica.estimators.consistent.bounded import (
    BoundedNearest,
    ConsistentInside,
    FeasibleBounded,
    link_ellipsoids,
    prior_bounds,
)
from inertica.estimators.registry import method
from inertica.physical.check import check_link
from inertica.physical.constraints import slack
from inertica.physical.regions import CentreInEllipsoid, MassInEllipsoid
from inertica.physical.scales import Reference
from inertica.robot import inertia

ROBOTS = ("tx40", "rv2sq", "jaco2")
NAMES = ("cad", "uls", "cls-1", "cls-2", "cls-3")


def problem_of(name: str, noise: float = 0.05, off: float = 0.3, seed: int = 0) -> Problem:
    """Noise as a share of each joint's torque, and a prior whose every value is off by up to a share."""
    description, base = robot(name)
    motion, rng = exact_motion(description.prior, duration=5.0), np.random.default_rng(seed)
    prior = description.prior.with_values(description.prior.values * (1.0 + off * rng.uniform(-1.0, 1.0, base.layout.size)))
    return Problem(base, (noisy(motion, noise * motion.tau.std(axis=0) * rng.normal(size=motion.tau.shape)),), prior)


def reference_of(problem: Problem) -> Reference:
    return Reference.of(problem.base.layout, problem.prior.values)


def misfit(problem: Problem, found: Estimate) -> float:
    W, y = stacked_rows(problem)
    return float(np.linalg.norm(np.vstack(W) @ found.beta - np.concatenate(y)))


@pytest.fixture(scope="module", params=ROBOTS)
def fits(request: pytest.FixtureRequest) -> tuple[Problem, dict[str, Estimate]]:
    problem = problem_of(request.param)
    return problem, {name: method(name).estimate(problem) for name in NAMES}


def test_uls_fits_best_and_cad_worst(fits) -> None:
    problem, found = fits
    W, y = stacked_rows(problem)
    plain = np.linalg.lstsq(np.vstack(W), np.concatenate(y))[0]
    assert found["uls"].method == "uls" and found["uls"].beta == pytest.approx(plain, rel=1e-6, abs=1e-8)
    miss = {name: misfit(problem, e) for name, e in found.items()}
    assert min(miss, key=miss.get) == "uls" and max(miss, key=miss.get) == "cad"
    assert miss["cls-3"] < 1.01 * miss["uls"]


def test_cad_is_the_prior_and_knows_no_error(fits) -> None:
    problem, found = fits
    e = found["cad"]
    assert np.array_equal(e.chi, problem.prior.values) and np.isinf(e.std).all()
    assert e.beta == pytest.approx(problem.base.beta(problem.prior.values))
    assert e.stop_reason.startswith("the prior") and "not used" in e.warnings[0]


def test_nearest_within_bounds_against_bounded_least_squares(fits) -> None:
    problem, found = fits
    e, reference = found["cls-1"], reference_of(problem)
    bounds = prior_bounds(reference, 0.2, 0.01).bounds
    names = problem.base.layout.names
    lower, upper = (np.array([bounds.get(n, (-np.inf, np.inf))[k] for n in names]) for k in (0, 1))
    lower = np.maximum(
        lower, [p.lower if p.kind not in ("inertia", "first_moment", "mass") else -np.inf for p in reference.layout.parameters]
    )
    slackness = 1e-6 * reference.scale
    assert (e.chi >= lower - slackness).all() and (e.chi <= upper + slackness).all()
    best = lsq_linear(
        problem.base.T * reference.scale, found["uls"].beta, (lower / reference.scale, upper / reference.scale), method="bvls"
    )
    ours, least = np.linalg.norm(problem.base.T @ e.chi - found["uls"].beta), np.sqrt(2.0 * best.cost)
    assert least > 0.0 and ours == pytest.approx(least, rel=1e-3)


def test_feasible_and_bounded(fits) -> None:
    problem, found = fits
    e, reference = found["cls-2"], reference_of(problem)
    for _, where, size in reference.bodies:
        link, before = check_link("", e.chi[where]), reference.values[where]
        assert link.mass > 0.0 and link.eigenvalues[0] > 0.0
        assert before[9] / 3.0 * (1 - 1e-6) <= link.mass <= 3.0 * before[9] * (1 + 1e-6)
        room = 0.2 * np.abs(before[6:9]) + (0.01 + 1e-6) * size.mass * size.length
        assert (np.abs(e.chi[where][6:9] - before[6:9]) <= room).all()


def test_consistent_with_mass_and_centre_inside(fits) -> None:
    problem, found = fits
    e, reference = found["cls-3"], reference_of(problem)
    centres, whole = link_ellipsoids(reference, 1.0), link_ellipsoids(reference, 1.5)
    for body, where, _ in reference.bodies:
        link, seen = check_link("", e.chi[where]), inertia.to_com(e.chi[where])
        assert link.eigenvalues[0] > 0.0 and link.triangle > 0.0 and inertia.physically_consistent(e.chi[where])
        out = seen.com - centres[body.link + 1].centre
        assert out @ centres[body.link + 1].Q @ out <= 1.0 + 1e-6
        region = whole[body.link + 1]
        spread = 0.5 * np.trace(seen.inertia) * np.eye(3) - seen.inertia
        out = seen.com - region.centre
        assert np.trace(region.Q @ spread) + seen.mass * (out @ region.Q @ out) <= seen.mass * (1.0 + 1e-6)


@pytest.mark.parametrize("name", NAMES[2:])
def test_perfect_data_and_a_right_prior_give_the_truth(name: str) -> None:
    problem = problem_of("jaco2", noise=0.0, off=0.0)
    truth = problem.base.beta(problem.prior.values)
    assert method(name).estimate(problem).beta == pytest.approx(truth, abs=1e-6)


def test_a_prior_that_is_a_little_wrong_does_not_keep_them_from_the_truth() -> None:
    problem = problem_of("tx40", noise=1e-3, off=0.1)  # bounds of 20 % hold the truth
    truth = problem.base.beta(robot("tx40")[0].prior.values)
    off = {name: np.linalg.norm(method(name).estimate(problem).beta - truth) for name in NAMES}
    assert all(off[name] < 1.2 * off["uls"] < 0.01 * off["cad"] for name in NAMES[2:]), off


def test_wider_bounds_come_nearer() -> None:
    problem = problem_of("jaco2")
    free = method("uls").estimate(problem).beta
    gaps = [np.linalg.norm(BoundedNearest(width=w).estimate(problem).beta - free) for w in (0.05, 0.2, 1.0)]
    assert gaps[0] > gaps[1] > gaps[2]


def test_friction_without_a_prior_is_not_bounded() -> None:
    problem = problem_of("tx40")
    base = problem.base
    silent = problem.prior.replaced({n: 0.0 for n in base.layout.names if n.startswith("F")})
    problem = replace(problem, prior=silent)
    names = set(prior_bounds(reference_of(problem), 0.2, 0.01).bounds)
    assert "Ia1" in names and not any(n.startswith("F") for n in names)
    found = BoundedNearest().estimate(problem)
    index = base.names.index("Fv1")
    assert found.beta[index] == pytest.approx(method("uls").estimate(problem).beta[index], rel=0.02)


def test_bounds_and_ellipsoids_hold_the_prior_of_every_robot() -> None:
    for name in ia.catalog():
        description = robot(name)[0]
        reference = Reference.of(description.layout, description.prior.values)
        held = [prior_bounds(reference, 0.2, 0.01), CentreInEllipsoid(link_ellipsoids(reference, 1.0))]
        held.append(MassInEllipsoid(link_ellipsoids(reference, 1.0)))
        for constraint in held:
            for block in constraint.blocks(reference):
                assert slack(block, reference.values) > -1e-6, (name, block.name)


def test_ellipsoids_hold_the_joints_and_points_given() -> None:
    description = robot("jaco2")[0]
    reference = Reference.of(description.layout, description.prior.values)
    tool = np.array([0.0, 0.0, 0.2638])
    regions = link_ellipsoids(reference, 1.0, {7: [tool]})
    for link, point in (
        (3, description.robot.joints[3].position),
        (5, description.robot.joints[5].position),
        (7, tool),
        (7, np.zeros(3)),
    ):
        out = np.array(point) - regions[link].centre
        assert out @ regions[link].Q @ out <= 1.0 + 1e-9
    far = tool - link_ellipsoids(reference, 1.0)[7].centre
    assert far @ link_ellipsoids(reference, 1.0)[7].Q @ far > 1.0


def test_links_without_a_prior_are_left_to_the_data() -> None:
    problem = problem_of("jaco2")
    empty = replace(problem, prior=problem.prior.with_values(np.zeros(problem.base.layout.size)))
    reference = reference_of(empty)
    assert not prior_bounds(reference, 0.2, 0.01).bounds and not link_ellipsoids(reference, 1.5)
    for m in (FeasibleBounded(), ConsistentInside()):
        found = m.estimate(empty)
        assert all(check_link("", found.chi[where]).eigenvalues[0] > 0.0 for _, where, _ in reference.bodies)


@pytest.mark.parametrize("name", ["cad", "cls-1", "cls-2", "cls-3"])
def test_a_missing_prior_is_said(name: str) -> None:
    with pytest.raises(InputError, match=f"method '{name}' needs prior values"):
        method(name).estimate(replace(problem_of("jaco2"), prior=None))
