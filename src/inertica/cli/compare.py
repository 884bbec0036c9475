"""Fits the same logs by several methods and puts them side by side.  Filter, delay and friction
laws are chosen once, so that only the methods differ.  A method that cannot do with these data
says why; the others go on.  Logs without positions are left to methods that simulate the controller.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress_line, table
from inertica.cli.fitting import add_choices, add_inputs, add_reference, percent, settings
from inertica.cli.progress import by_count
from inertica.cli.reading import described
from inertica.documents import plain
from inertica.errors import InputError, ModelWarning
from inertica.estimators.registry import METHODS, method
from inertica.numbers import number
from inertica.report.names import short_names
from inertica.workflow.decisions.standstill import SUBJECT as STANDSTILL
from inertica.workflow.identify.compare import Comparison, Row, compare
from inertica.workflow.identify.fit import PULL

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica compare card.yaml run1.csv.gz --validate run2.csv.gz
inertica compare card.yaml run1.csv.gz --methods ols,wls --cutoff 20 --json
inertica compare card.yaml torque.csv.gz --methods didim,clie --reference traj.yaml
"""

PER_METHOD = ("method", PULL, "intervals", STANDSTILL)
"""Choices that every method makes for itself."""


def add(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser)
    parser.add_argument("--methods", metavar="A,B", help=f"some of {', '.join(METHODS)}; all by default")
    add_choices(parser)
    add_reference(parser)


def run(arguments: argparse.Namespace) -> Answer:
    names = None
    if arguments.methods is not None:
        names = [name.strip() for name in arguments.methods.split(",") if name.strip()]
        if not names:
            raise InputError(f"--methods names no method; choose from {', '.join(METHODS)}")
        for name in names:
            method(name)
    chosen = settings(arguments)
    with progress_line(by_count("fit: ", 1 + len(names or METHODS))) as say:  # one fit for the choices
        comparison = compare(
            described(arguments), arguments.logs, names, validate=arguments.validate, settings=chosen, progress=say
        )
    view = ComparisonView(comparison)
    for row in comparison.rows:
        if row.failure:
            warnings.warn(ModelWarning(f"{row.method}: {row.failure}"), stacklevel=1)
    return Answer(view.document(), view.text, 0 if any(row.failure is None for row in comparison.rows) else 1)


@dataclass(frozen=True)
class ComparisonView:
    """A comparison as a document and as text."""

    comparison: Comparison

    def document(self) -> dict[str, object]:
        reference = self.comparison.reference
        return {
            "robot": reference.description.name,
            "base_count": reference.estimate.base.rank,
            "choices": [plain(c) for c in reference.choices if c.subject not in PER_METHOD],
            "methods": [_entry(row) for row in self.comparison.rows],
        }

    def text(self) -> Iterator[RenderableType]:
        from rich.text import Text

        reference = self.comparison.reference
        yield Text(
            f"{reference.description.name}: {reference.estimate.base.rank} base parameters, methods side by side\n", "bold"
        )
        chosen = [[c.subject, c.sentence] for c in reference.choices if c.subject not in PER_METHOD]
        yield table("choices, the same for all", ("subject", "decision"), chosen)
        good = [row for row in self.comparison.rows if row.failure is None]
        if good:
            yield table("residuals in percent, over all joints", *_residual_rows(good), right=("raw", "filtered"))
            columns = ("method", "condition", "determined", "links possible", "iterations", "time (s)")
            rows = [_numbers(row) for row in good]
            yield table("methods", columns, rows, right=("condition", "determined", "iterations", "time (s)"))
        failed = [[row.method, row.failure or ""] for row in self.comparison.rows if row.failure]
        if failed:
            yield table("failed", ("method", "why"), failed)


def _residual_rows(rows: list[Row]) -> tuple[tuple[str, ...], list[list[str]]]:
    sets = list(rows[0].residuals)
    out = [
        [short if k == 0 else "", row.method, percent(row.residuals[name].raw.all), percent(row.residuals[name].filtered.all)]
        for name, short in zip(sets, short_names(sets), strict=True)
        for k, row in enumerate(rows)
    ]
    return ("data set", "method", "raw", "filtered"), out


def _numbers(row: Row) -> list[str]:
    possible = "yes" if row.physically_consistent else "no"
    return [row.method, number(row.condition, 3), str(row.determined), possible, str(row.iterations), f"{row.seconds:.3f}"]


def _entry(row: Row) -> dict[str, object]:
    if row.failure is not None:
        return {"method": row.method, "failure": row.failure}
    shown = {name: getattr(row, name) for name in ("condition", "physically_consistent", "determined", "iterations")}
    residual = {name: plain(r) for name, r in row.residuals.items()}
    return {"method": row.method, "failure": None, "residual": residual, **shown, "time": row.seconds}
