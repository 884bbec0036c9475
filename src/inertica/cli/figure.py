"""Draws one figure of a saved result for a paper: a vector file at the width of a column or a page, in the look of all
others.  Torque, residual, friction and end-effector draw a log, the last that was not fitted unless --log names another;
parameters, map and ellipsoids need none.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress
from inertica.errors import InputError, ModelWarning
from inertica.excitation.files import load_trajectory
from inertica.numbers import whole
from inertica.report.logs import motions_again
from inertica.report.paper import KINDS, WIDTHS, write_figure
from inertica.workflow.identify.result import Result

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica figure result/ --kind torque -o torque.pdf
inertica figure result/ --kind friction --joints 1,2,3 --width column -o friction.svg
inertica figure result/ --kind end-effector --tool 0,0,0.1 -o path.pdf
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="folder of a result")
    parser.add_argument("--kind", metavar="KIND", required=True, help=", ".join(KINDS))
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the drawing: .pdf, .svg or .eps")
    parser.add_argument("--joints", metavar="J,J", help="numbers of the joints to draw; all by default")
    parser.add_argument("--log", metavar="NAME", help="the data set to draw, or a part of its name")
    parser.add_argument("--logs", metavar="DIR", type=Path, help="folder with the logs, when they are not where they were")
    parser.add_argument("--width", metavar="W", default="page", help=f"{' or '.join(WIDTHS)} (default page)")
    parser.add_argument(
        "--reference", metavar="TRAJ", help="trajectory the controller followed, for end-effector; columns qr1.. by default"
    )
    parser.add_argument("--tool", metavar="X,Y,Z", help="point of the last link in its frame in m, for end-effector")


def run(arguments: argparse.Namespace) -> Answer:
    joints = [_integer(word) for word in arguments.joints.split(",")] if arguments.joints else []
    tool = _point(arguments.tool) if arguments.tool else (0.0, 0.0, 0.0)
    with progress("drawing"):
        result = Result.load(arguments.result)
        motions, gone = motions_again(result, arguments.logs)
        for sentence in gone:
            warnings.warn(ModelWarning(sentence.replace("report", "figure")), stacklevel=1)
        options = {"joints": joints, "log": arguments.log, "width": arguments.width}
        reference = load_trajectory(arguments.reference) if arguments.reference else None
        path = write_figure(result, motions, arguments.kind, arguments.output, tool=tool, reference=reference, **options)

    def text() -> Iterator[RenderableType]:
        yield f"written: {path}"

    return Answer({"file": str(path), "kind": arguments.kind}, text)


def _integer(word: str) -> int:
    if (number := whole(word)) is None:
        raise InputError(f"--joints takes numbers of joints, as in 1,2,3, not '{word}'")
    return number


def _point(words: str) -> tuple[float, float, float]:
    try:
        x, y, z = (float(word) for word in words.split(","))
    except ValueError:
        raise InputError(f"--tool takes three numbers in m, as in 0,0,0.1, not '{words}'") from None
    return x, y, z
