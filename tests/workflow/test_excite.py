"""`excite`: what a result knows of the robot counts in its torques, and slow passes that gravity makes heavier."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation import Condition, Multisine, TorqueLimits
from inertica.excitation.assumed import LimitOrigin, acceleration_limits
from inertica.experiment import Experiment
from inertica.workflow.excite import SlowPass
from inertica.workflow.identify.result import Result
from inertica.workflow.payload.design import Purpose, known_robot

MASS, LEVER, INERTIA = 2.0, 0.3, 0.02


def hanging(folder: Path) -> ia.Description:
    """A pendulum that hangs down at q = 0, without friction and drive inertia."""
    body = f'<inertial><origin xyz="0 0 {-LEVER}"/><mass value="{MASS}"/>'
    body += f'<inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}"/></inertial>'
    text = f'<robot name="one"><link name="base"/><link name="arm">{body}</link><joint name="j" type="revolute">'
    text += '<parent link="base"/><child link="arm"/><origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>'
    (folder / "one.urdf").write_text(text + '<limit lower="-2" upper="2" velocity="9" effort="9"/></joint></robot>')
    return ia.load(folder / "one.urdf")


def test_a_slow_pass_may_need_more_torque_than_the_motion(tmp_path: Path) -> None:
    """A pendulum that swings at its own frequency needs next to no torque; held at the ends of its swing it does."""
    description, swing = hanging(tmp_path), 0.2
    weight, inertia = MASS * 9.81 * LEVER, INERTIA + MASS * LEVER**2
    motion = Multisine(2.0 * math.pi * math.sqrt(inertia / weight), [0.0], [[swing]], [[0.0]])
    limits = TorqueLimits(Engine(description.layout), description.prior, (0.5 * weight * math.sin(swing),), 0.0)
    own = np.abs(Engine(description.layout).inverse_dynamics(*motion(np.linspace(0, 1, 99)), description.prior)).max()
    assert own < 0.02 * weight * swing
    slow = SlowPass.of(motion, 10.0, [limits])
    (broken,) = slow.violations
    inertial = inertia * swing * (2.0 * math.pi / motion.period) ** 2
    assert broken.what == "torque of j"
    assert broken.excess == pytest.approx((weight * math.sin(swing) - inertial / 100.0) / limits.limit[0] - 1.0, rel=1e-3)


@pytest.fixture(scope="module")
def known() -> Result:
    (log,) = Experiment.of(ia.load("scara4"), threads=1).run(ia.catalog_trajectory("scara4").trajectory, seed=3)
    return ia.identify("scara4", [log], cutoff=20.0, delay=0.0, method="wls", quick=True)


def test_a_result_says_friction_and_drives_where_the_model_does_not(known: Result) -> None:
    description = ia.load("scara4")
    zero = {p.name: 0.0 for p in description.layout.parameters if p.kind not in ("inertia", "first_moment", "mass")}
    bare = replace(description, prior=description.prior.replaced(zero))
    aim = Purpose.robot(Condition(), bare, known)
    assert aim.carrying.robot.limits == bare.robot.limits
    assert np.array_equal(aim.carrying.prior.values, known.parameters.values)
    wide = replace(bare.robot.limits, acceleration=(math.inf,) * 4, velocity=(60.0,) * 4)  # so that torque decides
    limits = [
        acceleration_limits(replace(d, robot=replace(d.robot, limits=wide)), Engine(d.layout)) for d in (bare, aim.carrying)
    ]
    for model, result in zip(*limits, strict=True):
        assert model.friction == 0.0 < result.friction
    first = limits[1][0]
    assert first.origin is LimitOrigin.TORQUE
    assert first.value == pytest.approx((wide.torque[0] - first.rest_torque - first.friction) / first.inertia)


def test_excite_takes_a_result_of_the_same_robot_only(known: Result) -> None:
    found = ia.excite("scara4", robot_from=known, harmonics=4, period=4.0, grid=30, seconds=4.0)
    assert found.feasible
    with pytest.raises(InputError, match="the result is of another robot: it has the joints"):
        known_robot(ia.load("scara2"), known)
