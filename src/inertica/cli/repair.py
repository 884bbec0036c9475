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
    said = stated(description)
    before, missed = inconsistent_names(description.prior), broken(description.prior, said.constraints)
    with progress(f"repairing {description.name}"):
        base = base_model(description.layout) if arguments.keep_dynamics else None
        found = repair(description.prior, arguments.metric, keep_dynamics=base, constraints=combined(PHYSICAL, said.constraints))
    for note in (*said.notes, *save_model(description, found.parameters, target)):
        warnings.warn(ModelWarning(note), stacklevel=1)
    document = {
        "robot": description.name,
        "file": str(target),
        "metric": found.metric,
        "inconsistent": before,
        "broken": missed,
        "distance": found.distance,
        "changed": _changes(description.prior, found),
        "consistent": not inconsistent_names(found.parameters) and not broken(found.parameters, said.constraints),
    }
    return Answer(document, lambda: _text(description.prior, found, before, missed, target))


def _changes(before: Parameters, found: Repair) -> list[dict[str, object]]:
    return [{"name": n, "before": before[n], "after": found.parameters[n]} for n in found.changed]


def _text(
    before: Parameters, found: Repair, bad: tuple[str, ...], missed: tuple[str, ...], target: Path
) -> Iterator[RenderableType]:
    name = before.layout.robot.name
    yield one_line(f"{name}: not physically consistent: {', '.join(bad)}" if bad else f"{name}: physically consistent as it is")
    if missed:
        yield one_line(f"{name}: its values break what the card states: {', '.join(missed)}")
    if found.changed:
        rows = [[n, number(before[n], 6), number(found.parameters[n], 6)] for n in found.changed]
        yield table(f"changed ({found.metric})", ("parameter", "before", "after"), rows, right=("before", "after"))
    yield f"wrote {target}"
