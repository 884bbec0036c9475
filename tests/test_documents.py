"""README and docs: every command parses with the real parsers, and runs; every Python block runs.

What cannot run is marked in the document, before its block, by `<!-- not run: REASON -->`, or `<!-- not run (WORDS): REASON -->` for
the lines that have these words; `test_what_is_not_run_has_a_reason` lists them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import chromium
import inertica as ia
from documents import PAGES, ROOT, SHELLS, Block, all_blocks, blocks, shell_lines
from inertica.cli.main import command_parser, main
from larder import stock
from shell import commands, mentioned_options, parsed

QUICK: dict[str, list[str]] = {
    "check": [],
    "identify": ["--quick"],
    "predict": [],
    "export": [],
    "figure": [],
    "import-cad": [],
    "simulate": [],
    "excite": ["--seconds", "0.3"],
    "completion": [],
}
"""Commands that `make test` runs, on the pages of SHORT, with options that make them short."""

SHORT = ("README.md", "start.md", "code.md", "cad.md")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def shell_blocks(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.language in SHELLS]


def test_every_command_parses():
    for block in all_blocks():
        for line in block.lines if block.language in SHELLS else ():
            for words in commands(line):
                try:
                    parsed(words)
                except ia.InputError as error:
                    pytest.fail(f"{name(block.page)}, block at line {block.line}: {line.strip()}: {error}")


def test_every_block_of_commands_says_that_it_is_one():
    for block in all_blocks():
        if block.language not in SHELLS:
            assert not any(commands(line) for line in block.lines), f"{name(block.page)}:{block.line}: call the block sh"


def test_options_in_running_text_exist():
    for page in PAGES:
        for command, option in mentioned_options(page.read_text(encoding="utf-8")):
            assert option in command_parser(command)._option_string_actions, f"{name(page)}: {command} has no {option}"


def test_what_is_not_run_has_a_reason(capsys):
    marked = [(block, which, why) for block in all_blocks() for which, why in block.marks]
    for block, which, why in marked:
        assert len(why) > 10
        assert which is None or any(which in line for line in block.lines), (
            f"{name(block.page)}:{block.line}: no line has '{which}'"
        )
    with capsys.disabled():
        print("".join(f"\nnot run: {name(b.page)}:{b.line}{f' ({which})' if which else ''}: {why}" for b, which, why in marked))


def test_short_forms_run(tmp_path, monkeypatch, capsys):
    """One folder for all: a page may use what another has made."""
    monkeypatch.chdir(tmp_path)
    for page in PAGES:
        if page.name not in SHORT:
            continue
        for block in shell_blocks(page):
            for line in shell_lines(block):
                stock(tmp_path, line, page.name)
                for words in commands(line):
                    if words[0] in QUICK and block.why_not(line) is None:
                        code = main([*words, *QUICK[words[0]]])
                        assert code == 0, f"{name(page)}: {line}: {capsys.readouterr().err}"
    assert (tmp_path / "result" / "report.html").is_file()


@pytest.fixture
def shims(tmp_path):
    """A folder of programs: inertica and python of this test, and a robot that prints its samples."""
    folder = tmp_path / "bin"
    folder.mkdir()
    source = Path(ia.__file__).parents[1]
    (folder / "inertica").write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" -m inertica.cli.main "$@"\n')
    (folder / "python").write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" "$@"\n')
    (folder / "robot-driver").write_text("#!/bin/sh\nexec gzip -dc run1.csv.gz\n")
    for program in folder.iterdir():
        program.chmod(0o755)
    return folder


def runnable(page: Path) -> list[tuple[Block, str]]:
    return [(b, line) for b in shell_blocks(page) for line in shell_lines(b) if b.why_not(line) is None]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=name)
def test_commands_run(page, tmp_path, shims):
    """All commands of a page, one after the other in one folder, by a real shell."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "examples").symlink_to(ROOT / "examples")
    environment = os.environ | {"PATH": f"{shims}:{os.environ['PATH']}", "NO_COLOR": "1"}
    for block, line in runnable(page):
        if "--pdf" in line and chromium.where() is None:
            continue
        stock(work, f"{line} run1.csv.gz" if "robot-driver" in line else line, page.name)
        done = subprocess.run(["bash", "-c", line], cwd=work, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"line after {block.line}: {line}\n{done.stderr[-2000:]}"


def names_for(page: Path, folder: Path) -> dict[str, Any]:
    """What Python blocks of a page take for granted."""
    out: dict[str, Any] = {"ia": ia}
    if page.name in ("python.md", "code.md", "export.md"):
        stock(folder, "result")
        out["result"] = ia.Result.load(folder / "result")
    if page.name == "python.md":
        log = ia.read_log(folder / "run1.csv.gz", out["result"].description)
        out |= {"frame": log.to_pandas(), "robot": out["result"].description}
    if page.name in ("online.md", "payload.md"):
        out |= {"q": [0.1, 0.2, 0.3], "tau": [1.0, 2.0, 3.0]}
    if page.name == "methods.md":
        from estimators.toy import ByTorque

        out["MyMethod"] = ByTorque
    if page.name == "frisch.md":
        import numpy as np

        rng = np.random.default_rng(0)
        W = rng.normal(size=(40, 9))
        out |= {"signs": np.zeros(9), "row": np.hstack([W, -(W @ np.ones(9))[:, None]])[0]}
    return out


PYTHON = [page for page in PAGES if any(block.language == "python" and block.why_not("") is None for block in blocks(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", PYTHON, ids=name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """All Python blocks of a page, one after the other, as in one session."""
    monkeypatch.chdir(tmp_path)
    names = names_for(page, tmp_path)
    for block in blocks(page):
        if block.language == "python" and block.why_not("") is None:
            text = "\n".join(block.lines)
            stock(tmp_path, text, page.name)
            exec(compile("\n" * block.line + text, str(page), "exec"), names)
