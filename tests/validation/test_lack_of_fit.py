"""Errors of the model are found and named in simulated experiments; a right model is not suspected; no claim without a null."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from effects import stretched, tilted, with_elasticity, with_friction_drift, with_ripple

import inertica as ia
from inertica.documents import plain
from inertica.dynamics.engine import Engine
from inertica.estimators.base import Estimate, Problem
from inertica.estimators.covariance import Colour
from inertica.estimators.intervals import standard_parameters
from inertica.estimators.registry import method
from inertica.experiment import Experiment
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.validation.compliance import fast_compliance
from inertica.validation.lack_of_fit import FAMILIES, LackOfFit, lack_of_fit
from inertica.validation.model_errors import model_errors
from inertica.validation.ripple import harmonics
from inertica.validation.score_tests import scores
from inertica.workflow.decisions.filter import recipe_for
from inertica.workflow.identify.self_application import replicas

CUTOFF = 15.0


def recorded(description: Description, seed: int = 3) -> Log:
    return Experiment.of(description, noise="standard", threads=1).run(ia.catalog_trajectory("scara4").trajectory, seed=seed)[0]


def fitted(description: Description, log: Log) -> tuple[Problem, Estimate, Recipe]:
    recipe = recipe_for(CUTOFF, log.rate, Recipe())
    problem = Problem(base_model(description.layout), (prepare(log, recipe),), description.prior)
    return problem, method("irls").estimate(problem), recipe


def judged(description: Description, log: Log) -> LackOfFit:
    problem, estimate, recipe = fitted(description, log)
    own = description.prior.with_values(standard_parameters(estimate, description.prior))
    repeated = replicas(description, own, [log], recipe, problem, method("irls"))
    return lack_of_fit(problem, estimate, [(r.problem, r.estimate) for r in repeated.runs], repeated.reason)


@pytest.fixture(scope="module")
def scara() -> Description:
    return ia.load("scara4")


@pytest.fixture(scope="module")
def log(scara: Description) -> Log:
    return recorded(scara)


@pytest.fixture(scope="module")
def fit(scara: Description, log: Log) -> tuple[Problem, Estimate]:
    return fitted(scara, log)[:2]


def test_a_right_model_is_not_suspected(scara: Description, log: Log) -> None:
    found = judged(scara, log)
    assert found.replicas == 4 and not found.findings
    assert [t.family for t in found.tests] == list(FAMILIES)
    assert not found["load"].tested and "gravity" in found["load"].why  # the last joint of a SCARA slides along gravity
    assert all(0.0 < t.p <= 1.0 and t.size for t in found.tests if t.tested)


@pytest.mark.parametrize(
    ("effect", "family", "words"),
    [
        (lambda x, d: with_ripple(x, 0.05), "position", "40 per turn"),
        (lambda x, d: with_friction_drift(x, d.prior), "time", "friction changes by -"),
        (lambda x, d: with_elasticity(x), "elasticity", "5 m"),
    ],
)
def test_an_error_is_found_named_and_measured(
    scara: Description, log: Log, effect: Callable[[Log, Description], Log], family: str, words: str
) -> None:
    found = judged(scara, effect(log, scara))
    assert found.named[0] == family and words in found.findings[0]
    test = found[family]
    assert test.flagged and test.p < 1e-5
    assert plain(found)["named"] == list(found.named)


def test_without_replicas_nothing_is_tested_and_that_is_said(fit: tuple[Problem, Estimate]) -> None:
    found = lack_of_fit(*fit, (), "the control loop is not known")
    assert not found.findings and not any(t.tested for t in found.tests)
    assert {t.why for t in found.tests} == {"the control loop is not known"}


def test_directions_are_what_other_robots_do(scara: Description, fit: tuple[Problem, Estimate]) -> None:
    """Gravity and a length changed in the robot itself, against torque per unit of lean and of relative length."""
    problem, motion = fit[0], fit[0].motions[0]
    chi, thin = scara.prior.values, motion.decimated()
    found = model_errors(problem, motion, chi)
    stated = Engine(scara.layout, threads=1).inverse_dynamics(thin.q, thin.dq, thin.ddq, chi)
    for other, family in ((tilted(scara, np.rad2deg(1e-3)), "tilt"), (stretched(scara, 1e-3, joint=1), "length")):
        torque = Engine(other.layout, threads=1).inverse_dynamics(thin.q, thin.dq, thin.ddq, chi)
        columns = [k for k, d in enumerate(found.directions) if d.family == family]
        X, y = found.torque[:, :, columns].reshape(-1, len(columns)), (torque - stated).ravel()
        size, *_ = np.linalg.lstsq(X, y, rcond=None)
        assert np.linalg.norm(y - X @ size) < 1e-3 * np.linalg.norm(y)
        assert np.abs(size).max() == pytest.approx(1e-3, rel=1e-2)


def test_scores_do_not_depend_on_how_the_parameters_were_found(fit: tuple[Problem, Estimate]) -> None:
    problem, estimate = fit
    other = replace(estimate, beta=estimate.beta * (1.0 + 1e-6))
    a, b = scores(problem, estimate), scores(problem, other)
    assert np.allclose(a.sizes[a.testable], b.sizes[a.testable], atol=1e-3 * a.std[a.testable].max(initial=0.0), rtol=1e-2)


def test_what_parameters_explain_is_not_tested(scara: Description, log: Log) -> None:
    """With an offset in the model, an offset is no error of it."""
    from inertica.robot.friction import Offset

    offset = scara.with_terms((*scara.layout.terms, *(Offset(j) for j in range(4))))
    problem, estimate, _ = fitted(offset, log)
    found = scores(problem, estimate)
    there = {d.joint: bool(t) for d, t in zip(found.directions, found.testable, strict=True) if d.what == "offset"}
    assert not any(there.values())


def test_given_one_direction_its_copies_are_gone(fit: tuple[Problem, Estimate]) -> None:
    found = scores(*fit)
    known = found.members("delay")
    left = found.given(known)
    assert not left.testable[known].any()
    assert np.allclose(left.u[known], 0.0, atol=1e-6 * np.abs(found.u[known]).max())


def test_ripple_is_measured_by_number_and_amplitude(scara: Description, log: Log) -> None:
    problem, estimate, _ = fitted(scara, with_ripple(log, 0.5))
    k = np.arange(20.0, 60.0, 2.0)
    found = harmonics(problem, estimate, [k] * 4)[1]
    size = np.hypot(*found.size.T)
    assert k[size.argmax()] == 40.0
    assert size.max() == pytest.approx(0.5 * log.truth["tau"][:, 1].std(), rel=0.15)
    assert found.spread is not None and np.all(np.linalg.eigvalsh(found.spread) > 0.0)


def test_position_follows_torque_only_through_a_spring(log: Log, scara: Description) -> None:
    rigid, elastic = (fast_compliance([x]) for x in (log, with_elasticity(log)))
    assert rigid.joint is None and max(rigid.correlation) < 0.0  # the controller answers noise with the opposite torque
    assert elastic.joint is not None
    assert elastic.compliance[0] == pytest.approx(0.005 / np.abs(log.truth["tau"][:, 0]).max(), rel=0.05)


def test_rows_turned_by_a_colour_have_its_covariance() -> None:
    rng = np.random.default_rng(0)
    colour, rows = Colour(np.array([2.0, 1.2, 0.4])), rng.normal(size=(3, 50))
    lag = np.abs(np.subtract.outer(np.arange(50), np.arange(50)))
    full = np.where(lag < 3, colour.gamma[np.minimum(lag, 2)], 0.0)
    turned = colour.coloured(rows)
    assert np.allclose(turned @ turned.T, rows @ full @ rows.T, rtol=0.02)
    assert np.allclose(colour.between(rows.T), turned @ turned.T)


@pytest.mark.parametrize(
    "name", ["tx40/tx40_joint_public.csv.gz", "kuka_lwr4/ident_slow_1.csv.gz", "kuka_lwr4/ident_slow_2.csv.gz"]
)
def test_public_records_show_no_spring(real_data: Path, name: str) -> None:
    """They state no loop, so that this is the only test that could alarm on them."""
    source = real_data / name
    (model,) = source.parent.glob("*.urdf")
    record = read_log(source, ia.load(model))
    found = fast_compliance([record])
    assert found.joint is None and max(found.correlation) < 0.5
