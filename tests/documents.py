"""Blocks of code in README and docs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shell import commands

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "examples" / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "ros" / "inertica_ros" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
SHELLS = ("sh", "bash", "shell", "console")

NOT_RUN = re.compile(r"<!-- not run(?: \((?P<which>[^)]+)\))?: (?P<why>.+) -->")
"""Before a block: why it cannot be run; with words in parentheses, only the lines that have them."""


@dataclass(frozen=True)
class Block:
    """A block of code.

    Args:
        page, line: where it is.
        language: sh, python or another.
        lines: its text.
        marks: words of a line, or none for all of them -> why it cannot be run.
    """

    page: Path
    line: int
    language: str
    lines: tuple[str, ...]
    marks: tuple[tuple[str | None, str], ...]

    def why_not(self, line: str) -> str | None:
        return next((why for which, why in self.marks if which is None or which in line), None)


def blocks(page: Path) -> list[Block]:
    """Fenced blocks, and indented ones that hold commands."""
    out: list[Block] = []
    marks: list[tuple[str | None, str]] = []
    inside: list[str] | None = None
    begun, language = 0, ""
    indented: list[str] = []
    for number, text in enumerate([*page.read_text(encoding="utf-8").splitlines(), ""], 1):
        if indented and not text.startswith("    "):
            if any(commands(line) for line in indented):
                out.append(Block(page, number - len(indented), "sh", tuple(indented), tuple(marks)))
            indented, marks = [], []
        if text.lstrip().startswith("```"):
            if inside is None:
                inside, begun, language = [], number, text.strip()[3:].split(" ")[0]
            else:
                out.append(Block(page, begun, language, tuple(inside), tuple(marks)))
                inside, marks = None, []
        elif inside is not None:
            inside.append(text)
        elif found := NOT_RUN.fullmatch(text.strip()):
            marks.append((found["which"], found["why"]))
        elif text.startswith("    ") and re.match(r"\s+([\w-]+ .*\| )?inertica ", text):
            indented.append(text.strip())
        elif text.strip():
            marks = []
    return out


def all_blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks(page)]


def shell_lines(block: Block) -> list[str]:
    """Commands of a block, without empty lines and comments."""
    joined = "\n".join(block.lines).replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]
