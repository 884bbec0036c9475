"""Thinned series: what a screen shows, with no extreme lost."""

import struct

import numpy as np

from inertica.studio.series import Series, packed, thinned


def test_extremes_are_kept_in_their_stretch():
    rng = np.random.default_rng(0)
    t = np.arange(200_003) / 1000.0
    x = rng.normal(size=(len(t), 7))
    x[123_456, 3], x[77_777, 5] = 50.0, -60.0
    times, values = thinned(t, x, -np.inf, np.inf, 1000)
    assert len(times) <= 2002 and np.all(np.diff(times) > 0) and (times[0], times[-1]) == (t[0], t[-1])
    assert np.array_equal(values.max(axis=0), x.max(axis=0)) and np.array_equal(values.min(axis=0), x.min(axis=0))
    width = t[-1] / 1000
    assert abs(times[values[:, 3].argmax()] - 123.456) <= width and abs(times[values[:, 5].argmin()] - 77.777) <= width


def test_the_coarse_copy_loses_no_extreme_either():
    rng = np.random.default_rng(1)
    t = np.arange(300_001) / 1000.0
    x = rng.normal(size=(len(t), 3)).astype(np.float32)
    x[250_000, 1] = 40.0
    series = Series(t, x)
    times, values = series.window(-np.inf, np.inf, 500)
    assert len(times) <= 1002 and (times[0], times[-1]) == (t[0], t[-1])
    assert np.array_equal(values.max(axis=0), x.max(axis=0)) and np.array_equal(values.min(axis=0), x.min(axis=0))
    assert abs(times[values[:, 1].argmax()] - 250.0) <= 2 * t[-1] / 500
    times, values = series.window(249.9, 250.1, 500)
    assert values[np.argmin(np.abs(times - 250.0)), 1] == 40.0  # sample by sample


def test_a_narrow_window_shows_the_samples_themselves():
    t = np.arange(100_000) / 1000.0
    x = np.sin(t)[:, None]
    times, values = thinned(t, x, 10.0, 10.2, 500)
    assert times[0] < 10.0 < 10.2 < times[-1]  # lines reach the edges
    assert np.array_equal(values[:, 0], np.sin(times)) and len(times) == 203


def test_missing_values_are_left_out_of_extremes_and_stay_where_nothing_else_is():
    t = np.arange(1000.0)
    x = np.column_stack([t, t])
    x[::3, 0], x[:500, 1] = np.nan, np.nan
    _, values = thinned(t, x, -np.inf, np.inf, 10)
    assert np.isfinite(values[:, 0]).all() and np.isnan(values[:8, 1]).all() and np.isfinite(values[-8:, 1]).all()


def test_an_empty_window_and_an_empty_log():
    t = np.arange(10.0)
    assert len(thinned(t, t[:, None], 100.0, 200.0, 10)[0]) <= 2
    assert len(thinned(np.zeros(0), np.zeros((0, 3)), 0.0, 1.0, 10)[0]) == 0


def test_the_binary_form():
    data = packed(np.array([0.5, 1.5]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert struct.unpack("<II", data[:8]) == (2, 3)
    assert np.frombuffer(data[8:24], "<f8").tolist() == [0.5, 1.5]
    assert np.frombuffer(data[24:], "<f4").tolist() == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
