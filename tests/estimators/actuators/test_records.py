"""Delayed commands, steps of the simulation, links that are off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inertica.estimators.actuators.links import LinkErrors
from inertica.estimators.actuators.record import Grid, Record, delayed
from inertica.robot.inertia import from_com, physically_consistent


def record(t: np.ndarray, u: np.ndarray) -> Record:
    return Record("a log", t, np.zeros((len(t), 1)), np.ones((len(t), 1), bool), {"q": u[:, None]})


@given(st.floats(-0.004, 0.03), st.integers(0, 1000), st.sampled_from(["zero", "linear"]))
@settings(max_examples=30, deadline=None)
def test_mean_of_a_late_command_is_its_integral(delay: float, seed: int, hold: str) -> None:
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.003, 0.007, 60))
    u = rng.normal(size=60)
    log = record(t, u)
    grid = Grid.of(log, 2e-3)
    mean, slope = delayed(log, "q", np.array([delay]), grid, hold)  # type: ignore[arg-type]
    fine = grid.start + grid.dt * (np.arange(grid.count)[:, None] + (np.arange(400) + 0.5) / 400) - delay
    last = np.clip(np.searchsorted(t, fine, "right") - 1, 0, 59)
    values = u[last] if hold == "zero" else np.interp(fine, t, u)
    np.testing.assert_allclose(mean[:, 0], values.mean(axis=1), atol=0.02)
    ahead, behind = (delayed(log, "q", np.array([delay + e]), grid, hold)[0][:, 0] for e in (1e-7, -1e-7))  # type: ignore[arg-type]
    smooth = np.abs(ahead - 2 * mean[:, 0] + behind) < 1e-9  # not where a sample falls on the edge of a step
    np.testing.assert_allclose(slope[smooth, 0], ((ahead - behind) / 2e-7)[smooth], rtol=1e-3, atol=1e-3)


def test_samples_between_steps_are_interpolated() -> None:
    t = np.array([0.0, 0.011, 0.02, 0.033, 0.04, 0.05])
    grid = Grid.of(record(t, np.zeros(6)), 3e-3)
    at = grid.start + grid.dt * grid.steps
    np.testing.assert_allclose(grid.at_samples((5.0 * at)[:, None])[:, 0], 5.0 * t, atol=1e-12)
    assert grid.dt <= 3e-3


def test_links_that_are_off_could_exist() -> None:
    rng = np.random.default_rng(0)
    links = np.concatenate([from_com(2.0, [0.1, 0.02, -0.03], np.diag([0.01, 0.012, 0.004])), np.zeros(10)])
    errors = LinkErrors(links, 0.5)
    assert errors.count == 7  # a link without mass is not off
    np.testing.assert_allclose(errors.at(np.zeros(7)), links, atol=1e-12)
    for _ in range(20):
        assert physically_consistent(errors.at(3.0 * rng.normal(size=7))[:10])
    d, step = rng.normal(size=7), rng.normal(size=7)
    difference = (errors.at(d + 1e-5 * step) - errors.at(d - 1e-5 * step)) / 2e-5
    np.testing.assert_allclose(step @ errors.rates(d), difference, atol=1e-7)


def test_links_that_are_known_are_not_off() -> None:
    links = from_com(2.0, [0.1, 0.02, -0.03], np.diag([0.01, 0.012, 0.004]))
    assert LinkErrors(links, 0.0).count == 0
    assert LinkErrors(links, 0.0).rates(np.zeros(0)).shape == (0, 10)


@pytest.mark.parametrize("share", [0.1])
def test_standard_deviation_of_a_mass(share: float) -> None:
    links = from_com(2.0, [0.0, 0.0, 0.1], np.diag([0.01, 0.012, 0.004]))
    rates = LinkErrors(links, share).rates(np.zeros(7))
    assert rates[0, 9] == pytest.approx(share * 2.0, rel=1e-6)
    along = rates[1:4, 6:9]
    assert np.linalg.norm(along[:, 2]) == pytest.approx(share * 2.0 * 0.1, rel=1e-6)
