"""Repeats a published study in simulation and puts its printed numbers beside ours.

PAPER is didim: section VI of the DIDIM paper (good start, regular start, 0.5 Hz sampling, no filtering, half and a third of the
bandwidth).  A verdict says whether a number agrees with what the source lets one expect; `reported` has no pass mark.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, number, progress_line, table
from inertica.errors import InputError, nearest

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.reproduce.rows import Row

EXAMPLES = """\
inertica reproduce didim
inertica reproduce didim --seeds 100 --json
inertica reproduce didim --figures figures/
"""

PAPERS = ("didim",)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", metavar="PAPER", help=f"which study: {', '.join(PAPERS)}")
    parser.add_argument("--figures", metavar="DIR", type=Path, help="draw figures like the paper's into this folder")
    parser.add_argument("--seeds", type=int, default=20, help="experiments for the error statistics (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="of the noise (default 0)")


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.paper not in PAPERS:
        raise InputError(f"there is no study '{arguments.paper}'; {nearest(arguments.paper, PAPERS)}")
    if arguments.seeds < 0 or arguments.seed < 0:
        raise InputError("--seeds and --seed should not be negative")
    from inertica.reproduce.didim import Study

    start = time.perf_counter()
    files: tuple[Path, ...] = ()
    with progress_line() as say:
        study = Study(arguments.seeds, arguments.seed, say)
        outcome = study.run()
        if arguments.figures is not None:
            from inertica.reproduce.didim_figures import write_figures

            say("drawing")
            files = write_figures(study, outcome, arguments.figures)
    seconds = time.perf_counter() - start
    document = {
        "paper": arguments.paper,
        "about": outcome.about,
        "rows": [row.document() for row in outcome.rows],
        "files": [str(f) for f in files],
        "seconds": seconds,
    }
    return Answer(document, lambda: _text(outcome.rows, outcome.about, files, seconds))


def _text(rows: tuple[Row, ...], about: tuple[str, ...], files: tuple[Path, ...], seconds: float) -> Iterator[RenderableType]:
    yield from about
    yield ""
    cases = list(dict.fromkeys(row.case for row in rows))
    columns = ("quantity", "published", "ours", "verdict")
    for case in cases:
        shown = [
            [row.quantity.split(":", 1)[1].strip(), _shown(row.published), _shown(row.ours), row.verdict]
            for row in rows
            if row.case == case
        ]
        yield table(case, columns, shown, right=("published", "ours"))
    differing = [row.quantity for row in rows if row.verdict.startswith("differs")]
    yield f"{len(rows)} numbers in {seconds:.1f} s; {len(differing)} differ" + (f": {'; '.join(differing)}" if differing else "")
    if files:
        yield f"figures: {', '.join(str(f) for f in files)}"


def _shown(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else number(float(value))
