"""Limits as evidence: another arm, columns and signs that torque alone does not tell; never a problem where only limits speak."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from checks.test_elastic import rigid
from inertica.checks import ranges
from inertica.checks.gate import checked
from inertica.excitation import catalog_trajectory
from inertica.experiment import Experiment
from inertica.robot.load import load
from logs.simulated import clean

SCARA4, TX40 = load("scara4"), load("tx40")


def test_outside_in_parts_of_the_range_whole_turns_allowed() -> None:
    robot = TX40.robot  # joint 2 from -125 to 125 degrees
    q = np.zeros((3, 6))
    assert ranges.price(robot, q) == 0.0 and not ranges.outside(robot, q).any()
    q[1, 1] = np.deg2rad(150.0)
    assert ranges.outside(robot, q)[1] == pytest.approx(0.1, rel=0.01) and ranges.price(robot, q) == pytest.approx(10.0, rel=0.01)
    assert ranges.outside(robot, q + 2.0 * np.pi)[1] == pytest.approx(0.1, rel=0.01)
    none = replace(robot, limits=type(robot.limits).none(6))
    assert ranges.price(none, 100.0 + q) == 0.0 and not ranges.faster(none, q).any()


def test_positions_within_reach_need_no_other_unit() -> None:
    robot = SCARA4.robot
    slide = next(j for j, joint in enumerate(robot.joints) if joint.prismatic)
    q = rigid().need("q")
    millimetres = np.where(np.arange(4) == slide, 1e3 * q, q)
    for limits in (robot.limits, type(robot.limits).none(4)):
        arm = replace(robot, limits=limits)
        assert ranges.possible(arm, q).all() and ranges.possible(arm, millimetres).tolist() == [j != slide for j in range(4)]
        assert not ranges.possible(arm, np.rad2deg(q))[:2].any()


def test_limits_alone_suspect_and_do_not_state() -> None:
    """A vertical slide the other way round: an offset explains its weight, but it would have left its range."""
    flip = np.where(np.arange(4) == 2, -1.0, 1.0)
    log = replace(rigid(), signals={name: rigid().need(name) * flip for name in ("q", "tau")})
    report = checked(SCARA4, [log], quick=True)
    (found,) = report.of("joint signs")
    assert found.verdict == "warning" and found.numbers["fault"] == "position and torque of joint 3 count the other way round"
    assert not report.problems and "it may be that" in found.text and found.numbers["better_by"] < 20.0


def test_a_log_of_another_arm_that_moves_where_this_one_cannot() -> None:
    experiment = Experiment.of(TX40, noise="standard", threads=1)
    log = experiment.run(catalog_trajectory("tx40").trajectory, seed=0)[0]
    quality = checked(load("rv2sq"), [log], quick=True)
    (found,) = quality.of("same robot")
    assert found.verdict == "warning" and not quality.problems
    assert found.name == "same robot" and {3, 5} <= set(found.numbers["outside"]) and {1, 2, 3} <= set(found.numbers["faster"])
    assert checked(TX40, [clean(0)], quick=True).of("same robot")[0].numbers["outside"] == []
