"""Torque that depends on position: found where it was planted, nowhere else."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.estimators.base import Problem
from inertica.estimators.linear.least_squares import Wls
from inertica.experiment import Experiment
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.terms import Counterbalance, OnJoint, Spring
from inertica.workflow.decisions.filter import recipe_for
from inertica.workflow.decisions.position import choose_position_torque, is_apart
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.hold_out import left_out

ROBOT = "rv2sq"
PLANTED = {"Ks1": 8.0, "Kbs5": 0.5, "Kbc5": -0.8}


@cache
def simulated(*terms: OnJoint) -> Log:
    robot = ia.load(ROBOT)
    truth = robot.with_terms((*robot.layout.terms, *terms)).prior
    known = {name: value for name, value in PLANTED.items() if name in truth.layout.names}
    experiment = replace(Experiment.of(robot, noise="low_position"), truth=truth.replaced(known))
    (log,) = experiment.run(ia.catalog_trajectory(ROBOT).trajectory, seed=4)
    return log


def problem(log: Log) -> tuple[Problem, Description]:
    robot = ia.load(ROBOT)
    motion = prepare(log, recipe_for(20.0, log.rate, Recipe(delay=-0.5 / 1000.0)))
    return Problem(base_model(robot.layout), (motion,), robot.prior), robot


def search(log: Log) -> tuple[Description, Choice] | None:
    return choose_position_torque(*problem(log), lambda _: None)


def test_it_is_found_on_the_joints_that_have_it() -> None:
    found = search(simulated(Spring(0), Counterbalance(4)))
    assert found is not None
    description, choice = found
    assert {t for t in description.layout.terms if isinstance(t, Spring | Counterbalance)} == {Spring(0), Counterbalance(4)}
    assert all(share < 0.9 for share in choice.scores.values()) and "no link near the model's explains" in choice.sentence
    wider = replace(
        problem(simulated(Spring(0), Counterbalance(4)))[0], base=base_model(description.layout), prior=description.prior
    )
    beta = dict(zip(wider.base.names, Wls().estimate(wider).beta, strict=True))
    assert beta["Ks1"] == pytest.approx(PLANTED["Ks1"], rel=0.2)
    assert [beta["Kbs5"], beta["Kbc5"]] == pytest.approx([PLANTED["Kbs5"], PLANTED["Kbc5"]], abs=0.15)


def test_a_log_without_it_gets_nothing() -> None:
    assert search(simulated()) is None


def test_a_sine_at_one_frequency_tells_no_spring_from_an_inertia() -> None:
    motion = problem(simulated())[0].motions[0]
    angle = 2.0 * np.pi * motion.t[:, None] * np.ones(motion.n)
    one = replace(motion, q=1.0 + np.sin(angle), ddq=-np.sin(angle))
    several = replace(motion, q=1.0 + np.sin(angle) + np.sin(2.0 * angle), ddq=-np.sin(angle) - 4.0 * np.sin(2.0 * angle))
    assert not is_apart([one], 0)
    assert is_apart([several], 0)
    assert is_apart([one, several], 0)


def test_errors_on_what_is_left_out_add_up_over_the_joints() -> None:
    own, _ = problem(simulated())
    found = left_out(own, Wls())
    assert np.allclose(found.sizes.sum(axis=0), np.sum(own.motions[0].tau_raw ** 2, axis=0))
    assert 0.0 < found.residual < 0.2 and found.against(found).t == 0.0


@pytest.mark.slow
def test_the_public_kuka_record(real_data: Path) -> None:
    """One repetition predicts the other within 2 %, 1.7 % being by what the two differ, with links near the model's."""
    folder = real_data / "kuka_lwr4"
    logs = [str(folder / f"ident_slow_{k}.csv.gz@3:25") for k in (1, 2)]
    result = ia.identify(folder / "kuka_lwr4.urdf", logs[:1], validate=logs[1:], quick=True)
    assert list(result.residuals.values())[-1].raw.all < 0.020
    prior = ia.load(folder / "kuka_lwr4.urdf").prior
    masses = np.array([result.parameters[f"M{k}"] / prior[f"M{k}"] for k in range(1, 8)])
    assert np.all((masses > 1 / 3) & (masses < 3))
    assert not result.gravity.accepted
