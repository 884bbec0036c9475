"""Predicts the torques of another log with a saved result, and says how far they are from the
measured ones.  RESULT is the folder that identify wrote, LOG any log of the same robot; without
measured torque it is only predicted.  Without positions the robot's control loop is simulated
along the reference: columns qr1.. of the log, or --reference.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from inertica.checks.seen import seen
from inertica.cli.console import Answer, progress, table
from inertica.cli.fitting import residual_table
from inertica.cli.reading import add_reading, reading_options, with_reading
from inertica.documents import plain
from inertica.errors import InputError, ModelWarning
from inertica.excitation.files import load_trajectory
from inertica.excitation.trajectory import Trajectory
from inertica.logs.log import Log
from inertica.logs.mcap_write import write_joint_states
from inertica.numbers import number
from inertica.workflow.identify.result import Result
from inertica.writing import refuse_other_suffix, write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica predict result/ run3.csv.gz
inertica predict result/ run3.csv.gz@2:10 -o predicted.csv --json
inertica predict result/ run3.csv.gz -o predicted.mcap
inertica predict result/ torque.csv --reference traj.yaml
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="folder of a result")
    parser.add_argument("log", metavar="LOG", help="recorded motion; FILE@t0:t1 takes a slice")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write t, predicted1.. and tau1.. as .csv or .csv.gz, or topics as .mcap",
    )
    parser.add_argument("--reference", metavar="TRAJ", help="trajectory the controller followed, for a log without positions")
    add_reading(parser)


def run(arguments: argparse.Namespace) -> Answer:
    refuse_other_suffix(arguments.output, ".csv", ".csv.gz", ".mcap")
    with progress("predicting"):
        result = Result.load(arguments.result)
        log = seen(arguments.log, with_reading(result.description, reading_options(arguments)))
        measured = log.tau is not None
        if not measured:  # preparation wants a torque; nothing is compared with this one
            log = replace(log, signals={**log.signals, "tau": np.zeros((len(log), log.n))})
        reference = reference_of(result, log, arguments.reference)
        predicted = result.predict(log, reference)
        residuals = {arguments.log: result.validate(log, reference)} if measured else {}
        simulated = "q" not in log.signals
    if arguments.output is not None:
        if arguments.output.suffix == ".mcap":
            write_mcap(arguments.output, result.description.robot.joint_names, log, predicted, measured)
        else:
            write_csv(arguments.output, log, predicted, measured)
    names = result.description.robot.joint_names
    rms = np.sqrt(np.nanmean(predicted**2, axis=0))
    peak = np.nanmax(np.abs(predicted), axis=0)

    def text() -> Iterator[RenderableType]:
        rows = [
            [f"{j + 1} {name}", number(rms[j]), number(peak[j]), result.description.robot.joints[j].effort_unit]
            for j, name in enumerate(names)
        ]
        title = f"torques of {result.description.name} ({result.method}) at {len(log)} samples of {arguments.log}"
        yield table(title, ("joint", "rms", "largest", "unit"), rows, right=("rms", "largest"))
        yield residual_table(residuals) if residuals else "the log has no measured torque to compare with"
        if simulated:
            yield "no position was recorded: the motion is that of the control loop, simulated with the identified parameters"
        if arguments.output is not None:
            yield f"written: {arguments.output}"

    document = {
        "robot": result.description.name,
        "method": result.method,
        "samples": len(log),
        "motion": "simulated" if simulated else "measured",
        "rms": rms,
        "largest": peak,
        "residual": {name: plain(r) for name, r in residuals.items()},
        "file": None if arguments.output is None else str(arguments.output),
    }
    return Answer(document, text)


def reference_of(result: Result, log: Log, stated: str | None) -> Trajectory | None:
    """What the controller followed, for a log without position: stated, the log's own columns, or as in the identification."""
    if "q" in log.signals:
        return None
    if stated is not None:
        return load_trajectory(stated)
    if "qr" in log.signals:
        return None
    if len(result.references) == 1:
        sentence = f"{log.origin} has neither positions nor a reference; that of the identification was taken"
        warnings.warn(ModelWarning(sentence), stacklevel=2)
        return result.references[0]
    raise InputError(
        f"{log.origin} has neither positions (q1..) nor a reference (qr1..), so that there is no motion to predict torques of; state "
        "what the controller followed with --reference"
    )


def write_mcap(path: Path, joints: Sequence[str], log: Log, predicted: NDArray[np.float64], measured: bool) -> None:
    """Topics /predicted and, where torque was recorded, /measured and /residual, for programs that show signals over time."""
    motion = {"position": log.need("q")} if "q" in log.signals else {}
    topics = {"/predicted": {**motion, "effort": predicted}}
    if measured:
        topics |= {"/measured": {**motion, "effort": log.need("tau")}, "/residual": {"effort": log.need("tau") - predicted}}
    write_joint_states(path, joints, log.t, topics)


def write_csv(path: Path, log: Log, predicted: NDArray[np.float64], measured: bool) -> None:
    """Predicted torques at the samples of a log, and the measured ones beside them."""
    n = log.n
    header = ["t", *(f"predicted{j + 1}" for j in range(n)), *(f"tau{j + 1}" for j in range(n) if measured)]
    columns = [log.t, predicted, *([log.need("tau")] if measured else [])]
    rows = np.column_stack(columns).tolist()
    write_whole(path, ",".join(header) + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows))
