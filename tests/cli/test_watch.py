"""`inertica watch`: lines, JSON lines, stdin, bad input."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from inertica.cli.main import main


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("watch") / "log.csv"
    assert main(["simulate", "tx40", "-o", str(path), "--noise", "standard", "--duration", "4"]) == 0
    return str(path)


def test_plain_lines_and_a_table_at_the_end(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "tx40", log, "--every", "2"]) == 0
    out = capsys.readouterr().out
    assert "2.00 s" in out and "of 52 parameters known to 10 %" in out and "learning" in out
    assert "± 95 %" in out and "Fc3" in out


def test_json_lines(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "tx40", log, "--every", "1", "--json", "--speed", "1000"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    first, *events = events
    assert first["event"] == "prior" and "15 % off its values" in first["text"]  # the log is simulated
    assert [e["event"] for e in events] == ["estimate"] * 4
    assert len(events[-1]["parameters"]) == 52
    name = "Fv2"
    std = [e["parameters"][name]["std"] for e in events]
    assert all(s is not None for s in std[1:]) and std[-1] < std[1]


def test_a_stated_cutoff_and_the_one_that_was_found(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for words in (["--cutoff", "15", "--delay", "0.0001"], []):
        assert main(["watch", "tx40", log, "--every", "4", "--json", *words]) == 0
        found.append(json.loads(capsys.readouterr().out.splitlines()[-1])["cutoff"])
    assert found[0] == 15.0 and 5.0 < found[1] < 60.0


def test_lines_from_stdin(log: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with open(log, encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", io.StringIO(file.read()))
    assert main(["watch", "tx40", "-", "--every", "4", "--json"]) == 0
    piped = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main(["watch", "tx40", log, "--every", "4", "--json"]) == 0
    read = json.loads(capsys.readouterr().out.splitlines()[-1])
    one, other = (np.array([p["value"] for p in e["parameters"].values()]) for e in (piped, read))
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--speed", "0"], "--speed should be greater than zero"),
        (["--forgetting", "2"], "forgetting factor"),
        (["--cutoff", "0"], "--cutoff should be greater than zero"),
        (["--delay", "0.001,0.002"], "one number or 6"),
    ],
)
def test_bad_input(log: str, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "tx40", log, *words]) == 2
    assert sentence in capsys.readouterr().err
