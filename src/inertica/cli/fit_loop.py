"""Finds the control loop of a robot from a log: PD, cascade or PI velocity loop, gains, bandwidth and damping of every joint.

LOG holds measured positions and the reference (columns qr1.., or --reference); with torque the gains are absolute, without it they
rest on the model's own values.  Every gain comes with the standard deviation (+-) that noise in the log causes.  The result is a
`loop:` section for the robot's card, which closed-loop methods need.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from inertica.cli.console import Answer, progress, table
from inertica.errors import InputError, ModelWarning
from inertica.numbers import number
from inertica.robot.control import LAWS

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.workflow.loop.fit_loop import LoopFit

FITTED = tuple(name for name, law in LAWS.items() if law.fitted)

EXAMPLES = """\
inertica fit-loop card.yaml run.csv.gz --rate 1000
inertica fit-loop card.yaml run.csv.gz --reference traj.yaml --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="built-in name, DH YAML, URDF, MJCF, SDFormat or robot card")
    parser.add_argument("logs", metavar="LOG", nargs="+", help="recorded motion with reference; FILE@t0:t1 takes a slice")
    parser.add_argument("--reference", metavar="TRAJ", action="append", default=[], help="what the controller followed")
    parser.add_argument("--rate", type=float, metavar="HZ", help="control rate; that of the log by default")
    parser.add_argument("--law", choices=FITTED, help="structure; whichever fits better by default")
    parser.add_argument("--cutoff", type=float, metavar="HZ", help="of the filter that all signals pass")


def run(arguments: argparse.Namespace) -> Answer:
    from inertica.excitation.files import load_trajectory
    from inertica.logs.read import read_log
    from inertica.robot.load import load
    from inertica.workflow.loop.fit_loop import fit_loop

    for name in ("rate", "cutoff"):
        value = getattr(arguments, name)
        if value is not None and not value > 0.0:
            raise InputError(f"--{name} should be a number of Hz greater than zero, not {value:g}")
    with progress("fitting the loop"):
        description = load(arguments.robot)
        logs = [read_log(name, description) for name in arguments.logs]
        references = [load_trajectory(name) for name in arguments.reference]
        fit = fit_loop(description, logs, rate=arguments.rate, law=arguments.law, cutoff=arguments.cutoff, references=references)
    for sentence in fit.warnings:
        warnings.warn(sentence, ModelWarning, stacklevel=2)
    document = {
        "robot": description.name,
        "law": fit.law,
        "rate": fit.rate,
        "torque": fit.source,
        "joints": [asdict(j) for j in fit.joints],
        "residual": fit.residuals,
        "loop": fit.card(),
    }
    return Answer(document, lambda: _text(fit))


def _text(fit: LoopFit) -> Iterator[RenderableType]:
    both = ", ".join(f"{law} {100 * r:.2f} %" for law, r in fit.residuals.items())
    yield f"law: {fit.law} (relative residuals of torque: {both}; torque: {fit.source})"
    names = tuple(fit.joints[0].gains)
    columns = ("joint", *(x for name in names for x in (name, "+-")), "wn rad/s", "zeta", "residual %")
    rows = [
        [j.joint, *(number(x) for name in names for x in (j.gains[name], j.std[name])), number(j.wn), number(j.zeta),
         f"{100 * j.residual:.2f}"]
        for j in fit.joints
    ]  # fmt: skip
    yield table("loop of every joint", columns, rows, right=columns[1:])
    parts = ", ".join(
        f"{key}: [{', '.join(f'{x:.6g}' for x in value)}]" if isinstance(value, list) else f"{key}: {value}"
        for key, value in fit.card().items()
    )
    yield f"for the card:\nloop: {{{parts}}}"
