"""`payload --online`: lines while samples come, and the load at the end."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

import inertica as ia
from inertica.cli.main import main

FIXED = {"delay": 0.0, "friction": ("viscous", "coulomb"), "quick": True, "method": "wls"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A result of the arm without load, and a log with 2 kg on its last link."""
    folder = tmp_path_factory.mktemp("online")
    robot = ia.load("scara2")
    heavier = replace(robot, prior=robot.prior.replaced({"M2": robot.prior["M2"] + 2.0}))
    ia.identify("scara2", ia.simulate("scara2", noise="standard"), **FIXED).save(folder / "result")
    ia.simulate(heavier, noise="standard", seed=3)[0].save(folder / "loaded.csv")
    return folder


def test_the_load_converges(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "payload",
        "--robot-from",
        str(folder / "result"),
        "--loaded",
        str(folder / "loaded.csv"),
        "--online",
        "--flange=0,0,0",
    ]
    assert main([*words, "--every", "2", "-o", str(folder / "load")]) == 0
    said = capsys.readouterr().out
    assert said.count("s  load of") == 5 and (folder / "load" / "load.urdf").is_file()
    assert main([*words, "--every", "2", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [e["event"] for e in events] == ["load"] * 5
    low, high = events[-1]["mass"]["interval"]
    assert events[-1]["mass"]["value"] == pytest.approx(2.0, rel=0.05) and low < 2.0 < high
    first = events[0]["mass"]["interval"]
    assert first is None or first[0] is None or high - low < first[1] - first[0]


def test_lines_from_stdin(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO((folder / "loaded.csv").read_text()))
    words = [
        "payload",
        "--robot-from",
        str(folder / "result"),
        "--loaded",
        "-",
        "--online",
        "--flange=0,0,0",
        "--every",
        "20",
        "--json",
    ]
    assert main(words) == 0
    (event,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert event["mass"]["value"] == pytest.approx(2.0, rel=0.05) and event["logs"] == {"loaded": ["samples as they came"]}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["scara2", "--loaded", "x.csv", "--online"], "payload --online needs a result"),
        (["--robot-from", "RESULT", "--loaded", "a", "b", "--online"], "payload --online needs a result"),
        (["--robot-from", "RESULT", "--loaded", "a", "--online", "--every", "0"], "--every should be greater than zero"),
        (["--robot-from", "RESULT", "--loaded", "LOG", "--online", "--forgetting", "2"], "forgetting factor"),
    ],
)
def test_bad_input(folder: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    places = {"RESULT": str(folder / "result"), "LOG": str(folder / "loaded.csv")}
    assert main(["payload", *(places.get(w, w) for w in words)]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
