"""Rehearses an experiment: the robot follows a trajectory under its own controller, and a noisy log comes out.

The simulated robot has the values of the model file.  Its friction may be another than the one to be identified.  Noise presets
give the position noise in degrees, which is what the survey's toolbox reads; --radians takes the same digits as radians, which is
what its Table 1 prints.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inertica.cli.console import Answer, progress, progress_line, table
from inertica.cli.flags import add_flags, stated
from inertica.errors import InputError, ModelWarning
from inertica.numbers import number
from inertica.robot.load import load
from inertica.workflow.simulate_options import SimulateOptions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.logs.log import Log
    from inertica.workflow.calls import Rehearsal

POOR = 0.1
"""Tracking error above this part of the reference's motion (both rms) is told: the log is of another motion than the one planned."""

EXAMPLES = """\
inertica simulate tx40 -o log.csv.gz --noise standard
inertica simulate card.yaml -t traj.yaml -o log.csv.gz --friction stribeck --seed 3
inertica simulate tx40 -t traj.yaml -o run.npz --runs 10 --rate 1000 --delay 0.002
inertica simulate arm.urdf -o log.csv --loop '{law: pd, wn: 15, rate: 2000}' --torque-noise 0.5
inertica simulate dog.urdf --replay other.csv --actuators result/ -o simulated.csv
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="catalog name, model file or card with a control loop")
    parser.add_argument(
        "-t", "--trajectory", metavar="FILE", help="YAML or CSV; by default the robot's own, or one designed quickly"
    )
    parser.add_argument("-o", "--output", metavar="LOG", required=True, help="csv, csv.gz or npz; several runs get numbers")
    free = parser.add_argument_group("free run")
    free.add_argument("--replay", metavar="LOG", help="simulate the position servos on the commands (qr) of this log")
    free.add_argument("--actuators", metavar="RESULT", help="of `inertica actuators`; gains and friction of the card by default")
    add_flags(parser, SimulateOptions)


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.replay is not None:
        return _replayed(arguments)
    if arguments.actuators is not None:
        raise InputError("--actuators belongs to a free run: name the log with --replay LOG")
    from inertica.workflow.calls import rehearsal

    with progress_line() as say:
        planned = rehearsal(arguments.robot, arguments.trajectory, stated(SimulateOptions, arguments), say)
    experiment = planned.experiment
    start = time.perf_counter()
    files: list[str] = []
    errors = []
    with progress("simulating"):
        for k, log in enumerate(planned.logs()):
            path = _numbered(Path(arguments.output), k, planned.options.runs)
            log.save(path)
            files.append(str(path))
            errors.append(_tracking(log))
    rms = np.sqrt(np.mean(np.square(errors), axis=0))
    _tell_poor_tracking(log, rms)
    took = time.perf_counter() - start
    document = {
        "robot": experiment.description.name,
        "files": files,
        "samples": len(log),
        "rate": experiment.sensors.rate or experiment.loop.rate,
        "control_rate": experiment.loop.rate,
        "integrator": experiment.integrator,
        "noise": None if experiment.noise is None else {"q": experiment.noise.q, "tau": experiment.noise.tau},
        "loop": {"law": experiment.loop.law, "rate": experiment.loop.rate, **experiment.loop.gains},
        "tracking_rms": rms,
        "motion": planned.note or None,
        "seconds": took,
    }
    return Answer(document, lambda: _text(planned, files, rms, took, "wn" in (experiment.description.loop or {})))


def _replayed(arguments: argparse.Namespace) -> Answer:
    from inertica.workflow.actuators.replay import replay

    options = stated(SimulateOptions, arguments)
    other = [f"--{f.name.replace('_', '-')}" for f in fields(options) if getattr(options, f.name) != f.default]
    if arguments.trajectory is not None or other:
        first = "--trajectory" if arguments.trajectory is not None else other[0]
        raise InputError(f"{first} belongs to a rehearsal; a free run (--replay) takes its commands and times from the log")
    with progress("simulating"):
        replayed = replay(arguments.robot, arguments.replay, arguments.actuators)
        replayed.log.save(arguments.output)
    joints = load(arguments.robot).robot.joints
    document = {
        "robot": str(arguments.robot), "files": [arguments.output], "samples": len(replayed.log), "stretches": replayed.stretches,
        "rms": {joint.name: float(e) for joint, e in zip(joints, replayed.rms, strict=True)},
    }  # fmt: skip

    def text() -> Iterator[RenderableType]:
        rows = [[j.name, number(e), j.unit] for j, e in zip(joints, replayed.rms, strict=True)]
        yield table("free run: rms position error", ("joint", "error", "unit"), rows, right=("error",))
        yield f"wrote {arguments.output}"

    return Answer(document, text)


def _tracking(log: Log) -> np.ndarray:
    return np.sqrt(np.mean((log.truth["q"] - log.need("qr")) ** 2, axis=0))


def _tell_poor_tracking(log: Log, rms: np.ndarray) -> None:
    motion = np.std(log.need("qr"), axis=0)
    poor = [f"{name} {100 * e / m:.0f} %" for name, e, m in zip(log.joints, rms, motion, strict=True) if 0.0 < POOR * m < e]
    if poor:
        warnings.warn(
            f"the loop does not follow the reference, its rms error is {', '.join(poor)} of the rms motion; the gains of the loop "
            "are too low for this motion, or the trajectory is too fast",
            ModelWarning,
            stacklevel=2,
        )


def _numbered(path: Path, k: int, runs: int) -> Path:
    if runs == 1:
        return path
    stem, dot, rest = path.name.partition(".")
    return path.with_name(f"{stem}_{k + 1:0{len(str(runs))}d}{dot}{rest}")


def _text(planned: Rehearsal, files: list[str], rms: np.ndarray, took: float, tuned: bool) -> Iterator[RenderableType]:
    experiment = planned.experiment
    yield f"{experiment.description.name}: {experiment.truth.origin}, {experiment.integrator}, control at {experiment.loop.rate:g} Hz"
    if planned.note:
        yield planned.note
    if tuned:
        gains = "".join(f"{name}: [{', '.join(f'{g:.4g}' for g in x)}], " for name, x in experiment.loop.gains.items())
        yield f"gains from wn, for the card: loop: {{law: {experiment.loop.law}, {gains}rate: {experiment.loop.rate:g}}}"
    joints = experiment.description.robot.joints
    rows = [[j.name, number(e), j.unit] for j, e in zip(joints, rms, strict=True)]
    yield table("tracking error, rms", ("joint", "error", "unit"), rows, right=("error",))
    shown = ", ".join(files[:3]) + (f" ... {files[-1]}" if len(files) > 3 else "")
    yield f"wrote {shown} in {took:.2f} s"
