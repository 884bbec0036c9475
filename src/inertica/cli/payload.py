"""Finds the load that a robot carries: mass, first moments and inertia with 95 % intervals, from
records without the load and records with it.  Motions may be the same or different ones; friction of
the loaded records is fitted on its own.  With --robot-from the robot comes from a result of identify,
and its own uncertainty is part of the load's intervals; --online then shows the load while samples come.

The load is stated in the flange frame: --flange, the card's `payload:`, a frame of the model file
called tool0 or flange, or the frame of the last link.  -o writes it as a URDF link, an MJCF body and
statements for controllers (UR, Franka, KUKA).
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inertica.checks.seen import seen
from inertica.cli.console import Answer, numbers, progress_line, table, text_console, written_to
from inertica.cli.fitting import add_choices, add_prior, residual_table, settings
from inertica.cli.identify import check_output, marked
from inertica.cli.reading import add_reading, described, reading_options, refuse_reading, with_reading
from inertica.cli.watch import paced
from inertica.documents import plain
from inertica.errors import InputError, ModelWarning
from inertica.identifiability.labels import DETERMINED, INTERVAL, WEAK
from inertica.logs.lines import blocks
from inertica.logs.wrench import PARTS
from inertica.numbers import number, span, tidy
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.flange import name_or_pose
from inertica.robot.load import load
from inertica.workflow.identify.result import Result
from inertica.workflow.payload.online import LoadSnapshot, payload_while_moving
from inertica.workflow.payload.payload import SENSORS, payload
from inertica.workflow.payload.result import BIAS_UNITS, ORDER, UNITS, Payload
from inertica.workflow.watch import log_blocks

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica payload card.yaml --unloaded empty.csv.gz --loaded gripper.csv.gz -o load/
inertica payload --robot-from result/ --loaded gripper.csv.gz --json
inertica payload arm.urdf --unloaded empty.csv@2:50 --loaded full.csv@3:53 --flange tool0
inertica payload --robot-from result/ --loaded gripper.csv.gz --online --speed 1
robot-driver --csv | inertica payload --robot-from result/ --loaded - --online --json
inertica payload card.yaml --sensor wrench-static --loaded poses.csv --flange ft_frame -o load/
inertica payload card.yaml --unloaded a.csv b.csv --loaded c.csv --flange=0,0,0.107,0,0,-0.785
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "robot",
        metavar="ROBOT",
        nargs="?",
        help="built-in name, DH YAML, URDF, MJCF, SDFormat or robot card; not needed with --robot-from",
    )
    parser.add_argument(
        "--unloaded", metavar="LOG", nargs="+", default=[], help="logs without the load; FILE@t0:t1 takes a slice"
    )
    parser.add_argument("--loaded", metavar="LOG", nargs="+", default=[], help="logs with the load")
    parser.add_argument(
        "--sensor", choices=SENSORS, default=SENSORS[0],
        help="what the load is found by: torques of the joints, or a force-torque sensor at --flange (columns wrench_fx ...), "
        "which needs no logs without the load and whose bias is found, too; wrench-static takes every sample for one at rest",
    )  # fmt: skip
    parser.add_argument("--robot-from", metavar="RESULT", help="result of the robot without load, instead of --unloaded")
    add_flange(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="write payload.json, load.urdf, load.xml and controllers.txt"
    )
    parser.add_argument(
        "--online", action="store_true",
        help="with --robot-from: the load while samples come, from a log that is replayed or, with --loaded -, from stdin (lines as "
        "for watch); with --json one document per line",
    )  # fmt: skip
    parser.add_argument("--every", type=float, default=1.0, metavar="S", help="with --online: s between estimates (1)")
    parser.add_argument("--speed", type=float, metavar="X", help="with --online: times real time; as fast as it goes by default")
    parser.add_argument("--forgetting", type=float, default=1.0, metavar="F", help="with --online: factor per row (1: nothing)")
    parser.add_argument("--quick", action="store_true", help="intervals hold noise and blocks only, no bias")
    add_prior(parser)
    add_reading(parser)
    add_choices(parser)


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.output is not None:
        check_output(arguments.output)
    if arguments.online:
        return online(arguments)
    with progress_line() as say:
        result = payload(
            robot_of(arguments), unloaded=arguments.unloaded, loaded=arguments.loaded, robot_from=arguments.robot_from,
            frame=frame(arguments.flange), sensor=arguments.sensor, settings=settings(arguments), progress=say,
        )  # fmt: skip
    files = result.save(arguments.output) if arguments.output is not None else ()
    for sentence in result.warnings:
        warnings.warn(ModelWarning(sentence), stacklevel=2)
    return Answer(result.document() | {"files": [str(f) for f in files]}, lambda: text(result, files))


def robot_of(arguments: argparse.Namespace) -> str | Description | None:
    """ROBOT, or that of the result, with what the options say of its logs; None where it is that of the result as it is."""
    if arguments.robot is not None:
        return described(arguments)
    stated = reading_options(arguments)
    return with_reading(Result.load(arguments.robot_from).description, stated) if stated and arguments.robot_from else None


def online(arguments: argparse.Namespace) -> Answer:
    """The load while samples come."""
    if arguments.robot_from is None or len(arguments.loaded) != 1 or arguments.unloaded:
        raise InputError("payload --online needs a result (--robot-from) and one log with the load, or - for stdin (--loaded)")
    for name in ("every", "speed"):
        value = getattr(arguments, name)
        if value is not None and not 0.0 < value < np.inf:
            raise InputError(f"--{name} should be greater than zero, not {value:g}")
    result = Result.load(arguments.robot_from)
    (name,) = arguments.loaded
    if name == "-":
        refuse_reading(arguments)
    robot = with_reading(result.description if arguments.robot is None else load(arguments.robot), reading_options(arguments))
    source = blocks(sys.stdin, robot.robot.n) if name == "-" else log_blocks(seen(name, robot))
    snapshots = payload_while_moving(
        result, paced(source, arguments.speed), robot=robot, every=arguments.every, frame=frame(arguments.flange),
        forgetting=arguments.forgetting,
    )  # fmt: skip
    last = shown(snapshots, arguments.json)
    files = last.payload.save(arguments.output) if arguments.output is not None else ()
    if arguments.json:
        return Answer({}, lambda: (), written=True)
    return Answer({}, lambda: text(last.payload, files))


def shown(snapshots: Iterable[LoadSnapshot], as_json: bool) -> LoadSnapshot:
    """Estimates as they come; the last one."""
    from rich.console import Group
    from rich.live import Live

    console, last = text_console(), None
    with (
        Live(console=console, refresh_per_second=8, transient=True)
        if sys.stdout.isatty() and not as_json
        else nullcontext() as live
    ):
        for last in snapshots:
            if as_json:
                document = {"event": "load", "t": last.time, "complete": last.estimate.complete} | last.payload.document()
                sys.stdout.write(json.dumps(plain(document), ensure_ascii=False, allow_nan=False) + "\n")
                sys.stdout.flush()
            elif live is None:
                console.print(sentence(last))
            else:
                live.update(Group(sentence(last), _parameters(last.payload)))
    assert last is not None  # there is one at the end in any case
    return last


def sentence(snapshot: LoadSnapshot) -> str:
    """A snapshot as a line."""
    if not {DETERMINED, WEAK} & set(snapshot.estimate.labels) and not snapshot.estimate.moments:
        return f"{snapshot.time:8.2f} s  nothing is known of the load yet"
    p = snapshot.payload
    known = sum(label == DETERMINED for label in p.labels)
    return f"{snapshot.time:8.2f} s  {p.sentence}, {known} of 10 parameters determined"


def add_flange(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--flange", metavar="FRAME|=X,Y,Z[,R,P,Y]",
        help="frame of the load: a link of the model file, or a pose on the last link (m, and roll, pitch, yaw in rad)",
    )  # fmt: skip


def frame(word: str | None) -> str | tuple[float, ...] | None:
    """A name, or numbers."""
    return None if word is None else name_or_pose(word)


def text(result: Payload, files: tuple[Path, ...] = ()) -> Iterator[RenderableType]:
    """For people."""
    from rich.text import Text

    body = result.body
    place = result.flange.name if result.flange.name == result.parent else f"{result.flange.name} (on {result.parent})"
    yield Text(f"{result.description.name}: {result.sentence}, frame {place}", "bold")
    spread = INTERVAL * result.com_std
    if not result.mass_shows:
        yield f"a body that fits it, one of many: {number(body.mass)} kg"
    yield f"centre of mass {numbers(body.com)} m, ± {numbers(spread, 2)} (95 %)"
    yield f"inertia about it: XX YY ZZ {numbers([body.inertia[k, k] for k in range(3)])}, " + (
        f"XY XZ YZ {numbers([body.inertia[0, 1], body.inertia[0, 2], body.inertia[1, 2]])} kg m^2\n"
    )
    yield _parameters(result)
    if result.bias is not None:
        each = zip(PARTS, result.bias.values, result.bias.intervals, BIAS_UNITS, strict=True)
        rows = [[part, number(tidy(value)), span(*ends), unit] for part, value, ends, unit in each]
        yield table("bias of the sensor", ("channel", "value", "95 % interval", "unit"), rows, right=("value", "95 % interval"))
    if result.residuals:
        yield residual_table(result.residuals)
    yield table("choices", ("subject", "decision"), [[c.subject, c.sentence] for c in result.choices])
    yield "to paste into controllers (their flange frame must be the one above):"
    for controller, line in result.statements.items():
        yield f"  {controller}: {line}"
    if files:
        yield written_to(files)


def _parameters(result: Payload) -> RenderableType:
    rows: list[list[RenderableType]] = []
    for name in ORDER:
        k = inertia.NAMES.index(name)
        shown = (number(tidy(result.values[k])), span(*result.intervals[k]))
        rows.append([name, *shown, UNITS.get(name, "kg m^2"), marked(result.labels[k])])
    columns = ("name", "value", "95 % interval", "unit", "trust")
    return table("parameters of the load about the origin of its frame", columns, rows, right=columns[1:3])
