"""What a motion for a load is designed for."""

from __future__ import annotations

import numpy as np
import pytest

import inertica as ia
from inertica.errors import InputError
from inertica.excitation import DesignOptions, Fourier, LoadDeterminant, Search, design, evaluate, robot_constraints
from inertica.workflow.payload.design import Purpose


def test_a_short_design_reveals_the_load_better_than_the_motion_for_the_robot() -> None:
    robot = ia.load("tx40")
    base = ia.base_model(robot.layout)
    purpose = Purpose.payload(robot, base, mass=2.0)
    assert purpose.names == ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M") and isinstance(
        purpose.criterion, LoadDeterminant
    )
    assert purpose.carrying.prior["M6"] == pytest.approx(robot.prior["M6"] + 2.0)
    engine = base.engine
    constraints = robot_constraints(purpose.carrying, engine, margin=(0.1, 0.1, 0.1))
    family = Fourier.still(12.0, np.zeros(6), 5, free_start=True)
    found = design(
        engine,
        base,
        family,
        purpose.criterion,
        constraints,
        DesignOptions(grid=60, noise=purpose.noise, search=Search(evaluations=600, rounds=0)),
        rng=1,
    )
    assert found.feasible and found.trajectory.period == 12.0
    other = ia.catalog_trajectory("tx40").trajectory
    assert evaluate(found.trajectory, engine, base, purpose.criterion, 60) < evaluate(other, engine, base, purpose.criterion, 60)


def test_an_arm_that_does_not_show_all_ten_is_designed_for_what_it_shows() -> None:
    robot = ia.load("scara2")
    purpose = Purpose.payload(robot, ia.base_model(robot.layout))
    assert isinstance(purpose.criterion, LoadDeterminant) and purpose.criterion.columns.shape[1] < 10
    with pytest.raises(InputError, match="greater than zero"):
        Purpose.payload(robot, ia.base_model(robot.layout), mass=0.0)
