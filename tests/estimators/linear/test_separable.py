"""Shapes of friction and delays by separable least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.simulated import exact_motion, noisy, robot
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.linear.irls import Irls
from inertica.estimators.linear.least_squares import Wls
from inertica.estimators.linear.separable import Separable
from inertica.identifiability.base import base_model
from inertica.robot.friction import SmoothCoulomb, Stribeck, Viscous, friction_terms
from inertica.robot.layout import Parameters

SHAPES = {"vs1": 0.2, "es1": 1.5, "vc2": 0.1}


def problem_of(sigma=0.1, ratio=1, delays=None, seed=0, rate=500.0):
    """A two-joint arm with Stribeck friction on one joint and a smooth sign on the other; the prior's shapes are far off."""
    description, _ = robot("scara2")
    rigid = [t for t in description.layout.terms if t not in set(friction_terms(description.layout.terms))]
    layout = description.layout.with_terms((*rigid, Viscous(0), Viscous(1), Stribeck(0), SmoothCoulomb(1)))
    values = description.prior.on(layout).replaced({"Fc1": 4.0, "dFs1": 3.0, "Fc2": 2.0, "Fv1": 1.0, "Fv2": 0.5})
    truth = Parameters(layout, values.values, np.array([SHAPES[s.name] for s in layout.shapes]))
    motion = exact_motion(truth, rate=rate, duration=8.0, ratio=ratio, amplitude=0.3, delays=delays)
    error = sigma * np.random.default_rng(seed).normal(size=motion.tau.shape)
    return Problem(base_model(layout), (noisy(motion, error),), Parameters(layout, values.values)), truth


@pytest.mark.parametrize("ratio", [1, 4])
def test_shapes_are_found(ratio):
    problem, truth = problem_of(ratio=ratio)
    fit = Separable().fit(problem)
    for x in fit.shapes:
        assert abs(x.value - SHAPES[x.name]) < 4 * x.std
        assert x.std < 0.1 * x.value
    expected = problem.base.beta(truth.values)
    assert np.all(np.abs(fit.estimate.beta - expected) < 4 * fit.estimate.std)
    np.testing.assert_allclose(fit.problem.prior.shapes, [x.value for x in fit.shapes])
    assert fit.evaluations < 30


def test_standard_deviations_of_shapes_are_those_of_repetitions():
    found = []
    for seed in range(25):
        problem, truth = problem_of(sigma=0.3, seed=seed, rate=200.0)
        fit = Separable().fit(problem)
        truth_all = np.append([SHAPES[x.name] for x in fit.shapes], problem.base.beta(truth.values))
        value = np.append([x.value for x in fit.shapes], fit.estimate.beta)
        std = np.append([x.std for x in fit.shapes], fit.estimate.std)
        found.append((value - truth_all) / std)
    scores = np.array(found)
    assert 0.88 <= (np.abs(scores) < 1.96).mean() <= 0.99
    assert 0.6 < scores[:, :3].std() < 1.4


def test_the_minimum_is_one():
    """No shape nearby leaves a smaller weighted residual."""
    problem, _ = problem_of()
    fit = Separable().fit(problem)

    def misfit(shapes):
        prior = replace(problem, prior=Parameters(problem.base.layout, problem.prior.values, shapes))
        return float(np.sum((Wls(hac=False).estimate(prior).sigma / fit.estimate.sigma) ** 2))

    best = np.array([x.value for x in fit.shapes])
    for i in range(len(best)):
        for factor in (0.97, 1.03):
            moved = best.copy()
            moved[i] *= factor
            assert misfit(moved) > misfit(best)


def test_delays_are_found_and_taken_out():
    late = np.array([0.003, 0.007])
    problem, truth = problem_of(ratio=5, delays=late, sigma=0.05)
    fit = Separable(delays=True).fit(problem)
    for x, delay in zip(fit.delays, late, strict=True):
        assert x.value == pytest.approx(delay, abs=2e-4)
    assert fit.problem.motions[0].recipe.delay == pytest.approx(tuple(late), abs=2e-4)
    without = Separable().fit(problem)
    expected = problem.base.beta(truth.values)
    error = [np.linalg.norm(f.estimate.beta - expected) for f in (fit, without)]
    assert error[0] < 0.3 * error[1]


def test_any_linear_method_and_any_subset():
    problem, _ = problem_of()
    spiked = noisy(problem.motions[0], 200.0 * (np.random.default_rng(1).random(problem.motions[0].tau.shape) < 0.01))
    fit = Separable(method=Irls(), shapes=("vc2",)).fit(replace(problem, motions=(spiked,)))
    assert fit.estimate.method == "irls" and [x.name for x in fit.shapes] == ["vc2"]


def test_what_cannot_be_fitted_is_said():
    problem, _ = problem_of()
    with pytest.raises(InputError, match="no shape 'vs2' to fit; did you mean"):
        Separable(shapes=("vs2",)).fit(problem)
    description, base = robot("scara2")
    plain = Problem(base, (exact_motion(description.prior, duration=2.0),), description.prior)
    with pytest.raises(InputError, match="needs friction with shapes"):
        Separable().estimate(plain)
