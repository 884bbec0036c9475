"""The load from what records without and with it say: against plain stacked least squares, and under changes of either side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inertica.errors import InputError
from inertica.estimators.load import LoadEquations, fitted_load
from inertica.identifiability.base import base_model
from inertica.identifiability.load import load_columns, own_friction
from inertica.robot import inertia
from inertica.robot.load import load
from inertica.robot.terms import RigidBody

TX40 = load("tx40")
BASE = base_model(TX40.layout)
BODY = RigidBody(5, "p", position=(0.0, 0.02, 0.07))
LOAD = inertia.from_com(1.3, [0.03, -0.02, 0.08], np.diag([0.004, 0.006, 0.005]))


def rows(rng: np.random.Generator, beta: np.ndarray, noise: float = 0.0) -> LoadEquations:
    R = np.linalg.qr(rng.standard_normal((200, len(beta))), mode="r") * 50.0
    return LoadEquations(R, R @ beta + noise * rng.standard_normal(len(beta)))


def test_columns_are_those_of_a_body_added_to_the_link() -> None:
    chi = np.array(TX40.prior.values)
    heavier = chi.copy()
    heavier[TX40.layout.link(5)] += inertia.change_frame(LOAD, BODY.rotation, BODY.position)
    assert np.allclose(BASE.beta(heavier) - BASE.beta(chi), load_columns(BASE, BODY) @ LOAD)


def test_a_load_is_found_whatever_friction_has_become() -> None:
    rng = np.random.default_rng(1)
    beta, E, B = BASE.beta(TX40.prior.values), own_friction(BASE), load_columns(BASE, BODY)
    other = E @ rng.standard_normal(E.shape[1])
    found = fitted_load(rows(rng, beta), rows(rng, beta + other + B @ LOAD), B, E)
    assert np.allclose(found.values, LOAD, atol=1e-9) and found.known.all() and found.misfit < 1e-12
    assert E.shape[1] == 12  # Fv and Fc of six joints


def test_it_is_least_squares_of_both_records_together() -> None:
    rng = np.random.default_rng(2)
    beta, E, B = BASE.beta(TX40.prior.values), own_friction(BASE), load_columns(BASE, BODY)
    empty, full = rows(rng, beta, 1.0), rows(rng, beta + B @ LOAD, 1.0)
    found = fitted_load(empty, full, B, E)
    whole = np.block([[empty.R, np.zeros((len(empty.z), E.shape[1] + 10))], [full.R, full.R @ E, full.R @ B]])
    expected, squares, _, _ = np.linalg.lstsq(whole, np.concatenate([empty.z, full.z]), rcond=None)
    assert np.allclose(found.values, expected[-10:], rtol=1e-7, atol=1e-9)
    assert found.misfit == pytest.approx(float(squares[0])) and found.freedom == len(whole) - whole.shape[1]
    assert np.allclose(found.covariance, np.linalg.inv(whole.T @ whole)[-10:, -10:], rtol=1e-6, atol=1e-12)


def test_what_changes_either_side_changes_the_load_by_its_gain() -> None:
    rng = np.random.default_rng(3)
    beta, E, B = BASE.beta(TX40.prior.values), own_friction(BASE), load_columns(BASE, BODY)
    empty, full = rows(rng, beta, 1.0), rows(rng, beta + B @ LOAD, 1.0)
    found, change = fitted_load(empty, full, B, E), rng.standard_normal(len(beta))
    other = fitted_load(replace(empty, z=empty.z + empty.R @ change), full, B, E)
    assert np.allclose(other.values - found.values, found.by_unloaded @ change, rtol=1e-7, atol=1e-9)
    both = fitted_load(replace(empty, z=empty.z + empty.R @ change), replace(full, z=full.z + full.R @ change), B, E)
    assert np.allclose(both.values, found.values, atol=1e-7)  # what both records share cancels


def test_a_robot_that_does_not_show_all_ten_says_which() -> None:
    planar = load("scara2")
    base = base_model(planar.layout)
    B, E, rng = load_columns(base, RigidBody(1, "p")), own_friction(base), np.random.default_rng(4)
    beta = base.beta(planar.prior.values)
    found = fitted_load(rows(rng, beta), rows(rng, beta + B @ LOAD), B, E)
    known = {name for name, k in zip(inertia.NAMES, found.known, strict=True) if k}
    silent = {name for name, k in zip(inertia.NAMES, found.silent, strict=True) if k}
    assert {"MX", "MY"} <= known and {"XX", "XY", "XZ", "YY", "YZ", "MZ"} <= silent
    for name in known:
        k = inertia.NAMES.index(name)
        assert found.values[k] == pytest.approx(LOAD[k], abs=1e-9)


def test_a_stated_covariance_is_as_good_as_its_rows() -> None:
    rng = np.random.default_rng(5)
    beta = BASE.beta(TX40.prior.values)
    own = rows(rng, beta)
    C = np.linalg.inv(own.R.T @ own.R)
    stated = LoadEquations.stated(beta, C)
    assert np.allclose(stated.R.T @ stated.R @ C, np.eye(len(beta)), atol=1e-6)
    C[:, 3] = C[3] = 0.0  # not resolved
    assert len(LoadEquations.stated(beta, C).z) == len(beta) - 1


def test_a_fixed_link_cannot_carry_an_unknown_load() -> None:
    layout = replace(TX40.layout, fixed=frozenset({"M6"}))
    with pytest.raises(InputError, match="M6 of the link that carries the load are fixed"):
        load_columns(base_model(layout), BODY)
