"""The rooms one after the other on a small arm, called as workers call them; what they say agrees with the public calls."""

import json
import shlex

import numpy as np
import pytest

import inertica as ia
import studio_arm as arm
from inertica.cli.main import main
from inertica.studio.asked import Asked
from inertica.studio.confined import Refused
from inertica.studio.project import Project
from inertica.studio.rooms import ROOMS, data, export, identify, motion, trust
from inertica.studio.start import prepare


def work(project, room, job, tmp_path, **asked):
    """A job, and its choices remembered as the server does."""
    lines = []
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    answer = ROOMS[room].jobs[job](project, Asked(asked), lines.append, folder)
    if left := answer.pop("remember", None):
        project.choose(room, **left)
    assert lines
    json.dumps(answer)
    return answer


def test_a_report_is_exported_with_or_without_one_in_the_result_and_snippets_run(tmp_path, monkeypatch):
    """Copied where the result has one; made again from its logs where it has none; without logs it is made and says what it lacks."""
    card = arm.write(tmp_path / "arms")
    log = arm.log(card, tmp_path / "run.npz", duration=3.0)
    project = prepare(tmp_path / "project", card, [log])
    stated = {"method": "pc-wls", "cutoff": 20.0, "friction": ("viscous", "coulomb"), "delay": 0.0, "quick": True}
    result = ia.identify(project.card, [log], **stated)
    folder = project.folder / "results" / "elsewhere"
    ia.write_folder(result, folder, [str(log)])
    written = project.folder / "exports" / "report.html"

    def export_report():
        answer = work(project, "export", "write", tmp_path, result="elsewhere", format="report")
        assert answer["files"] == ["exports/report.html"] and "report" in answer["sentence"]
        return answer["notes"], written.read_text(encoding="utf-8")

    (folder / "report.html").write_text("the one that was there")
    assert export_report() == ([], "the one that was there")
    (folder / "report.html").unlink()
    notes, whole = export_report()
    assert notes == [] and "arm2" in whole and "shoulder" in whole and "http://" not in whole.replace("http://www.w3.org", "")
    log.unlink()
    notes, bare = export_report()
    assert len(notes) == 1 and "run.npz" in notes[0] and "the report is without" in notes[0]
    assert "arm2" in bare and "Fv1" in bare and len(bare) < len(whole)
    assert trust.view(project, Asked())["report"] is False
    for kind in ("urdf", "mjcf"):
        work(project, "export", "write", tmp_path, result="elsewhere", format=kind)
    monkeypatch.chdir(project.folder)
    for snippet in export.view(project, Asked())["snippets"]:
        compile(snippet["text"], snippet["title"], "exec")
        if snippet["title"] != "ROS 2":  # its packages are not on PyPI
            pytest.importorskip(snippet["title"].lower())
            known = {"q": np.zeros(2), "v": np.zeros(2), "a": np.zeros(2)}
            exec(snippet["text"], known)
            assert known["model"].nv == 2
    for file in (project.folder / "exports").iterdir():
        export.remove(project, Asked({"file": f"exports/{file.name}"}))
    assert export.view(project, Asked())["files"] == []


def lines_shown_do_what_they_say(project, monkeypatch):
    """Every command line and every Python line that a room shows runs, in the project folder."""
    monkeypatch.chdir(project.folder)
    for room in ROOMS.values():
        same = room.view(project, Asked())["same"]
        for line in same["shell"]:
            assert main(shlex.split(line.replace("results/result-", "again/result-"))[1:]) == 0, line
        exec("\n".join(same["python"]).replace("results/result-", "again/python-"), {})


@pytest.mark.slow
def test_from_a_motion_to_an_exported_model(tmp_path, monkeypatch):
    card = arm.write(tmp_path / "arms")
    project = prepare(tmp_path / "project", card, [arm.log(card, tmp_path / "run.npz")])

    designed = work(project, "motion", "design", tmp_path, seconds=1.0, harmonics=4, period=6.0)
    assert designed["trajectory"] == "motion-1.yaml" and designed["condition"] < 200
    played = motion.play(project, Asked({"trajectory": "motion-1.yaml"}))
    assert played["assumed"] == "" and all(row["acceleration_limit"] > 0.0 for row in played["limits"])  # the card states them
    for row, joint in zip(played["limits"], project.description.robot.joints, strict=True):
        assert row["lower"] <= row["lowest"] < row["highest"] <= row["upper"] and row["velocity"] <= row["velocity_limit"], (
            joint.name
        )
    near = motion.clearance(project, Asked({"trajectory": "motion-1.yaml"}))
    assert (near["known"] is False and len(near["why"]) > 20) or near["distance"] > 0.0
    work(project, "motion", "rehearse", tmp_path, trajectory="motion-1.yaml", spread=0.3)
    (rehearsed,) = motion.rehearsals(project)
    right, of = rehearsed["covered"]
    assert of >= 8 and right >= 0.7 * of  # 95 % each, and they err together
    planted = {row["name"]: row["planted"] for row in rehearsed["base"]}
    own = ia.load(card).prior
    assert planted["Fv1"] != pytest.approx(own["Fv1"], rel=1e-3) and abs(planted["Fv1"] / own["Fv1"] - 1) <= 0.3
    motion.keep(project, Asked({"rehearsal": "rehearsal-1", "role": "validate"}))
    assert [e.role for e in project.logs] == ["identify", "validate"]
    data.remove(project, Asked({"log": "rehearsal-1.npz"}))

    checked = work(project, "data", "check", tmp_path)
    assert checked["verdict"] == ia.check(project.card, project.role("identify")).verdict
    assert data.view(project, Asked())["check"]["findings"]
    data.change(project, Asked({"log": "run.npz", "slice": [0.5, 7.5]}))
    assert data.view(project, Asked())["check"] is None  # it said nothing of this slice

    work(project, "identify", "run", tmp_path, quick=True, name="first")
    with pytest.raises(Refused, match="already"):
        work(project, "identify", "run", tmp_path, quick=True, name="first")
    found = ia.identify(project.card, project.role("identify"), quick=True)
    assert np.array_equal(project.result("first").parameters.values, found.parameters.values)
    (shown,) = identify.view(project, Asked())["results"]
    assert shown["command"].startswith("inertica identify card.yaml ") and "@0.5:7.5 --quick" in shown["command"]

    other = ia.identify(project.card, project.role("identify"), quick=True, method="ols")
    ia.write_folder(other, project.folder / "results" / "second", project.role("identify"))
    trust.select(project, Asked({"result": "second"}))
    assert not trust.view(project, Asked())["prepared"]
    with pytest.raises(Refused, match="not worked out"):
        trust.torque(project, Asked({"result": "second"}))
    work(project, "trust", "prepare", tmp_path, result="second")
    view = trust.view(project, Asked())
    assert view["prepared"] and view["summary"]["verdict"]["level"] in ("good", "doubtful")
    series = trust.torque(project, Asked({"result": "second", "joint": 1.0}))
    assert series.values.shape == (len(series.t), 3)
    assert np.allclose(series.values[:, 0] - series.values[:, 1], series.values[:, 2], equal_nan=True)
    pair = trust.compare(project, Asked({"first": "first", "second": "second"}))
    assert pair["shared"] and pair["count"] > 4 and "same log" in pair["sentence"]

    for kind in ("urdf", "mjcf", "parameters", "report", "python"):
        written = work(project, "export", "write", tmp_path, result="first", format=kind)
        assert all((project.folder / file).is_file() for file in written["files"])
    files = {f["file"] for f in export.view(project, Asked())["files"]}
    assert {"exports/identified.urdf", "exports/identified.extra.yaml", "exports/identified-mjcf.xml"} <= files
    again = ia.load(project.folder / "exports" / "identified.extra.yaml")
    assert np.allclose(again.prior.on(found.parameters.layout).values, found.parameters.values, rtol=1e-9, atol=1e-12)

    lines_shown_do_what_they_say(project, monkeypatch)
    reopened = Project(project.folder)
    assert reopened.results == ["first", "second"] and trust.selected(reopened) == "second"
    assert all(room.state(reopened)[0] in ("done", "attention") for room in ROOMS.values())
