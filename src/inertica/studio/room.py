"""`Room`: what one room of the studio can do, for the server and for workers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inertica.studio.arguments import Arguments
from inertica.studio.confined import Refused
from inertica.studio.project import Project
from inertica.studio.series import Series

Document = dict[str, Any]
View = Callable[[Project, Arguments], Document]
Action = Callable[[Project, Arguments], Document]
Long = Callable[[Project, Arguments], Series]
"""A series that the server thins to what a screen shows; rooms keep the last ones, since pages ask for many windows of one."""
Work = Callable[[Project, Arguments, Callable[[str], None], Path], Document]
"""A job: it says lines, and prepares files in a folder of its own that goes when it ends."""

OPEN, READY, ATTENTION = "open", "done", "attention"


@dataclass(frozen=True)
class Room:
    """One room.

    Args:
        name: in addresses.
        title: for people.
        about: one sentence.
        state: (open, done or attention, a few words) for the rail.
        view: everything the room shows.
        actions: quick calls.
        jobs: long work, run in a worker.
        series: long series by name.
        names: of jobs that leave something under a new name: folder, beginning and suffix of it.  The server chooses the name when
            the job begins, since two workers that look for a free one at a time find the same.
        extra: not a step that everybody goes through.
    """

    name: str
    title: str
    about: str
    state: Callable[[Project], tuple[str, str]]
    view: View
    actions: Mapping[str, Action] = field(default_factory=dict)
    jobs: Mapping[str, Work] = field(default_factory=dict)
    series: Mapping[str, Long] = field(default_factory=dict)
    names: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    extra: bool = False


def same(shell: list[list[str]], python: list[str]) -> Document:
    """The command lines and the Python lines that do what a room does."""
    return {"shell": [shlex.join(words) for words in shell], "python": ["import inertica as ia", "", *python]}


def chosen_logs(project: Project, names: list[str], which: str) -> list[str]:
    """Places of logs that a form ticks, with their slices."""
    if not names:
        raise Refused(f"tick at least one log {which} the load", 409)
    return [project.place(project.entry(name)) for name in names]


def quoted(text: str) -> str:
    """Text as a string in lines of Python, as readable as it may be: names of files are whatever somebody typed."""
    return json.dumps(text, ensure_ascii=False)


def short(project: Project, path: Path | str) -> str:
    """A path as it is typed in the project folder."""
    name = str(path)
    prefix = f"{project.folder}/"
    return name.removeprefix(prefix)
