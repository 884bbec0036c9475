"""Torque without its sign: absolute values are named, and torque that gravity keeps on one side is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inertica.checks.quality import check
from inertica.robot.load import load
from logs.simulated import changed, clean


def verdict(tau: np.ndarray, robot=None) -> str:
    (found,) = check(robot or load("tx40"), [changed(clean(0), tau=tau)]).of("torque sign")
    return f"{found.verdict}: {found.text}"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_absolute_values_are_named(sign: float) -> None:
    said = verdict(sign * np.abs(clean(0).need("tau")))
    assert said.startswith("problem") and "joints 1, 2, 3, 4, 5 and 6 has no sign (absolute current?)" in said
    assert f"never {'negative' if sign > 0.0 else 'positive'}" in said


def test_a_model_without_masses_is_enough() -> None:
    robot = load("tx40")
    links = {name: 0.0 for j in range(6) for name in robot.layout.names[robot.layout.link(j)]}
    assert verdict(np.abs(clean(0).need("tau")), replace(robot, prior=robot.prior.replaced(links))).startswith("problem")


def test_a_log_with_signs_is_fine() -> None:
    assert verdict(clean(0).need("tau")).startswith("fine")


def test_torque_that_stays_on_one_side_is_fine() -> None:
    """Shifted far enough that no torque changes its sign, as under a load: it does not come back to zero."""
    tau = clean(0).need("tau")
    assert verdict(tau - 1.5 * tau.min(axis=0)).startswith("fine")


def test_one_joint_that_gravity_holds_is_fine() -> None:
    tau = np.array(clean(0).need("tau"))
    tau[:, 1] = np.abs(tau[:, 1])
    assert verdict(tau).startswith("fine")
