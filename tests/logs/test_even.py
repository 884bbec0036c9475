"""Stamps that jitter around even samples, and samples that were taken unevenly, are told apart by how smooth the motion is."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.logs.even import evened
from inertica.logs.log import Log


def moved(t: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(2.0 * t), 0.5 * np.cos(3.1 * t), 0.7 * np.sin(1.3 * t + 1.0)])


def recorded(stamps: np.ndarray, taken: np.ndarray, noise: float = 1e-6) -> Log:
    q = moved(taken) + noise * np.random.default_rng(1).normal(size=(len(taken), 3))
    return Log.from_arrays(stamps, {"q": q, "tau": moved(taken)})


@pytest.fixture
def jittered() -> tuple[np.ndarray, np.ndarray]:
    """Even instants of 125 Hz, some of them lost, and stamps up to 1 ms before or after."""
    rng = np.random.default_rng(0)
    even = (np.arange(2500) / 125.0)[rng.random(2500) > 0.02]
    return even, even + rng.uniform(-1e-3, 1e-3, len(even))


def test_even_samples_with_late_stamps_get_their_clock_back(jittered) -> None:
    even, stamps = jittered
    log = evened(recorded(stamps, even))
    assert np.abs(np.diff(log.t - even)).max() < 1e-6  # but for the mean of the jitter
    assert any("samples are taken to be even" in said for said in log.warnings)


def test_samples_that_were_taken_unevenly_keep_their_times(jittered) -> None:
    _, stamps = jittered
    log = recorded(stamps, stamps)
    assert evened(log) is log


def test_noise_that_hides_the_difference_changes_nothing(jittered) -> None:
    even, stamps = jittered
    log = recorded(stamps, even, noise=5e-3)
    assert evened(log) is log


def test_a_clock_that_wanders_is_not_even(jittered) -> None:
    """Stamps and samples drift by more than half an interval from any even clock."""
    even, _ = jittered
    wandering = even + 0.02 * np.sin(0.5 * even) + 1e-3 * np.random.default_rng(3).uniform(-1, 1, len(even))
    log = recorded(np.sort(wandering), even)
    assert evened(log) is log


def test_stamps_that_jitter_much_keep_their_numbers() -> None:
    """Intervals beyond one and a half, that no row is missing in: counting interval by interval would lose its place."""
    even, rng = np.arange(5000) / 1000.0, np.random.default_rng(4)
    stamps = even + np.clip(0.2 * rng.standard_normal(5000), -0.45, 0.45) / 1000.0
    assert np.diff(stamps).max() > 1.5e-3
    log = evened(recorded(stamps, even))
    assert np.abs(np.diff(log.t - even)).max() < 1e-6
