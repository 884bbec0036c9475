"""Puts the results of several robots of one type into one table: the value of the type, by how much robots differ beyond what
their results are unsure of, and which base parameters differ by more than chance.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress, table
from inertica.errors import ModelWarning
from inertica.numbers import number
from inertica.report.compared import probability
from inertica.report.fleet import Fleet, fleet
from inertica.writing import write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica fleet robot1/ robot2/ robot3/
inertica fleet cell*/result -o fleet.csv --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULT", nargs="+", help="folders that identify wrote, one of each robot")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the table as comma-separated values")


def run(arguments: argparse.Namespace) -> Answer:
    with progress("reading"):
        comparison = fleet(arguments.results)
    for one, other in comparison.shared:
        warnings.warn(ModelWarning(f"{one} and {other} were fitted to the same log; they err together"), stacklevel=2)
    if arguments.output is not None:
        write_whole(arguments.output, comparison.table())
    return Answer(comparison.document(), lambda: text(comparison, arguments.output))


def text(comparison: Fleet, written: Path | None = None) -> Iterator[RenderableType]:
    """For people."""
    columns = ("base", "type", "± std", "from robot to robot", "by chance", *comparison.names)
    rows: list[list[RenderableType]] = []
    for p in comparison.parameters:
        share = f" ({100.0 * p.between / abs(p.mean):.2g} %)" if p.mean else ""
        between = f"{number(p.between, 2)}{share}" if p.between > 0.0 else "-"
        head = [p.name, number(p.mean), number(p.mean_std, 2), between, probability(p.p) if p.differs else ""]
        rows.append([*head, *(number(x) for x in p.values)])
    yield table(f"{comparison.robot}: base parameters of {len(comparison.names)} robots", columns, rows, right=columns[1:])
    differing = ", ".join(p.name for p in comparison.differing)
    named = f": {differing}" if differing else ""
    yield f"{len(comparison.differing)} of {len(comparison.parameters)} differ by more than chance{named}"
    if comparison.left_out:
        yield f"not in all results with the same meaning and an uncertainty: {', '.join(comparison.left_out)}"
    if written is not None:
        yield f"written: {written}"
