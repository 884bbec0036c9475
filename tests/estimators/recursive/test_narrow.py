"""A filter says where its intervals are too narrow: where much of the torque that drives it is noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import inertica as ia
from inertica.dynamics.simulate import Noise
from inertica.estimators.base import Problem
from inertica.estimators.recursive import joint
from inertica.estimators.recursive.joint import FIRST_ORDER, narrow_intervals
from inertica.estimators.recursive.passes import FilterPass
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe


@pytest.mark.parametrize(("noise", "narrow"), [("low_position", False), ("standard", True), ("high_position", True)])
def test_by_presets_of_noise(noise: str, narrow: bool) -> None:
    """0.07, 0.56 and 0.99 of the first joint's torque are noise that the controller made of that of its encoders."""
    robot = ia.load("tx40")
    (log,) = ia.simulate("tx40", noise=noise, seed=1, duration=2.0)
    problem = Problem(ia.base_model(robot.layout), (prepare(log, Recipe(filter=Unfiltered())),), robot.prior, None)
    said = narrow_intervals("ekf", problem)
    assert bool(said) == narrow and all("the intervals of ekf are too narrow" in sentence for sentence in said)


def test_a_filter_that_broke_down_says_that_and_not_that_its_intervals_are_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = ia.load("tx40")
    (log,) = ia.simulate("tx40", noise="standard", seed=1, duration=1.0)
    problem = Problem(ia.base_model(robot.layout), (prepare(log, Recipe(filter=Unfiltered())),), robot.prior, None)
    complete = joint.kalman

    def broken(*arguments: Any) -> FilterPass:
        return replace(complete(*arguments), broke=0.5)

    assert narrow_intervals("ekf", problem)
    monkeypatch.setattr(joint, "kalman", broken)
    estimate = joint.JointFilter(preset="relative").estimate(problem)
    assert estimate.failed and "broke down 0.5 s into a record" in estimate.warnings[-1] and len(estimate.warnings) == 1


def test_by_stated_noise() -> None:
    robot = ia.load("scara2")
    (log,) = ia.simulate("scara2", seed=1, duration=2.0)
    motion = prepare(log, Recipe(filter=Unfiltered()))
    size = np.sqrt(np.mean(motion.tau_raw**2, axis=0))
    for share in (0.9 * FIRST_ORDER, 1.1 * FIRST_ORDER):
        stated = Noise(q=1e-6, tau=share * size * [1.0, 0.1])
        problem = Problem(ia.base_model(robot.layout), (motion,), robot.prior, None, noise=stated)
        said = narrow_intervals("ukf", problem)
        assert bool(said) == (share > FIRST_ORDER)
        assert not said or "of joint 1 is noise" in said[0]
