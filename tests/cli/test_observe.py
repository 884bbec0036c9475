"""`inertica observe`: limits and alarms of a log, JSON, table, C program, stdin, bad input."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
import pair
from inertica.cli.main import main


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    return pair.identified().save(tmp_path_factory.mktemp("observed") / "result")


def answered(capsys, *words: object) -> dict:
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def pushed(source: str, target: Path, torque: float) -> Path:
    """A log whose second joint is pushed for the last quarter of it."""
    rows = np.loadtxt(source, delimiter=",", skiprows=1)
    with open(source, encoding="utf-8") as file:
        header = file.readline().strip()
    rows[3 * len(rows) // 4 :, header.split(",").index("tau2")] -= torque
    np.savetxt(target, rows, delimiter=",", header=header, comments="", fmt="%.12g")
    return target


def test_a_push_is_noticed_and_nothing_else(saved: Path, tmp_path: Path, capsys) -> None:
    _, fit, other = pair.files()
    quiet = answered(capsys, "observe", saved, other, "--calibrate", fit, "--period", "60")
    assert quiet["events"] == [] and quiet["learned"]["logs"] == {"stated": 1}
    wanted = 4.0 * quiet["joints"][1]["smallest_detectable"] + quiet["joints"][1]["at_rest"]
    log = pushed(other, tmp_path / "pushed.csv", wanted)
    out = answered(
        capsys, "observe", saved, log, "--calibrate", fit, "--period", "60", "-o", tmp_path / "x.csv", "--program", tmp_path / "c"
    )
    assert {event["joint"] for event in out["events"]} == {"elbow"}
    t = np.loadtxt(log, delimiter=",", skiprows=1)[:, 0]
    assert out["events"][0]["time"] == pytest.approx(t[3 * len(t) // 4], abs=0.5)
    assert out["events"][0]["torque"] > 0.5 * wanted
    with open(tmp_path / "x.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["t", "external1", "external2", "threshold1", "threshold2"]
    assert sorted(Path(file).suffix for file in out["program"]) == [".c", ".c", ".c", ".h", ".h"]
    assert main(["observe", str(saved), str(log), "--calibrate", fit, "--force", "elbow:0.1,0,0"]) == 0
    text = capsys.readouterr().out
    assert "smallest noticed" in text and "not determined" in text and max(map(len, text.splitlines())) <= 100


def test_lines_from_stdin(saved: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    _, fit, other = pair.files()
    log = pushed(other, tmp_path / "pushed.csv", 50.0)
    monkeypatch.setattr("sys.stdin", io.StringIO(log.read_text()))
    assert main(["observe", str(saved), "-", "--calibrate", fit, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines][:2] == ["thresholds", "contact"] and lines[1]["joint"] == "elbow"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["--period", "0"], "period"), (["--bandwidth", "-1"], "bandwidth"), (["--force", "knee"], "is no joint"),
     (["--force", ""], "is no joint"), (["--force", "²"], "is no joint"), (["--force", "9" * 5000], "is no joint"),
     (["--force", "2:nan,0,0"], "LINK:x,y,z"), (["--wrench", "2:0,inf,0"], "LINK:x,y,z"), (["-o", "x.txt"], "should end in .csv")],
)  # fmt: skip
def test_bad_options_are_sentences(saved: Path, words: list[str], sentence: str, capsys) -> None:
    _, fit, other = pair.files()
    assert main(["observe", str(saved), other, "--calibrate", fit, *words]) == 2
    assert sentence in capsys.readouterr().err


def test_logs_that_are_gone_are_named(tmp_path: Path) -> None:
    gone = replace(pair.identified(), logs={"identification": (str(tmp_path / "gone.csv"),)})
    with pytest.raises(ia.InputError, match=r"motion without contact.*gone\.csv"):
        ia.observer(gone)
