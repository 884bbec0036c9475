"""`inertica identify`: the JSON document, the folder, the text, and bad input in one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import pair
from inertica.cli.main import main
from inertica.workflow.identify.result import Result
from pair import files, refused

QUICK = ("--cutoff", "10", "--delay", "0", "--friction", "viscous,coulomb", "--method", "wls")
KEYS = {
    "method", "base_count", "condition", "filter", "physically_consistent", "residual", "parameters", "base", "time", "warnings"
}  # fmt: skip


def identified(capsys, *words) -> dict:
    assert main(["identify", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_has_what_the_design_promises(capsys):
    robot, fit, other = files()
    document = identified(capsys, robot, fit, "--validate", f"{other}@1.0:5", *QUICK)
    assert set(document) >= KEYS
    assert set(document["residual"]) == {"identification", f"{other}@1.0:5"}  # the name as it was typed
    for residual in document["residual"].values():
        for kind in ("raw", "filtered"):
            assert len(residual[kind]["per_joint"]) == 2 and 0.0 < residual[kind]["all"] < 0.2
    assert set(document["parameters"][0]) >= {"name", "value", "std", "prior", "label"}
    assert set(document["base"][0]) >= {"name", "value", "std", "relation"}
    assert document["base_count"] == len(document["base"]) and document["method"] == "wls"
    values = {p["name"]: p for p in document["parameters"]}
    assert values["Fv1"]["value"] == pytest.approx(0.5, rel=0.1) and values["Fv1"]["label"] == "determined"
    assert values["M1"]["std"] is None and values["M1"]["label"] == "unidentifiable"


def test_before_verdict_and_decisions_are_in_the_document(capsys):
    robot, fit, other = files()
    document = identified(capsys, robot, fit, "--validate", other, *QUICK)
    before, judged = document["before"], document["verdict"]
    assert before["data_set"] == judged["data_set"] == other and before["friction"] and before["masses"]
    assert set(before) >= set(document["residual"][other]) and judged["residual"] == document["residual"][other]["raw"]["all"]
    assert set(judged) >= {"headline", "sentence", "next"} and judged["level"] == "good" and judged["reasons"] == []
    keys = {"subject", "chosen", "candidates", "score", "score_without", "disagreement"}
    assert [d["subject"] for d in document["decisions"]] == [c["subject"] for c in document["choices"]]
    assert all(set(d) == keys for d in document["decisions"])


def test_the_first_line_is_what_was_gained(capsys):
    robot, fit, other = files()
    assert main(["identify", robot, fit, "--validate", other, *QUICK, "--full"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    first = re.match(r"The model you came with leaves ([\d.]+) %, the identified one ([\d.]+) %", out)
    assert first and re.search(rf"run2\.csv raw {first[2]} ", out) and re.search(rf"model that came in raw {first[1]} ", out)
    for words in (
        "XX moment of inertia about x",
        "MX first moment of mass along x",
        "Ia inertia of the drive",
        "Fv viscous friction",
    ):
        assert words in out  # symbols are explained where they are


def test_everything_is_chosen_when_nothing_is_fixed(capsys):
    robot, fit, _ = files()
    document = identified(capsys, robot, fit)
    subjects = ["filter", "delay", "gravity", "friction", "method", "pull towards the prior", "correction", "intervals"]
    assert [c["subject"] for c in document["choices"]] == [*subjects, "friction near standstill"]
    assert all(c["automatic"] and c["sentence"] for c in document["choices"])
    assert set(document["residual"]) == {"identification", "hold-out"} and document["filter"]["why"]


def test_how_the_robot_is_mounted_is_part_of_the_document(capsys, tmp_path):
    robot, fit, _ = files()
    found = identified(capsys, robot, fit, *QUICK, "-o", tmp_path / "out")["gravity"]
    assert found["direction"] == [0.0, 0.0, -1.0] and found["automatic"] and found["tested"] and not found["accepted"]
    assert len(found["lean"]) == len(found["interval"]) == 2 and found["why"]
    assert yaml.safe_load((tmp_path / "out" / "robot.yaml").read_text())["gravity"] == [0.0, 0.0, -9.81]
    stated = identified(capsys, robot, fit, *QUICK, "--gravity=0,0,-9.80665")["gravity"]
    assert stated["gravity"] == [0.0, 0.0, -9.80665] and not stated["automatic"]


@pytest.mark.parametrize("words", ["1,2", "0,0,0", "down", "1,2,x", "nan,0,1", ""])
def test_gravity_without_a_direction_is_refused(capsys, words):
    robot, fit, _ = files()
    assert "gravity" in refused(capsys, "identify", robot, fit, f"--gravity={words}")


def test_the_folder_holds_everything_and_loads_again(tmp_path, capsys):
    robot, fit, other = files()
    document = identified(capsys, robot, fit, "--validate", other, *QUICK, "-o", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "result.json", "result.npz", "robot.yaml", "model.urdf", "identified.urdf", "identified.extra.yaml", "parameters.csv",
        "report.html",
    }  # fmt: skip
    assert Path(document["files"][0]).name == "result.json"
    stored = json.loads((tmp_path / "out" / "result.json").read_text())
    assert {p["name"]: p["value"] for p in stored["parameters"]} == {p["name"]: p["value"] for p in document["parameters"]}
    assert set(stored["residual"]) == {"identification", other}
    assert Result.load(tmp_path / "out").labels == {p["name"]: p["label"] for p in document["parameters"]}


def test_text_says_the_same_and_warnings_come_last(capsys):
    robot, fit, other = files()
    assert main(["identify", robot, fit, "--validate", other, *QUICK, "--full"]) == 0
    said = capsys.readouterr()
    assert max(map(len, said.out.splitlines())) <= 100 and said.out.splitlines()[-1].startswith("Verdict: ")
    assert "pair: " in said.out and "base parameters by wls" in said.out and "run2.csv" in said.out
    assert "given, not chosen" in said.out and " determined" in said.out and "MX2" in said.out
    assert all(line.startswith("inertica: warning: ") for line in said.err.splitlines())


def test_several_logs_enter_one_fit(capsys):
    robot, fit, other = files()
    one = identified(capsys, robot, fit, *QUICK)
    two = identified(capsys, robot, fit, other, *QUICK)
    spread = {p["name"]: p["std"] for p in one["parameters"]}
    tighter = [p["std"] < spread[p["name"]] for p in two["parameters"] if p["std"] and spread[p["name"]]]
    assert np.mean(tighter) > 0.7 and two["residual"]["identification"]["samples"] == 2400


def test_options_are_checked(capsys):
    robot, fit, _ = files()
    assert "did you mean 'wls'?" in refused(capsys, "identify", robot, fit, "--method", "wlss")
    assert "'x' is not a number" in refused(capsys, "identify", robot, fit, "--delay", "0,x")
    assert "one for each of 2 joints" in refused(capsys, "identify", robot, fit, "--delay", "0,0,0", "--cutoff", "10")
    assert "greater than zero" in refused(capsys, "identify", robot, fit, "--cutoff", "-3")
    assert "half the sampling rate" in refused(capsys, "identify", robot, fit, "--cutoff", "400")
    assert "did you mean 'viscous'?" in refused(capsys, "identify", robot, fit, "--friction", "viscos")
    assert "`inertica friction` identifies it" in refused(capsys, "identify", robot, fit, "--friction", "lugre")
    assert "no law" in refused(capsys, "identify", robot, fit, "--friction", ",")
    assert "is a file" in refused(capsys, "identify", robot, fit, "-o", fit)
    assert "required" in refused(capsys, "identify", robot)


def test_help_lists_the_methods(capsys):
    assert main(["identify", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "wls" in said and "irls" in said and "--validate" in said


def constant(column, value):
    def edit(table):
        table[:, column] = value

    return edit


@pytest.mark.parametrize(
    ("still", "edit", "said"),
    [
        ((0, 1), None, "no joint moves"),
        ((), constant(2, np.nan), "the position of joint 2 (elbow) has no usable values"),
        ((), constant([3, 4], np.nan), "the torque of joint 1 (shoulder) has no usable values"),
        ((), constant(4, 0.0), "the torque of joint 2 (elbow) is zero throughout"),
    ],
)
def test_logs_that_determine_nothing_are_refused(still, edit, said, tmp_path, capsys):
    robot, *_ = files()
    log = pair.write_log(Path(robot), tmp_path / "log.csv", still=still, edit=edit)
    sentence = refused(capsys, "identify", robot, log, "-o", tmp_path / "out")
    assert said in sentence and "log.csv" in sentence
    assert not (tmp_path / "out").exists() and [p.name for p in tmp_path.iterdir()] == ["log.csv"]


def test_a_still_joint_is_fine_when_another_log_moves_it_or_the_card_leaves_it_out(tmp_path, capsys):
    robot, fit, other = files()
    log = pair.write_log(Path(robot), tmp_path / "log.csv", still=(0,))
    assert identified(capsys, robot, fit, log, "--validate", other, *QUICK)["base_count"] == 12
    card = {"model": robot, "joints": ["elbow"], "columns": {"q": ["q2"], "tau": ["tau2"]}}
    (tmp_path / "card.yaml").write_text(yaml.safe_dump(card))
    document = identified(capsys, tmp_path / "card.yaml", log, *QUICK)
    assert document["residual"]["hold-out"]["raw"]["all"] < 0.05


def test_missing_values_are_masked_and_said(tmp_path, capsys):
    def edit(table):
        table[100:110, 1] = np.nan
        table[300, 4] = np.nan

    robot, *_ = files()
    log = pair.write_log(Path(robot), tmp_path / "log.csv", edit=edit)
    document = identified(capsys, robot, log, *QUICK)
    assert any("10 values of 'q1' are missing" in w for w in document["warnings"])
    assert document["residual"]["identification"]["raw"]["all"] < 0.1


def test_logs_of_other_robots(tmp_path, capsys):
    robot, fit, _ = files()
    rng = np.random.default_rng(0)
    header = "t,q1,q2,q3,tau1,tau2,tau3"
    table = np.column_stack([np.arange(300) / 100, rng.normal(size=(300, 6))])
    np.savetxt(tmp_path / "three.csv", table, delimiter=",", header=header, comments="")
    assert "there are 2 joints" in refused(capsys, "identify", robot, tmp_path / "three.csv")
    assert "three.csv" in refused(capsys, "identify", robot, fit, "--validate", tmp_path / "three.csv")

    def noise(values):
        values[:, 3:] = rng.normal(size=(len(values), 2))

    strange = pair.write_log(Path(robot), tmp_path / "strange.csv", edit=noise)
    document = identified(capsys, robot, fit, "--validate", strange, *QUICK)
    assert document["verdict"]["level"] == "bad" and "the robot itself may be" in document["verdict"]["next"]
    first = document["verdict"]["reasons"][0]
    assert set(first) == {"what", "joints", "value", "limit"} and first["value"] > first["limit"] and first["joints"] == []


def test_missing_and_empty_files(tmp_path, capsys):
    robot, fit, _ = files()
    assert "no such file" in refused(capsys, "identify", robot, tmp_path / "none.csv")
    assert "no such file" in refused(capsys, "identify", tmp_path / "none.urdf", fit)
    assert "no such file" in refused(capsys, "identify", robot, fit, "--validate", tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in refused(capsys, "identify", robot, tmp_path / "empty.csv")
    pair.write_log(Path(robot), tmp_path / "log.csv")
    assert "log.csv" in refused(capsys, "identify", robot, f"{tmp_path / 'log.csv'}@50:60")


def test_a_log_that_is_too_short(tmp_path, capsys):
    robot, fit, _ = files()
    assert "few" in refused(capsys, "identify", robot, f"{fit}@0:0.2")


def test_a_real_record_by_all_defaults(real_data, tmp_path, capsys):
    """Coupled wrist, four seconds to fit, the rest to predict."""
    (tmp_path / "card.yaml").write_text(f"model: {real_data / 'tx40' / 'tx40.urdf'}\ncoupling: [{{motor: 6, joints: [5, 6]}}]\n")
    log = f"{real_data / 'tx40' / 'tx40_joint_public.csv.gz'}"
    out = tmp_path / "out"
    document = identified(capsys, tmp_path / "card.yaml", f"{log}@0:4.0", "--validate", f"{log}@4.0:5.2", "-o", out)
    assert document["residual"][f"{log}@4.0:5.2"]["raw"]["all"] <= 0.169
    assert (out / "identified.urdf").exists() and (out / "report.html").stat().st_size < 3_000_000


def test_friction_laws_that_no_motion_tells_apart_are_refused(capsys):
    model, log, _ = pair.files()
    said = pair.refused(capsys, "identify", model, log, "--friction", "coulomb,directional")
    assert "joint 1 has the friction laws 'coulomb' and 'directional'" in said
