"""Finds the load that a robot carries: mass, first moments and inertia with 95 % intervals, from
records without the load and records with it.  Motions may be the same or different ones; friction of
the loaded records is fitted on its own.  With --robot-from the robot comes from a result of identify,
and its own uncertainty is part of the load's intervals.

The load is stated in the flange frame: --flange, the card's `payload:`, a frame of the model file
called tool0 or flange, or the frame of the last link.  -o writes it as a URDF link, an MJCF body and
statements for controllers (UR, Franka, KUKA).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, numbers, progress_line, table
from inertica.cli.fitting import add_choices, add_prior, residual_table, settings
from inertica.cli.identify import check_output, marked
from inertica.errors import ModelWarning
from inertica.identifiability.labels import INTERVAL
from inertica.report.numbers import number, span, tidy
from inertica.robot import inertia
from inertica.workflow.payload import payload
from inertica.workflow.payload_result import ORDER, UNITS, Payload

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica payload card.yaml --unloaded empty.csv.gz --loaded gripper.csv.gz -o load/
inertica payload --robot-from result/ --loaded gripper.csv.gz --json
inertica payload arm.urdf --unloaded empty.csv@2:50 --loaded full.csv@3:53 --flange tool0
inertica payload card.yaml --unloaded a.csv b.csv --loaded c.csv --flange=0,0,0.107,0,0,-0.785
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "robot", metavar="ROBOT", nargs="?", help="built-in name, DH YAML, URDF, MJCF or robot card; not needed with --robot-from"
    )
    parser.add_argument(
        "--unloaded", metavar="LOG", nargs="+", default=[], help="logs without the load; FILE@t0:t1 takes a slice"
    )
    parser.add_argument("--loaded", metavar="LOG", nargs="+", default=[], help="logs with the load")
    parser.add_argument("--robot-from", metavar="RESULT", help="result of the robot without load, instead of --unloaded")
    parser.add_argument(
        "--flange", metavar="FRAME|=X,Y,Z[,R,P,Y]",
        help="frame of the load: a link of the model file, or a pose on the last link (m, and roll, pitch, yaw in rad)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="write payload.json, load.urdf, load.xml and controllers.txt"
    )
    parser.add_argument("--quick", action="store_true", help="intervals hold noise and blocks only, no bias")
    add_prior(parser)
    add_choices(parser)


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.output is not None:
        check_output(arguments.output)
    with progress_line() as say:
        found = payload(
            arguments.robot, unloaded=arguments.unloaded, loaded=arguments.loaded, robot_from=arguments.robot_from,
            frame=frame(arguments.flange), settings=settings(arguments), progress=say,
        )  # fmt: skip
    files = found.save(arguments.output) if arguments.output is not None else ()
    for sentence in found.warnings:
        warnings.warn(ModelWarning(sentence), stacklevel=2)
    return Answer(found.document() | {"files": [str(f) for f in files]}, lambda: text(found, files))


def frame(word: str | None) -> str | tuple[float, ...] | None:
    """A name, or numbers."""
    if word is None or "," not in word:
        return word
    try:
        return tuple(float(part) for part in word.split(","))
    except ValueError:
        return word


def text(found: Payload, files: tuple[Path, ...] = ()) -> Iterator[RenderableType]:
    """For people."""
    from rich.text import Text

    body = found.body
    place = found.flange.name if found.flange.name == found.parent else f"{found.flange.name} (on {found.parent})"
    yield Text(f"{found.description.name}: load of {number(body.mass)} kg ({span(*found.intervals[9])}), frame {place}", "bold")
    spread = INTERVAL * found.com_std
    yield f"centre of mass {numbers(body.com)} m, ± {numbers(spread, 2)} (95 %)"
    yield f"inertia about it: XX YY ZZ {numbers([body.inertia[k, k] for k in range(3)])}, " + (
        f"XY XZ YZ {numbers([body.inertia[0, 1], body.inertia[0, 2], body.inertia[1, 2]])} kg m^2\n"
    )
    rows: list[list[RenderableType]] = []
    for name in ORDER:
        k = inertia.NAMES.index(name)
        shown = (number(tidy(found.values[k])), span(*found.intervals[k]))
        rows.append([name, *shown, UNITS.get(name, "kg m^2"), marked(found.labels[k])])
    columns = ("name", "value", "95 % interval", "unit", "trust")
    yield table("parameters of the load about the origin of its frame", columns, rows, right=columns[1:3])
    if found.residuals:
        yield residual_table(found.residuals)
    yield table("choices", ("subject", "decision"), [[c.subject, c.sentence] for c in found.choices])
    yield "to paste into controllers (their flange frame must be the one above):"
    for controller, line in found.statements.items():
        yield f"  {controller}: {line}"
    if files:
        yield f"written: {', '.join(map(str, files))}"
