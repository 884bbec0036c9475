"""Programs side by side on recorded logs of real robots, split once and for all: inertica with all defaults, a plain textbook pipeline
with Pinocchio, FIGAROH and mujoco.sysid, each where it is installed.

DATA is the folder that holds the logs; they are not part of inertica.  `inertica benchmark DATA --records` says which logs the
manifest knows, where they are published and under which licence.  --manifest names a manifest of logs of your own.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.benchmark.manifest import MANIFEST, Record, available, records
from inertica.benchmark.programs import PROGRAMS
from inertica.benchmark.run import COLUMNS, Benchmark, benchmark, cells, page
from inertica.cli.console import Answer, progress_line, table
from inertica.documents import plain
from inertica.writing import write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica benchmark records/ --records
inertica benchmark records/ -o leaderboard.md
inertica benchmark records/ --only panda --program inertica --json
inertica benchmark mine/ --manifest mine/logs.yaml
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", type=Path, help="folder of the records")
    parser.add_argument(
        "--manifest", metavar="YAML", type=Path, default=MANIFEST, help="list of records (default: the built-in one)"
    )
    parser.add_argument("--records", action="store_true", help="only say which records there are, and run nothing")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="this record only; may be repeated")
    parser.add_argument(
        "--program",
        metavar="NAME",
        action="append",
        default=[],
        help=f"this program only; may be repeated ({', '.join(PROGRAMS)})",
    )
    parser.add_argument("--short", action="store_true", help="one split of each record")
    parser.add_argument("-o", "--output", metavar="MD", help="write the leaderboard as a page")


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.records:
        known = records(arguments.data, arguments.manifest)
        return Answer({"records": [_record(r) for r in known]}, lambda: _records(known))
    with progress_line() as say:
        done = benchmark(arguments.data, arguments.manifest, arguments.only, arguments.program, arguments.short, say)
    if arguments.output:
        write_whole(arguments.output, page(done))
    document = {"rows": plain(done.rows), "absent": done.absent, "missing": done.missing}
    return Answer(document, lambda: text(done, arguments.output))


def text(done: Benchmark, written: str | None = None) -> Iterator[RenderableType]:
    yield table(
        "torque missed on the part left out", COLUMNS, [cells(row) for row in done.rows], right=("raw %", "low-passed %", "s")
    )
    for name, package in done.missing.items():
        yield f"{name} did not run: the package {package} is not installed"
    if done.absent:
        yield f"not in the folder: {', '.join(done.absent)}"
    if written:
        yield f"written: {written}"


def _record(record: Record) -> dict[str, object]:
    return {
        "name": record.name,
        "published": record.published or None,
        "licence": record.licence or None,
        "splits": [split.name for split in record.splits()],
        "available": available(record),
    }


def _records(known: Sequence[Record]) -> Iterator[RenderableType]:
    rows = [
        (r.name, "yes" if available(r) else "no", r.published or "unknown", r.licence or "unknown", str(len(list(r.splits()))))
        for r in known
    ]
    yield table("records", ("name", "here", "published", "licence", "splits"), rows, right=("splits",))
