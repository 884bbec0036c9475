"""Grouping relations: the text says exactly what the matrix does, in the robot's own lengths."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from inertica.dynamics.arrays import is_large
from inertica.identifiability.base import BaseModel, base_model
from inertica.robot.layout import Layout
from inertica.robot.load import load
from inertica.robot.model import Joint, Robot, cartesian_lengths, matrix, rotation_x
from robots import random_layout


@cache
def catalog_model(name: str) -> BaseModel:
    return base_model(load(name).layout)


def evaluated(model: BaseModel, texts: tuple[str, ...]) -> np.ndarray:
    """The matrix T that relation texts describe."""
    values = {length.name: length.value for joint in model.layout.robot.joints for length in joint.lengths}
    units = dict(zip(model.layout.names, np.eye(model.layout.size), strict=True))
    return np.array([eval(text.replace("^", "**"), {}, values | units) for text in texts])


def spelled(name: str) -> dict[str, str]:
    model = catalog_model(name)
    return dict(zip(model.names, model.relations, strict=True))


def test_equal_lengths_are_told_apart() -> None:
    """a3 and d4 of this arm are both 0.225 m."""
    relation = spelled("tx40")
    masses = " + ".join(f"(a3^2 + d3^2)*M{j}" for j in range(3, 7))
    assert relation["ZZ1"] == f"ZZ1 + YY2 + YY3 + 2*d3*MZ3 + {masses} + Ia1"
    assert relation["XZ2"] == "XZ2 - a3*MZ3 - a3*d3*M3 - a3*d3*M4 - a3*d3*M5 - a3*d3*M6"
    assert relation["ZZ3"] == "ZZ3 + YY4 + 2*d4*MZ4 + d4^2*M4 + d4^2*M5 + d4^2*M6"
    assert relation["MY3"] == "MY3 - MZ4 - d4*M4 - d4*M5 - d4*M6"
    assert relation["Fc6"] == "Fc6"


def test_signed_lengths_and_differences_of_squares() -> None:
    relation = spelled("rv2sq")  # a4 is negative
    assert relation["MX3"] == "MX3 + a4*M4 + a4*M5 + a4*M6"
    assert relation["XX3"].startswith("XX3 - YY3 + YY4 + 2*d4*MZ4 + (d4^2 - a4^2)*M4")
    assert relation["XY3"].startswith("XY3 + a4*MZ4 + a4*d4*M4")


def test_three_squares_and_plain_numbers() -> None:
    assert spelled("jaco2")["YY1"].endswith("+ YY7 + (d3^2 + d4^2 + d5^2)*M7")
    assert spelled("planar2")["ZZ1"] == "ZZ1 - a1^2*M1 - a1^2*M2 + 0.01*Im1"


def chain(*joints: tuple[str, tuple[float, float, float]]) -> BaseModel:
    """A serial robot from pairs of axis and position, with the positions' coordinates as named lengths."""
    axes = dict(zip("xyz", ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), strict=True))
    parts = [
        Joint(f"joint{i + 1}", f"link{i + 1}", i - 1, position=p, axis=axes[a], lengths=cartesian_lengths(i + 1, p))
        for i, (a, p) in enumerate(joints)
    ]
    return base_model(Layout(Robot("chain", tuple(parts))))


def test_offsets_along_parallel_axes_add_up() -> None:
    """Shoulder, elbow and wrist of a collaborative arm: axes y, y, y, offsets along them."""
    elbow, wrist = (0.0, -0.12, 0.6), (0.0, 0.05, 0.57)
    model = chain(("z", (0.0, 0.0, 0.2)), ("y", (0.0, 0.18, 0.0)), ("y", elbow), ("y", wrist), ("z", (0.0, 0.11, 0.0)))
    relation = dict(zip(model.names, model.relations, strict=True))
    assert "2*(y2 + y3)*MY3" in relation["ZZ1"]
    assert "(z3^2 + (y2 + y3)^2)*M3" in relation["ZZ1"]
    assert "(z3^2 + z4^2 + (y2 + y3 + y4)^2)*M4" in relation["ZZ1"]
    assert "(y3*z3 + z3*y4)*M4" in relation["YZ2"]
    np.testing.assert_allclose(evaluated(model, model.relations), model.T, rtol=0, atol=1e-12)


def test_an_oblique_angle_is_a_constant_factor() -> None:
    tilt, place = matrix(rotation_x(np.pi / 3)), (0.3, 0.0, 0.0)
    joints = (Joint("a", "a", -1), Joint("b", "b", 0, tilt, place, lengths=cartesian_lengths(2, place)))
    model = base_model(Layout(Robot("oblique", joints)))
    relation = dict(zip(model.names, model.relations, strict=True))
    assert relation["ZZ1"] == "ZZ1 + 0.75*YY2 + x2^2*M2"


@pytest.mark.parametrize("name", ["tx40", "tx40_coupled", "rv2sq", "jaco2", "scara2", "planar2", "panda7", "scara4"])
def test_catalog_relations_are_free_of_numbers(name: str) -> None:
    model = catalog_model(name)
    np.testing.assert_allclose(evaluated(model, model.relations), model.T, rtol=0, atol=1e-9)
    np.testing.assert_allclose(evaluated(model, model.numeric_relations), model.T, rtol=0, atol=1e-9)
    numbers = {number for text in model.relations for number in re.findall(r"(?<![\w^.])\d[\d.e-]*", text)}
    assert numbers <= {"2", "0.5", "0.01"}


@pytest.mark.parametrize("seed", range(25))
def test_text_reproduces_the_matrix(seed: int) -> None:
    model = base_model(random_layout(seed))
    for texts in (model.relations, model.numeric_relations):
        T = evaluated(model, texts)
        np.testing.assert_allclose(T, model.T, rtol=1e-7, atol=1e-9)


def test_twenty_joints_are_spelled_exactly() -> None:
    """A large robot, whose regressor comes from loops over bodies: the text says what the matrix does."""
    layout = random_layout(4, joints=20)
    assert is_large(layout.robot)
    model = base_model(layout)
    np.testing.assert_allclose(evaluated(model, model.relations), model.T, rtol=1e-7, atol=1e-9)
    assert not model.warnings


def test_a_robot_without_lengths_gets_numbers() -> None:
    joints = (Joint("a", "a", -1), Joint("b", "b", 0, axis=(0.0, 1.0, 0.0), position=(0.3, 0.0, 0.0)))
    model = base_model(Layout(Robot("plain", joints)))
    assert model.relations == model.numeric_relations
    assert "0.09*M2" in model.relations[0]
