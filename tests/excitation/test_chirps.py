"""Chirps and steps: derivatives, rest at the ends, files, and a design for actuators."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import inertica as ia
from inertica.excitation.chirps import Chirps


def motion() -> Chirps:
    still = Chirps.still(20.0, [0.1, 0.2], 8)
    return still.with_parameters(np.vstack([[0.1, 0.2], np.random.default_rng(0).normal(size=(8, 2))]))


def test_derivatives_and_ends() -> None:
    chirps = motion()
    t = np.linspace(0.0, 20.0, 200_001)
    q, dq, ddq = chirps(t)
    assert np.abs(np.gradient(q, t, axis=0) - dq).max() < 1e-6 * np.abs(dq).max()
    assert np.abs(np.gradient(dq, t, axis=0) - ddq)[1:-1].max() < 1e-4 * np.abs(ddq).max()
    np.testing.assert_allclose(q[[0, -1]], [[0.1, 0.2]] * 2, atol=1e-12)
    assert not np.any(dq[[0, -1]]) and not np.any(ddq[[0, -1]])


def test_a_file_gives_the_same_motion(tmp_path: Path) -> None:
    chirps = motion()
    ia.save_trajectory(chirps, tmp_path / "wave.yaml")
    t = np.linspace(0.0, 20.0, 500)
    np.testing.assert_array_equal(ia.load_trajectory(tmp_path / "wave.yaml")(t).q, chirps(t).q)
    slow = chirps.slowed(2.0)
    np.testing.assert_allclose(slow(2.0 * t).q, chirps(t).q, atol=1e-12)


def test_a_design_for_actuators_keeps_limits_and_reverses() -> None:
    found = ia.excite("scara2", purpose="actuators", period=6.0, harmonics=4, seconds=0.5)
    assert isinstance(found.trajectory, Chirps) and found.feasible
    dq = found.trajectory(np.linspace(0.0, 6.0, 2000)).dq
    for speed in dq.T:
        fast = np.sign(speed[np.abs(speed) > 0.05 * np.abs(speed).max()])
        assert np.count_nonzero(np.diff(fast)) >= 4
