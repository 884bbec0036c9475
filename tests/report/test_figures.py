"""Drawings: round ticks, extremes kept, valid SVG with labels."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from inertica.report.figures import COLUMNS, DENSE, Panel, Series, bars, dense, envelope, figure, nice_ticks, thinned


@given(st.floats(-1e3, 1e3), st.floats(1e-6, 1e6), st.integers(3, 9))
def test_ticks_are_few_inside_and_evenly_spaced(offset, span, most):
    low, high = offset * span, offset * span + span
    ticks = nice_ticks(low, high, most)
    assert 1 <= len(ticks) <= most
    slack = 1e-6 * max(abs(low), abs(high))
    assert all(low - slack <= x <= high + slack for x in ticks)
    if len(ticks) > 2:
        assert np.diff(ticks) == pytest.approx(np.diff(ticks)[0], rel=1e-6)


def test_dense_lines_keep_their_extremes():
    rng = np.random.default_rng(1)
    x, y = np.arange(50_000.0), rng.normal(size=50_000)
    y[31_234], y[7] = 99.0, -99.0
    a, b = envelope(x, y)
    assert len(a) <= 2 * COLUMNS + 1 and b.max() == 99.0 and b.min() == -99.0 and np.all(np.diff(a) >= 0)
    assert a[-1] == x[-1]


def test_short_lines_stay_as_they_are():
    x = np.arange(10.0)
    assert np.array_equal(envelope(x, x)[0], x)
    assert list(thinned(5, 100)) == [0, 1, 2, 3, 4] and len(thinned(10_000, 100)) == 100 and len(thinned(0, 5)) == 0


def test_a_figure_is_valid_and_says_what_it_shows():
    x = np.linspace(0.0, 1.0, 50)
    panels = [Panel([Series(x, np.sin(9 * x), "predicted"), Series(x, x, "points", "points")], "torque (N m)", zero=True)]
    panels.append(Panel([Series(x, x**2, "points", "bars")], "density", 60.0))
    text = figure(panels, "time (s)", "joint 1 <shoulder> & more")
    root = etree.fromstring(text)
    words = [e.text for e in root.iter("text")]
    assert {"torque (N m)", "density", "time (s)"} <= set(words)
    assert root.find("svg").get("aria-label") == "joint 1 <shoulder> & more" == root.findtext("figcaption/span")


def test_lines_break_at_missing_values_and_empty_data_draw_nothing():
    x, y = np.arange(9.0), np.arange(9.0)
    y[4] = np.nan
    path = etree.fromstring(figure([Panel([Series(x, y, "law")], "y")], "x", "c")).find(".//path[@class='line c-law']")
    assert path.get("d").count("M") == 2
    nothing = figure([Panel([Series(x, np.full(9, np.nan), "law")], "y")], "x", "c")
    assert etree.fromstring(nothing).find(".//path[@class='line c-law']") is None


def test_bars_mark_the_chosen_one():
    root = etree.fromstring(bars([("none", 0.9), ("viscous", 0.2), ("broken", np.nan)], "viscous", "friction"))
    kinds = [rect.get("class") for rect in root.iter("rect")]
    assert kinds == ["bar c-points", "bar c-other", "bar c-points"]
    assert [t.text for t in root.iter("text")].count("–") == 1


def samples(text):
    """Times and values of what `dense` wrote."""
    start, step, coded = text.split(" ")
    values = np.frombuffer(base64.b64decode(coded), "<f4")
    return float(start) + float(step) * np.arange(len(values)), values


def test_numbers_for_zooms_keep_short_signals_and_the_extremes_of_long_ones():
    y = np.random.default_rng(2).normal(size=50_000)
    y[12_345], y[49_999], y[100] = 77.0, -66.0, np.nan
    t, kept = samples(dense(1.0, 2e-4, y))
    assert len(dense(1.0, 2e-4, y)) < 22_000  # so that a six-joint log of any length stays below a megabyte
    assert len(kept) <= 2 * DENSE and kept.max() == 77.0 and kept.min() == -66.0 and np.isfinite(kept).all()
    assert t[kept.argmax()] == pytest.approx(1.0 + 2e-4 * 12_345, abs=2e-4 * 25) and t[-1] <= 1.0 + 2e-4 * 50_000
    t, kept = samples(dense(0.0, 0.01, y[:500]))
    assert np.array_equal(kept, y[:500].astype(np.float32), equal_nan=True) and t == pytest.approx(0.01 * np.arange(500))
