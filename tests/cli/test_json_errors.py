"""With --json an error is one JSON document on stdout, whatever the command and whatever went wrong; exit codes are as without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from inertica.cli import console
from inertica.cli.main import COMMANDS, main
from inertica.errors import FileError, InerticaError, InputError
from inertica.robot.load import load

DH = "name: one\ntypes: [R]\ndh: {convention: proximal, alpha: [0], a: [0], d: [0], theta: [0]}\n"
KEYS = {"kind", "message", "file", "line", "joint"}

POSITIONAL = {
    "actuators": ["no.yaml", "no.csv"],
    "advise": ["no.yaml", "--json"],
    "benchmark": ["no-folder"],
    "campaign": ["no.yaml"],
    "check": ["no.yaml", "no.csv"],
    "check-model": ["no.yaml"],
    "compare": ["no.yaml", "no.csv"],
    "completion": ["no-shell"],
    "demo": ["--robot", "no-robot"],
    "drive-gains": ["no.yaml", "--unloaded", "no.csv", "--loaded", "no.csv", "--mass", "1"],
    "doctor": ["--seconds", "soon"],
    "dynamics": ["no.yaml"],
    "excite": ["no.yaml", "-o", "out.yaml"],
    "export": ["no-result", "--urdf", "out.urdf"],
    "figure": ["no-result", "trust", "-o", "out.pdf"],
    "fleet": ["no-result", "none-either"],
    "fit-loop": ["no.yaml", "no.csv"],
    "friction": ["no.yaml", "no.csv"],
    "grade": ["no.urdf"],
    "identify": ["no.yaml", "no.csv"],
    "import-cad": ["no.yaml", "no.csv", "-o", "out.yaml"],
    "loads": ["no.yaml", "no-experiment.yaml"],
    "observe": ["no-result", "no.csv"],
    "payload": ["no.yaml", "--unloaded", "no.csv", "--loaded", "no.csv"],
    "predict": ["no-result", "no.csv"],
    "reduce": ["no.yaml", "no.csv"],
    "repair": ["no.yaml", "-o", "out.urdf"],
    "report": ["no-result"],
    "reproduce": ["no-study"],
    "robots": ["unexpected"],
    "simulate": ["no.yaml", "-o", "out.csv"],
    "studio": ["no.yaml", "--no-browser", "--project", "file/project"],
    "truth": ["no-result", "no.yaml"],
    "watch": ["no.yaml", "no.csv"],
    "show": ["no.yaml"],
}
"""A command line of each command that names something that is not there."""


def error_of(capsys, *words: object, code: int = 2) -> dict:
    """The one document that a command line leaves on stdout; stderr has its sentence."""
    assert main([*map(str, words)]) == code
    said = capsys.readouterr()
    assert said.out.count("\n") == 1, said.out
    document = json.loads(said.out)
    assert set(document) == {"error"} and set(document["error"]) == KEYS
    assert document["error"]["message"] and f"inertica: {console.one_line(document['error']['message'])}" in said.err
    return document["error"]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch) -> Path:
    """An empty folder to be in, with a file that is no folder."""
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_is_tried() -> None:
    assert set(POSITIONAL) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_not_there_is_said_as_json(command: str, capsys, elsewhere: Path) -> None:
    words = [w for w in POSITIONAL[command] if w != "--json"]
    assert error_of(capsys, command, *words, "--json")["kind"] in ("file", "input")
    assert sorted(p.name for p in elsewhere.iterdir()) == ["file"]
    assert main([command, *words]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "words", [["--json", "--no-such-option"], ["--no-such-option=1", "--json"], ["--json", "--quiet", "--verbose"]]
)
def test_mistakes_of_the_command_line_itself(command: str, words: list[str], capsys, elsewhere: Path) -> None:
    error = error_of(capsys, command, *words)
    assert error["kind"] == "input" and "--" in error["message"]
    assert error["file"] is None and error["line"] is None and error["joint"] is None


def test_no_command_and_a_misspelt_one(capsys) -> None:
    assert "there is no command 'idntify'" in error_of(capsys, "idntify", "--json")["message"]
    assert "before the command" in error_of(capsys, "--json")["message"]
    assert main(["idntify", "--", "--json"]) == 2  # behind -- it is no option
    assert capsys.readouterr().out == ""


def test_a_file_says_its_line_and_its_joint(capsys, tmp_path: Path) -> None:
    card = tmp_path / "card.yaml"
    card.write_text(f"{DH}friction: [viscos]\n")
    error = error_of(capsys, "show", card, "--json")
    assert (error["kind"], error["file"], error["line"], error["joint"]) == ("file", str(card), 4, None)

    card.write_text(f"{DH}limits: {{lower: [1.0], upper: [-1.0]}}\n")
    error = error_of(capsys, "show", card, "--json")
    assert error["file"] == str(card) and error["line"] == 4
    assert error["joint"] == load("tx40").robot.joint_names[0]  # names of joints that a file does not name

    arm = tmp_path / "arm.urdf"
    arm.write_text(
        '<robot name="a"><link name="b"/><link name="l"/>\n<joint name="knee" type="revolute"><parent link="b"/><child link="l"/>\n'
        '<axis xyz="0 0 0"/></joint></robot>'
    )
    error = error_of(capsys, "show", arm, "--json")
    assert (error["file"], error["line"], error["joint"]) == (str(arm), 3, "knee")


def test_failures_that_are_nobodys_input(capsys, monkeypatch) -> None:
    from inertica.cli import robots

    def raising(error: Exception):
        def run(arguments):
            raise error

        return run

    monkeypatch.setattr(robots, "run", raising(InerticaError("it did not converge", joint=3)))
    assert error_of(capsys, "robots", "--json", code=1) == {
        "kind": "failure", "message": "it did not converge", "file": None, "line": None, "joint": 3,
    }  # fmt: skip
    monkeypatch.setattr(robots, "run", raising(FileError("a.csv", "broken", 7)))
    assert error_of(capsys, "robots", "--json")["message"] == "a.csv:7: broken"
    monkeypatch.setattr(robots, "run", raising(InputError("first\nsecond \x1b[31m")))
    assert error_of(capsys, "robots", "--json")["message"] == "first\nsecond \x1b[31m"


def test_want_of_memory_is_a_sentence(capsys, monkeypatch) -> None:
    def run(arguments: object) -> None:
        raise MemoryError("Unable to allocate 317. GiB")

    monkeypatch.setattr("inertica.cli.robots.run", run)
    assert main(["robots", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["kind"] == "memory"
    assert err.startswith("inertica: this needs more memory than there is (Unable to allocate 317. GiB); shorter logs")


def test_a_fault_of_ours_is_a_document_and_a_traceback(capsys, monkeypatch) -> None:
    from inertica.cli import robots

    def run(arguments):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(robots, "run", run)
    assert main(["robots", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]["kind"] == "internal" and "Traceback" in said.err and "ZeroDivisionError" in said.err
    with pytest.raises(ZeroDivisionError):
        main(["robots"])


def test_streams_of_documents_end_with_the_error(capsys, monkeypatch, tmp_path: Path) -> None:
    """watch writes one document per line; what stops it is the last of them."""
    monkeypatch.setattr("sys.stdin", (line for line in ["t,q1\n", "0,nonsense\n"]))
    card = tmp_path / "card.yaml"
    card.write_text(DH)
    assert main(["watch", str(card), "-", "--json"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert "error" in json.loads(lines[-1]) and all("error" not in json.loads(line) for line in lines[:-1])


def test_a_reader_that_went_away_is_no_error_of_the_command() -> None:
    """Errors go into a closed pipe, too: an exit code and no traceback."""
    inward, outward = os.pipe()
    os.close(inward)
    words = [
        sys.executable,
        "-c",
        "from inertica.cli.main import main; import sys; sys.exit(main())",
        "show",
        "no.yaml",
        "--json",
    ]
    done = subprocess.run(words, stdout=outward, stderr=subprocess.PIPE, text=True)
    os.close(outward)
    assert done.returncode == 2 and "Traceback" not in done.stderr
