"""The mild prior: how strong, what it keeps, what it does not feign; and what no data touch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.consistent.test_strategy import problem_of
from estimators.simulated import exact_motion, noisy, robot
from inertica.estimators.base import Problem
from inertica.estimators.consistent.mild import FACTORS, MildStrength, mild_strength
from inertica.estimators.consistent.strategy import Consistent
from inertica.estimators.intervals import standard_intervals, standard_parameters
from inertica.estimators.linear.least_squares import Wls
from inertica.estimators.registry import method
from inertica.physical.geometry_prior import GEOMETRY_ORIGIN
from inertica.physical.priors import Entropic
from inertica.robot import inertia


def masses(problem: Problem, chi: np.ndarray) -> np.ndarray:
    return np.array([chi[where][9] for _, where in problem.base.layout.bodies])


def _strength(problem: Problem) -> MildStrength:
    return mild_strength(Consistent(prior=Entropic()).prepared(problem), problem)


def test_strength_lies_between_kappa_and_the_strongest_and_costs_nothing_or_predicts_best() -> None:
    for seed in range(3):
        found = _strength(problem_of(2.0, seed))
        assert found.strength is not None and found.kappa >= 1.0
        assert found.kappa * (1 - 1e-9) <= found.strength <= max(FACTORS) * found.kappa * (1 + 1e-9)
        best = min(found.left_out, key=lambda strength: found.left_out[strength])
        assert found.rise <= found.limit or found.strength == pytest.approx(best)
        assert "mild pull" in found.sentence


def test_masses_stay_near_the_model_where_a_free_fit_strays() -> None:
    problem = problem_of(12.0)
    before = masses(problem, problem.prior.values)
    free = masses(problem, method("pc-wls").estimate(problem).chi) / before
    for name in ("pc-wls+entropic", "pc-irls+entropic"):
        mild = masses(problem, method(name).estimate(problem).chi) / before
        assert np.abs(np.log(mild)).max() < np.log(3.0) < np.abs(np.log(free)).max()


def test_a_prior_that_contradicts_the_data_gets_weaker() -> None:
    problem = problem_of(2.0)
    values = np.array(problem.prior.values)
    for _, where in problem.base.layout.bodies:
        body = inertia.to_com(values[where])
        values[where] = inertia.from_com(0.05 * body.mass, -body.com, 0.01 * body.inertia)
    wrong = replace(problem, prior=problem.prior.with_values(values))
    found = _strength(wrong)
    assert found.strength is None or (found.strength < found.kappa and found.rise <= found.limit)


def test_a_prior_from_geometry_has_strength_one() -> None:
    problem = problem_of(2.0)
    bare = replace(problem, prior=problem.prior.with_values(problem.prior.values, GEOMETRY_ORIGIN))
    found = _strength(bare)
    assert found.strength == 1.0 and not found.left_out


def test_intervals_do_not_count_the_mild_prior_as_knowledge() -> None:
    problem = problem_of(2.0)
    mild, free = method("pc-wls+entropic").estimate(problem), method("pc-wls").estimate(problem)
    assert (mild.std > 0.95 * free.std).all()
    assert problem.prior is not None
    ends, others = (standard_intervals(e, problem, problem.prior) for e in (mild, free))
    width, other = ends[:, 1] - ends[:, 0], others[:, 1] - others[:, 0]
    assert (ends[:, 0] <= mild.chi).all() and (mild.chi <= ends[:, 1]).all()
    assert np.median(width / np.maximum(other, 1e-12)) > 0.95
    where = problem.base.layout.index("M1")  # no data reach it
    assert ends[where, 1] - ends[where, 0] > problem.prior.values[where]


def test_what_no_data_touch_stays_at_the_prior_to_the_last_digit() -> None:
    problem = problem_of(2.0)
    assert problem.prior is not None
    none = [name for name, kind in problem.base.classes().items() if kind == "none"]
    assert none
    for name in ("pc-wls", "pc-wls+entropic", "pc-wls+pullback", "wls"):
        chi = standard_parameters(method(name).estimate(problem), problem.prior)
        for parameter in none:
            k = problem.base.layout.index(parameter)
            assert chi[k] == problem.prior.values[k], (name, parameter)


@pytest.mark.parametrize("name", ["pc-wls", "pc-wls+entropic", "pc-irls+entropic", "pc-wls+riemann"])
def test_what_no_data_touch_is_let_go_where_it_stands_against_the_data(name: str) -> None:
    """The prior's links are half as large as the true ones: XX and YY, which no data touch, leave no room for the true ZZ."""
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=5.0)
    motion = noisy(motion, 0.1 * np.random.default_rng(0).normal(size=motion.tau.shape))
    values = np.array(description.prior.values)
    for _, where in base.layout.bodies:
        body = inertia.to_com(values[where])
        values[where] = inertia.from_com(body.mass, body.com, 0.25 * body.inertia)
    problem = Problem(base, (motion,), description.prior.with_values(values))
    free, found = Wls().estimate(problem), method(name).estimate(problem)
    assert (np.abs(found.beta - free.beta) < 4.0 * free.std).all()


def test_an_impossible_prior_is_made_possible_and_that_is_said() -> None:
    problem = problem_of(2.0)
    assert problem.prior is not None
    values = np.array(problem.prior.values)
    one = problem.base.layout.link(0)
    values[one] = inertia.from_com(2.0, np.zeros(3), np.diag([0.1, 0.01, 0.01]))  # breaks the triangle inequality
    wrong = replace(problem, prior=problem.prior.with_values(values))
    found = Wls(solve=Consistent()).estimate(wrong)
    assert inertia.physically_consistent(found.chi[one])
    (said,) = [w for w in found.warnings if "no data depend on" in w]
    assert "XX1" in said and "differ from the prior" in said


def test_resting_joints_keep_the_priors_friction() -> None:
    description, base = robot("tx40")
    problem = problem_of(2.0)
    (motion,) = problem.motions
    still = np.array(motion.q)
    still[:, 5] = 0.3
    dq, ddq = np.array(motion.dq), np.array(motion.ddq)
    dq[:, 5] = ddq[:, 5] = 0.0
    tau = base.engine.inverse_dynamics(still, dq, ddq, description.prior.values)
    resting = replace(motion, q=still, dq=dq, ddq=ddq, tau=tau, tau_raw=tau)
    calm = replace(problem, motions=(resting,))
    assert problem.prior is not None
    found = method("pc-wls+entropic").estimate(calm)
    for name in ("Fv6", "Fc6"):
        k = base.layout.index(name)
        assert found.chi[k] == problem.prior.values[k]
