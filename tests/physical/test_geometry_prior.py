"""What stands in for a model that says nothing about masses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from estimators.simulated import exact_motion
from inertica.physical.geometry_prior import DENSITY, GEOMETRY_ORIGIN, capsule, placeholder, usable_prior, weighed
from inertica.robot import inertia
from inertica.robot.description import Description


def bare(folder: Path) -> Description:
    path = folder / "bare.yaml"
    path.write_text(
        "name: bare\ntypes: [R, R, R]\nangles: deg\ndh:\n  convention: distal\n  alpha: [90, 0, 0]\n  a: [0, 0.4, 0.3]\n"
        "  d: [0.3, 0, 0]\n  theta: [0, 0, 0]\ngravity: [0, 0, -9.81]\n"
    )
    return ia.load(str(path))


def placed(description: Description, ten: np.ndarray) -> Description:
    values = np.array(description.prior.values)
    for _, where in description.layout.bodies:
        values[where] = ten
    return replace(description, prior=description.prior.with_values(values))


def test_geometry_alone_gives_possible_links_of_sane_weight(tmp_path: Path) -> None:
    prior, sentence = usable_prior(bare(tmp_path))
    assert prior.origin == GEOMETRY_ORIGIN and sentence is not None and "capsules" in sentence and "constraints:" in sentence
    assert not prior.inconsistent_links()
    total = sum(prior.link(j)[9] for j in range(3))
    assert 4.0 < total < 30.0
    middle = inertia.to_com(prior.link(1)).com  # the frame sits at the far end of the link
    assert np.linalg.norm(middle) == pytest.approx(0.2, abs=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_the_same_round_body_on_every_link_is_a_placeholder(size: float, tmp_path: Path) -> None:
    prior, sentence = usable_prior(placed(bare(tmp_path), inertia.from_com(1.0, np.zeros(3), size * np.eye(3))))
    assert prior.origin == GEOMETRY_ORIGIN and sentence is not None


@pytest.mark.parametrize("mass", [1e-9, 1e9])
def test_copies_are_told_by_parts_of_their_size(mass: float, tmp_path: Path) -> None:
    """Tiny links that differ are no placeholders, heavy copies with rounding are."""
    description = bare(tmp_path)
    ball = inertia.from_com(1.0, np.zeros(3), 1e-3 * np.eye(3))
    links = [mass * ball * (1.0 + 1e-9 * j) for j in range(3)]
    assert placeholder(description.layout, links)
    links[1] = mass * inertia.from_com(1.0, np.zeros(3), 1e-3 * np.diag([1.0, 1.2, 1.3]))
    assert not placeholder(description.layout, links)


def test_a_model_that_says_something_is_left_alone() -> None:
    for name in ("tx40", "panda7", "scara4"):
        description = ia.load(name)
        prior, sentence = usable_prior(description)
        assert prior is description.prior and sentence is None


def test_only_links_without_values_are_replaced() -> None:
    description = ia.load("tx40")
    values = np.array(description.prior.values)
    values[description.layout.link(3)] = 0.0
    gap = replace(description, prior=description.prior.with_values(values))
    prior, sentence = usable_prior(gap)
    assert sentence is not None and "link 4" in sentence and prior.origin == description.prior.origin
    kept = np.setdiff1d(np.arange(len(values)), np.arange(len(values))[description.layout.link(3)])
    assert np.array_equal(prior.values[kept], values[kept]) and prior.link(3)[9] > 0.0


@pytest.mark.parametrize("factor", [1e-3, 3.0, 1e3])
def test_the_density_is_that_of_the_torque(factor: float, tmp_path: Path) -> None:
    """Friction, offset and drive inertia beside the links' torque, as large as that, are not taken for mass."""
    prior, _ = usable_prior(bare(tmp_path))
    heavy = prior.with_values(factor * prior.values)
    motion = exact_motion(heavy, seed=4)
    size = motion.tau.std(axis=0)
    braking = np.sign(motion.dq) + motion.dq / motion.dq.std(axis=0) + motion.ddq / motion.ddq.std(axis=0) + 1.0
    found = weighed(prior, [replace(motion, tau=motion.tau + size * braking)])
    assert found.origin == GEOMETRY_ORIGIN and found.values == pytest.approx(heavy.values, rel=1e-6)


def test_stated_masses_are_not_weighed_and_tell_the_density_of_others() -> None:
    description = ia.load("tx40")
    assert weighed(description.prior, []) is description.prior
    values, where = np.array(description.prior.values), description.layout.link(3)
    values[where] = 0.0
    light, heavy = (
        usable_prior(replace(description, prior=description.prior.with_values(k * values)))[0].link(3) for k in (1.0, 50.0)
    )
    assert heavy == pytest.approx(50.0 * light)


def test_a_capsule_is_a_solid_rod() -> None:
    body = inertia.to_com(capsule(np.array([[0.0, 0.0, 0.0], [0.8, 0.0, 0.0]]), 0.06))
    radius, length = 0.1, 0.8
    assert body.mass == pytest.approx(DENSITY * np.pi * radius**2 * (length + 4 * radius / 3))
    assert body.com == pytest.approx([0.4, 0.0, 0.0])
    across = body.mass * (length**2 / 12 + radius**2 / 4)
    assert np.diag(body.inertia) == pytest.approx(
        [body.mass * radius**2 / 2, *[across + body.mass * radius**2 / 4] * 2], rel=0.02
    )
