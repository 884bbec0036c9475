"""Intervals that hold: a known bias is removed, noise is left alone, and what is unknown widens."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from inertica.dynamics.tsqr import Stacked
from inertica.estimators.intervals import standard_intervals
from inertica.preprocessing.prepare import prepare
from inertica.robot.layout import Parameters
from inertica.workflow.decisions.intervals import delayed_fits, neighbour_fits, stated_uncertainty, widened_by_blocks
from inertica.workflow.identify.choose import check, choose
from inertica.workflow.identify.fit import assess, fit
from inertica.workflow.identify.inputs import read
from inertica.workflow.identify.self_application import Replica, Replicas, replicas
from inertica.workflow.identify.settings import Settings
from workflow.fitted import CUTOFF, Fitted

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return Fitted()


def made_up(fitted: Fitted, betas: Array) -> Replicas:
    """Replicas that found these base parameters."""
    return Replicas(tuple(Replica(fitted.problem, replace(fitted.estimate, beta=beta)) for beta in betas))


def test_a_known_bias_is_removed(fitted: Fitted) -> None:
    """Estimate = truth + bias, and replicas show the bias with little noise: what is left is the noise of their mean."""
    rng = np.random.default_rng(0)
    truth, s = fitted.problem.base.beta(fitted.truth.values), fitted.estimate.std
    bias = 5.0 * s * rng.choice([-1.0, 1.0], len(s))
    biased = replace(fitted.estimate, beta=truth + bias)
    shown = truth + 2.0 * bias + 0.2 * s * rng.standard_normal((4, len(s)))
    found = stated_uncertainty(biased, fitted.problem, fitted.method, replicated=made_up(fitted, shown))
    left = np.abs(found.estimate.beta - truth)
    assert np.all(left < 0.5 * s) and np.all(left < 1.96 * found.estimate.std)
    assert np.all(found.estimate.std > 2.5 * s)  # half the correction is distrusted
    assert "taken out" in found.choice.sentence


def test_noise_of_the_replicas_is_left_alone(fitted: Fitted) -> None:
    """Replicas without bias but as noisy as the estimate: less than half of the spurious correction's energy remains."""
    rng = np.random.default_rng(1)
    s = fitted.estimate.std
    applied, seen = 0.0, 0.0
    for _ in range(20):
        noisy = fitted.estimate.beta + s * rng.standard_normal((4, len(s)))
        found = stated_uncertainty(fitted.estimate, fitted.problem, fitted.method, replicated=made_up(fitted, noisy))
        mean = noisy.mean(axis=0) - fitted.estimate.beta
        assert np.all(np.abs(found.correction) <= np.abs(mean))
        applied, seen = applied + float(np.sum((found.correction / s) ** 2)), seen + float(np.sum((mean / s) ** 2))
    assert applied < 0.5 * seen


def test_silent_replicas_change_nothing(fitted: Fitted) -> None:
    """They find what was put in."""
    same = np.tile(fitted.estimate.beta, (4, 1))
    found = stated_uncertainty(fitted.estimate, fitted.problem, fitted.method, replicated=made_up(fitted, same))
    plain = stated_uncertainty(fitted.estimate, fitted.problem, fitted.method)
    np.testing.assert_array_equal(found.estimate.beta, fitted.estimate.beta)
    np.testing.assert_allclose(found.estimate.std, plain.estimate.std)


@pytest.mark.parametrize("name", ["wls", "pc-irls"])
def test_self_application_removes_the_bias_of_the_pipeline(name: str) -> None:
    """A noise-free record, whose error is bias alone: most of it goes, and links remain possible."""
    exact = Fitted(noise=None, name=name)
    d, truth = exact.description, exact.problem.base.beta(exact.truth.values)
    chi = exact.estimate.chi
    if chi is None:
        chi = exact.problem.base.T.T @ np.linalg.solve(exact.problem.base.T @ exact.problem.base.T.T, exact.estimate.beta)
    own = Parameters(d.layout, chi, d.prior.shapes, "identified")
    found = replicas(d, own, [exact.log], exact.recipe, exact.problem, exact.method)
    stated = stated_uncertainty(exact.estimate, exact.problem, exact.method, replicated=found)
    s = exact.estimate.std
    before, after = (np.linalg.norm((e.beta - truth) / s) for e in (exact.estimate, stated.estimate))
    assert after < 0.35 * before
    assert np.all(np.abs(stated.estimate.beta - truth) < 1.96 * stated.estimate.std)
    if stated.estimate.chi is not None:
        np.testing.assert_allclose(exact.problem.base.beta(stated.estimate.chi), stated.estimate.beta, rtol=1e-9, atol=1e-12)
        assert not Parameters(d.layout, stated.estimate.chi, d.prior.shapes, "corrected").inconsistent_links()
        ends = standard_intervals(stated.estimate, exact.problem, d.prior)
        assert np.mean((ends[:, 0] <= exact.truth.values) & (exact.truth.values <= ends[:, 1])) > 0.97


@pytest.mark.parametrize("name", ["pc-wls", "pc-irls"])
def test_evidence_solved_again_is_the_estimate(name: str) -> None:
    """So that a correction of zero changes nothing."""
    fitted = Fitted(name=name)
    evidence, chi = fitted.estimate.evidence, fitted.estimate.chi
    assert evidence is not None and evidence.strategy is not None and chi is not None
    again = evidence.strategy(Stacked(evidence.R, evidence.z, evidence.rest))
    assert np.all(np.abs(again.beta - fitted.estimate.beta) < 0.02 * fitted.estimate.std)
    beta, covariance = evidence.least_squares(fitted.estimate.beta)
    widened = replace(evidence, widened=np.full(len(beta), 2.0))
    R, z = widened.whitened()
    np.testing.assert_allclose(np.linalg.inv(R.T @ R), 4.0 * covariance, rtol=1e-6, atol=1e-9 * np.abs(covariance).max())
    np.testing.assert_allclose(np.linalg.solve(R, z), beta, rtol=1e-6, atol=1e-9)


def test_chance_disagreement_of_blocks_widens_hardly_and_a_real_one_by_what_it_is() -> None:
    """Variances with eleven degrees of freedom; the larger of noise and blocks would widen by nearly a tenth."""
    rng = np.random.default_rng(0)
    noise = rng.uniform(0.1, 10.0, (200, 40))
    found = np.array([widened_by_blocks(v, v * rng.chisquare(11, 40) / 11, 11) for v in noise])
    assert 1.0 <= np.median(found) < 1.02 and np.mean(found > 1.2) < 0.04
    assert np.mean(np.maximum(1.0, rng.chisquare(11, 4000) / 11) ** 0.5) > 1.07
    (common,) = set(widened_by_blocks(noise[0], 1.5 * noise[0], 11))
    assert common == pytest.approx(1.5)
    blocks = np.r_[9.0 * noise[0, :1], noise[0, 1:]]
    own = widened_by_blocks(noise[0], blocks, 11)
    assert own[0] == pytest.approx(9.0 * (2.201 / 1.96) ** 2, rel=1e-3) and np.all(own[1:] == pytest.approx(1.0 + 8.0 / 40))
    np.testing.assert_array_equal(widened_by_blocks(np.zeros(3), np.zeros(3), 11), 1.0)


def test_an_unknown_loop_widens_by_neighbouring_cutoffs(fitted: Fitted) -> None:
    unknown, said = replace(fitted.description, loop=None), list[str]()
    fixed = Settings(method="wls", cutoff=CUTOFF, delay=0.0)
    chosen = choose(check(read(unknown, [fitted.log], [], fixed, said.append), said.append), said.append)
    hasty = replace(chosen, inputs=replace(chosen.inputs, settings=replace(fixed, quick=True)))
    found, quick = (assess(fit(each, each.estimator, said.append), said.append) for each in (chosen, hasty))
    assert not found.replicas.runs
    np.testing.assert_array_equal(found.estimate.beta, found.uncorrected.beta)
    near = neighbour_fits([fitted.log], chosen.recipe, found.problem, fitted.method)
    change = np.mean((np.array(near) - found.estimate.beta) ** 2, axis=0)
    np.testing.assert_allclose(found.estimate.std**2, quick.estimate.std**2 + change, rtol=1e-6)
    sentences = [each.notes.choices[-1].sentence for each in (found, quick)]
    assert "loop is not known" in sentences[0] and "hold no bias" in sentences[1]


def test_what_may_be_left_of_a_delay_widens() -> None:
    """A lead of two samples that nobody takes out: truths lie outside of intervals that know of no delay."""
    exact = Fitted(noise=None)
    truth = exact.problem.base.beta(exact.truth.values)
    ahead = np.clip(np.arange(len(exact.log)) + 2, 0, len(exact.log) - 1)
    led = replace(exact.log, signals={**exact.log.signals, "tau": exact.log.need("tau")[ahead]})
    problem = replace(exact.problem, motions=(prepare(led, exact.recipe),))
    estimate = exact.method.estimate(problem)
    left = 2.5 / exact.log.rate  # two samples, and half of one that the experiment's own torque is held
    (other,) = delayed_fits([led], exact.recipe, problem, exact.method, [np.full(4, left)])
    plain = stated_uncertainty(estimate, problem, exact.method)
    found = stated_uncertainty(estimate, problem, exact.method, delayed=[other])
    np.testing.assert_allclose(found.estimate.std**2, plain.estimate.std**2 + (other - estimate.beta) ** 2, rtol=1e-6)
    outside = [np.abs(e.beta - truth) > 1.96 * e.std for e in (plain.estimate, found.estimate)]
    assert outside[0].sum() >= 2 and not outside[1].any()
    assert "delays" in found.choice.value


def test_other_models_widen_what_they_share(fitted: Fitted) -> None:
    s, beta = fitted.estimate.std, fitted.estimate.beta
    other = beta + 3.0 * s
    other[0] = np.nan  # the other model has no such parameter
    plain = stated_uncertainty(fitted.estimate, fitted.problem, fitted.method)
    stated = stated_uncertainty(fitted.estimate, fitted.problem, fitted.method, alternatives=[other, beta - s])
    expected = np.sqrt(plain.estimate.std**2 + np.r_[s[0], 3.0 * s[1:]] ** 2)
    np.testing.assert_allclose(stated.estimate.std, expected)
