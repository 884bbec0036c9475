"""Finds what the currents of a robot's drives are worth in torque, from records without and with a
load of known mass, best along the same motion; or from what else is known: the weight of a part on a
scale, a link whose values are trusted, joints with the same drive, the gains of the control law.
Nothing of the gains needs to be known before; the centre of mass and the inertia of the load make
them surer.  Joints on which the load does not weigh are flagged, currents that count the wrong way
are reported.

The gain of a joint is K_v K_r K_m: amplifier, reduction and torque constant together, in N m per A
on the joint side.  The last line is what a robot card needs.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, numbers, progress_line, table
from inertica.cli.fitting import add_choices, settings
from inertica.cli.identify import marked
from inertica.cli.payload import add_flange, frame
from inertica.cli.reading import add_reading, described
from inertica.documents import plain
from inertica.errors import InputError, ModelWarning
from inertica.numbers import NONE, number, span
from inertica.robot import inertia
from inertica.workflow.payload.drive_gains import DriveGains, drive_gains, drive_gains_by_law
from inertica.workflow.payload.gain_knowledge import ACCURACY, Alike, Knowledge, TrustedLink, Weighed
from inertica.workflow.payload.load_sets import FORMS
from inertica.writing import write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica drive-gains arm.urdf --unloaded empty.csv.gz --loaded disc.csv.gz --mass 2.805
inertica drive-gains card.yaml --unloaded a.csv --loaded b.csv --mass 1.73 --com=0,0,0.04
inertica drive-gains arm.urdf --unloaded a.csv --weighed=2:12.4:0.6,0,0 --pose=0,0,0,0,0,0
inertica drive-gains arm.urdf --unloaded a.csv --trusted-link 6 --alike 4,5,6
inertica drive-gains arm.urdf --unloaded a.csv --loaded one.csv --twice two.csv
inertica drive-gains card.yaml --unloaded a.csv --law
inertica drive-gains arm2.urdf --unloaded a.csv --loaded b.csv --mass 2 --prior 12,10 --trust 0.1
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="built-in name, DH YAML, URDF, MJCF, SDFormat or robot card")
    parser.add_argument("--unloaded", metavar="LOG", nargs="+", required=True, help="logs with currents i1.., without the load")
    parser.add_argument("--loaded", metavar="LOG", nargs="+", default=[], help="logs with the load")
    parser.add_argument("--mass", metavar="KG", type=float, help="of the load")
    parser.add_argument(
        "--weighed", metavar="=JOINT:KG:X,Y,Z", action="append", default=[], type=_weighed,
        help="so many kg at a point of the link that a joint moves turn it as much as all that is beyond it: what a scale under the "
        "arm reads, or mass and balance point of the part",
    )  # fmt: skip
    parser.add_argument(
        "--pose", metavar="=Q1,Q2,..", type=_numbers, help="positions in which --weighed is true; zeros by default"
    )
    parser.add_argument(
        "--trusted-link",
        metavar="JOINT",
        action="append",
        default=[],
        type=_name,
        help="the link of a joint is as the model says",
    )
    parser.add_argument(
        "--alike", metavar="J1,J2,..", action="append", default=[], type=_names, help="joints with the same motor and reduction"
    )
    parser.add_argument("--twice", metavar="LOG", nargs="+", default=[], help="logs with two loads like the one of --loaded")
    parser.add_argument("--law", action="store_true", help="by the control law of the card, whose gains are in torque")
    parser.add_argument(
        "--accuracy", metavar="S", type=float, default=ACCURACY,
        help=f"relative standard deviation of what --weighed, --trusted-link, --alike or --law states ({ACCURACY:g})",
    )  # fmt: skip
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
    if not arguments.accuracy >= 0.0:
        raise InputError(f"--accuracy should be a relative standard deviation, not {arguments.accuracy:g}")
    with progress_line() as say:
        gains = _by_law(arguments) if arguments.law else _by_fit(arguments, say)
    document = gains.document()
    if arguments.output is not None:
        write_whole(arguments.output, json.dumps(plain(document), indent=1, ensure_ascii=False) + "\n")
    for sentence in gains.sentences:
        warnings.warn(ModelWarning(sentence), stacklevel=2)
    return Answer(document, lambda: text(gains, arguments.output))


def _by_fit(arguments: argparse.Namespace, say: Callable[[str], None]) -> DriveGains:
    return drive_gains(
        described(arguments), unloaded=arguments.unloaded, loaded=arguments.loaded, twice=arguments.twice, mass=arguments.mass,
        com=arguments.com, central_inertia=arguments.inertia, known=_known(arguments), frame=frame(arguments.flange),
        form=arguments.form, prior=arguments.prior, trust=arguments.trust, settings=settings(arguments), progress=say,
    )  # fmt: skip


def _by_law(arguments: argparse.Namespace) -> DriveGains:
    others = ("loaded", "twice", "mass", "weighed", "trusted_link", "alike", "prior")
    if used := [name for name in others if getattr(arguments, name) not in (None, [])]:
        words = ", ".join("--" + name.replace("_", "-") for name in used)
        raise InputError(f"--law finds every gain by itself, from logs without anything else; leave {words} out")
    logs, chosen = arguments.unloaded, settings(arguments)
    return drive_gains_by_law(described(arguments), logs=logs, accuracy=arguments.accuracy, settings=chosen)


def _known(arguments: argparse.Namespace) -> list[Knowledge]:
    """What is known besides a load."""
    if arguments.pose is not None and not arguments.weighed:
        raise InputError("--pose is that of --weighed, which is missing")
    accuracy = arguments.accuracy
    weighed = [Weighed(joint, mass, at, arguments.pose, accuracy) for joint, mass, at in arguments.weighed]
    trusted = [TrustedLink(joint, accuracy) for joint in arguments.trusted_link]
    return [*weighed, *trusted, *(Alike(joints, accuracy) for joints in arguments.alike)]


def text(gains: DriveGains, written: Path | None = None) -> Iterator[RenderableType]:
    """For people."""
    rows: list[list[RenderableType]] = []
    by_load = gains.load is not None and gains.reference is None
    for j, joint in enumerate(gains.description.robot.joints):
        stated_gain = NONE if gains.stated is None else number(gains.stated[j])
        shown = (number(gains.values[j]), span(*gains.intervals[j]), stated_gain, gains.unit(j))
        felt = ["yes" if gains.revealed[j] else "no"] if by_load else []
        rows.append([f"{j + 1} {joint.name}", *shown, *felt, marked(gains.labels[j])])
    felt = ["load weighs on it"] if by_load else []
    columns = ["joint", "gain", "95 % interval", "stated", "unit", *felt, "trust"]
    yield table(f"drive gains of {gains.description.name}, form {gains.form}", columns, rows, right=columns[1:4])
    if gains.load is not None and gains.reference is None:
        body = inertia.to_com(gains.load)
        yield f"load: {number(body.mass)} kg, centre of mass {numbers(body.com)} m in {gains.flange.name}\n"
    if gains.card:
        yield f"for the card: {gains.card}"
    if written is not None:
        yield f"written: {written}"


def _name(word: str) -> int | str:
    """A joint by number or name."""
    return int(word) if word.isdigit() else word


def _names(word: str) -> tuple[int | str, ...]:
    return tuple(_name(part) for part in word.split(","))


def _weighed(word: str) -> tuple[int | str, float, tuple[float, ...]]:
    joint, _, rest = word.partition(":")
    mass, _, point = rest.partition(":")
    where = _numbers(point) if point else ()
    one = _numbers(mass) if mass else ()
    if len(one) != 1 or not one[0] > 0.0 or len(where) != 3:
        raise argparse.ArgumentTypeError(f"'{word}' should be a joint, kg and a point, such as 2:12.4:0.6,0,0")
    return _name(joint), one[0], where


def _numbers(word: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in word.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{word}' should be numbers separated by commas") from None
