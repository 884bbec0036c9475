"""Layout and Parameters: order, names, units, carrying values over."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.errors import InputError
from inertica.robot.drives import Armature, Coupling
from inertica.robot.friction import Coulomb, Offset, Stribeck, Viscous
from inertica.robot.layout import Layout
from inertica.robot.load import load
from inertica.robot.model import Joint, Robot
from inertica.robot.terms import RigidBody, Spring

ROBOT = Robot("two", (Joint("a", "la", -1), Joint("b", "lb", 0, prismatic=True)))
INERTIAL = ["XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M"]


def test_order_is_link_by_link_then_terms_then_what_spans_joints() -> None:
    terms = (Coupling(1, (0, 1)), Offset(0), Coulomb(0), Spring(1), Viscous(0), Armature(0), Armature(1))
    layout = Layout(ROBOT, terms, (RigidBody(1, "p"),))
    expected = [f"{p}1" for p in [*INERTIAL, "Ia", "Fv", "Fc", "off"]] + [f"{p}2" for p in [*INERTIAL, "Ia", "Ks"]]
    expected += ["Iam2", "Fvm2", "Fcm2"] + [f"{p}p" for p in INERTIAL]
    assert list(layout.names) == expected
    assert layout.link(1) == slice(14, 24)


def test_units_of_a_sliding_joint_are_those_of_forces() -> None:
    layout = Layout(ROBOT, (Armature(0), Armature(1), Viscous(0), Viscous(1), Coulomb(1), Spring(1)))
    unit = {p.name: p.unit for p in layout.parameters}
    assert (unit["Ia1"], unit["Fv1"]) == ("kg m^2", "N m s/rad")
    assert (unit["Ia2"], unit["Fv2"], unit["Fc2"], unit["Ks2"]) == ("kg", "N s/m", "N", "N/m")
    assert unit["XX2"] == "kg m^2"


def test_values_are_carried_over_by_name() -> None:
    parameters = load("tx40").prior
    other = Layout(parameters.layout.robot, (Viscous(2), Stribeck(3, vs=0.2)))
    moved = parameters.on(other)
    assert moved["Fv3"] == parameters["Fv3"]
    assert moved["dFs4"] == 0.0
    assert np.array_equal(moved.link(4), parameters.link(4))
    assert moved.shapes.tolist() == [0.2, 2.0]


def test_values_cannot_be_changed_in_place_and_names_are_checked() -> None:
    parameters = load("tx40").prior
    with pytest.raises(ValueError, match="read-only"):
        parameters.values[0] = 1.0
    with pytest.raises(InputError, match="no parameter 'Fx1'"):
        parameters["Fx1"]
    assert parameters.replaced({"Fc2": 9.0})["Fc2"] == 9.0
    with pytest.raises(InputError, match="expected 78 parameter values"):
        parameters.with_values(np.zeros(3))


def test_two_terms_with_the_same_parameter_are_refused() -> None:
    with pytest.raises(InputError, match="parameter Fc1 is defined by two terms"):
        Layout(ROBOT, (Coulomb(0), Stribeck(0)))
