"""One body alone: nothing happens to a possible one, an impossible one becomes the nearest possible one."""

from __future__ import annotations

import numpy as np

from inertica.physical.body import possible_body
from inertica.robot import inertia

BOX = inertia.from_com(2.0, [0.02, 0.05, 0.1], np.diag([0.01, 0.012, 0.006]))
STD = np.array([0.01] * 6 + [0.005] * 3 + [0.05])
NONE = np.zeros(10, bool)


def test_a_possible_body_stays_with_normal_intervals() -> None:
    std = 0.02 * STD
    found = possible_body(BOX, np.diag(std**2), NONE)
    assert np.allclose(found.values, BOX, rtol=1e-4) and not found.held
    assert np.allclose(found.upper - found.lower, 2 * 1.96 * std, rtol=1e-3)


def test_an_impossible_one_becomes_possible_and_its_intervals_hold_the_truth() -> None:
    rng, inside, runs = np.random.default_rng(0), np.zeros(10), 60
    for _ in range(runs):
        measured = BOX + STD * rng.standard_normal(10)
        found = possible_body(measured, np.diag(STD**2), NONE)
        assert inertia.physically_consistent(found.values)
        assert np.all((found.lower <= found.values) & (found.values <= found.upper))
        inside += (found.lower <= BOX) & (found.upper >= BOX)
    assert inside.sum() >= 0.92 * 10 * runs  # 95 % of 600, minus three standard deviations


def test_a_body_held_by_the_boundary_gets_a_thickness() -> None:
    rod = BOX.copy()
    rod[:6] = inertia.from_com(2.0, [0.02, 0.05, 0.1], np.diag([0.01, 0.01, -0.004]))[:6]
    found = possible_body(rod, np.diag(STD**2), NONE)
    assert found.held and np.linalg.eigvalsh(inertia.to_com(found.values).inertia)[0] > 1e-4


def test_what_is_not_known_has_no_interval() -> None:
    unknown = np.zeros(10, bool)
    unknown[[0, 1]] = True
    C = np.diag(np.where(unknown, 0.0, STD**2))
    found = possible_body(np.where(unknown, 0.0, BOX), C, unknown)
    assert inertia.physically_consistent(found.values) and np.isinf(found.upper[:2]).all() and np.isfinite(found.upper[2:]).all()
