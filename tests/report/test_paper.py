"""Figures for papers: every kind, vector files, the same bytes again, the numbers of the result in them."""

from dataclasses import replace

import numpy as np
import pytest
from lxml import etree

import pair
from inertica.errors import InputError
from inertica.excitation.fourier import Fourier
from inertica.report.paper import KINDS, Subject, chosen_record, friction, paths, style, torque, trust_map, write_figure
from inertica.robot.model import Joint, Robot

NO_LOG = ("parameters", "map", "ellipsoids")
STILL = Fourier.still(10.0, np.array([0.2, -0.1]), 3)


def followed(by=0.0):
    """Motions whose logs say that the controller wanted what was measured, moved by a distance."""
    return {
        name: tuple(
            replace(m, log=replace(m.log, signals={**m.log.signals, "qr": m.log.need("q") + by})) for m in several
        )
        for name, several in pair.motions().items()
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", ["column", "page"])
def test_every_kind_is_a_vector_drawing_without_pictures(kind, width, tmp_path):
    motions = {} if kind in NO_LOG else followed(0.01)
    file = write_figure(pair.identified(), motions, kind, tmp_path / f"{kind}.svg", width=width)
    root = etree.parse(file).getroot()
    assert not list(root.iter("{*}image")) and len(list(root.iter("{*}path"))) > 5
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(72 * (3.5 if width == "column" else 7.16))


def test_the_same_result_gives_the_same_bytes_and_type_that_can_be_selected(tmp_path):
    one, two = (write_figure(pair.identified(), {}, "map", tmp_path / f"{k}.pdf").read_bytes() for k in "ab")
    assert one == two and one.startswith(b"%PDF") and b"/Type3" not in one


def test_lines_are_the_torques_of_the_log():
    result = pair.identified()
    record = chosen_record(result, pair.motions(), None)
    assert record.name.endswith("run2.csv")  # not the data that were fitted
    with style():
        figure = torque(Subject(result, record, (1,), 3.5))
    lines = {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}
    assert np.array_equal(lines["measured"].get_ydata(), record.motion.tau_raw[:, 1])
    assert np.array_equal(lines["predicted"].get_ydata(), record.smooth_predicted[:, 1])
    error = record.smooth[:, 1] - record.smooth_predicted[:, 1]
    assert np.array_equal(lines["residual"].get_ydata(), error)


def test_friction_and_map_draw_the_joints_that_are_asked_for():
    result = pair.identified()
    with style():
        drawn = friction(Subject(result, chosen_record(result, pair.motions(), "identification"), (1,), 7.0))
        cells = trust_map(Subject(result, None, (0,), 7.0)).axes[0].texts
    assert [axes.get_title() for axes in drawn.axes] == ["elbow"]
    assert len(cells) == len(result.parameters.layout.cells()[0][0])


def test_the_path_is_that_of_the_tool():
    """One joint that turns a tool 0.5 m from its axis: the path is a circle, and a lag of 0.01 rad is 5 mm."""
    result = pair.identified()
    robot = Robot(
        "one", (Joint("a", "b", -1), replace(result.description.robot.joints[1], position=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0)))
    )
    one = replace(result, description=replace(result.description, robot=robot))
    record = chosen_record(result, followed(0.005), "identification")  # both joints turn about z: twice 0.005
    t, desired, actual = paths(Subject(one, record, (0,), 3.5, (0.5, 0.0, 0.0)))
    assert len(t) == len(desired) and np.linalg.norm(actual, axis=1) == pytest.approx(0.5)
    assert np.linalg.norm(desired - actual, axis=1) == pytest.approx(0.005, rel=1e-4)
    fixed = paths(Subject(one, record, (0,), 3.5, (0.5, 0.0, 0.0), STILL))[1]
    assert fixed == pytest.approx(np.broadcast_to(0.5 * np.array([np.cos(0.1), np.sin(0.1), 0.0]), fixed.shape))


@pytest.mark.parametrize(
    ("kind", "name", "options", "words"),
    [
        ("torque", "a.png", {}, "not a vector format"),
        ("torqe", "a.pdf", {}, "did you mean 'torque'"),
        ("torque", "a.pdf", {"joints": [3]}, "joints 1 to 2, not 3"),
        ("torque", "a.pdf", {"log": "run9"}, "no log 'run9'"),
        ("torque", "a.pdf", {"width": "colum"}, "did you mean 'column'"),
        ("end-effector", "a.pdf", {}, "columns qr1.."),
    ],
)
def test_what_cannot_be_drawn_is_said(kind, name, options, words, tmp_path):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        write_figure(pair.identified(), pair.motions(), kind, tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_without_logs_there_is_a_sentence(tmp_path):
    with pytest.raises(InputError, match="--logs DIR"):
        write_figure(pair.identified(), {}, "friction", tmp_path / "a.pdf")
