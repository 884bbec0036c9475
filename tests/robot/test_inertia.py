"""Ten parameters and the way between their forms; Pinocchio is the referee."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from inertica.robot import inertia

numbers = st.floats(-10, 10, allow_nan=False, width=32)
tens = arrays(float, 10, elements=numbers)


@st.composite
def bodies(draw):
    """A random cloud of point masses: every such body can exist."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    points, masses = rng.normal(size=(8, 3)), rng.uniform(0.1, 2.0, 8)
    second = np.einsum("k,ki,kj->ij", masses, points, points)
    return inertia.ten(np.trace(second) * np.eye(3) - second, masses @ points, masses.sum())


def rotations(seed):
    Q, R = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0 else Q[:, [1, 0, 2]]


@given(tens)
def test_pseudo_inertia_and_back(ten):
    assert np.allclose(inertia.from_pseudo_inertia(inertia.pseudo_inertia(ten)), ten, atol=1e-12)


@given(tens)
def test_matrix_and_back(ten):
    assert np.array_equal(inertia.ten(inertia.matrix(ten), ten[6:9], ten[9]), ten)
    assert np.array_equal(inertia.from_pinocchio(inertia.to_pinocchio(ten)), ten)


@given(bodies())
def test_centre_of_mass_form_and_back(ten):
    body = inertia.to_com(ten)
    assert np.allclose(inertia.from_com(body.mass, body.com, body.inertia), ten, rtol=1e-10, atol=1e-10)


@given(bodies())
def test_real_bodies_have_a_positive_definite_pseudo_inertia(ten):
    assert inertia.physically_consistent(ten)
    ten[5] += 2.0 * (ten[0] + ten[3])  # breaks the triangle inequality
    assert not inertia.physically_consistent(ten)


def test_a_body_without_mass_has_its_centre_at_the_origin():
    body = inertia.to_com(np.zeros(10))
    assert body.mass == 0.0 and not body.com.any() and not body.inertia.any()


@given(bodies(), st.integers(0, 1000))
def test_changing_the_frame_there_and_back(ten, seed):
    R, p = rotations(seed), np.random.default_rng(seed).normal(size=3)
    there = inertia.change_frame(ten, R, p)
    assert np.allclose(inertia.change_frame(there, R.T, -R.T @ p), ten, atol=1e-9)
    assert np.allclose(inertia.frame_change_matrix(R, p) @ ten, there, atol=1e-9)


@given(bodies(), st.integers(0, 1000))
def test_agrees_with_pinocchio(ten, seed):
    pin = pytest.importorskip("pinocchio")
    body = inertia.to_com(ten)
    theirs = pin.Inertia(body.mass, body.com, body.inertia)
    assert np.allclose(theirs.toDynamicParameters(), inertia.to_pinocchio(ten), rtol=1e-9, atol=1e-9)
    R, p = rotations(seed), np.random.default_rng(seed).normal(size=3)
    moved = pin.SE3(R, p).act(theirs)
    assert np.allclose(inertia.from_pinocchio(moved.toDynamicParameters()), inertia.change_frame(ten, R, p), rtol=1e-8, atol=1e-8)
