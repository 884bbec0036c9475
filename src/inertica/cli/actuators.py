"""Finds what simulation and learning need of a robot's joints from commands and positions: armature, viscous and Coulomb friction,
command delay, zeros, torque limits, and gains of the position loop where they are not stated.  No torque is needed.

LOG holds positions (q1.. or joint names) and position targets (qr1.., cmd, target, action, des); velocity targets (dqr1..) count
where they are there.  Links are those of the model file, 10 % uncertain unless it is stated otherwise; the base is held.
What the logs cannot tell is said first.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress_line, table, written_to
from inertica.cli.reading import add_reading, described
from inertica.errors import InputError
from inertica.estimators.actuators.values import QUANTITIES
from inertica.numbers import number
from inertica.workflow.actuators.result import UNSEEN
from inertica.workflow.actuators.words import sentences
from inertica.writing import whole_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.workflow.actuators.result import ActuatorsResult

EXAMPLES = """\
inertica actuators dog.urdf air.csv --kp 40 --kd 1 --validate other.csv
inertica actuators so101.yaml multisine/ step_response/ -o result
inertica actuators arm.urdf run.csv.gz --links 6 --json
inertica actuators pendulum.urdf light.csv heavy.csv --load heavy.csv=0.5,0,0,0.12
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="built-in name, DH YAML, URDF, MJCF, SDFormat or robot card")
    parser.add_argument(
        "logs", metavar="LOG", nargs="+", help="commands and positions; FILE@t0:t1 takes a slice; all enter one fit"
    )
    parser.add_argument(
        "--validate", metavar="LOG", action="append", default=[], help="a log that is only simulated; may be given several times"
    )
    known = parser.add_argument_group("known", "SI, on the joint's side; one number, or one per joint (- where unknown)")
    known.add_argument("--kp", metavar="K[,K..]", help="stiffness of the position loop in N m/rad")
    known.add_argument("--kd", metavar="K[,K..]", help="damping of the position loop in N m s/rad")
    known.add_argument("--torque-limit", metavar="T[,T..]", help="largest torque of the drives in N m")
    known.add_argument(
        "--load", metavar="LOG=KG[,X,Y,Z[,J]]", action="append", default=[],
        help="mass that hung on the last link, or on that of joint J, in LOG, at X, Y, Z m in the link's frame; several times",
    )  # fmt: skip
    known.add_argument("--links", metavar="J[,J..]", help="joints whose links are found, too, by number or name")
    known.add_argument(
        "--links-std", metavar="S", type=float, help="relative standard deviation of the links' masses, centres, inertias"
    )
    known.add_argument(
        "--hold",
        choices=("zero", "linear"),
        help="commands between samples: held, or in straight lines; held unless clearly worse",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="write result.json, actuators.yaml with the values, and report.html"
    )
    add_reading(parser)


def run(arguments: argparse.Namespace) -> Answer:
    from inertica.report.actuators import write_actuators_report
    from inertica.workflow.actuators.card import write_card
    from inertica.workflow.actuators.job import actuators
    from inertica.workflow.actuators.result import RESULT

    with progress_line() as say:
        result = actuators(
            described(arguments), arguments.logs, validate=arguments.validate, kp=_numbers("kp", arguments.kp),
            kd=_numbers("kd", arguments.kd), torque_limit=_numbers("torque-limit", arguments.torque_limit),
            loads=dict(_load(word) for word in arguments.load),
            links=[] if arguments.links is None else arguments.links.split(","), links_std=arguments.links_std,
            hold=arguments.hold, say=say,
        )  # fmt: skip
    files = []
    if arguments.output is not None:
        folder = arguments.output
        with whole_folder(folder, RESULT) as part:
            made = [result.save(part), write_card(result, part), write_actuators_report(result, part)]
        files = [folder / file.name for file in made]
    return Answer(result.document() | {"written": [str(f) for f in files]}, lambda: text(result, files))


def text(result: ActuatorsResult, files: list[Path]) -> Iterator[RenderableType]:
    """For people: what cannot be told first."""
    from inertica.report.actuators import quantity_cells

    yield "what these logs cannot tell:" if result.confounded else "these logs determine all that was searched for"
    for sentence in sentences(result.confounded, [joint.name for joint in result.joints]):
        yield f"* {sentence}"
    for sentence in (*result.scale, *result.notes):
        yield sentence
    yield ""
    for name, kind in QUANTITIES.items():
        rows = [[f"{k + 1} {j.name}", *quantity_cells(getattr(j, name))] for k, j in enumerate(result.joints)]
        if kind.optional is None or any(row[-1] != UNSEEN for row in rows):
            yield table(
                f"{kind.words} in {kind.unit}", ("joint", "value", "+-", "95 % interval", "label"), rows, right=("value", "+-")
            )
    if result.found_links:
        yield _links_table(result)
    for name, run in result.free_run.items():
        where = f"{name}{', which was fitted' if run.fitted else ''}"
        rows = [
            [f"{k + 1} {j.name}", number(1e3 * before), number(1e3 * rms)]
            for k, (j, before, rms) in enumerate(zip(result.joints, run.before, run.rms, strict=True))
        ]
        yield table(
            f"free run on {where}: rms position error in mrad (mm), before: the model that came in, gains fitted where not stated",
            ("joint", "before", "after"), rows, right=("before", "after"),
        )  # fmt: skip
    if files:
        yield written_to(files)


def _links_table(result: ActuatorsResult) -> RenderableType:
    """Links that were found: mass and first moments, in which gravity and most of the motion show."""
    assert result.links is not None and result.links_spread is not None
    rows = []
    for j in result.found_links:
        for name, k in (("mass in kg", 9), ("MX in kg m", 6), ("MY in kg m", 7), ("MZ in kg m", 8)):
            cells = [number(result.links[j, k]), number(1.96 * result.links_spread[j, k], 2)]
            rows.append([f"{j + 1} {result.joints[j].name}", name, *cells])
    return table("links", ("joint", "of its link", "value", "+-"), rows, right=("value", "+-"))


def _load(word: str) -> tuple[str, list[float | str]]:
    """A log and the mass that hung on it: `run.csv=0.5,0,0,0.1`."""
    log, mark, rest = word.rpartition("=")
    parts: list[float | str] = list(rest.split(","))
    try:
        parts[:4] = [float(part) for part in parts[:4]]
    except ValueError:
        mark = ""
    if not mark or not log:
        raise InputError(f"--load takes LOG=KG[,X,Y,Z[,JOINT]], such as run.csv=0.5,0,0,0.1; not '{word}'")
    return log, parts


def _numbers(option: str, word: str | None) -> list[float] | None:
    if word is None:
        return None
    try:
        values = [None if part.strip() == "-" else float(part) for part in word.split(",")]
        understood = all(x is None or isfinite(x) for x in values)
    except ValueError:
        understood = False
    if not understood:
        raise InputError(f"--{option} takes numbers separated by commas, - for one that is not known; not '{word}'")
    return [nan if x is None else x for x in values]
