"""The project folder: plain files, opened again as it was left, and no half steps."""

import json

import pytest

import inertica as ia
import pair
import studio_arm as arm
from inertica.documents import plain
from inertica.errors import InerticaError, InputError
from inertica.studio.arguments import Arguments
from inertica.studio.project import Project
from inertica.studio.rooms import ROOMS, data, robot
from inertica.studio.start import prepare


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


def test_it_opens_again_as_it_was(tmp_path):
    card = arm.write(tmp_path / "arms")
    log = arm.log(card, tmp_path / "run.npz", duration=1.0)
    first = prepare(tmp_path / "project", card, [log])
    data.change(first, Arguments({"log": "run.npz", "role": "validate", "slice": [0.2, 0.8]}))
    again = Project(tmp_path / "project")
    assert again.description.name == "arm2" and again.description.loop is not None
    (entry,) = again.logs
    assert (entry.role, entry.start, entry.end, entry.file) == ("validate", 0.2, 0.8, str(log))
    assert again.role("validate") == [f"{log}@0.2:0.8"] and again.role("identify") == []
    assert ia.read_log(again.place(entry), again.description).duration == pytest.approx(0.6)
    assert json.loads((again.folder / "studio.json").read_text())["links"] == [str(card), str(log)]


def test_the_form_writes_the_card_and_a_wrong_one_leaves_it(project):
    project.choose_robot("planar2")
    robot.card(project, Arguments({"options": {"friction": ["viscous", "coulomb"], "gravity": [0, -9.81, 0], "armature": False}}))
    assert project.description.robot.gravity == (0.0, -9.81, 0.0)
    names = ia.load(project.card).layout.names
    assert "Fv1" in names and "Fc2" in names and "Ia1" not in names
    before = project.card.read_text()
    for options in ({"friction": ["glue"]}, {"gravity": [1, 2]}, {"payload": {"link": 9}}, {"friction": 3}):
        with pytest.raises(InputError):
            robot.card(project, Arguments({"options": options}))
        assert project.card.read_text() == before
    robot.card(project, Arguments({"options": {"friction": None}}))
    assert "friction" not in project.card_keys()


def test_every_room_shows_the_same_in_commands_and_python(project):
    project.choose_robot("planar2")
    for room in ROOMS.values():
        view = room.view(project, Arguments())
        assert all(line.startswith("inertica ") for line in view["same"]["shell"])
        compile("\n".join(view["same"]["python"]), room.name, "exec")
        assert room.state(project)[0] in ("open", "done", "attention")


def test_findings_of_a_model_stand_at_their_links(tmp_path, project):
    text = arm.URDF.replace('iyy="0.015" izz="0.015"', 'iyy="0.015" izz="0.5"')
    (project.folder / "model" / "bad.urdf").write_text(text)
    project.choose_robot("model/bad.urdf")
    found = robot.check(project, Arguments())
    assert not found["consistent"] and [link["name"] for link in found["links"] if not link["consistent"]] == ["fore"]
    assert robot.state(project)[0] == "attention"
    robot.repair(project, Arguments())
    assert robot.check(project, Arguments())["consistent"] and project.card_keys()["model"] == "model/bad-repaired-1.urdf"


def test_unknown_columns_can_be_mapped(project):
    project.choose_robot("planar2")
    rows = "\n".join(f"{k / 100},{k / 50},{k / 40},1,2" for k in range(50))
    (project.folder / "logs" / "odd.csv").write_text(f"clock,alpha,beta,first,second\n{rows}\n")
    project.add_log("logs/odd.csv")
    about = data.describe(project, Arguments({"log": "odd.csv"}))
    assert about["error"].startswith("logs/odd.csv: no column is recognised")
    assert about["file_columns"] == [
        "clock",
        "alpha",
        "beta",
        "first",
        "second",
    ]
    data.reading(project, Arguments({"options": {"columns": {"t": "clock", "q": ["alpha", "beta"], "tau": ["first", "second"]}}}))
    about = data.describe(project, Arguments({"log": "odd.csv"}))
    assert about["samples"] == 50 and set(about["signals"]) == {"q", "tau"}


def test_limits_and_gaps_are_marked_on_the_time_axis(tmp_path, project):
    project.choose_robot(project.link(arm.write(tmp_path / "arms")))
    rows = [f"{t},{2.5 if 30 <= k < 40 else 0.1},0.2,{60 if k in (60, 61) else 5},1" for k, t in enumerate(
        [k / 100 if k < 80 else 1.0 + k / 100 for k in range(100)])]  # fmt: skip
    (project.folder / "logs" / "a.csv").write_text("\n".join(["t,q1,q2,tau1,tau2", *rows]) + "\n")
    project.add_log("logs/a.csv")
    marks = {m["reason"]: m["stretches"] for m in data.describe(project, Arguments({"log": "a.csv"}))["marks"]}
    assert marks["position beyond its limit"] == [[0.3, 0.39]] and marks["torque at its limit"] == [[0.6, 0.61]]
    assert marks["gap in the clock"] == [[0.79, 0.79]]


def test_a_broken_model_is_said_by_its_name_and_the_robot_stays(project):
    project.choose_robot("planar2")
    for name, text, said in (("cut.urdf", "<robot name='x'><link name='a'>", "XML"), ("empty.urdf", "", "empty")):
        (project.folder / "model" / name).write_text(text)
        with pytest.raises(InputError, match=rf"^model/{name} cannot be read: .*{said}"):
            project.choose_robot(f"model/{name}")
    assert project.card_keys() == {"model": "planar2"}


def test_a_log_that_is_gone_is_said(project):
    with pytest.raises(InerticaError, match="no such file"):
        project.add_log("logs/none.csv")
    with pytest.raises(InerticaError, match="no log"):
        project.entry("none")


def test_a_state_of_another_kind_is_said(tmp_path):
    (tmp_path / "studio.json").write_text("{")
    with pytest.raises(InerticaError, match=r"studio\.json"):
        _ = Project(tmp_path).state


def test_links_that_name_no_file_are_left_out(project):
    links = [["x"], None, 3, "a\0b", "/none/arm.urdf"]
    (project.folder / "studio.json").write_text(json.dumps({"version": 1, "logs": [], "links": links, "choices": {}}))
    assert project.state["links"] == ["/none/arm.urdf"]
    assert ROOMS["robot"].view(project, Arguments())["models"][-1] == "/none/arm.urdf"
    assert "4 of its links name no file" in " ".join(project.problems)


def test_what_is_damaged_is_a_sentence_and_the_rest_works(project):
    """A half-written card, a broken result, an unknown key, a log of no shape: all rooms are shown."""
    pytest.importorskip("starlette", reason="the extra inertica[studio] is not installed")
    from inertica.studio.guard import Guard
    from inertica.studio.server import Studio

    project.choose_robot("planar2")
    for name in ("sound", "broken", "cut"):
        pair.identified().save(project.folder / "results" / name)
    (project.folder / "results" / "broken" / "result.json").write_text("{" * 5000)
    arrays = project.folder / "results" / "cut" / "result.npz"
    arrays.write_bytes(arrays.read_bytes()[:-30])
    (project.folder / "rehearsals" / "rehearsal-1.json").write_text("[1, 2")
    (project.folder / "trajectories" / "motion-1.yaml").write_text("family: fourier\nA: [")
    (project.folder / "card.yaml").write_text("model: planar2\nfriction: [vis")
    state = (
        json.loads((project.folder / "studio.json").read_text()) if (project.folder / "studio.json").exists() else {"version": 1}
    )
    state |= {"colour": "red", "logs": [{"name": 3}, 7], "choices": {"identify": {"settings": 5, "selected": []}, "data": 1}}
    (project.folder / "studio.json").write_text(json.dumps(state))
    said = " | ".join(Studio(project, Guard("token", 8000), warm=False).state()["problems"])
    for part in ("the key 'colour' is not known", "2 of its logs", "card.yaml", "results/broken is damaged", "results/cut is damaged",
                 "rehearsals/rehearsal-1.json is damaged"):  # fmt: skip
        assert part in said
    for room in ROOMS.values():
        json.dumps(plain(room.view(project, Arguments())))
        assert room.state(project)[1]
    assert project.results == ["sound"]
    robot.load(project, Arguments({"robot": "planar2"}))
    assert project.has_robot and "card.yaml" not in " ".join(project.problems)
