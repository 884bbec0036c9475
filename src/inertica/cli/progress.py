"""How far long work is, on stderr: a bar with the time left on a terminal, lines with --verbose, nothing elsewhere or with --quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task
    from rich.text import Text

Loudness = Literal["quiet", "normal", "verbose"]
LOUDNESS: ContextVar[Loudness] = ContextVar("LOUDNESS", default="normal")
"""What --quiet and --verbose of the command that is running say; set by `main`."""

Say = Callable[[str], None]
Share = Callable[[str, float], float | None]
"""Line of a step, seconds since the beginning -> share of the work that is done by then; None where nobody can tell."""


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Says what is being done, for work that may take more than a second."""
    with progress_line() as say:
        say(doing)
        yield


@contextmanager
def progress_line(share: Share | None = None) -> Iterator[Say]:
    """A line that work in steps can rewrite.

    Args:
        share: how far the work is; adds a bar and the time left.
    """
    loudness = LOUDNESS.get()
    if loudness == "verbose":
        begun = time.perf_counter()
        yield lambda text: print(f"{time.perf_counter() - begun:8.2f} s  {text}", file=sys.stderr, flush=True)
    elif loudness == "quiet" or not sys.stderr.isatty():
        yield lambda _: None
    else:
        from rich.console import Console

        console = Console(stderr=True, markup=False, highlight=False)
        with _spinner(console) if share is None else _bar(console, share) as say:
            yield say


@contextmanager
def _spinner(console: Console) -> Iterator[Say]:
    with console.status("") as status:
        yield lambda text: status.update(text)


@contextmanager
def _bar(console: Console, share: Share) -> Iterator[Say]:
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class LeftColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(remaining(task.fields["whole"], task.elapsed or 0.0), "dim")

    what = TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
    columns = (SpinnerColumn(), what, BarColumn(bar_width=16), LeftColumn(table_column=Column(no_wrap=True)))
    with Progress(*columns, console=console, transient=True, expand=True) as shown:
        task = shown.add_task("", total=1.0, whole=None)
        begun = time.perf_counter()

        def say(text: str) -> None:
            passed = time.perf_counter() - begun
            done = share(text, passed)
            if done is None:
                shown.update(task, description=text)
            else:
                shown.update(task, description=text, completed=done, whole=passed / done if done > 0.0 else None)

        yield say


def remaining(whole: float | None, passed: float) -> str:
    """The time left in words.

    Args:
        whole: expected seconds of all the work.
        passed: seconds since the beginning.
    """
    if whole is None:
        return ""
    left = max(whole - passed, 0.0)
    if left < 1.0:
        return "soon done"
    if left < 90.0:
        return f"{left:.0f} s left"
    return f"{left / 60.0:.0f} min left" if left < 5400.0 else f"{left / 3600.0:.1f} h left"


def by_stages(stages: Mapping[str, float]) -> Share:
    """Work whose lines begin with the name of their stage.

    Args:
        stages: name -> share of the time that it usually takes, in the order in which they come.  A line of no stage changes nothing.
    """
    whole, begins, total = sum(stages.values()), {}, 0.0
    for name, weight in stages.items():
        begins[name], total = total / whole, total + weight

    def share(text: str, _: float) -> float | None:
        return next((begin for name, begin in begins.items() if text.startswith(name)), None)

    return share


def by_count(first: str, number: int) -> Share:
    """Work in equal pieces, each of which begins with a line that starts with `first`."""
    seen = 0

    def share(text: str, _: float) -> float | None:
        nonlocal seen
        if not text.startswith(first):
            return None
        seen += 1
        return (seen - 1) / number

    return share


def by_remaining(left: Callable[[], float | None]) -> Share:
    """Work that foretells its seconds left itself; None while it cannot."""

    def share(_: str, passed: float) -> float | None:
        seconds = left()
        return None if seconds is None else passed / max(passed + seconds, 1e-9)

    return share


def by_clock(seconds: float) -> Share:
    """Work that takes as long as it is given."""
    return lambda _, passed: min(max(passed / seconds, 1e-9), 1.0)
