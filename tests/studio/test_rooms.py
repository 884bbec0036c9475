"""The rooms one after the other on a small arm, called as workers call them; what they say agrees with the public calls."""

import json
import shlex

import numpy as np
import pytest

import inertica as ia
import studio_arm as arm
from inertica.cli.main import main
from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused
from inertica.studio.fields import error_document
from inertica.studio.project import Project
from inertica.studio.rooms import ROOMS, data, export, identify, motion, robot, trust
from inertica.studio.start import prepare
from mujoco_servos import command, quadruped, random_servos, simulate, write_model


def work(project, room, job, tmp_path, **asked):
    """A job, and its choices remembered as the server does."""
    lines = []
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    answer = ROOMS[room].jobs[job](project, Arguments(asked), lines.append, folder)
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
    assert trust.view(project, Arguments())["report"] is False
    for kind in ("urdf", "mjcf"):
        work(project, "export", "write", tmp_path, result="elsewhere", format=kind)
    monkeypatch.chdir(project.folder)
    for snippet in export.view(project, Arguments())["snippets"]:
        compile(snippet["text"], snippet["title"], "exec")
        if snippet["title"] != "ROS 2":  # its packages are not on PyPI
            pytest.importorskip(snippet["title"].lower())
            known = {"q": np.zeros(2), "v": np.zeros(2), "a": np.zeros(2)}
            exec(snippet["text"], known)
            assert known["model"].nv == 2
    for file in (project.folder / "exports").iterdir():
        export.remove(project, Arguments({"file": f"exports/{file.name}"}))
    assert export.view(project, Arguments())["files"] == []


def lines_shown_do_what_they_say(project, monkeypatch):
    """Every command line and every Python line that a room shows runs, in the project folder."""
    monkeypatch.chdir(project.folder)
    for room in ROOMS.values():
        if room.extra:
            continue  # until their forms are filled in, these say how it would be done
        same = room.view(project, Arguments())["same"]
        for line in same["shell"]:
            assert main(shlex.split(line.replace("results/result-", "again/result-"))[1:]) == 0, line
        exec("\n".join(same["python"]).replace("results/result-", "again/python-"), {})


@pytest.mark.slow
def test_from_a_motion_to_an_exported_model(tmp_path, monkeypatch):
    card = arm.write(tmp_path / "arms")
    project = prepare(tmp_path / "project", card, [arm.log(card, tmp_path / "run.npz")])

    designed = work(project, "motion", "design", tmp_path, seconds=1.0, harmonics=4, period=6.0)
    assert designed["trajectory"] == "motion-1.yaml" and designed["condition"] < 200
    played = motion.play(project, Arguments({"trajectory": "motion-1.yaml"}))
    assert played["assumed"] == "" and all(row["acceleration_limit"] > 0.0 for row in played["limits"])  # the card states them
    for row, joint in zip(played["limits"], project.description.robot.joints, strict=True):
        assert row["lower"] <= row["lowest"] < row["highest"] <= row["upper"] and row["velocity"] <= row["velocity_limit"], (
            joint.name
        )
    near = motion.clearance(project, Arguments({"trajectory": "motion-1.yaml"}))
    assert (near["known"] is False and len(near["why"]) > 20) or near["distance"] > 0.0
    work(project, "motion", "rehearse", tmp_path, trajectory="motion-1.yaml", spread=0.3)
    (rehearsed,) = project.rehearsals
    right, of = rehearsed["covered"]
    assert of >= 8 and right >= 0.7 * of  # 95 % each, and they err together
    planted = {row["name"]: row["planted"] for row in rehearsed["base"]}
    own = ia.load(card).prior
    assert planted["Fv1"] != pytest.approx(own["Fv1"], rel=1e-3) and abs(planted["Fv1"] / own["Fv1"] - 1) <= 0.3
    motion.keep(project, Arguments({"rehearsal": "rehearsal-1", "role": "validate"}))
    assert [e.role for e in project.logs] == ["identify", "validate"]
    data.remove(project, Arguments({"log": "rehearsal-1.npz"}))

    checked = work(project, "data", "check", tmp_path)
    assert checked["verdict"] == ia.check(project.card, project.role("identify")).verdict
    assert data.view(project, Arguments())["check"]["findings"]
    data.change(project, Arguments({"log": "run.npz", "slice": [0.5, 7.5]}))
    assert data.view(project, Arguments())["check"] is None  # it said nothing of this slice

    work(project, "identify", "run", tmp_path, quick=True, name="first")
    with pytest.raises(Refused, match="already"):
        work(project, "identify", "run", tmp_path, quick=True, name="first")
    found = ia.identify(project.card, project.role("identify"), quick=True)
    assert np.array_equal(project.result("first").parameters.values, found.parameters.values)
    (shown,) = identify.view(project, Arguments())["results"]
    assert shown["command"].startswith("inertica identify card.yaml ") and "@0.5:7.5 --quick" in shown["command"]

    other = ia.identify(project.card, project.role("identify"), quick=True, method="ols")
    ia.write_folder(other, project.folder / "results" / "second", project.role("identify"))
    trust.select(project, Arguments({"result": "second"}))
    assert not trust.view(project, Arguments())["prepared"]
    with pytest.raises(Refused, match="not worked out"):
        trust.torque(project, Arguments({"result": "second"}))
    work(project, "trust", "prepare", tmp_path, result="second")
    view = trust.view(project, Arguments())
    assert view["prepared"] and view["summary"]["verdict"]["level"] in ("good", "doubtful")
    series = trust.torque(project, Arguments({"result": "second", "joint": 1.0}))
    assert series.values.shape == (len(series.t), 3)
    assert np.allclose(series.values[:, 0] - series.values[:, 1], series.values[:, 2], equal_nan=True)
    pair = identify.compare(project, Arguments({"first": "first", "second": "second"}))
    assert pair["shared"] and len(pair["differences"]) > 4 and "same log" in pair["sentence"]

    for kind in ("urdf", "mjcf", "parameters", "report", "python"):
        written = work(project, "export", "write", tmp_path, result="first", format=kind)
        assert all((project.folder / file).is_file() for file in written["files"])
    files = {f["file"] for f in export.view(project, Arguments())["files"]}
    assert {"exports/identified.urdf", "exports/identified.extra.yaml", "exports/identified-mjcf.xml"} <= files
    again = ia.load(project.folder / "exports" / "identified.extra.yaml")
    assert np.allclose(again.prior.on(found.parameters.layout).values, found.parameters.values, rtol=1e-9, atol=1e-12)

    lines_shown_do_what_they_say(project, monkeypatch)
    reopened = Project(project.folder)
    assert reopened.results == ["first", "second"] and trust.selected(reopened) == "second"
    assert all(room.state(reopened)[0] in ("done", "attention") for room in ROOMS.values() if not room.extra)


LOAD_MASS, LOAD_AT = 1.2, 0.3


@pytest.fixture
def loaded(tmp_path):
    """A project of the arm with three logs: without load, with a ball of known mass in its hand, and currents of both."""
    card = arm.write(tmp_path / "arms")
    ball = arm.URDF.replace(
        "</robot>",
        f'''<joint name="held" type="fixed"><parent link="fore"/><child link="ball"/>
      <origin xyz="{LOAD_AT} 0 0"/></joint><link name="ball"><inertial><mass value="{LOAD_MASS}"/>
      <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>''',
    )
    (card.parent / "held.urdf").write_text(ball)
    (card.parent / "held.yaml").write_text(card.read_text().replace("arm.urdf", "held.urdf"))
    empty = arm.log(card, tmp_path / "empty.npz")
    full = arm.log(card.parent / "held.yaml", tmp_path / "full.npz", seed=1)
    project = prepare(tmp_path / "project", card, [empty, full])
    for name, gains in (("empty", (20.0, 9.0)), ("full", (20.0, 9.0))):
        log = ia.read_log(tmp_path / f"{name}.npz", project.description)
        rows = np.column_stack([log.t, log.need("q"), log.need("tau") / gains])
        np.savetxt(tmp_path / f"{name}-i.csv", rows, delimiter=",", header="t,q1,q2,i1,i2", comments="")
        project.add_log(project.link(tmp_path / f"{name}-i.csv"))
    return project


@pytest.mark.slow
def test_a_load_is_found_and_written(loaded, tmp_path, monkeypatch):
    asked = {"unloaded": ["empty.npz"], "loaded": ["full.npz"], "frame": f"{LOAD_AT},0,0", "name": "payload-1"}
    work(loaded, "payload", "find", tmp_path, **asked)
    view = ROOMS["payload"].view(loaded, Arguments())
    low, high = view["last"]["mass"]["interval"]
    assert low <= LOAD_MASS <= high and high - low < 0.3 * LOAD_MASS
    assert all((loaded.folder / file).is_file() for file in view["files"]) and "exports/payload-1/load.urdf" in view["files"]
    with pytest.raises(Refused, match="tick at least one log with the load"):
        work(loaded, "payload", "find", tmp_path, unloaded=["empty.npz"])
    monkeypatch.chdir(loaded.folder)
    for line in view["same"]["shell"]:
        assert main(shlex.split(line)[1:]) == 0, line
    exec("\n".join(view["same"]["python"]), {})


@pytest.mark.slow
def test_gains_are_found_and_become_the_robots(loaded, tmp_path, monkeypatch):
    with pytest.raises(Refused, match="no gains were found yet"):
        ROOMS["gains"].actions["keep"](loaded, Arguments())
    place = [LOAD_AT, 0.0, 0.0]
    work(loaded, "gains", "find", tmp_path, unloaded=["empty-i.csv"], loaded=["full-i.csv"], mass=LOAD_MASS, com=place)
    view = ROOMS["gains"].view(loaded, Arguments())
    for gain, true in zip(view["last"]["gains"], (20.0, 9.0), strict=True):
        assert gain["interval"][0] <= true <= gain["interval"][1] and gain["label"] == "determined"
    ROOMS["gains"].actions["keep"](loaded, Arguments())
    assert loaded.card_keys()["torque"]["gain"] == [gain["value"] for gain in view["last"]["gains"]]
    assert ROOMS["gains"].state(loaded) == ("done", "stated")
    monkeypatch.chdir(loaded.folder)
    for line in view["same"]["shell"]:
        assert main(shlex.split(line)[1:]) == 0, line
    exec("\n".join(view["same"]["python"]), {})


def test_errors_name_the_field_of_the_page(tmp_path):
    """No YAML and no flags: what a card would say is a field in a room."""
    project = prepare(tmp_path / "project", arm.write(tmp_path / "arms"), [])
    (project.folder / "logs" / "odd.csv").write_text("alpha,beta\n1,2\n3,4\n")
    (project.folder / "logs" / "current.csv").write_text("t,q1,q2,i1,i2\n" + "".join(f"{k},0,0,1,1\n" for k in range(9)))
    for name in ("odd.csv", "current.csv"):
        project.add_log(f"logs/{name}")
    odd = data.describe(project, Arguments({"log": "odd.csv"}))
    assert odd["field"] == {"room": "data", "element": "columns"} and "How this log is read" in odd["error"]
    with pytest.raises(ia.InputError) as current:
        project.read_log("current.csv").need("tau")
    problem = error_document(current.value)
    assert problem["field"] == {"room": "robot", "element": "gain-1"} and "N m per A" in problem["error"]
    for said in (odd["error"], problem["error"]):
        assert "card" not in said and "--" not in said and "{" not in said


def test_what_was_dropped_is_deleted_only_where_that_was_asked(tmp_path):
    project = prepare(tmp_path / "project", arm.write(tmp_path / "arms"), [])
    for file in ("logs/a.csv", "logs/b.csv", "model/old.urdf"):
        (project.folder / file).write_text("t,q1,q2\n0,0,0\n")
    for name in ("a.csv", "b.csv"):
        project.add_log(f"logs/{name}")
    data.remove(project, Arguments({"log": "a.csv"}))
    data.remove(project, Arguments({"log": "b.csv", "file": True}))
    assert [p.name for p in (project.folder / "logs").iterdir()] == ["a.csv"] and project.logs == []
    linked = project.add_log(project.link(tmp_path / "arms" / "robot" / "arm.urdf"))
    data.remove(project, Arguments({"log": linked.name, "file": True}))
    assert (tmp_path / "arms" / "robot" / "arm.urdf").is_file()  # a file of somebody's, not of the project
    robot.remove(project, Arguments({"file": "model/old.urdf"}))
    assert not (project.folder / "model" / "old.urdf").exists()
    for name in ("card.yaml", "model/../card.yaml", "logs/a.csv"):
        with pytest.raises(Refused, match="dropped on the page"):
            robot.remove(project, Arguments({"file": name}))
    (project.folder / "model" / "arm.urdf").write_text(arm.URDF)
    project.choose_robot("model/arm.urdf")
    with pytest.raises(Refused, match="in use"):
        robot.remove(project, Arguments({"file": "model/arm.urdf"}))


def test_missing_meshes_are_named(tmp_path):
    card = arm.write(tmp_path / "arms")
    project = prepare(tmp_path / "project", card, [])
    assert robot.view(project, Arguments())["missing"] == ["../../secret.stl"]
    (card.parent / "meshes" / "fore.stl").unlink()
    assert robot.view(project, Arguments())["missing"] == ["meshes/fore.stl", "../../secret.stl"]


def test_actuators_are_found_from_commands_and_positions(tmp_path):
    """The job writes result, values and report; the page's table and series are those of the public calls."""
    links = quadruped()[:3]
    rng = np.random.default_rng(3)
    servos = random_servos(rng, 3, 0.4)
    model = write_model(links, tmp_path / "leg.xml")
    logs = []
    for name in ("fit", "other"):
        u = command(rng, 3, 5.0, 100.0)
        q = simulate(links, servos, u, 100.0, settle=1.0) + 3e-4 * rng.normal(size=u.shape)
        table = np.column_stack([np.arange(len(u)) / 100.0, q, u])
        logs.append(tmp_path / f"{name}.csv")
        np.savetxt(logs[-1], table, delimiter=",", comments="", header="t,q1,q2,q3,qr1,qr2,qr3")
    project = prepare(tmp_path / "project", model, logs)
    room = ROOMS["actuators"]
    fitted, other = (entry.name for entry in project.logs)
    with pytest.raises(Refused, match="tick at least one log"):
        work(project, "actuators", "find", tmp_path, fitted=[], name="actuators")
    asked = {"fitted": [fitted], "validate": [other], "name": "actuators"}
    with pytest.raises(Refused, match="one number, or 3"):
        work(project, "actuators", "find", tmp_path, **asked, kp="1,2")
    kp, kd = (",".join(f"{x:.17g}" for x in values) for values in (servos.kp, servos.kd))
    work(project, "actuators", "find", tmp_path, **asked, kp=kp, kd=kd)
    last = room.view(project, Arguments())["last"]
    for j, row in enumerate(last["values"]):
        low, high = row["armature"]["interval"]
        assert abs(row["armature"]["value"] - servos.armature[j]) < 2.0 * (high - low)
        assert row["kp"] == {"value": pytest.approx(servos.kp[j]), "interval": None, "label": "stated"}
    (run,) = last["runs"]
    assert not run["fitted"] and all(after < before for after, before in zip(run["rms"], run["before"], strict=True))
    assert all((project.folder / file).is_file() for file in last["files"])
    series = room.series["motion"](project, Arguments({"log": 0, "joint": 1}))
    measured, _, after = series.values.T
    assert np.sqrt(np.mean((measured - after) ** 2)) == pytest.approx(run["rms"][1], rel=1e-3)
    with pytest.raises(Refused, match="1 free runs of 3 joints"):
        room.series["motion"](project, Arguments({"log": 1, "joint": 0}))
    shell = room.view(project, Arguments())["same"]["shell"][0]
    assert f"--kp {kp}" in shell and "--validate" in shell
