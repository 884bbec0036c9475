"""Matrix forms of consistency: vector maps, equivalences with the textbook conditions, regions against sampled mass points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inertica as ia
from generators import random_tens
from inertica.physical.constraints import PositiveInertia, RealBody, slack
from inertica.physical.pseudo import PSEUDO, SPATIAL, pseudo_inertias, smat, spatial_inertia, svec
from inertica.physical.regions import Box, CentreInBox, CentreInEllipsoid, Ellipsoid, MassInEllipsoid, MassInHull, hull_facets
from inertica.physical.scales import Reference
from inertica.robot import inertia


def bodies_near_the_boundary(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    ten = random_tens(rng, 1)[0]
    return ten + rng.normal(size=10) * np.abs(ten).max() * 10 ** rng.uniform(-4, 0)


@given(st.integers(0, 10**6), st.sampled_from([3, 4, 6]))
def test_svec_keeps_inner_products_and_comes_back(seed: int, d: int) -> None:
    A, B = np.random.default_rng(seed).normal(size=(2, d, d))
    A, B = A + A.T, B + B.T
    assert svec(A) @ svec(B) == pytest.approx(np.trace(A @ B), rel=1e-12, abs=1e-12)
    assert np.allclose(smat(svec(A)), A)


def test_matrices_are_linear_in_the_ten_parameters() -> None:
    ten = random_tens(np.random.default_rng(0), 1)[0]
    assert np.allclose(np.tensordot(ten, PSEUDO, 1), inertia.pseudo_inertia(ten))
    assert np.allclose(np.tensordot(ten, SPATIAL, 1), spatial_inertia(ten))
    assert np.allclose(pseudo_inertias(ten[None]), inertia.pseudo_inertia(ten)[None])


@settings(max_examples=200)
@given(st.integers(0, 10**6))
def test_6x6_means_positive_mass_and_central_inertia(seed: int) -> None:
    ten = bodies_near_the_boundary(seed)
    body = inertia.to_com(ten)
    textbook = body.mass > 0 and np.linalg.eigvalsh(body.inertia)[0] > 0
    assert (np.linalg.eigvalsh(spatial_inertia(ten))[0] > 0) == textbook


@settings(max_examples=200)
@given(st.integers(0, 10**6))
def test_4x4_means_6x6_and_triangle_inequality(seed: int) -> None:
    ten = bodies_near_the_boundary(seed)
    body = inertia.to_com(ten)
    e = np.linalg.eigvalsh(body.inertia)
    textbook = body.mass > 0 and e[0] > 0 and e[0] + e[1] > e[2]
    assert inertia.physically_consistent(ten) == textbook


ROBOT = ia.load("scara2")


def reference_with(ten: np.ndarray) -> tuple[Reference, np.ndarray]:
    values = np.array(ROBOT.prior.values)
    values[ROBOT.layout.link(0)] = ten
    return Reference.of(ROBOT.layout, ROBOT.prior.values), values


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_blocks_say_what_the_matrices_say(seed: int) -> None:
    ten = bodies_near_the_boundary(seed)
    reference, values = reference_with(ten)
    real, positive = next(RealBody(0.0).blocks(reference)), next(PositiveInertia(0.0).blocks(reference))
    assert (slack(real, values) > 0) == inertia.physically_consistent(ten)
    assert (slack(positive, values) > 0) == (np.linalg.eigvalsh(spatial_inertia(ten))[0] > 0)


def cloud(points: np.ndarray, masses: np.ndarray) -> np.ndarray:
    return sum(inertia.from_com(m, p, np.zeros((3, 3))) for p, m in zip(points, masses, strict=True))


@pytest.mark.parametrize("seed", range(10))
def test_mass_inside_a_region_satisfies_it_and_mass_outside_does_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    centre, axes = rng.normal(size=3) * 0.1, rng.uniform(0.05, 0.3, 3)
    directions = rng.normal(size=(30, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    inside = centre + directions * axes * rng.uniform(0, 1, (30, 1))
    masses = rng.uniform(0, 1, 30)
    ellipsoid = Ellipsoid.of_axes(centre, axes)
    corners = centre + np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), -1).reshape(-1, 3) * axes
    regions = (
        CentreInEllipsoid({1: ellipsoid}),
        MassInEllipsoid({1: ellipsoid}),
        CentreInBox({1: Box(centre - axes, centre + axes)}),
        MassInHull({1: corners}),
    )
    reference, values = reference_with(cloud(inside, masses))
    far = cloud(centre + 1.02 * directions[:1] * axes / np.abs(directions[:1]).max(), masses[:1])
    _, outside = reference_with(far)
    for region in regions:
        block = next(region.blocks(reference))
        assert slack(block, values) >= -1e-12
        assert slack(block, outside) < 0


def test_facets_of_a_box_are_merged_and_the_smallest_ellipsoid_holds_the_points() -> None:
    corners = np.stack(np.meshgrid([-1, 1], [-2, 2], [-3, 3]), -1).reshape(-1, 3).astype(float)
    assert len(hull_facets(corners)) == 6
    ellipsoid = Ellipsoid.around(corners)
    assert np.einsum("ki,ij,kj->k", corners - ellipsoid.centre, ellipsoid.Q, corners - ellipsoid.centre).max() <= 1 + 1e-12
    assert np.sqrt(1 / np.diag(ellipsoid.Q)) == pytest.approx(np.sqrt(3) * np.array([1, 2, 3]), rel=2e-3)


def test_flat_points_have_no_hull() -> None:
    with pytest.raises(ia.InputError, match="no convex hull"):
        hull_facets(np.zeros((5, 3)), "link 1")
