"""The compact Gaussian against sines, whose smoothing, shift and slope are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.preprocessing.gaussian import CompactGaussian

RATE = 500.0
T = np.arange(3000) / RATE
ROWS = np.arange(600, 2400, 7)


@pytest.mark.parametrize("cutoff", [2.0, 8.0, 40.0])
def test_three_decibels_are_lost_at_the_cutoff_and_little_below(cutoff: float) -> None:
    smoother = CompactGaussian(cutoff, RATE)
    for part, gain, tolerance in ((1.0, 1.0 / np.sqrt(2.0), 0.03), (0.25, 0.979, 0.01)):
        wave = np.exp(2j * np.pi * part * cutoff * T)
        smooth = smoother.smooth(np.column_stack([wave.real, wave.imag]), ROWS)
        assert np.abs(smooth[:, 0] + 1j * smooth[:, 1]) == pytest.approx(gain, abs=tolerance)


@pytest.mark.parametrize("later", [0.0, 0.0031, -0.0127, 0.02])
def test_reading_later_by_parts_of_a_sample_shifts_exactly_that_much(later: float) -> None:
    smoother = CompactGaussian(20.0, RATE)
    wave = np.exp(2j * np.pi * 4.0 * T)
    columns = np.column_stack([wave.real, wave.imag])
    now, shifted = (smoother.smooth(columns, ROWS, x) @ np.array([1.0, 1j]) for x in (0.0, later))
    assert np.angle(shifted / now) / (2.0 * np.pi * 4.0) == pytest.approx(later, abs=2e-6)


def test_slope_is_the_derivative_of_what_is_smoothed() -> None:
    smoother, w = CompactGaussian(10.0, RATE), 2.0 * np.pi * 3.0
    columns = np.column_stack([np.sin(w * T), np.cos(w * T)])
    smooth, slope = smoother.smooth(columns, ROWS), smoother.slope(columns, ROWS)
    assert slope[:, 0] == pytest.approx(w * smooth[:, 1], abs=0.01 * w)


def test_a_spike_is_not_seen_beyond_the_reach() -> None:
    smoother = CompactGaussian(5.0, RATE)
    x = np.zeros((3000, 1))
    x[1500] = 1.0
    near = np.abs(ROWS - 1500) <= smoother.half
    smooth = smoother.smooth(x, ROWS)[:, 0]
    assert not smooth[~near].any() and smooth[np.abs(ROWS - 1500) < smoother.sigma].min() > 0.0
