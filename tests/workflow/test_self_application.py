"""The estimate applied to itself: the right loop is repeated, a wrong or missing one is refused with a sentence."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from inertica.estimators.registry import method
from inertica.logs.log import Log
from inertica.logs.noise import position_noise
from inertica.robot.layout import Parameters
from inertica.workflow.identify.self_application import Repetitions, replicas
from workflow.fitted import Fitted


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return Fitted()


def test_repetitions_of_the_truth_show_the_bias_of_the_pipeline(fitted: Fitted) -> None:
    """Noise-free record, so that the estimate's own error is bias alone: replicas made from the truth have the same."""
    exact = Fitted(noise=None)
    true = exact.problem.base.beta(exact.truth.values)
    error = exact.estimate.beta - true
    found = exact.applied(count=2).betas.mean(axis=0) - true
    assert np.linalg.norm(error / exact.estimate.std) > 1.0
    assert np.linalg.norm((found - error) / exact.estimate.std) < 0.1 * np.linalg.norm(error / exact.estimate.std)


def test_noise_is_that_of_the_log_and_differs_between_repetitions(fitted: Fitted) -> None:
    found = fitted.applied(count=3)
    assert found.reason == "" and len(found.runs) == 3 and found.noise is not None
    true = position_noise(fitted.log.need("q") - fitted.log.truth["q"])
    np.testing.assert_allclose(found.noise, true, rtol=0.1)
    first, second = (run.problem.motions[0].log.need("q") for run in found.runs[:2])
    np.testing.assert_allclose(np.std(first - second, axis=0), np.sqrt(2.0) * true, rtol=0.15)
    again = fitted.applied(count=3)
    np.testing.assert_array_equal(again.betas, found.betas)


def test_a_slice_begins_where_the_robot_was() -> None:
    part = Fitted(t0=1.237)
    found = part.applied(count=2)
    assert found.reason == ""
    simulated = found.runs[0].problem.motions[0].log.need("q")
    tracking = np.std(part.log.need("q") - part.log.need("qr"), axis=0)
    assert np.all(np.abs(simulated - part.log.need("q")).max(axis=0) < 2.0 * tracking)


def test_masked_and_missing_samples_stay_so(fitted: Fitted) -> None:
    q = np.array(fitted.log.need("q"))
    q[100:103, 1] = np.nan
    mask = np.zeros(len(q), bool)
    mask[500:510] = True
    log = replace(fitted.log, signals={**fitted.log.signals, "q": q}).with_mask(mask, "spike")
    found = fitted.applied(log=log, count=2)
    assert found.reason == ""
    for run in found.runs:
        repeated = run.problem.motions[0].log
        assert np.isnan(repeated.need("q")[100:103, 1]).all()
        assert repeated.mask[500:510].all() and np.isfinite(repeated.need("q")[~repeated.mask]).mean() > 0.99


@pytest.mark.parametrize("rate", [1700.0, 290.0])
def test_samples_between_control_steps(rate: float) -> None:
    """A log that samples at its own rate, faster or slower than the controller: positions lie on the same curve."""
    exact = Fitted(noise=None)
    t = np.arange(0.0, 3.9, 1.0 / rate)
    signals = {symbol: CubicSpline(exact.log.t, exact.log.need(symbol))(t) for symbol in ("q", "qr", "tau")}
    assert exact.description.loop is not None
    stated = replace(exact.description, loop={**exact.description.loop, "velocity": "true"})
    found = exact.applied(stated, Log.from_arrays(t, signals, exact.log.joints), count=2)
    assert found.reason == "" and found.noise is not None
    simulated = found.runs[0].problem.motions[0].log.need("q")
    tracking = np.std(signals["q"] - signals["qr"], axis=0)
    assert np.all(np.abs(simulated - signals["q"]).max(axis=0) < 0.02 * tracking + 6.0 * found.noise)


def test_what_is_not_known_is_said(fitted: Fitted) -> None:
    d, log = fitted.description, fitted.log
    assert "loop is not known" in fitted.applied(replace(d, loop=None)).reason
    bare = replace(log, signals={k: v for k, v in log.signals.items() if k != "qr"})
    assert "reference" in fitted.applied(log=bare).reason
    torque = replace(log, signals={k: v for k, v in log.signals.items() if k != "q"})
    assert "no recorded position" in fitted.applied(log=torque).reason


def test_another_loop_than_the_robots_is_refused(fitted: Fitted) -> None:
    assert fitted.description.loop is not None
    weaker = {k: (0.5 * np.array(v)).tolist() if k in ("kp", "kd") else v for k, v in fitted.description.loop.items()}
    found = fitted.applied(replace(fitted.description, loop=weaker))
    assert not found.runs and "tracking error" in found.reason


def test_an_impossible_estimate_has_no_repetitions(fitted: Fitted) -> None:
    values = np.array(fitted.truth.values)
    values[[k for k, p in enumerate(fitted.truth.layout.parameters) if p.kind == "armature"]] -= 100.0
    bad = Parameters(fitted.truth.layout, values, fitted.truth.shapes, "impossible")
    found = replicas(fitted.description, bad, [fitted.log], fitted.recipe, fitted.problem, fitted.method)
    assert not found.runs and "does not follow" in found.reason


def test_the_strength_of_a_prior_is_not_searched_again(fitted: Fitted) -> None:
    pulled = method("pc-wls+euclidean")
    estimate = pulled.estimate(fitted.problem)
    found = replicas(
        fitted.description, fitted.truth, [fitted.log], fitted.recipe, fitted.problem, pulled, repetitions=Repetitions(2)
    )
    assert estimate.settings["strength"] and len(found.runs) == 2
    assert all("strength" not in run.estimate.settings for run in found.runs)
