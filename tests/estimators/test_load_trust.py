"""Labels of a load, and combinations that are known where single parameters are not."""

from __future__ import annotations

import numpy as np

from inertica.estimators.load_trust import first_moments, load_labels
from inertica.physical.body import possible_body
from inertica.robot import inertia

BOX = inertia.from_com(2.0, [0.1, 0.05, 0.0], np.diag([0.01, 0.012, 0.006]))
STD = 0.01 * inertia.from_com(2.0, [0.1, 0.1, 0.1], 0.02 * np.eye(3))
STD = np.abs(np.where(STD == 0.0, 2e-4, STD))
NONE, ALL = np.zeros(10, bool), np.ones(10, bool)


def test_what_a_real_body_contradicts_is_not_determined() -> None:
    """A first moment of 0.1 kg m without mass and inertia: the nearest body has next to none of it."""
    values, std = np.array([1e-9] * 6 + [0.1, 0.0, 0.0, 1e-3]), np.array([1e-9] * 6 + [0.005] * 3 + [1e-4])
    body = possible_body(values, np.diag(std**2), NONE)
    assert abs(body.values[6]) < 0.05
    assert load_labels(ALL, NONE, values, std, body)[6] == "weak"


def test_a_real_body_keeps_its_labels_and_needs_no_combinations() -> None:
    body = possible_body(BOX, np.diag(STD**2), NONE)
    labels = load_labels(ALL, NONE, BOX, STD, body)
    assert labels[6] == labels[9] == "determined" and labels[8] == "weak"
    moments = first_moments(BOX, np.diag(STD**2), body, np.zeros((10, 0)), labels)
    assert [m.axis for m in moments] == ["x", "y"]


def test_a_sum_of_mass_and_first_moment_is_a_moment_about_another_point() -> None:
    """Nothing tells M from MX but MX + 0.3 M; values are those of least norm."""
    direction = np.zeros(10)
    direction[6], direction[9] = -0.3, 1.0
    known = np.ones(10, bool)
    known[[6, 9]] = False
    scale = np.where(known, STD, 1.0)
    weights = np.zeros(10)
    weights[6], weights[9] = 1.0, 0.3
    total, std = float(weights @ BOX), 0.01
    values = np.where(known, BOX, total * weights / (weights @ weights))
    covariance = np.diag(np.where(known, scale**2, 0.0)) + std**2 * np.outer(weights, weights) / (weights @ weights) ** 2
    body = possible_body(values, covariance, ~known, direction[:, None])
    assert abs(weights @ body.values - total) < 2.0 * std and np.isinf(body.upper[[6, 9]]).all()
    labels = load_labels(known, NONE, values, np.sqrt(np.diag(covariance)), body)
    assert labels[6] == labels[9] == "combined"
    (about,) = (m for m in first_moments(values, covariance, body, direction[:, None], labels) if m.offset)
    assert np.allclose(about.direction, [1.0, 0.0, 0.0]) and np.allclose(about.point, [-0.3, 0.0, 0.0])
    assert np.isclose(about.value, total) and np.isclose(about.upper - about.lower, 2 * 1.96 * std)


def test_units_change_nothing() -> None:
    """A body ten times as long and a thousand times as heavy has the same labels, and values that scale."""
    unit = np.array([1e5] * 6 + [1e4] * 3 + [1e3])
    rng = np.random.default_rng(1)
    measured = BOX + 3.0 * STD * rng.standard_normal(10)
    unknown = np.zeros(10, bool)
    unknown[9] = True
    values, C = np.where(unknown, 0.0, measured), np.diag(np.where(unknown, 0.0, (3.0 * STD) ** 2))
    small, large = possible_body(values, C, unknown), possible_body(values * unit, C * np.outer(unit, unit), unknown)
    assert np.allclose(large.values, unit * small.values, rtol=1e-3, atol=1e-6 * unit)
    assert np.allclose(large.upper[:9], (unit * small.upper)[:9], rtol=1e-3, atol=1e-6 * unit[:9])
