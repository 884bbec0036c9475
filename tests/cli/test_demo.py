"""`inertica demo`: the whole way, held against the truth."""

import json
import re
import shlex
import tempfile
from pathlib import Path

import numpy as np
import pytest

from inertica.cli import console
from inertica.cli.main import command_parser, main
from inertica.dynamics.engine import Engine
from inertica.excitation import catalog_trajectory
from inertica.identifiability.base import base_model, engine
from inertica.robot.load import load


def test_the_whole_way(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path / "demo"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["base_count"] == 52 and document["rate"] == 5000.0
    assert max(document["tracking_rms"]) < 0.01
    assert document["check"] != "problem"
    assert {m["method"] for m in document["methods"]} >= {"ols", "wls", "irls", "pc-wls", "didim"}
    assert document["residual"]["validation"]["filtered"]["all"] < 0.05
    errors = np.abs(list(document["base_errors"].values()))
    assert len(errors) > 20 and np.median(errors) < 0.02 and errors.max() < 0.2
    assert (tmp_path / "demo" / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    for file in document["files"]:
        assert (tmp_path / "demo").as_posix() in file


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--robot", "nothing"], "no robot or file 'nothing'"),
        (["--noise", "loud"], "no noise preset 'loud'"),
        (["-o", "/dev/null/x"], "the folder cannot be written"),
    ],
)
def test_bad_input_is_one_sentence(words, said, capsys):
    assert main(["demo", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_reduced_engine_simulates_the_same_robot():
    robot = load("planar2")  # has fixed parameters
    prior = robot.prior.replaced({"MY1": 0.4, "MY2": -0.3})
    q, dq, _ = catalog_trajectory("planar2").trajectory(np.arange(500) * 2e-3)
    gains = {"kp": robot.loop["kp"], "kd": robot.loop["kd"]}
    full = Engine(robot.layout).simulate(prior, {"q": q, "dq": dq}, gains, 2e-3)
    reduced = engine(base_model(robot.layout)).simulate(prior, {"q": q, "dq": dq}, gains, 2e-3)
    assert reduced.q == pytest.approx(full.q, abs=1e-9)


def test_it_ends_with_the_verdict_the_report_and_the_next_command(capsys, tmp_path, monkeypatch):
    """The next command is one that can be typed: the parser takes it, and the files that it names are there."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(console, "COLUMNS", 1000)  # paths of tests are long
    monkeypatch.setenv("COLUMNS", "1000")
    assert main(["demo", "--robot", "scara4"]) == 0
    lines = capsys.readouterr().out.rstrip().splitlines()
    assert lines[0] == "scara4: 4 joints, 52 standard and 19 base parameters"
    start = next(k for k, line in enumerate(lines) if line.startswith("Verdict: "))
    end = " ".join("\n".join(lines[start:]).split())
    report = re.search(r"Report: (\S+)", end)
    assert report and Path(report[1]).is_file() and tmp_path in Path(report[1]).parents
    command = shlex.split(end.partition("Next: inertica identify ")[2])
    assert len(lines) - start <= 5 and command_parser("identify").checked(command)
    assert all(Path(word).is_file() for word in command if word.endswith(".csv.gz"))
