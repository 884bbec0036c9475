"""Writes the parts of a robot's torque at one state: tau = M(q) ddq + C(q, dq) dq + g(q) + friction + other.

M counts armature and couplings, C is the matrix of Christoffel symbols, other are springs, counterbalances and formulas.  ROBOT is a
catalog name, a model file, a card or the folder of a result.  --at takes one number per joint for the positions, then as many for the
velocities and for the accelerations; what is left out is zero.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress, table
from inertica.errors import InputError
from inertica.numbers import number
from inertica.robot.load import load
from inertica.workflow.calls import dynamics_at
from inertica.workflow.identify.result import RESULT, Result

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.dynamics.parts import Parts
    from inertica.robot.model import Robot

EXAMPLES = """\
inertica dynamics scara2 --at=0.1,0.5,1,-2,0,0
inertica dynamics tx40 --at=0,0.3,1.2,0,0.5,0 --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="catalog name, model file, card or folder of a result")
    parser.add_argument(
        "--at", metavar="=q,dq,ddq", type=_numbers, required=True,
        help="numbers, with commas: positions, then velocities, then accelerations of all joints (rad or m, s)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> Answer:
    result = Result.load(arguments.robot) if Path(arguments.robot, RESULT).is_file() else None
    description = load(arguments.robot) if result is None else result.description
    n, state = description.robot.n, arguments.at
    if len(state) not in (n, 2 * n, 3 * n):
        raise InputError(
            f"--at has {len(state)} numbers; {description.name} has {n} joints: state {n} positions, or {n} each of positions and "
            f"velocities, or of accelerations, too ({n}, {2 * n} or {3 * n} numbers)"
        )
    state = state + (0.0,) * (3 * n - len(state))
    with progress(f"working out the dynamics of {description.name}"):
        parts = dynamics_at(description if result is None else result, state[:n], state[n : 2 * n], state[2 * n :])
    joints = [j.name for j in description.robot.joints]
    document = {
        "robot": description.name, "joints": joints, "q": parts.q, "dq": parts.dq, "ddq": parts.ddq, "M": parts.M, "C": parts.C,
        "inertial": parts.inertial, "coriolis": parts.coriolis, "gravity": parts.gravity, "friction": parts.friction,
        "other": parts.other, "tau": parts.tau,
    }  # fmt: skip
    return Answer(document, lambda: _text(description.robot, parts))


def _text(robot: Robot, parts: Parts) -> Iterator[RenderableType]:
    names = [j.name for j in robot.joints]
    for title, matrix in (("inertia matrix M", parts.M), ("Coriolis matrix C", parts.C)):
        rows = [[name, *(number(v) for v in row)] for name, row in zip(names, matrix, strict=True)]
        yield table(f"{title} (SI)", ("joint", *names), rows, right=names)
    columns = ("M ddq", "C dq", "gravity", "friction", "other", "tau")
    values = (parts.inertial, parts.coriolis, parts.gravity, parts.friction, parts.other, parts.tau)
    rows = [[j.name, *(number(v[k]) for v in values), j.effort_unit] for k, j in enumerate(robot.joints)]
    yield table("torques", ("joint", *columns, "unit"), rows, right=columns)


def _numbers(word: str) -> tuple[float, ...]:
    try:
        return tuple(float(x) for x in word.replace(";", ",").split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{word}' is not a list of numbers with commas between them") from None
