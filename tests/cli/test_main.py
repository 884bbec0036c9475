"""The command line as a whole: exit codes, one sentence per mistake, JSON and nothing else, quick help."""

import json
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest

from inertica import __version__
from inertica.cli import console
from inertica.cli.main import COMMANDS, main
from inertica.errors import InerticaError, InputError, ModelWarning

DH = "name: one\ntypes: [R]\ndh: {convention: proximal, alpha: [0], a: [0], d: [0], theta: [0]}\n"


def one_sentence(capsys):
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("inertica: ") and said.err.count("\n") == 1 and "Traceback" not in said.err
    return said.err


def answering(monkeypatch, answer):
    """Replaces what a command does."""
    from inertica.cli import robots

    monkeypatch.setattr(robots, "run", answer)


def raising(error):
    def run(arguments):
        raise error

    return run


def test_help_and_version_come_without_heavy_imports():
    probe = (
        "import sys; from inertica.cli.main import main; code = main(sys.argv[1:]); "
        "print(code, sorted({'numpy', 'numba', 'scipy', 'matplotlib', 'rich'} & set(sys.modules)))"
    )
    for words, said in ((["--help"], "examples:"), (["--version"], __version__), ([], "examples:")):
        done = subprocess.run([sys.executable, "-c", probe, *words], capture_output=True, text=True, check=True)
        assert said in done.stdout and done.stdout.endswith("0 []\n")


def test_importing_the_package_imports_no_compiler_no_plots_no_scipy():
    probe = "import sys, inertica; print(sorted({'numba', 'matplotlib', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example_and_fits(command, capsys):
    assert main([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"examples:\n  inertica {command}" in said and "--json" in said
    assert max(map(len, said.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["shwo"], "did you mean 'show'?"),
        (["show", "--frction", "viscous", "planar2"], "did you mean '--friction'?"),
        (["show", "--jsn"], "did you mean '--json'?"),
        (["--versoin"], "did you mean '--version'?"),
        (["show"], "ROBOT"),
        (["show", "planar2", "another"], "'another'"),
        (["show", "planar2", "--png"], "--png"),
    ],
)
def test_a_mistyped_line_is_one_sentence_with_the_nearest_word(words, hint, capsys):
    assert main(words) == 2
    assert hint in one_sentence(capsys)


def test_options_are_not_abbreviated(capsys):
    assert main(["show", "planar2", "--js"]) == 2
    assert "--json" in one_sentence(capsys)


@pytest.mark.parametrize(("error", "code"), [(InputError("bad\n input"), 2), (InerticaError("it\tfailed\x1b"), 1)])
def test_errors_become_one_clean_line_and_a_code(error, code, monkeypatch, capsys):
    answering(monkeypatch, raising(error))
    assert main(["robots"]) == code
    assert one_sentence(capsys) in ("inertica: bad input\n", "inertica: it failed\N{REPLACEMENT CHARACTER}\n")


def test_unforeseen_errors_are_not_hidden(monkeypatch):
    answering(monkeypatch, raising(ZeroDivisionError("a mistake in the program")))
    with pytest.raises(ZeroDivisionError):
        main(["robots"])


def test_ctrl_c_is_quiet(monkeypatch, capsys):
    answering(monkeypatch, raising(KeyboardInterrupt()))
    assert main(["robots"]) == 130
    said = capsys.readouterr()
    assert said.out == said.err == ""


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_closed_pipe_is_quiet(option):
    writer = subprocess.Popen(
        [sys.executable, "-m", "inertica.cli.main", "robots", *option], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    writer.stdout.close()  # a reader that goes away
    assert writer.stderr.read() == "" and writer.wait() == 141
    writer.stderr.close()


def test_json_is_one_document_with_every_warning_once(monkeypatch, capsys):
    def run(arguments):
        for _ in range(2):
            warnings.warn(ModelWarning("link 'a'\nhas no mass"), stacklevel=1)
        values = {"nan": math.nan, "inf": [-math.inf, 1.5], "array": np.array([[1.0, np.nan]]), "n": np.int64(3), "none": None}
        return console.Answer(values, lambda: ["text"])

    answering(monkeypatch, run)
    assert main(["robots", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == "inertica: warning: link 'a' has no mass\n"
    assert json.loads(said.out) == {
        "nan": None,
        "inf": [None, 1.5],
        "array": [[1.0, None]],
        "n": 3,
        "none": None,
        "warnings": ["link 'a' has no mass"],
    }
    assert main(["robots"]) == 0
    assert capsys.readouterr().out == "text\n"


def test_robots_lists_the_catalog(capsys):
    assert main(["robots", "--json"]) == 0
    robots = {r["name"]: r for r in json.loads(capsys.readouterr().out)["robots"]}
    assert {"tx40", "rv2sq", "jaco2", "scara2", "planar2"} <= set(robots)
    assert robots["tx40"]["joints"] == 6 and robots["tx40"]["parameter_count"] == 78 and "base_count" not in robots["tx40"]
    assert all(r["about"] and "\n" not in r["about"] for r in robots.values())
    assert main(["robots"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in robots) and max(map(len, said.splitlines())) <= 100


def test_robots_counts_base_parameters_when_asked(monkeypatch, capsys):
    from inertica.cli import robots

    monkeypatch.setattr(robots, "catalog", lambda: ["planar2", "scara2"])
    assert main(["robots", "--base", "--json"]) == 0
    assert [r["base_count"] for r in json.loads(capsys.readouterr().out)["robots"]] == [9, 8]


def test_about_is_the_key_or_the_first_comment(tmp_path):
    from inertica.cli.robots import about
    from inertica.robot.load import load

    path = tmp_path / "one.yaml"
    path.write_text(f"# A pendulum. More about it.\n{DH}")
    assert about(load(path)) == "A pendulum"
    path.write_text(f"# A pendulum.\nabout: one joint\n{DH}")
    assert about(load(path)) == "one joint"
    path.write_text(DH)
    assert about(load(path)) == ""
