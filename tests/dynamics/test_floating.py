"""Floating bases: dynamics and base parameters against Pinocchio's free-flyer."""

from __future__ import annotations

import re

import numpy as np
import pinocchio as pin
import pytest

from flyer import check_coordinates, check_wrench, flyer, rank, robot_data
from generators import random_robot, random_tens
from inertica.dynamics.arrays import is_large
from inertica.identifiability.base import base_model
from inertica.robot.floating import on_floating_base
from inertica.robot.layout import Layout
from inertica.robot.load import load

ROBOTS = {
    "solo12": "solo_description/robots/solo12.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "icub": "icub_description/robots/icub_reduced.urdf",
}


@pytest.mark.parametrize("seed", range(50))
def test_random_floating_trees_agree_with_pinocchio(seed: int) -> None:
    robot = on_floating_base(random_robot(seed))
    tens = random_tens(np.random.default_rng(seed), len(robot.links))
    layout, model = Layout(robot), flyer(robot, tens)
    check_wrench(layout, tens.ravel(), model, seed)
    check_coordinates(layout, tens.ravel(), model, seed)


@pytest.mark.parametrize("seed", [1, 2])
def test_large_floating_trees_agree_with_pinocchio(seed: int) -> None:
    robot = on_floating_base(random_robot(seed, n=20))
    assert is_large(robot)
    tens = random_tens(np.random.default_rng(seed), len(robot.links))
    check_wrench(Layout(robot), tens.ravel(), flyer(robot, tens), seed)


@pytest.mark.parametrize("seed", range(0, 30, 2))
def test_base_parameters_of_base_rows_joint_rows_and_both(seed: int) -> None:
    robot = on_floating_base(random_robot(seed, n=1 + seed % 4))
    model = flyer(robot, random_tens(np.random.default_rng(seed), len(robot.links)))
    layout, n = Layout(robot), robot.driven
    counts = {rows: base_model(layout, rows=rows).rank for rows in ("all", "base", "joints")}
    assert counts == {
        "all": rank(model, robot, slice(None)), "base": rank(model, robot, slice(n, None)), "joints": rank(model, robot, slice(0, n)),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_real_robots_agree_with_pinocchio(name: str, tmp_path) -> None:
    path = tmp_path / "robot.urdf"  # a right angle printed as 1.5708 is read as one, which Pinocchio does not do
    text = (robot_data() / ROBOTS[name]).read_text()
    path.write_text(re.sub(r"1\.5707?[89]?\d*|3\.141[56]\d*", lambda m: repr(np.pi / 2 if m[0][0] == "1" else np.pi), text))
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    model.names[1] = "flyer"
    card = tmp_path / "card.yaml"
    joints = list(model.names)[2:]
    card.write_text(f"model: {path}\nbase: floating\njoints: [{', '.join(joints)}]\nfriction: none\narmature: false\n")
    description = load(str(card))
    layout, robot = description.layout, description.robot
    check_wrench(layout, description.prior.values, model, 3)
    check_coordinates(layout, description.prior.values, model, 3)
    for rows, chosen in {"all": slice(None), "base": slice(robot.driven, None), "joints": slice(0, robot.driven)}.items():
        assert base_model(layout, rows=rows).rank == rank(model, robot, chosen)
