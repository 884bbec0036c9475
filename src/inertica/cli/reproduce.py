"""Repeats a published study in simulation and puts its printed numbers beside ours.

{studies}

Verdicts: *agrees* with the printed number, within two standard deviations of both (± here) and half of its last digit; *consistent
with the truth we simulated* but not with print; *differs*, and why; *refuted*, where the source states a law; *reported* where it
prints nothing to hold ours against; *holds in* 13 of 15, of a claim about several conditions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress_line, table
from inertica.errors import InputError
from inertica.numbers import number
from inertica.reproduce import verdicts
from inertica.reproduce.printed import sheet, walk
from inertica.reproduce.rows import Options, Row
from inertica.reproduce.studies import STUDIES, check, reproduce, usual_runs

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.reproduce.rows import Reproduction

__doc__ = __doc__.format(studies="\n\n".join(f"{name}: {about}." for name, about in STUDIES.items()))

EXAMPLES = """\
inertica reproduce didim
inertica reproduce didim --seeds 100 --json
inertica reproduce jaco2 --figures figures/
inertica reproduce consistent --record tx40.csv
inertica reproduce frisch --quick --figures figures/
inertica reproduce survey --seeds 0 --record rv2sq=log.csv --figures figures/
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", metavar="PAPER", help=f"which study: {', '.join(STUDIES)}")
    parser.add_argument("--figures", metavar="DIR", type=Path, help="draw figures like the paper's into this folder")
    parser.add_argument(
        "--record",
        metavar="LOG",
        help="a log of the real robot (consistent; survey: tx40=LOG or rv2sq=LOG), a folder of five (jaco2), "
        "the authors' points (frisch)",
    )
    parser.add_argument(
        "--seeds", type=int, help="experiments for statistics (default 20; frisch 250, survey 52, 0: its record only)"
    )
    parser.add_argument("--quick", action="store_true", help="a short form of the study, where there is one (frisch, survey)")
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, help="rows of campaigns stay here, and a study goes on from them (survey)"
    )
    parser.add_argument(
        "--coupling", choices=("toolbox", "rotor"), default="toolbox",
        help="Coulomb friction of the coupled wrist: the toolbox's, or that of eqs. 34-35 (consistent)",
    )  # fmt: skip
    parser.add_argument(
        "--divisor", choices=("values", "samples"), default="values",
        help="N of eq. 9, which the paper calls the number of samples: torque values, or instants of time (jaco2)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the noise (default 0)")


def run(arguments: argparse.Namespace) -> Answer:
    check(arguments.paper)
    seeds = usual_runs(arguments.paper, arguments.quick) if arguments.seeds is None else arguments.seeds
    if seeds < 0 or arguments.seed < 0:
        raise InputError("--seeds and --seed should not be negative")
    start = time.perf_counter()
    files: tuple[Path, ...] = ()
    with progress_line() as say:
        options = Options(
            seeds, arguments.seed, arguments.record, arguments.quick, say, arguments.keep, arguments.coupling, arguments.divisor
        )
        study = reproduce(arguments.paper, options)
        if arguments.figures is not None and study.draw is not None:
            say("drawing")
            files = study.draw(arguments.figures)
    seconds = time.perf_counter() - start
    walked = walk(arguments.paper, study.rows)
    document = {
        "paper": arguments.paper,
        "about": study.about,
        "rows": [row.document() for row in study.rows],
        "sheets": [one.document() for one in study.sheets],
        "printed": [one.document() for one in walked],
        "files": [str(f) for f in files],
        "seconds": seconds,
    }
    return Answer(document, lambda: _text(replace(study, sheets=(*study.sheets, sheet(walked))), files, seconds))


def _text(study: Reproduction, files: tuple[Path, ...], seconds: float) -> Iterator[RenderableType]:
    yield from study.about
    yield ""
    for one in study.sheets:
        yield table(one.title, one.columns, [list(row) for row in one.rows], right=one.columns[1:])
    yield from _verdicts(study.rows)
    yield f"{len(study.rows)} comparisons in {seconds:.1f} s; {tally(study.rows)}"
    if files:
        yield f"figures: {', '.join(str(f) for f in files)}"


def tally(rows: Sequence[Row]) -> str:
    """How comparisons ended, with what was refuted by name."""
    refuted = [row.quantity for row in rows if verdicts.word_of(row.verdict) == verdicts.REFUTED]
    return verdicts.tally(row.verdict for row in rows) + (f"; refuted: {'; '.join(refuted)}" if refuted else "")


def _verdicts(rows: tuple[Row, ...]) -> Iterator[RenderableType]:
    columns = ("quantity", "published", "ours", "verdict")
    for case in dict.fromkeys(row.case for row in rows):
        shown = [
            [
                row.quantity.split(":", 1)[1].strip(),
                _shown(row.published, row.published_spread),
                _shown(row.ours, row.ours_spread),
                row.verdict,
            ]
            for row in rows
            if row.case == case
        ]
        yield table(case, columns, shown, right=("published", "ours"))


def _shown(value: float | str | None, spread: float | None) -> str:
    """A number with two standard deviations, as the sources print them."""
    if value is None:
        return "-"
    shown = value if isinstance(value, str) else number(float(value))
    return f"{shown} ± {2.0 * spread:.2g}" if spread else shown
