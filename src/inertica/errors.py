"""Errors that users meet.

Each carries one sentence that says what is wrong, where, and what to do.  The command line prints that sentence and nothing else.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from inertica.installation import install_command


@dataclass(frozen=True)
class Fix:
    """What settles a problem.

    Args:
        key: of the robot card; programs with forms of their own, such as the studio, name their field for it.
        words: how a card or the command line states it.
    """

    key: str
    words: str


class InerticaError(Exception):
    """Base of all errors inertica raises on purpose.

    Args:
        message: the sentence; what settles the problem is added to it.
        joint: the one joint it is about, by its name; by its 1-based number where no name is at hand.
        fix: what settles the problem, where a key of the card does.
    """

    kind: ClassVar[str] = "failure"
    """The class in one word, for programs that read errors (`--json`)."""

    path: Path | None = None
    line: int | None = None

    def __init__(self, message: str = "", *, joint: str | int | None = None, fix: Fix | None = None) -> None:
        self.joint, self.fix, self.statement = joint, fix, message
        super().__init__(message if fix is None else f"{message}; {fix.words}")


class InputError(InerticaError):
    """Something the user gave is missing, malformed or contradictory; the command line exits with code 2."""

    kind = "input"


class TooFewSamplesError(InputError):
    """Masks leave too few samples to choose or fit anything by."""


class FileError(InputError):
    """A file cannot be read or does not say what it should.

    Args:
        path: the file.
        problem: what is wrong and what to do, without the file's name.
        line: 1-based line, when known.
        column: 1-based column, when known.
        joint: the one joint it is about.
        fix: what settles the problem, where a key of the card does.
    """

    kind = "file"
    path: Path

    def __init__(
        self, path: str | Path, problem: str, line: int | None = None, column: int | None = None, joint: str | int | None = None,
        fix: Fix | None = None,
    ) -> None:  # fmt: skip
        self.path, self.line, self.column = Path(path), line, column
        self.problem = problem if fix is None else f"{problem}; {fix.words}"
        where = str(path) + (f":{line}" if line else "") + (f":{column}" if line and column else "")
        super().__init__(f"{where}: {problem}", joint=joint, fix=fix)


def is_there(path: Path) -> bool:
    """Whether a file or folder of this name exists; there is none of a name that no system takes, too long or with a zero byte."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def refuse_devices(path: Path) -> None:
    """FileError for what is neither a file nor a folder: a device may never end, and a pipe may wait for ever."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError(path, "this is no file but a device or a pipe; save what it gives in a file first")


class MissingDependencyError(InerticaError):
    """An optional package is needed for what was asked."""

    kind = "dependency"

    def __init__(self, package: str, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs the package {package}; install it with: {install_command(extra)}")


class NoMemoryError(InerticaError):
    """The memory does not hold what the work needs."""

    kind = "memory"

    def __init__(self, error: MemoryError) -> None:
        why = f" ({' '.join(str(error).split())})" if str(error) else ""
        super().__init__(f"this needs more memory than there is{why}; shorter logs, such as FILE@t0:t1, need less")


class ModelWarning(UserWarning):
    """A model file says something doubtful that does not stop the work, such as a link without mass."""


def nearest(word: str, valid: Iterable[str]) -> str:
    """A phrase that names the closest valid word: `did you mean 'friction'?`, or the whole list when none is close."""
    words = sorted(valid)
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else "valid are: " + ", ".join(words)
