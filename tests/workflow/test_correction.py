"""What predictions add where links that could exist cannot explain the torque."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from estimators.simulated import SIGMA, exact_motion, noisy, robot
from inertica.estimators.base import Problem
from inertica.estimators.consistent.correction import FASTER, Extended, correction, shortest
from inertica.estimators.registry import method
from inertica.preprocessing.motion import Motion
from inertica.robot.layout import Parameters
from inertica.robot.plain import with_plain_friction
from inertica.workflow.decisions.correction import choose_correction

METHOD = "pc-wls+entropic"


def truth(impossible: bool) -> Parameters:
    """The TX40; impossible with the inertia of its last link about the joint's axis below zero."""
    prior = robot("tx40")[0].prior
    values = np.array(prior.values)
    if impossible:
        values[prior.layout.names.index("ZZ6")] -= 1.0
    return prior.with_values(values)


def problem_of(true: Parameters, level: float = 1.0, seed: int = 0) -> Problem:
    description, base = robot("tx40")
    motion = exact_motion(true, duration=8.0, seed=seed)
    motion = noisy(motion, level * SIGMA * np.random.default_rng(seed).normal(size=motion.tau.shape))
    return Problem(base, (motion,), description.prior.with_values(1.1 * description.prior.values))


def error(problem: Problem, beta: np.ndarray, motion: Motion) -> float:
    """Relative, of torque that base parameters predict for an exact motion."""
    values = np.zeros(problem.base.layout.size)
    values[problem.base.retained] = beta
    predicted = problem.engine.inverse_dynamics(motion.q, motion.dq, motion.ddq, values)
    return float(np.linalg.norm(predicted - motion.tau) / np.linalg.norm(motion.tau))


def test_torque_that_no_links_make_is_predicted_on_another_motion() -> None:
    true = truth(impossible=True)
    problem = problem_of(true)
    found = method(METHOD).estimate(problem)
    chosen, choice = choose_correction(problem, found, friction_chosen=False)
    assert chosen is not None and choice is not None and choice.score is not None
    assert choice.score_without is not None and choice.score < choice.score_without
    added = chosen.of(problem, problem.prior.with_values(found.chi)).values[problem.base.retained]
    other = exact_motion(true, duration=8.0, seed=9)
    assert error(problem, found.beta + added, other) < 0.5 * error(problem, found.beta, other)


@pytest.mark.parametrize("seed", range(3))
def test_it_costs_nothing_where_links_explain_all(seed: int) -> None:
    true = truth(impossible=False)
    problem = problem_of(true, seed=seed)
    found = method(METHOD).estimate(problem)
    chosen, _ = choose_correction(problem, found, friction_chosen=False)
    if chosen is not None:
        added = chosen.of(problem, problem.prior.with_values(found.chi)).values[problem.base.retained]
        other = exact_motion(true, duration=8.0, seed=9)
        assert error(problem, found.beta + added, other) < 1.1 * error(problem, found.beta, other)


def test_other_methods_get_none() -> None:
    problem = problem_of(truth(impossible=True))
    assert choose_correction(problem, method("wls").estimate(problem), friction_chosen=True) == (None, None)


def test_its_limits_are_least_squares_and_nothing() -> None:
    problem = problem_of(truth(impossible=True))
    system = problem.observations.stacked(1.0 / problem.observations.sigmas)
    data = Extended.of(problem, problem.base.layout)
    beta = np.asarray(problem.base.beta(problem.prior.values))
    free = np.linalg.lstsq(system.R, system.z, rcond=None)[0]
    least, most = correction(system, beta, data.anywhere, [1e-14, 1e14])
    assert np.allclose(system.R @ (beta + least), system.R @ free, atol=1e-6 * np.linalg.norm(system.z))
    assert np.linalg.norm(system.R @ most) < 1e-9 * np.linalg.norm(system.z)


def test_the_amount_of_data_does_not_change_it() -> None:
    """The same motion recorded twice is twice the data, and as many states of the workspace: a correction keeps its share."""
    problem = problem_of(truth(impossible=True))
    twice = replace(problem, motions=problem.motions * 2)
    system = problem.observations.stacked(1.0 / problem.observations.sigmas)
    beta, torques = np.asarray(problem.base.beta(problem.prior.values)), []
    for p in (problem, twice):
        rows = p.observations.stacked(1.0 / problem.observations.sigmas)
        torques.append(system.R @ correction(rows, beta, Extended.of(p, p.base.layout).anywhere, [0.1])[0])
    assert np.linalg.norm(torques[1] - torques[0]) < 0.02 * np.linalg.norm(torques[0])


def test_friction_that_was_left_out_is_part_of_it() -> None:
    description, _ = robot("scara2")
    layout = description.layout.with_terms(())
    wider = with_plain_friction(layout)
    assert {f"Fv{j}" for j in (1, 2)} | {f"Fc{j}" for j in (1, 2)} | {f"off{j}" for j in (1, 2)} <= set(wider.names)
    assert with_plain_friction(wider) == wider


@pytest.mark.parametrize("seed", range(5))
def test_the_shortest_step_is_that_of_another_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sides, least = rng.normal(size=(4, 7)), rng.normal(size=4)
    expected = minimize(
        lambda x: x @ x, np.zeros(7), jac=lambda x: 2.0 * x, constraints=LinearConstraint(sides, least), method="SLSQP",
        options={"ftol": 1e-15},
    ).x  # fmt: skip
    np.testing.assert_allclose(shortest(sides, least), expected, atol=1e-5)
    # forces of other units
    scale = np.array([1e-6, 1.0, 1e6, 1e3])
    np.testing.assert_allclose(shortest(scale[:, None] * sides, scale * least), shortest(sides, least), atol=1e-9)


def test_friction_brakes_at_twice_the_fitted_speed() -> None:
    """Friction that falls with speed is all that these data show."""
    true = truth(impossible=True)
    problem = problem_of(true.replaced({"Fv1": -3.0 * true["Fv1"], "Fv3": -3.0 * true["Fv3"]}))
    data = Extended.of(problem, with_plain_friction(problem.base.layout))
    system = data.wider.observations.stacked(1.0 / problem.observations.sigmas)
    beta = data.base_values(problem.prior.values)
    free = correction(system, beta, data.anywhere, [1e-3])[0]
    bounded = correction(system, beta, data.anywhere, [1e-3], data.braking)[0]
    assert np.min(data.braking @ (beta + free)) < 0.0
    assert np.min(data.braking @ (beta + bounded)) > -1e-9 * np.max(np.abs(data.braking @ beta))
    fastest = FASTER * max(np.abs(m.dq[:, 0]).max() for m in problem.motions)
    names = [data.wider.base.layout.names[k] for k in data.wider.base.retained]
    total = dict(zip(names, beta + bounded, strict=True))
    assert abs(total["Fc1"] + fastest * total["Fv1"]) < 1e-6 * abs(total["Fc1"])  # at its bound, with this robot's plain laws
