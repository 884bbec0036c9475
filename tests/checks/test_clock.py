"""A clock that does not count seconds, told by gravity; robots of another time are not accused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inertica.checks.quality import check
from inertica.dynamics.engine import Engine
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.robot.description import Description
from inertica.robot.load import load
from logs.simulated import clean


def finding(robot: Description, log: Log) -> str:
    found = check(robot, [log]).of("clock")
    return found[0].text if found and found[0].verdict == "problem" else found[0].verdict if found else ""


def on_clock(log: Log, factor: float) -> Log:
    return Log.from_arrays(factor * log.t, {s: log.signals[s] for s in ("q", "tau")}, log.joints)


def without_limits(robot: Description) -> Description:
    endless = (np.inf,) * robot.robot.n
    return replace(robot, robot=replace(robot.robot, limits=replace(robot.robot.limits, velocity=endless)))


@pytest.mark.parametrize("limits", [True, False])
def test_milliseconds_are_named(limits: bool) -> None:
    robot = load("tx40") if limits else without_limits(load("tx40"))
    assert "looks like milliseconds" in finding(robot, on_clock(clean(0), 1e3))
    assert finding(robot, clean(0)) == ("" if limits else "fine")


def test_microseconds_are_named() -> None:
    assert "looks like microseconds" in finding(load("tx40"), on_clock(clean(0), 1e6))


def test_a_recorded_velocity_settles_it() -> None:
    log = on_clock(clean(0), 1e3)
    slow = Log.from_arrays(log.t, {**log.signals, "dq": 1e-3 * clean(0).truth["dq"]}, log.joints)
    assert finding(load("tx40"), slow) == ""


@pytest.mark.parametrize("factor", [1e-3, 10.0, 1e3])
def test_a_robot_of_another_time_is_not_accused(factor: float) -> None:
    """All times longer by a factor: gravity and velocity limits with them, torque as the scaled robot has it."""
    robot, log = load("tx40"), clean(0)
    t, truth = factor * log.t, log.truth
    limits = replace(robot.robot.limits, velocity=tuple(v / factor for v in robot.robot.limits.velocity))
    scaled = robot.with_gravity(np.array(robot.robot.gravity) / factor**2)
    scaled = replace(scaled, robot=replace(scaled.robot, limits=limits))
    frictionless = scaled.prior.replaced({p.name: 0.0 for p in robot.layout.parameters if p.kind in ("viscous", "coulomb")})
    tau = Engine(scaled.layout).inverse_dynamics(truth["q"], truth["dq"] / factor, truth["ddq"] / factor**2, frictionless)
    assert "looks like" not in finding(scaled, Log.from_arrays(t, {"q": truth["q"], "tau": tau}, log.joints))
    assert "looks like" not in finding(without_limits(scaled), Log.from_arrays(t, {"q": truth["q"], "tau": tau}, log.joints))


def test_a_model_without_masses_says_nothing() -> None:
    robot = load("tx40")
    links = {name: 0.0 for j in range(6) for name in robot.layout.names[robot.layout.link(j)]}
    assert finding(replace(robot, prior=robot.prior.replaced(links)), on_clock(clean(0), 1e3)) == ""


def test_a_clock_without_unit_on_which_the_robot_creeps(tmp_path: Path) -> None:
    """Too slow for inertial torque, so that the velocity limits alone tell; who states the unit is believed."""
    log = clean(0)
    lines = np.column_stack([1e4 * log.t, log.q, log.tau])  # 10 s that took 100, in ms
    names = ",".join([f"q{j}" for j in range(1, 7)] + [f"tau{j}" for j in range(1, 7)])
    path = tmp_path / "log.csv"
    np.savetxt(path, lines, delimiter=",", header=f"t,{names}", comments="")
    robot = load("tx40")
    assert "looks like milliseconds" in finding(robot, read_log(path, robot))
    stated = check(robot, [read_log(path, robot, units={"t": "s"})])
    assert "looks like milliseconds: no joint" not in " ".join(f.text for f in stated.problems)
    assert [f.verdict for f in stated.of("limits")] == ["warning"]


def test_a_velocity_limit_for_want_of_a_better_one_accuses_no_clock(tmp_path: Path) -> None:
    """Files of some exporters state numbers that no joint reaches."""
    log = clean(0)
    lines = np.column_stack([4.0 * log.t, log.q, log.tau])
    names = ",".join([f"q{j}" for j in range(1, 7)] + [f"tau{j}" for j in range(1, 7)])
    path = tmp_path / "log.csv"
    np.savetxt(path, lines, delimiter=",", header=f"t,{names}", comments="")
    robot = load("tx40")
    limits = replace(robot.robot.limits, velocity=(1e5,) * 6)
    robot = replace(robot, robot=replace(robot.robot, limits=limits))
    slow = read_log(path, robot)
    assert np.abs(np.diff(slow.q, axis=0) / np.diff(slow.t)[:, None]).max() < 1e-3 * 1e5  # below a thousandth of the limit
    assert "looks like" not in finding(robot, slow)
    assert [f.verdict for f in check(robot, [slow]).of("limits")] == ["fine"]
