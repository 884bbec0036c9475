"""`inertica check`: text, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inertica.cli.main import main
from logs.simulated import changed, clean


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.csv.gz"
    clean(0).write_csv(path)
    return path


def test_a_clean_log(log: Path, capsys) -> None:
    assert main(["check", "tx40", str(log)]) == 0
    said = capsys.readouterr().out
    assert (
        "run.csv.gz" in said
        and "5001 samples in 10 s, 500 Hz" in said
        and "tx40: no fault found; what this motion cannot show: " in " ".join(said.split())
    )
    assert "52 base parameters" in said and max(map(len, said.splitlines())) <= 100


def test_json_carries_the_numbers(log: Path, capsys) -> None:
    assert main(["check", "tx40", f"{log}@1:9", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "fine" and document["logs"] == ["run.csv.gz@1:9"] and document["robot"] == "tx40"
    found = {f["name"]: f for f in document["findings"]}
    assert {"sampling", "gaps", "repeated samples", "quantisation", "saturation", "dead channels", "joint signs"} <= set(found)
    assert {"delay", "standstill", "excitation", "parameters", "residual", "coupling"} <= set(found)
    assert found["sampling"]["numbers"]["rate"] == pytest.approx(500.0)
    assert len(found["delay"]["numbers"]["delay"]) == 6
    assert len(found["parameters"]["numbers"]["base"]) == found["excitation"]["numbers"]["base_count"] == 52
    assert found["excitation"]["numbers"]["directions"][0]["direction"].count("*") >= 1


def test_problems_come_with_what_to_do_and_exit_code_1(tmp_path: Path, capsys) -> None:
    tau = clean(0).tau.copy()
    tau[:, 2] *= -1
    path = tmp_path / "wrong.csv"
    changed(clean(0), tau=tau).write_csv(path)
    assert main(["check", "tx40", str(path)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "PROBLEM joint signs" in said and "-> change the sign of the torque of joint 3" in said


def test_identify_obeys_the_check(tmp_path: Path, capsys) -> None:
    tau = clean(0).tau.copy()
    tau[:, 2] *= -1
    path = tmp_path / "wrong.csv"
    changed(clean(0), tau=tau).write_csv(path)
    words = ["identify", "tx40", str(path), "--method", "ols", "--cutoff", "10", "--delay", "0"]
    assert main(words) == 1
    said = capsys.readouterr()
    assert said.out == "" and "the torque of joint 3 counts the other way round" in said.err and "the option force" in said.err
    assert main([*words, "--force", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["check"]["verdict"] == "problem" and any("joint 3" in w for w in document["warnings"])


@pytest.mark.parametrize("text", ["", "t,q1\n0,0\n", "t,q1,q2,q3,q4,q5,q6\n0,0,0,0,0,0,0\n1,0,0,0,0,0,0\n"])
def test_bad_input_is_one_sentence_and_exit_code_2(text: str, tmp_path: Path, capsys) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert main(["check", "tx40", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and "bad.csv" in said.err


def test_a_log_that_is_not_there(capsys) -> None:
    assert main(["check", "tx40", "nowhere.csv"]) == 2
    assert "nowhere.csv" in capsys.readouterr().err
    assert main(["check", "tx40"]) == 2
    assert "LOG" in capsys.readouterr().err
