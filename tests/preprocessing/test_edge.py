"""The edge of a motion: against spectra whose crossing with the noise floor is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.logs.log import Log
from inertica.logs.noise import LONG, position_noise, quantisation_step
from inertica.preprocessing.bandwidth import position_band
from inertica.preprocessing.edge import ABOVE, lowest_edge, motion_band, noise_edge

RATE, SIGMA = 500.0, 1e-4


def coloured(rng: np.random.Generator, samples: int, corner: float, power: float) -> np.ndarray:
    """Gaussian noise of the one-sided density 1e-2 / (1 + (f / corner)^power)."""
    f = np.fft.rfftfreq(samples, 1.0 / RATE)
    shape = np.sqrt(1e-2 / (1.0 + (f / corner) ** power) * RATE / 2.0)
    return np.fft.irfft(np.fft.rfft(rng.standard_normal(samples)) * shape, samples)


@pytest.mark.parametrize("corner", [0.5, 2.0])
def test_edge_is_where_the_spectrum_meets_four_times_the_floor(corner: float) -> None:
    rng = np.random.default_rng(3)
    q = np.column_stack([coloured(rng, 30_000, corner, 8.0)]) + SIGMA * rng.standard_normal((30_000, 1))
    floor = 2.0 * SIGMA**2 / RATE
    expected = corner * (1e-2 / (ABOVE * floor)) ** (1.0 / 8.0)
    # the spectrum of motion alone meets 3 floors where the sum meets 4; smoothing over +-10 % of f moves it a little
    expected *= (ABOVE / (ABOVE - 1.0)) ** (1.0 / 8.0)
    assert noise_edge(q, 1.0 / RATE) == pytest.approx(expected, rel=0.08)
    assert noise_edge(q, 1.0 / RATE, np.array([SIGMA])) == pytest.approx(expected, rel=0.08)


def test_joints_at_rest_have_no_edge_and_do_not_decide() -> None:
    rng = np.random.default_rng(4)
    t = np.arange(5000) / RATE
    moving = coloured(rng, 5000, 1.0, 8.0) + SIGMA * rng.standard_normal(5000)
    q = np.column_stack([moving, SIGMA * rng.standard_normal(5000), np.zeros(5000)])
    edges = noise_edge(q, 1.0 / RATE)
    assert edges[0] > 4.0 and edges[2] == 0.0
    log = Log.from_arrays(t, {"q": q[:, [0, 2]], "tau": np.zeros((5000, 2))})
    assert lowest_edge([log]) == pytest.approx(edges[0])


def test_a_log_without_motion_has_the_edge_zero() -> None:
    log = Log.from_arrays(np.arange(1000) / RATE, {"q": np.ones((1000, 2)), "tau": np.zeros((1000, 2))})
    assert lowest_edge([log]) == 0.0


def test_noise_of_a_long_record_is_read_off_pieces_of_it() -> None:
    rng, t = np.random.default_rng(5), np.arange(2 * LONG) / RATE
    smooth = np.column_stack([np.sin(t), np.sin(0.3 * t)])
    noisy = smooth + SIGMA * rng.standard_normal(smooth.shape)
    assert np.allclose(position_noise(noisy), SIGMA, rtol=0.03)  # five standard deviations of a median of that many samples
    stepped = np.rint(noisy[:, 0] / 1e-3) * 1e-3
    assert quantisation_step(stepped) == pytest.approx(1e-3, rel=1e-6)
    assert quantisation_step(noisy[:, 0]) is None


def test_noise_of_few_samples_counts_although_the_median_does_not_see_it() -> None:
    """A twentieth of the samples off by much more than the others, as stale rows are: white, and seen in the spectrum."""
    rng = np.random.default_rng(6)
    moving = coloured(rng, 30_000, 1.0, 8.0) + SIGMA * rng.standard_normal(30_000)
    few = np.where(rng.random(30_000) < 0.05, 40.0 * SIGMA * rng.standard_normal(30_000), 0.0)
    quiet, loud = noise_edge(np.column_stack([moving, moving + few]), 1.0 / RATE)
    assert loud == pytest.approx(quiet * (1.0 + 0.05 * 40.0**2) ** (-1.0 / 8.0), rel=0.1)
    assert motion_band(np.column_stack([moving + few]), 1.0 / RATE) <= 2.0


def test_noise_of_a_joint_at_rest_is_no_motion() -> None:
    rng, t = np.random.default_rng(0), np.arange(5000) / 500.0
    q = np.column_stack([np.sin(2.0 * np.pi * 0.7 * t), np.full(len(t), 0.3)]) + 1e-4 * rng.standard_normal((len(t), 2))
    quantised = np.round(q / 1e-3) * 1e-3
    for x in (q, quantised):
        moving, still = position_band(x, 1.0 / 500.0)
        assert still == 0.0 and 0.7 <= moving < 1.0
