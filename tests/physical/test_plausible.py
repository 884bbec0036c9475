"""Masses and centres of mass beside the model's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import inertica as ia
from inertica.physical.check import negative_names
from inertica.physical.geometry_prior import usable_prior
from inertica.physical.plausible import mass_summary
from inertica.robot import inertia
from inertica.robot.layout import Parameters
from inertica.workflow.identify.result import negative
from scaled import Scale


def changed(prior: Parameters, link: int, mass: float = 1.0, shift: float = 0.0) -> Parameters:
    """The same robot with one link heavier by a factor, and its centre of mass elsewhere."""
    body = inertia.to_com(prior.link(link))
    values = np.array(prior.values)
    values[prior.layout.link(link)] = inertia.from_com(
        mass * body.mass, body.com + np.array([shift, 0.0, 0.0]), mass * body.inertia
    )
    return prior.with_values(values, "identified")


def test_the_model_itself_is_plausible() -> None:
    prior = ia.load("tx40").prior
    found = mass_summary(prior, prior)
    assert found.warnings == () and found.total == found.prior_total
    assert "by a factor 1)" in found.sentence and found.document()["links"][0]["ratio"] == 1.0


def test_a_mass_that_is_far_off_is_named_with_what_settles_it() -> None:
    prior = ia.load("tx40").prior
    (said,) = mass_summary(changed(prior, 4, 5.0), prior).warnings[:1]
    assert said.startswith("link 5 comes out at") and "links: {5: {mass:" in said


def test_data_that_exclude_the_models_mass_say_so() -> None:
    prior = ia.load("tx40").prior
    heavy = changed(prior, 4, 5.0)
    intervals = np.column_stack([0.9 * heavy.values, 1.1 * heavy.values])
    (said, *_) = mass_summary(heavy, prior, intervals).warnings
    assert "the data exclude the model's" in said


def test_total_mass_and_centres_far_away_are_named() -> None:
    prior = ia.load("tx40").prior
    twice = prior.with_values(2.0 * prior.values, "identified")
    assert any("weigh the arm" in w for w in mass_summary(twice, prior).warnings)
    (said,) = mass_summary(changed(prior, 2, 1.0, 1.5), prior).warnings
    assert "centre of mass of link 3 is 1.5 m from the model's" in said


@pytest.mark.parametrize("length", [0.01, 100.0])
def test_how_far_a_centre_may_be_off_scales_with_the_robot(length: float) -> None:
    description, scale = ia.load("tx40"), Scale(length=length)
    prior, other = description.prior, scale.description(description).prior
    for share, named in ((0.1, 0), (1.5, 1)):  # m from the model's, of a link that is shorter than either
        moved = changed(prior, 5, 1.0, share)
        scaled = other.with_values(moved.values * scale.of_parameters(description.layout), "identified")
        assert len(mass_summary(moved, prior).doubts) == len(mass_summary(scaled, other).doubts) == named


def test_signs_are_wrong_by_parts_of_a_parameters_size() -> None:
    """Rounding of a heavy robot's friction is no wrong sign, and a wrong sign of a tiny robot's is no rounding."""
    description = ia.load("tx40")
    for mass in (1e-9, 1.0, 1e9):
        scale = Scale(mass=mass)
        prior, factor = scale.description(description).prior, scale.of("N m")
        for value, names in ((-1e-14 * factor, ()), (-1e-6 * factor, ("Fc2",))):
            assert negative_names(prior.replaced({"Fc2": value})) == names
            assert tuple(negative(prior.replaced({"Fc2": value}))) == names


def test_without_masses_in_the_model_geometry_alone_is_the_measure() -> None:
    """There is no model to be far from: centres beside the line of the joints and links of fifteen capsules are named."""
    description = ia.load("tx40")
    empty = replace(description, prior=description.prior.with_values(np.zeros(description.layout.size)))
    prior, _ = usable_prior(empty)
    near = np.array(prior.values)
    near[prior.layout.link(5)] = inertia.from_com(
        0.2, np.array([0.06, 0.0, -0.05]), 1e-4 * np.eye(3)
    )  # 0.12 m from the capsule's middle
    assert mass_summary(prior.with_values(near, "identified"), prior).warnings == ()
    (said,) = mass_summary(changed(prior, 1, 15.0), prior).warnings
    assert said.startswith("link 2 comes out at") and "by its length" in said and "links: {2: {mass:" in said
    (said,) = mass_summary(changed(prior, 2, 1.0, 1.5), prior).warnings
    assert "m from the line between its joints" in said


def test_centres_outside_the_links_shape_are_named(tmp_path) -> None:
    path = tmp_path / "one.urdf"
    path.write_text(
        '<robot name="one"><link name="base"/><link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>'
        '<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0.2 0 0"/>'
        '<geometry><box size="0.5 0.1 0.1"/></geometry></collision></link><joint name="j" type="revolute"><parent link="base"/>'
        '<child link="arm"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    description = ia.load(str(path))
    assert mass_summary(description.prior, description.prior, source=description.source).warnings == ()
    (said,) = mass_summary(changed(description.prior, 0, 1.0, 0.5), description.prior, source=description.source).warnings
    assert "0.25 m outside the link's shape" in said
