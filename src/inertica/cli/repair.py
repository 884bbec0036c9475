"""Writes the physically consistent model nearest to a given one into a copy of its file.

FILE is a built-in name, a DH YAML, a URDF, an MJCF or a robot card.  Constraints that a card
states are kept, too.  Links that are consistent are not touched, unless such a constraint is
broken and they share it.  Metrics: euclidean (changes of the ten parameters in units of the
link's size), frobenius (change of its pseudo-inertia), pullback (the metric of the cone of
real bodies).  With --keep-dynamics no torque changes: only what no motion can reveal.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from inertica.cli.console import Answer, one_line, progress, table
from inertica.errors import InputError, ModelWarning
from inertica.identifiability.base import base_model
from inertica.numbers import number
from inertica.physical.constraints import PHYSICAL, combined
from inertica.physical.repair import Metric, Repair, inconsistent_names, repair
from inertica.physical.stated import broken, stated
from inertica.robot.layout import Parameters
from inertica.robot.load import load, save_model

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica repair arm.urdf -o fixed.urdf
inertica repair arm.urdf -o fixed.urdf --metric pullback
inertica repair card.yaml -o fixed.urdf --keep-dynamics --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="model file or built-in name")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="file to write")
    parser.add_argument("--metric", default="euclidean", help=f"{', '.join(get_args(Metric))} (default euclidean)")
    parser.add_argument("--keep-dynamics", action="store_true", help="keep all base parameters as they are")


def run(arguments: argparse.Namespace) -> Answer:
    description = load(arguments.file)
    target = Path(arguments.output)
    if not target.parent.is_dir():
        raise InputError(f"there is no folder '{target.parent}' to write to")
    known = stated(description)
    before, missed = inconsistent_names(description.prior), broken(description.prior, known.constraints)
    with progress(f"repairing {description.name}"):
        base = base_model(description.layout) if arguments.keep_dynamics else None
        repaired = repair(
            description.prior, arguments.metric, keep_dynamics=base, constraints=combined(PHYSICAL, known.constraints)
        )
    for note in (*known.notes, *save_model(description, repaired.parameters, target)):
        warnings.warn(ModelWarning(note), stacklevel=1)
    document = {
        "robot": description.name,
        "file": str(target),
        "metric": repaired.metric,
        "inconsistent": before,
        "broken": missed,
        "distance": repaired.distance,
        "changed": _changes(description.prior, repaired),
        "consistent": not inconsistent_names(repaired.parameters) and not broken(repaired.parameters, known.constraints),
    }
    return Answer(document, lambda: _text(description.prior, repaired, before, missed, target))


def _changes(before: Parameters, repaired: Repair) -> list[dict[str, object]]:
    return [{"name": n, "before": before[n], "after": repaired.parameters[n]} for n in repaired.changed]


def _text(
    before: Parameters, repaired: Repair, bad: tuple[str, ...], missed: tuple[str, ...], target: Path
) -> Iterator[RenderableType]:
    name = before.layout.robot.name
    yield one_line(f"{name}: not physically consistent: {', '.join(bad)}" if bad else f"{name}: physically consistent as it is")
    if missed:
        yield one_line(f"{name}: its values break what the card states: {', '.join(missed)}")
    if repaired.changed:
        rows = [[n, number(before[n], 6), number(repaired.parameters[n], 6)] for n in repaired.changed]
        yield table(f"changed ({repaired.metric})", ("parameter", "before", "after"), rows, right=("before", "after"))
    yield f"wrote {target}"
