"""Acceleration limits that are assumed where none is stated: closed forms of one joint, change of units, what is said."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.errors import ModelWarning
from inertica.excitation.assumed import (
    AccelerationLimit,
    LimitOrigin,
    acceleration_limits,
    assumption,
    with_accelerations,
)
from inertica.robot.description import Description

MASS, LEVER, SPEED, TORQUE, HEIGHT = 2.0, 0.3, 2.0, 20.0, 0.4
TIME = 0.5 * math.pi * math.sqrt(HEIGHT / 9.81)


def pendulum(
    folder: Path, card: str = "", *, length: float = 1.0, mass: float = 1.0, time: float = 1.0, torque: float = TORQUE,
    speed: float = SPEED, kind: str = "revolute", masses: bool = True, axis: str = "0 1 0",
) -> Description:  # fmt: skip
    """One joint with a mass on a lever, in units of length, mass and time of which the SI unit has so many."""
    effort, inertia = mass * length**2 / time**2, mass * length**2
    if kind == "prismatic":
        effort, speed, inertia = effort / length, speed * length, inertia
    body = f'<inertial><origin xyz="{LEVER * length} 0 0"/><mass value="{MASS * mass}"/>'
    body += f'<inertia ixx="{0.01 * inertia}" iyy="{0.02 * inertia}" izz="{0.02 * inertia}"/></inertial>'
    reach = length if kind == "prismatic" else 1.0
    limit = f'<limit lower="{-2 * reach}" upper="{2 * reach}" velocity="{speed / time}" effort="{torque * effort}"/>'
    text = f'<robot name="one"><link name="base"/><link name="arm">{body if masses else ""}</link>'
    text += f'<joint name="j" type="{kind}"><parent link="base"/><child link="arm"/><origin xyz="0 0 {HEIGHT * length}"/>'
    text += f'<axis xyz="{axis}"/>{limit}</joint></robot>'
    (folder / "one.urdf").write_text(text)
    (folder / "card.yaml").write_text(f"model: one.urdf\ngravity: [0, 0, {-9.81 * length / time**2}]\n{card}")
    return ia.load(folder / "card.yaml")


def limit_of(description: Description) -> AccelerationLimit:
    (limit,) = acceleration_limits(description, Engine(description.layout))
    return limit


INERTIA = MASS * LEVER**2 + 0.02
GRAVITY = MASS * 9.81 * LEVER


def test_the_torque_limit_less_gravity_over_the_inertia(tmp_path: Path) -> None:
    limit = limit_of(pendulum(tmp_path, torque=6.0))
    assert limit.origin is LimitOrigin.TORQUE
    assert limit.value == pytest.approx((6.0 - GRAVITY) / INERTIA, rel=1e-4)
    assert (limit.rest_torque, limit.inertia) == (pytest.approx(GRAVITY, rel=1e-5), pytest.approx(INERTIA))
    assert limit.friction == 0.0


def test_friction_and_drive_inertia_of_a_card_count(tmp_path: Path) -> None:
    card = "friction: [viscous, coulomb]\narmature: true\nparameters: {Fv1: 0.5, Fc1: 0.7, Ia1: 0.3}\n"
    limit = limit_of(pendulum(tmp_path, card, torque=8.2))
    friction = 0.5 * SPEED + 0.7
    assert limit.friction == pytest.approx(friction) and limit.inertia == pytest.approx(INERTIA + 0.3)
    assert limit.value == pytest.approx((8.2 - GRAVITY - friction) / (INERTIA + 0.3), rel=1e-4)


def test_stribeck_friction_counts_where_it_is_largest(tmp_path: Path) -> None:
    card = "friction: [{stribeck: {vs: 0.05, es: 2}}]\nparameters: {Fc1: 0.5, dFs1: 1.0}\n"
    limit = limit_of(pendulum(tmp_path, card, torque=8.0))
    assert limit.friction == pytest.approx(1.5, rel=0.2) and limit.friction > 1.2


def test_the_velocity_limit_where_torque_allows_more(tmp_path: Path) -> None:
    limit = limit_of(pendulum(tmp_path))
    assert limit.origin is LimitOrigin.VELOCITY and limit.value == pytest.approx(SPEED / TIME)


@pytest.mark.parametrize("options", [{"masses": False}, {"torque": 0.0}])
def test_the_velocity_limit_alone_without_masses_or_torque_limit(tmp_path: Path, options: dict[str, float]) -> None:
    """An exporter that does not know the effort writes 0, which the reader takes for none."""
    limit = limit_of(pendulum(tmp_path, **options))
    assert limit.origin is LimitOrigin.VELOCITY and limit.value == pytest.approx(SPEED / TIME)


def test_a_torque_limit_that_does_not_hold_the_arm_is_said(tmp_path: Path) -> None:
    description = pendulum(tmp_path, torque=5.0)
    limit = limit_of(description)
    assert limit.torque_left < 0.0 and limit.origin is LimitOrigin.VELOCITY
    assert "torque limit of 5 N m does not hold the arm in every pose" in assumption(description, [limit])


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("torque", [6.0, 30.0])
@pytest.mark.parametrize(("length", "mass", "time"), [(0.1, 1e-3, 1.0), (10.0, 1e3, 1.0), (1.0, 1.0, 10.0), (10.0, 1e-3, 0.1)])
def test_units_of_length_mass_and_time_change_nothing(
    tmp_path: Path, kind: str, torque: float, length: float, mass: float, time: float
) -> None:
    """The same robot in other units has the same limits in these units, for the same reason."""
    axis = "0 1 0" if kind == "revolute" else "0 0 1"
    torque = torque if kind == "revolute" else torque + 15.0  # a slide carries the weight itself
    here = limit_of(pendulum(tmp_path, torque=torque, kind=kind, axis=axis))
    there = limit_of(pendulum(tmp_path, torque=torque, kind=kind, axis=axis, length=length, mass=mass, time=time))
    unit = (length if kind == "prismatic" else 1.0) / time**2
    assert there.value == pytest.approx(here.value * unit, rel=1e-9) and there.origin is here.origin


def test_without_gravity_a_joint_takes_the_time_of_one_radian(tmp_path: Path) -> None:
    weightless = pendulum(tmp_path).with_gravity([0.0, 0.0, 0.0])
    assert limit_of(weightless).value == pytest.approx(SPEED**2)


def test_stated_limits_stay(tmp_path: Path) -> None:
    description = pendulum(tmp_path, "limits: {acceleration: [123]}\n")
    limit = limit_of(description)
    assert limit.value == 123.0 and not limit.assumed and assumption(description, [limit]) == ""


def test_one_joint_of_several_is_assumed() -> None:
    description = ia.load("scara2")
    stated = description.robot.limits
    partly = with_accelerations(description, acceleration_limits(description, Engine(description.layout)))
    assert partly.robot.limits == stated
    open_second = replace(stated, acceleration=(stated.acceleration[0], math.inf))
    partly = replace(description, robot=replace(description.robot, limits=open_second))
    limits = acceleration_limits(partly, Engine(description.layout))
    assert [limit.origin for limit in limits] == [LimitOrigin.STATED, LimitOrigin.VELOCITY]
    assert f"acceleration: [{stated.acceleration[0]:g}, ?]" in assumption(partly, limits)


@pytest.mark.parametrize("name", ["panda7", "tx40", "rv2sq", "scara4", "scara2", "jaco2"])
def test_of_robots_whose_limits_are_stated_hardly_more_is_assumed(name: str) -> None:
    description = ia.load(name)
    stated = np.array(description.robot.limits.acceleration)
    bare = replace(description.robot.limits, acceleration=(math.inf,) * description.robot.n)
    bare_robot = replace(description, robot=replace(description.robot, limits=bare))
    assumed = np.array([limit.value for limit in acceleration_limits(bare_robot, Engine(description.layout))])
    assert np.all(assumed < 1.05 * stated) and np.all(assumed > 0.1 * stated)


def test_excite_says_it_and_keeps_it(tmp_path: Path) -> None:
    description = pendulum(tmp_path, torque=6.9)
    with pytest.warns(ModelWarning, match=r"NO ACCELERATION LIMITS.*torque limit 6\.9 N m less 5\.8.* at rest") as said:
        found = ia.excite(description, harmonics=4, period=4.0, grid=40, seconds=5.0, floor="none")
    assert any("limits: {acceleration: [?]}" in str(w.message) and "slow 4" in str(w.message) for w in said)
    t = np.linspace(0.0, 4.0, 4001)
    assert found.feasible and 0.0 < np.abs(found.trajectory(t).ddq).max() < (6.9 - GRAVITY) / INERTIA


def test_nothing_is_said_of_stated_limits() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        ia.excite("scara2", harmonics=4, period=4.0, grid=30, seconds=0.5)
