"""Finds what the currents of a robot's drives are worth in torque, from records without and with a
load of known mass, best along the same motion.  Nothing of the gains needs to be known before; the
centre of mass and the inertia of the load make them surer.  Joints on which the load does not weigh
are flagged, currents that count the wrong way are reported.

The gain of a joint is K_v K_r K_m: amplifier, reduction and torque constant together, in N m per A
on the joint side.  The last line is what a robot card needs.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, numbers, progress_line, table
from inertica.cli.fitting import add_choices, settings
from inertica.cli.identify import marked
from inertica.cli.payload import add_flange, frame
from inertica.cli.reading import add_reading, described
from inertica.documents import plain
from inertica.errors import ModelWarning
from inertica.numbers import NONE, number, span
from inertica.robot import inertia
from inertica.workflow.payload.drive_gains import DriveGains, drive_gains
from inertica.workflow.payload.load_sets import FORMS
from inertica.writing import write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica drive-gains arm.urdf --unloaded empty.csv.gz --loaded disc.csv.gz --mass 2.805
inertica drive-gains card.yaml --unloaded a.csv --loaded b.csv --mass 1.73 --com=0,0,0.04
inertica drive-gains arm.urdf --unloaded a.csv --loaded b.csv --mass 2 --form constrained
inertica drive-gains arm2.urdf --unloaded a.csv --loaded b.csv --mass 2 --prior 12,10 --trust 0.1
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="built-in name, DH YAML, URDF, MJCF, SDFormat or robot card")
    parser.add_argument("--unloaded", metavar="LOG", nargs="+", required=True, help="logs with currents i1.., without the load")
    parser.add_argument("--loaded", metavar="LOG", nargs="+", required=True, help="logs with the load")
    parser.add_argument("--mass", metavar="KG", type=float, required=True, help="of the load")
    parser.add_argument("--com", metavar="=X,Y,Z", type=_numbers, help="its centre of mass in the flange frame in m, when known")
    parser.add_argument(
        "--inertia",
        metavar="=XX,XY,XZ,YY,YZ,ZZ",
        type=_numbers,
        help="its inertia about the centre of mass in kg m^2, when known",
    )
    add_flange(parser)
    parser.add_argument(
        "--form", choices=FORMS, default="tls",
        help="tls (the default): total least squares, all error in the currents; constrained: the same with links and load that can "
        "exist; unscaled: total least squares as printed, for comparison",
    )  # fmt: skip
    parser.add_argument(
        "--prior", metavar="K,K,..", type=_numbers, help="gains known before, one for each joint, as a soft prior"
    )
    parser.add_argument(
        "--trust", metavar="S", type=float, default=0.2, help="relative standard deviation of the prior gains (0.2)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the JSON document")
    add_reading(parser)
    add_choices(parser)


def run(arguments: argparse.Namespace) -> Answer:
    with progress_line() as say:
        gains = drive_gains(
            described(arguments), unloaded=arguments.unloaded, loaded=arguments.loaded, mass=arguments.mass, com=arguments.com,
            central_inertia=arguments.inertia, frame=frame(arguments.flange), form=arguments.form, prior=arguments.prior,
            trust=arguments.trust, settings=settings(arguments), progress=say,
        )  # fmt: skip
    document = gains.document()
    if arguments.output is not None:
        write_whole(arguments.output, json.dumps(plain(document), indent=1, ensure_ascii=False) + "\n")
    for sentence in gains.sentences:
        warnings.warn(ModelWarning(sentence), stacklevel=2)
    return Answer(document, lambda: text(gains, arguments.output))


def text(gains: DriveGains, written: Path | None = None) -> Iterator[RenderableType]:
    """For people."""
    rows: list[list[RenderableType]] = []
    for j, joint in enumerate(gains.description.robot.joints):
        stated_gain = NONE if gains.stated is None else number(gains.stated[j])
        shown = (number(gains.values[j]), span(*gains.intervals[j]), stated_gain, f"{joint.effort_unit}/A")
        rows.append([f"{j + 1} {joint.name}", *shown, "yes" if gains.revealed[j] else "no", marked(gains.labels[j])])
    columns = ("joint", "gain", "95 % interval", "stated", "unit", "load weighs on it", "trust")
    yield table(f"drive gains of {gains.description.name}, form {gains.form}", columns, rows, right=columns[1:4])
    body = inertia.to_com(gains.load)
    yield f"load: {number(body.mass)} kg, centre of mass {numbers(body.com)} m in {gains.flange.name}\n"
    yield f"for the card: {gains.card}"
    if written is not None:
        yield f"written: {written}"


def _numbers(word: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in word.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{word}' should be numbers separated by commas") from None
