"""What commands write: the answer as text or JSON on stdout; progress, warnings and errors on stderr."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.progress import LOUDNESS, progress, progress_line
from inertica.documents import plain
from inertica.errors import InerticaError, ModelWarning
from inertica.escape import one_line
from inertica.numbers import number

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType
    from rich.table import Table

__all__ = [
    "Answer", "collected_warnings", "complain", "error_document", "grid", "held_warnings", "numbers", "progress",
    "progress_line", "table", "text_console", "write", "written_to",
]  # fmt: skip

COLUMNS = 100
"""Width of text that does not go to a terminal, and the most that text on a terminal uses."""


@dataclass(frozen=True)
class Answer:
    """What a command found out.

    Args:
        document: for `--json`; plain values, sequences, mappings, NumPy arrays.
        text: the same for people, called only when text is wanted.
        code: exit code.
        written: whether a command has written its lines as they came, and nothing is left to write.
    """

    document: Mapping[str, object]
    text: Callable[[], Iterable[RenderableType]]
    code: int = 0
    written: bool = False


def write(answer: Answer, warnings_said: Sequence[str], as_json: bool) -> None:
    """Writes an answer to stdout; with --quiet only a document that was asked for."""
    if answer.written or (LOUDNESS.get() == "quiet" and not as_json):
        return
    try:
        if as_json:
            document = {**answer.document, "warnings": list(warnings_said)}
            sys.stdout.write(json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
            return
        console = text_console()
        for part in answer.text():
            console.print(part)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InerticaError(f"the output cannot be written ({error.strerror})") from None


def text_console() -> Console:
    """Stdout for text: as wide as the terminal up to COLUMNS; colours as NO_COLOR, FORCE_COLOR and the terminal say."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            """Rich would end the program here; `main` decides."""
            raise

    console = PipeConsole(markup=False, highlight=False, emoji=False, quiet=LOUDNESS.get() == "quiet")
    stated = sys.stdout.isatty() or os.environ.get("COLUMNS")
    console.width = min(console.width, COLUMNS) if stated else COLUMNS
    return console


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Shows every warning of ours once, as a line on stderr unless --quiet, and keeps the sentences.

    Warnings of NumPy and other packages speak of code, not of a robot: they are shown with --verbose only.
    """
    sentences: list[str] = []

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        sentence = one_line(str(message))
        if not issubclass(category, ModelWarning):
            if LOUDNESS.get() == "verbose":
                print(f"{category.__name__}: {sentence}", file=sys.stderr)
            return
        if sentence not in sentences:
            sentences.append(sentence)
            if LOUDNESS.get() != "quiet":
                print(f"inertica: warning: {sentence}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ModelWarning)
        warnings.showwarning = show
        yield sentences


@contextmanager
def held_warnings(hold: bool = True) -> Iterator[list[str]]:
    """Keeps warnings of ours for the caller to count or to show; where the command fails they are shown.

    Args:
        hold: whether to; without it the list stays empty and warnings go where they always go.
    """
    held: list[str] = []
    if not hold:
        yield held
        return
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", ModelWarning)
            yield held
            held += dict.fromkeys(one_line(str(w.message)) for w in caught)
    except BaseException:
        for w in caught:
            warnings.warn(ModelWarning(str(w.message)), stacklevel=3)
        raise


def complain(error: Exception, as_json: bool) -> None:
    """An error as one line on stderr and, for `--json`, as one document of one line on stdout."""
    print(f"inertica: {one_line(str(error))}", file=sys.stderr)
    if as_json:
        sys.stdout.write(json.dumps({"error": error_document(error)}, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def error_document(error: Exception) -> dict[str, object]:
    """What programs need to know of an error; None where it is not known.

    `joint` is a name, or a 1-based number where the error comes from a place without names.
    """
    if not isinstance(error, InerticaError):
        return {"kind": "internal", "message": f"{type(error).__name__}: {error}", "file": None, "line": None, "joint": None}
    file = None if error.path is None else str(error.path)
    return {"kind": error.kind, "message": str(error), "file": file, "line": error.line, "joint": error.joint}


def numbers(values: Iterable[float], digits: int = 4) -> str:
    return " ".join(number(v, digits) for v in values)


def written_to(files: Iterable[str | Path]) -> str:
    """Files that a command wrote, by folder: a long folder is said once."""
    folders: dict[Path, list[str]] = {}
    for path in map(Path, files):
        folders.setdefault(path.parent, []).append(path.name)
    return "; ".join(
        f"written: {folder / names[0]}" if len(names) == 1 else f"written to {folder}: {', '.join(names)}"
        for folder, names in folders.items()
    )


GAP = 2
"""Characters between columns."""
SHORT = 24
"""Cells up to this many characters are never broken: numbers with their spread, names."""
HEADING = 16
"""Characters to which a longer heading (the name of a result, of a log) is folded, rather than that numbers below it suffer."""


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[RenderableType]], right: Sequence[str] = ()) -> Group:
    """A titled table; columns named in `right` are aligned to the right.

    Numbers are never broken.  Columns that do not fit side by side go into another table below, with the first one again.
    """
    from rich.console import Group
    from rich.text import Text

    return Group(Text(title, "bold"), _Fitted(columns, [list(row) for row in rows], right), "")


@dataclass(frozen=True)
class _Fitted:
    """As many tables as the width asks for."""

    columns: Sequence[str]
    rows: Sequence[Sequence[RenderableType]]
    right: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        columns = [_folded(name) for name in self.columns]
        right = [_folded(name) for name in self.right]
        least = [max(_least([row[k] for row in self.rows]), *map(len, name.split("\n"))) for k, name in enumerate(columns)]
        begin = 1
        while begin == 1 or begin < len(self.columns):
            end = begin + 1
            while end < len(self.columns) and least[0] + sum(GAP + w for w in least[begin : end + 1]) <= options.max_width:
                end += 1
            shown = [0, *range(begin, min(end, len(self.columns)))]
            if begin > 1:
                yield ""
            yield grid([columns[k] for k in shown], [[row[k] for k in shown] for row in self.rows], right)
            begin = end


def _least(cells: Sequence[RenderableType]) -> int:
    """Width that a column needs: that of its widest cell, or of a few words where cells are prose."""
    width = max((len(str(cell)) for cell in cells), default=0)
    return width if width <= SHORT else SHORT // 2


def _folded(heading: str) -> str:
    return heading if len(heading) <= SHORT else "\n".join(textwrap.wrap(heading, HEADING, break_on_hyphens=False))


def grid(columns: Sequence[str], rows: Iterable[Sequence[RenderableType]], right: Sequence[str] = ()) -> Table:
    from rich import box
    from rich.table import Table

    out = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="", border_style="dim")
    body = [list(row) for row in rows]
    for k, name in enumerate(columns):
        short = max((len(str(row[k])) for row in body), default=0) <= SHORT
        out.add_column(name, justify="right" if name in right else "left", overflow="fold", no_wrap=short)
    for row in body:
        out.add_row(*row)
    return out
