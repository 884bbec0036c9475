"""Holds a result against values that are known: those a log was simulated with, or a model that is trusted.

ROBOT is a catalog name, a model file or a card with the true values.  Base parameters and those standard parameters that the result
calls determined are listed with their error and whether the 95 % interval holds the known value.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from inertica.cli.console import Answer, progress, table
from inertica.numbers import number
from inertica.workflow.identify.truth import SURE, AgainstTruth, TruthCheck, against_truth

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica truth result/ tx40
inertica truth result/ true.urdf --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="folder that identify wrote")
    parser.add_argument("robot", metavar="ROBOT", help="catalog name, model file or card with the known values")


def run(arguments: argparse.Namespace) -> Answer:
    with progress("reading"):
        comparison = against_truth(arguments.result, arguments.robot)
    covered, of = comparison.covered
    errors = [abs(h.error) for h in comparison.sure]
    document = {
        "base": [_entry(h) for h in comparison.base],
        "determined": [_entry(h) for h in comparison.determined],
        "unknown": comparison.unknown,
        "missing": comparison.missing,
        "covered": covered,
        "intervals": of,
        "sure": {"count": len(errors), "median": _or_none(np.median, errors), "worst": _or_none(np.max, errors)},
    }
    return Answer(document, lambda: _text(comparison))


def _or_none(function: object, values: Sequence[float]) -> float | None:
    return float(function(values)) if values else None  # type: ignore[operator]


def _entry(held: TruthCheck) -> dict[str, object]:
    finite = {key: value if isinstance(value, str) or np.isfinite(value) else None for key, value in asdict(held).items()}
    return finite | {"error": held.error if np.isfinite(held.error) else None, "covered": held.covered}


def _text(comparison: AgainstTruth) -> Iterator[RenderableType]:
    for title, parameters in (
        ("base parameters", comparison.base),
        ("standard parameters known on their own", comparison.determined),
    ):
        columns = ("parameter", "found", "known", "error", "95 % interval", "holds it")
        rows = [
            [
                h.name,
                number(h.found),
                number(h.known),
                _error(h),
                f"{number(h.low)} .. {number(h.high)}",
                "yes" if h.covered else "NO",
            ]
            for h in parameters
        ]
        yield table(title, columns, rows, right=columns[1:4])
    covered, of = comparison.covered
    yield f"{covered} of {of} intervals of base parameters hold the known value"
    if comparison.sure:
        size = 100.0 * np.abs([h.error for h in comparison.sure])
        yield (
            f"{len(size)} base parameters have a relative standard deviation below {SURE:g} %: they are off by "
            f"{np.median(size):.2g} % (median), {size.max():.2g} % (worst)"
        )
    if comparison.unknown:
        yield f"without a known value: {', '.join(comparison.unknown)}"
    if comparison.missing:
        yield f"known, but no part of the result: {', '.join(comparison.missing)}"


def _error(held: TruthCheck) -> str:
    return f"{100.0 * held.error:.2g} %" if np.isfinite(held.error) else "-"
