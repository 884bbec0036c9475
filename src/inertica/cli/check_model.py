"""Checks whether a model can be real: link by link mass, centre of mass, principal moments,
triangle inequality, Sylvester minors, Cholesky tolerance and pseudo-inertia margin; signs of
drives and friction; the inertia matrix of the whole robot over sampled configurations; and, for
a robot card, which of the constraints it states the values break.

FILE is a built-in name, a DH YAML, a URDF, an MJCF or a robot card.  The exit code is 0 whatever
the verdict, unless --strict.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, numbers, one_line, progress, table
from inertica.errors import InputError, ModelWarning
from inertica.numbers import number
from inertica.physical.check import CONFIGURATIONS, LinkCheck, ModelCheck, check_model
from inertica.physical.stated import stated
from inertica.robot.load import load

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica check-model arm.urdf
inertica check-model card.yaml --strict
inertica check-model tx40 --configurations 5000 --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="model file or built-in name")
    parser.add_argument(
        "--strict", action="store_true", help="exit with code 1 when the model is not consistent or breaks what its card states"
    )
    parser.add_argument(
        "--configurations",
        type=int,
        default=CONFIGURATIONS,
        metavar="N",
        help=f"for the inertia matrix (default {CONFIGURATIONS})",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the configurations (default 0)")


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.configurations < 1:
        raise InputError(f"the number of configurations should be at least 1, not {arguments.configurations}")
    description = load(arguments.file)
    with progress(f"checking {description.name}"):
        known = stated(description)
        checked = check_model(description.prior, arguments.configurations, arguments.seed, known.constraints)
    for note in known.notes:
        warnings.warn(ModelWarning(note), stacklevel=1)
    code = 1 if arguments.strict and (checked.broken or not checked.consistent) else 0
    return Answer(checked.document(), lambda: text(checked), code)


def text(checked: ModelCheck) -> Iterator[RenderableType]:
    """Two tables of the links, then the whole robot and the verdict."""
    yield table(
        "links",
        ("link", "verdict", "mass [kg]", "centre of mass [m]", "principal moments [kg m^2]", "margin"),
        [_row(link) for link in checked.links],
        right=("mass [kg]", "margin"),
    )
    yield table(
        "tests of the inertia about the centre of mass",
        ("link", "triangle inequality", "Sylvester minors", "Cholesky tolerance"),
        [[one_line(k.name), number(k.triangle), numbers(k.minors), number(k.cholesky_tolerance)] for k in checked.links],
        right=("triangle inequality", "Cholesky tolerance"),
    )
    smallest = number(checked.inertia_matrix)
    yield f"inertia matrix of the robot: smallest eigenvalue {smallest} over {checked.configurations} configurations"
    yield one_line(checked.sentence)


def _row(link: LinkCheck) -> list[str]:
    verdict = "empty" if link.empty else "possible" if link.consistent else link.problem
    return [one_line(link.name), verdict, number(link.mass), numbers(link.com), numbers(link.eigenvalues), number(link.margin)]
