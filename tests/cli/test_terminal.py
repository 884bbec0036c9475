"""What commands look like: width, colours, progress, --quiet and --verbose, examples that can be typed."""

import importlib
import io
import re

import pytest

from inertica.cli import progress
from inertica.cli.main import COMMANDS, main
from shell import commands, parsed

SHOWN = (
    ["robots"],
    ["show", "tx40"],
    ["dynamics", "tx40", "--at=0,0.3,1.2,0,0.5,0"],
    ["check-model", "jaco2"],
    ["campaign", "list"],
    ["advise", "--loop", "unknown", "--rate", "1000"],
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_can_be_typed(name):
    examples = importlib.import_module(f"inertica.cli.{name.replace('-', '_')}").EXAMPLES
    lines = [words for line in examples.splitlines() for words in commands(line)]
    assert lines and all(words[0] == name for words in lines)
    for words in lines:
        parsed(words)


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("words", SHOWN, ids=lambda words: words[0])
def test_text_fits(words, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines and max(map(len, lines)) <= columns


@pytest.mark.parametrize("columns", [80, 100])
def test_a_wide_table_folds_its_prose_and_never_its_numbers(columns, monkeypatch, capsys):
    from inertica.cli.console import table, text_console

    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [["ZZ1 + XX2 + " * 20, f"{-1.2345e-5 * k:.4e}", "a reason " * 30] for k in range(1, 4)]
    text_console().print(table("t", ("relation", "value", "why"), rows, right=("value",)))
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= columns
    assert all(row[1] in said for row in rows)


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_columns_that_do_not_fit_go_below(columns, monkeypatch, capsys):
    from inertica.cli.console import table, text_console

    monkeypatch.setenv("COLUMNS", str(columns))
    names = ["method", *(f"d_{k} %" for k in range(12))]
    rows = [[f"method-{i}", *(f"{27.1 + i:.1f}±{0.05 * k:.3g}" for k in range(12))] for i in range(3)]
    text_console().print(table("t", names, rows, right=names[1:]))
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= columns
    assert all(said.count(cell) >= 1 for row in rows for cell in row) and all(name in said for name in names)
    assert said.count("method-1") == {60: 3, 80: 2, 100: 2}[columns]


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits(name, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([name, "--help"]) == 0
    said = capsys.readouterr().out.split("examples:")[0]  # commands are left as they are typed
    assert max(map(len, said.splitlines())) <= columns


@pytest.mark.parametrize(("variables", "colours"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_on_a_terminal_only_and_never_against_no_color(variables, colours, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for stream, coloured in ((Terminal(), colours), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stdout", stream)
        assert main(["show", "scara2"]) == 0
        assert (re.search(r"\x1b\[[0-9;]*3[0-9]", stream.getvalue()) is not None) is coloured


def test_quiet_says_nothing_but_errors_and_documents(capsys):
    assert main(["robots", "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.out == said.err == ""
    assert main(["robots", "--quiet", "--json"]) == 0
    assert capsys.readouterr().out.startswith("{")
    assert main(["show", "no-such-robot", "--quiet"]) == 2
    assert "no-such-robot" in capsys.readouterr().err
    assert main(["robots", "--quiet", "--verbose"]) == 2
    assert progress.LOUDNESS.get() == "normal"


def test_verbose_keeps_every_step_and_shows_where_an_error_comes_from(capsys):
    assert main(["check-model", "scara2", "--verbose"]) == 0
    assert re.search(r"^ +\d+\.\d\d s  checking scara2$", capsys.readouterr().err, flags=re.M)
    assert main(["show", "no-such-robot", "--verbose"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_progress_is_for_terminals(monkeypatch, capsys):
    with progress.progress_line(progress.by_clock(2.0)) as say:
        say("working")
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress.progress_line(progress.by_clock(60.0)) as say:
        say("working")
    with progress.progress_line() as say:
        say("on a line")
    assert "working" in terminal.getvalue() and "s left" in terminal.getvalue()


def test_shares_of_work():
    stages = progress.by_stages({"read": 1.0, "fit": 3.0, "writing": 4.0})
    assert [stages(text, 1.0) for text in ("reading", "fit: ols", "fit: wls", "else", "writing")] == [
        0.0,
        0.125,
        0.125,
        None,
        0.5,
    ]
    count = progress.by_count("fit: ", 4)
    assert [count(text, 1.0) for text in ("read", "fit: a", "x", "fit: b")] == [None, 0.0, None, 0.25]
    assert progress.by_clock(10.0)("x", 5.0) == 0.5
    left = iter([None, 30.0])
    foretold = progress.by_remaining(lambda: next(left))
    assert foretold("x", 10.0) is None and foretold("x", 10.0) == 0.25
    words = [progress.remaining(whole, 10.0) for whole in (None, 10.5, 40.0, 310.0, 7210.0 + 3600.0)]
    assert words == ["", "soon done", "30 s left", "5 min left", "3.0 h left"]
