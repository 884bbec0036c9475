"""Findings on the time axis, scores as curves, what stands around the robot: what the rooms hand to the page."""

import json

import numpy as np
import pytest

import inertica as ia
import studio_arm as arm
from inertica.checks.findings import Finding
from inertica.studio.arguments import Arguments
from inertica.studio.cell import Cell
from inertica.studio.confined import Refused
from inertica.studio.marks import named, placed
from inertica.studio.project import Project
from inertica.studio.rooms import data, motion
from inertica.studio.scores import drawn
from inertica.studio.start import prepare
from inertica.workflow.identify.choice import Alternative, Choice, candidates
from inertica.workflow.identify.reasons import Words


def test_findings_have_a_log_joints_and_stretches():
    when = [{"joint": 2, "start": 1.0, "end": 2.0}, {"joint": None, "start": 3.0, "end": 3.5}]
    findings = [
        Finding("saturation", "warning", "the torque of joint 2 is cut off", log="a.csv@0:5", numbers={"stretches": when}),
        Finding("residual", "note", "the model misses something on joints 1 and 2"),
        Finding("standstill", "fine", "joint 1 is fine", log="a.csv@0:5", numbers={"stretches": when}),
        Finding("dead channels", "problem", "no change in tau2"),
    ]
    first, second, third, fourth = placed(findings, {"a.csv@0:5": "a.csv"}, ["shoulder", "elbow"])
    assert (first["entry"], first["joints"]) == ("a.csv", ["elbow"])
    assert first["stretches"] == [[1, 1.0, 2.0], [None, 3.0, 3.5]] and "stretches" not in first["numbers"]
    assert (second["entry"], second["joints"], second["stretches"]) == ("", ["shoulder", "elbow"], [])
    assert third["joints"] == [] and third["stretches"] == []  # nothing to mark
    assert fourth["joints"] == ["elbow"]
    assert named(Finding("x", "note", "joints 2, 4 and 5 beyond")) == [2, 4, 5]


def test_a_check_in_the_room_data_marks_a_cut_torque(tmp_path):
    card = arm.write(tmp_path / "arms")
    whole = ia.read_log(arm.log(card, tmp_path / "run.npz", duration=4.0), ia.load(card))
    tau = np.array(whole.tau)
    level = float(np.quantile(tau[:, 1], 0.9))
    tau[:, 1] = np.minimum(tau[:, 1], level)
    ia.Log.from_arrays(whole.t, {"q": whole.q, "tau": tau}, whole.joints).save(tmp_path / "cut.npz")
    project = prepare(tmp_path / "project", card, [tmp_path / "cut.npz"])
    data.change(project, Arguments({"log": "cut.npz", "slice": [0.5, 3.5]}))
    answer = data.check(project, Arguments(), lambda _: None, tmp_path)
    project.choose("data", **answer["remember"])
    found = json.loads(json.dumps(data.view(project, Arguments())["check"]["findings"]))
    (cut,) = [f for f in found if f["name"] == "saturation"]
    assert cut["entry"] == "cut.npz" and cut["joints"] == ["elbow"] and cut["stretches"]
    for joint, start, end in cut["stretches"]:
        rows = (whole.t >= start) & (whole.t <= end)
        assert joint == 1 and 0.5 <= start <= end <= 3.5 and np.all(whole.tau[rows, 1] >= level - 1e-9)


def test_scores_over_a_number_are_curves_and_others_bars():
    points = ((10.0, "differences", 0.05), (20.0, "differences", 0.03), (10.0, "recorded", 0.06), (5.0, "differences", 0.08))
    cutoffs = tuple(Alternative(f"{f:g} Hz, {v}", score, number=f, unit="Hz", series=v) for f, v, score in points)
    found = drawn(Choice("filter", "fit up to 30 Hz", Words(""), candidates=cutoffs))
    assert found is not None
    assert found["kind"] == "curve" and found["unit"] == "Hz"
    assert found["chosen"] == {"line": "differences", "x": 20.0, "y": 0.03}
    lines = {line["name"]: (line["x"], line["y"]) for line in found["lines"]}
    assert lines["differences"] == ([5.0, 10.0, 20.0], [0.08, 0.05, 0.03]) and lines["recorded"] == ([10.0], [0.06])
    method = drawn(Choice("method", "pc-wls+entropic", Words(""), candidates=candidates({"wls": 0.030, "irls": 0.029}, "wls")))
    assert [(r["name"], r["chosen"]) for r in method["rows"]] == [("wls", True), ("irls", False)]  # not always the least
    tried = (Alternative("stribeck", 0.02, False, "joint 1"), Alternative("stribeck", 0.2, True, "joint 3"))
    friction = drawn(Choice("friction", "stribeck", Words(""), candidates=tried))
    assert friction["rows"][0]["name"] == "joint 1: stribeck"
    assert [r["chosen"] for r in friction["rows"]] == [False, True] and "explains" in friction["meaning"]
    assert drawn(Choice("delay", "0", Words(""))) is None


BOX = {"kind": "box", "size": [0.2, 0.6, 1], "position": [0.7, 0, 0.5]}


def test_what_stands_around_the_robot_reaches_the_design(tmp_path, monkeypatch):
    card = arm.write(tmp_path / "arms")
    project = prepare(tmp_path / "project", card, [])
    asked = {"floor": -0.5, "box": [-1, -1, -0.5, 1, 1, 1.5], "clearance": 0.04, "obstacles": [BOX]}
    kept = motion.cell(project, Arguments(asked))
    assert kept["height"] == -0.5 and kept["up"] == [0.0, 0.0, 1.0]
    view = json.loads(json.dumps(motion.view(Project(project.folder), Arguments())))
    assert view["cell"]["obstacles"] == [BOX] and view["cell"]["box"] == asked["box"]
    (command, _) = view["same"]["shell"]
    wanted = "--floor=-0.5 --box=-1,-1,-0.5,1,1,1.5 --obstacle box:0.2,0.6,1@0.7,0,0.5 --clearance 0.04"
    assert wanted in command and 'obstacles=[Obstacle("box", (0.2, 0.6, 1.0), (0.7, 0.0, 0.5))]' in "\n".join(
        view["same"]["python"]
    )

    given = {}

    def excite(description, options, **around):
        given.update(around)
        raise Refused("enough is known", 400)

    monkeypatch.setattr(motion.ia, "excite", excite)
    with pytest.raises(Refused, match="enough"):
        motion.design(project, Arguments(asked), lambda _: None, tmp_path)
    assert given["floor"] == -0.5 and given["clearance"] == 0.04 and given["box"] == (-1, -1, -0.5, 1, 1, 1.5)
    (obstacle,) = given["obstacles"]
    assert (obstacle.kind, obstacle.size, obstacle.position) == ("box", (0.2, 0.6, 1.0), (0.7, 0.0, 0.5))
    with pytest.raises(Refused, match="enough"):
        motion.design(project, Arguments({}), lambda _: None, tmp_path)
    assert "floor" in given and Cell().options == {}


def test_an_obstacle_in_the_way_is_seen(tmp_path, monkeypatch):
    project = Project(tmp_path / "project")
    project.choose_robot("tx40")
    name = motion.shipped(project, Arguments())["trajectory"]
    monkeypatch.setattr(motion, "LOOKED", 20)
    free = motion.clearance(project, Arguments({"trajectory": name}))
    assert free["known"] and free["distance"] > 0.0
    around = {"obstacles": [{"kind": "sphere", "size": [0.5], "position": [0.5, 0, 0.5]}]}
    motion.cell(project, Arguments(around))
    hit = motion.clearance(project, Arguments({"trajectory": name}))
    assert hit["distance"] < 0.0 and any("obstacle" in body or "sphere" in body for body in hit["bodies"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"floor": "high"}, "one of"),
        ({"box": [0, 0, 0, 1, 1]}, "6 numbers"),
        ({"box": [0, 0, 1, 1, 1, 0]}, "highest corner"),
        ({"obstacles": [{"kind": "cone", "size": [1], "position": [0, 0, 0]}]}, "one of"),
        ({"obstacles": [{"kind": "sphere", "size": [-1], "position": [0, 0, 0]}]}, "obstacle 1: a sphere has 1 positive"),
        ({"obstacles": [{"kind": "sphere", "size": [1], "position": [0, 0, float("nan")]}]}, "3 numbers"),
        ({"obstacles": "many"}, "list"),
        ({"clearance": 0.0}, "number"),
    ],
)
def test_surroundings_that_cannot_be_are_refused(wrong, said):
    with pytest.raises(Refused, match=said):
        Cell.of(Arguments(wrong))
