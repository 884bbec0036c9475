"""Robust fits: what they keep on clean data, what they survive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.simulated import SIGMA, exact_motion, noisy, repeated, robot, stacked_rows
from inertica.estimators.base import Problem
from inertica.estimators.iteration import StepTolerance
from inertica.estimators.linear.irls import BISQUARE, HUBER, Irls, bisquare_weights, huber_weights, robust_scales
from inertica.estimators.linear.least_squares import Wls


def clean(shape, rng):
    return SIGMA[: shape[1]] * rng.normal(size=shape)


def contaminated(shape, rng):
    """Clean noise with 5 % of the values thirty times as large."""
    error = clean(shape, rng)
    return np.where(rng.random(shape) < 0.05, 30.0 * SIGMA[: shape[1]] * rng.normal(size=shape), error)


def efficiencies(name, runs):
    """Mean squared errors relative to WLS on clean data, averaged over parameters: IRLS and WLS with outliers, IRLS without."""
    description, base = robot(name)
    motion = exact_motion(description.prior, duration=5.0)
    problem = Problem(base, (motion,), description.prior)
    shape = motion.tau.shape

    def error(method, draw):
        beta, _, _ = repeated(problem, method, lambda rng: draw(shape, rng), runs)
        return ((beta - problem.prior_beta) ** 2).mean(axis=0)

    best = error(Wls(hac=False), clean)
    return tuple(
        float(np.mean(error(method, draw) / best))
        for method, draw in ((Irls(hac=False), contaminated), (Wls(hac=False), contaminated), (Irls(hac=False), clean))
    )


def test_five_percent_gross_outliers_cost_less_than_a_fifth():
    irls, wls, untouched = efficiencies("scara2", 300)
    assert irls < 1.0 / 0.8
    assert wls > 5.0
    assert untouched < 1.12  # 95 % efficiency by the tuning constants


@pytest.mark.slow
def test_five_percent_gross_outliers_cost_less_than_a_fifth_of_six_joints():
    irls, wls, untouched = efficiencies("tx40", 200)
    assert irls < 1.0 / 0.8
    assert wls > 5.0
    assert untouched < 1.12


def test_the_running_minimum_is_equation_24():
    """v_i = min(v_i-1, Lambda(e_i)) written down row by row: Huber, then bisquare, weights never rising."""
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=5.0)
    motion = noisy(motion, contaminated(motion.tau.shape, np.random.default_rng(3)))
    problem = Problem(base, (motion,), description.prior)
    stop = StepTolerance(iterations=6, step=1e-300)
    found = Irls(running_minimum=True, hac=False, stop=stop).estimate(problem)

    W, y = stacked_rows(problem)
    wls = problem.observations.sigmas
    v = [np.ones(len(t)) for t in y]
    beta, risen = _weighted(W, y, [1.0 / s for s in wls], v), 0
    for function in (huber_weights, bisquare_weights):
        for _ in range(6):
            e = [t - w @ beta for w, t in zip(W, y, strict=True)]
            scale = robust_scales([np.column_stack(e)], [np.ones((len(e[0]), len(e)), bool)], base.rank)
            now = [np.sqrt(function(r / s)) for r, s in zip(e, scale, strict=True)]
            risen += sum(int(np.sum(a > b)) for a, b in zip(now, v, strict=True))
            v = [np.minimum(a, b) for a, b in zip(now, v, strict=True)]
            beta = _weighted(W, y, 1.0 / scale, v)
    assert risen > 0  # the minimum was at work
    np.testing.assert_allclose(found.beta, beta, rtol=1e-7)
    free = Irls(hac=False, stop=stop).estimate(problem)
    assert np.abs(found.beta - free.beta).max() > 1e-9
    inside = np.abs(found.beta - problem.prior_beta) / np.sqrt(np.diag(found.diagnostics.plain_covariance))
    assert inside.max() < 4.0


def _weighted(W, y, factors, v):
    rows = [f * (u[:, None] * w) for f, w, u in zip(factors, W, v, strict=True)]
    right = [f * u * t for f, t, u in zip(factors, y, v, strict=True)]
    return np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0]


def test_intervals_hold_with_outliers():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=5.0)
    problem = Problem(base, (motion,), description.prior)
    for method in (Irls(), Irls(weights="huber"), Irls(full=True)):
        beta, std, plain = repeated(problem, method, lambda rng: contaminated(motion.tau.shape, rng), 100)
        miss = np.abs(beta - problem.prior_beta)
        assert 0.92 <= (miss <= 1.96 * std).mean() <= 0.98
        assert 0.92 <= (miss <= 1.96 * plain).mean() <= 0.98


def test_gross_errors_are_dropped_and_counted():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=5.0)
    rng = np.random.default_rng(0)
    error = 0.1 * rng.normal(size=motion.tau.shape)
    error[100:150, 1] += 500.0
    found = Irls().estimate(Problem(base, (noisy(motion, error),), description.prior))
    used = np.count_nonzero(~motion.mask)
    assert found.settings["dropped"] == pytest.approx((0.0, 50 / used), abs=2e-3)
    np.testing.assert_allclose(found.sigma, 0.1, rtol=0.15)
    assert "moved by more than 0.01" in found.stop_reason
    assert len(found.history["step"]) == found.iterations


def test_limit_is_named_when_it_ends_the_iteration():
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=3.0)
    rng = np.random.default_rng(0)
    problem = Problem(base, (noisy(motion, contaminated(motion.tau.shape, rng)),), description.prior)
    assert Irls(stop=StepTolerance(iterations=1)).estimate(problem).stop_reason == "no convergence within 1 iterations"


def test_full_covariance_uses_what_joints_share():
    """Errors of joint 2 that mirror those of joint 1 carry information about them."""
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=4.0)
    problem = Problem(base, (motion,), description.prior)

    def shared(rng):
        common = rng.normal(size=len(motion))
        return np.column_stack([common, common]) + 0.1 * rng.normal(size=motion.tau.shape)

    squares = {}
    for full in (False, True):
        beta, _, _ = repeated(problem, Irls(full=full, hac=False), shared, 60)
        squares[full] = ((beta - problem.prior_beta) ** 2).mean(axis=0)
    assert np.mean(squares[True] / squares[False]) < 0.5


def test_several_motions_and_masks():
    description, base = robot("scara2")
    motions = [exact_motion(description.prior, seed=k, duration=3.0) for k in range(2)]
    rng = np.random.default_rng(1)
    bad = np.zeros(len(motions[1]), bool)
    bad[50:] = True
    broken = noisy(motions[1], 1e6 * bad[:, None])
    masked = replace(broken, masks={**broken.masks, "broken": bad})
    clean_one = noisy(motions[0], 0.01 * rng.normal(size=motions[0].tau.shape))
    found = Irls().estimate(Problem(base, (clean_one, masked), description.prior))
    assert np.abs(found.beta - base.beta(description.prior.values)).max() < 0.05


def test_weights_and_scale():
    u = np.array([0.0, 1.0, HUBER, 3.0, BISQUARE, 50.0])
    np.testing.assert_allclose(huber_weights(u), [1, 1, 1, HUBER / 3, HUBER / BISQUARE, HUBER / 50])
    np.testing.assert_allclose(bisquare_weights(u)[[0, 4, 5]], [1, 0, 0])
    r = np.random.default_rng(0).normal(size=(20000, 2)) * [1.0, 3.0]
    r[:1000] = 1e3
    scale = robust_scales([r], [np.ones(r.shape, bool)], 0)
    np.testing.assert_allclose(scale, [1.0, 3.0], rtol=0.1)
