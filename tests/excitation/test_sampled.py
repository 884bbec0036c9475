"""Imported samples: interpolation rules and CSV."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inertica.errors import FileError
from inertica.excitation import INTERPOLATIONS, Sampled, read_samples, write_samples

T = np.sort(np.random.default_rng(0).uniform(0.0, 4.0, 60))
SMOOTH = ("makima", "akima", "pchip", "cubic", "quintic", "hermite")


def _wave(t):
    angle = np.outer(t, [1.0, 2.0])
    return np.sin(angle), np.cos(angle) * [1.0, 2.0], -np.sin(angle) * [1.0, 4.0]


@pytest.mark.parametrize("rule", INTERPOLATIONS)
def test_passes_through_the_samples(rule):
    q, dq, ddq = _wave(T)
    s = Sampled(T, q, dq, ddq, rule)
    found = s(T - T[0])
    for a, b in zip(found, (q, dq, ddq), strict=True):
        assert np.allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("rule", [r for r in INTERPOLATIONS if r != "hermite"])
def test_without_velocities_derivatives_are_those_of_the_position(rule):
    s = Sampled(T, _wave(T)[0], interpolation=rule)
    h = 1e-6
    t = 0.5 * (T[1:] + T[:-1]) - T[0]
    t = t[np.abs(np.subtract.outer(t, T - T[0])).min(axis=1) > 1e-4] + 2 * h  # off the knots, where some rules have kinks
    _, dq, ddq = s(t)
    assert np.allclose((s(t + h).q - s(t - h).q) / (2 * h), dq, atol=1e-6)
    assert np.allclose((s(t + h).dq - s(t - h).dq) / (2 * h), ddq, atol=1e-4)


@pytest.mark.parametrize(
    ("rule", "error"), [("quintic", 2e-4), ("hermite", 2e-5), ("cubic", 3e-3), ("makima", 3e-2), ("linear", 3e-2)]
)
def test_accuracy_between_samples(rule, error):
    x = np.linspace(0.0, 4.0, 41)
    q, dq, ddq = _wave(x)
    s = Sampled(x, q, dq if rule == "hermite" else None, ddq if rule == "hermite" else None, rule)
    t = np.linspace(0.0, 4.0, 331)
    assert np.abs(s(t).q - _wave(t)[0]).max() < error


def test_steps():
    x, q = np.array([0.0, 1.0, 2.0]), np.array([[1.0], [2.0], [4.0]])
    t = [0.4, 0.6, 1.0]
    for rule, values in {"nearest": [1, 2, 2], "previous": [1, 1, 2], "next": [2, 2, 2]}.items():
        found = Sampled(x, q, interpolation=rule)(t)
        assert found.q.ravel().tolist() == values and not found.dq.any()


def test_csv_round_trip_is_exact(tmp_path):
    q, dq, ddq = _wave(T)
    s = Sampled(T - T[0], q, dq, ddq, "hermite")
    write_samples(s, tmp_path / "s.csv", rate=50.0)
    back = read_samples(tmp_path / "s.csv", "hermite")
    expected = s(back.times)
    assert back.times[-1] == s.period
    for a, b in zip((back.q, back.dq, back.ddq), expected, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "the file is empty"),
        ("t,q1\n", ":2: a motion needs at least two samples"),
        ("t,q1\n0,1\n1,x\n", ":3:2: 'x' is not a number"),
        ("t,q1\n0,1\n1,nan\n", ":3:2: 'nan' is not a finite number"),
        ("t,q1\n0,1\n1\n", ":3: the row has 1 values, the header 2"),
        ("t,q1\n0,1\n0,2\n", ":3: times should ascend"),
        ("t,q1,foo\n0,1,2\n", ":1:3: column 'foo'"),
        ("t,q1,q3\n0,1,2\n", ":1: the columns of q should be q1 to q2"),
        ("time,q1\n0,1\n", ":1:1: column 'time'"),
        ("q1\n0\n", ":1: the header should name"),
    ],
)
def test_csv_mistakes_are_placed(tmp_path, text, place):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(FileError) as error:
        read_samples(path)
    assert place in str(error.value) and str(path) in str(error.value)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="tqd123,.\n -enaif\"'", max_size=60))
def test_any_text_gives_a_sentence_or_a_motion(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("fuzz") / "any.csv"
    path.write_text("t,q1\n" + text)
    try:
        motion, problem = read_samples(path, "linear"), ""
    except FileError as error:
        motion, problem = None, str(error)
    assert np.isfinite(motion([0.0]).q).all() if motion else str(path) in problem


def test_columns_numbered_without_end(tmp_path):
    for name in ("q" + "9" * 5000, "q\u00b2", "q\u0663"):
        (tmp_path / "x.csv").write_text(f"t,q1,{name}\n0,1,2\n1,2,3\n")
        with pytest.raises(FileError, match="is not one of t"):
            read_samples(tmp_path / "x.csv")
