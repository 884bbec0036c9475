"""What a prompt and a notebook show: one line that says the essentials, and HTML with the numbers in it."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import pair
from inertica.display import line
from inertica.logs.read import read_log
from inertica.preprocessing.prepare import prepare
from inertica.robot.load import load


class Balanced(HTMLParser):
    """Counts open elements; text between them is collected."""

    def __init__(self):
        super().__init__()
        self.open, self.words = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def words_of(shown) -> str:
    parser = Balanced()
    parser.feed(shown._repr_html_())
    parser.close()
    assert not parser.open
    return " ".join(parser.words)


def test_a_robot_and_its_parameters():
    description = load("scara4")
    robot = description.robot
    assert repr(robot) == "Robot(scara4: 4 joints RRPR, gravity 0 0 -9.81)"
    assert len(repr(description)) < 200 and "4 joints" in repr(description)
    for shown in (robot, description, description.prior):
        assert robot.joints[0].link in words_of(shown)
    assert f"{description.prior['M1']:.4g}" in words_of(description.prior)


def test_a_log_and_a_motion():
    robot, fit, _ = pair.files()
    log = read_log(fit, load(robot))
    motion = prepare(log)
    for shown in (log, motion):
        assert "shoulder" in words_of(shown) and shown._repr_html_().count("<svg") >= 4
    table = motion.table()
    assert list(table)[:3] == ["t", "q1", "q2"] and np.array_equal(table["used"], ~motion.mask)


def test_a_result_says_how_good_it_is():
    result = pair.identified()
    assert f"{100 * result.residuals['identification'].raw.all:.3g} %" in repr(result) and "could exist" in repr(result)
    shown = words_of(result)
    for name in ("Fv1", "Fc2"):
        assert name in shown and f"{result.parameters[name]:.4g}" in shown
    table = result.table()
    assert table["label"] == [result.labels[n] for n in table["name"]] and table["lower"] == pytest.approx(result.intervals[:, 0])


def test_lines_keep_extremes_and_survive_nothing():
    spike = np.zeros(10_000)
    spike[1234] = 1.0
    ys = [float(p.split(",")[1]) for p in line(spike).split("points='")[1].split("'")[0].split()]
    assert max(ys) - min(ys) == pytest.approx(26.0) and line([np.nan]) == ""


def test_names_from_files_are_escaped():
    robot = replace(load("planar2").robot, name="<b>arm</b>")
    assert "<b>" not in robot._repr_html_()
