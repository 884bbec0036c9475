"""The residual of a written model file or program itself on the user's logs, on the motions and by the definition of the result's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.robot.description import Description
from inertica.robot.formats.model_format import ModelFormat
from inertica.robot.natural import levers
from inertica.validation.residuals import Residual
from inertica.workflow.export.torques import ModelTorques, States, independent_reader, our_reader
from inertica.workflow.identify.logs_again import UNKNOWN, LogsAgain
from inertica.workflow.identify.prediction import held_direction, judged_torques
from inertica.workflow.identify.representative import LONG


@dataclass(frozen=True, eq=False)
class Along:
    """Torques along the logs of the identification.

    Args:
        states: q, dq, ddq, each (N, n).
        result, file: (N, n) of the result, and of the file as we read it.
    """

    states: States
    result: Array
    file: Array


@dataclass(frozen=True, eq=False)
class Measured:
    """How well a file predicts the logs; see `ExportedModel`.

    Args:
        residual, result_residual: data set -> figures of merit of the file, and of the result.
        sharp_residual: data set -> share of the raw torque that the result misses with dry friction as sharp near standstill as the
            file has it; empty where its predictions round none.
        read_by: whose torques of the file these are.
        disagreement: of that program with ours.
        unmeasured: why there is no residual.
        along: None without logs.
    """

    residual: Mapping[str, Residual] = field(default_factory=dict)
    result_residual: Mapping[str, Residual] = field(default_factory=dict)
    sharp_residual: Mapping[str, float] = field(default_factory=dict)
    read_by: str = ""
    disagreement: float = 0.0
    unmeasured: str = ""
    along: Along | None = None

    @property
    def figures(self) -> tuple[Any, ...]:
        """In the order of the last arguments of `ExportedModel`."""
        return self.residual, self.result_residual, self.sharp_residual, self.read_by, self.disagreement, self.unmeasured


def measured_file(model: ModelTorques, logs: LogsAgain, path: Path, format: ModelFormat, again: Description) -> Measured:
    """Residuals of a file on every data set that can be read, by Pinocchio or MuJoCo where they are installed and read it.

    Logs longer than what a program without compiled loops predicts in seconds are left to our own reader.

    Args:
        model: of the result that the file was written from.
        logs: of that result.
        path: the file.
        format: of it.
        again: the file, read.
    """
    if not logs.motions:
        return Measured(unmeasured="; ".join(logs.missing.values()) or UNKNOWN)
    states = {name: [(m.q, held_direction(m), m.ddq) for m in motions] for name, motions in logs.motions.items()}
    samples = sum(len(m) for motions in logs.motions.values() for m in motions)
    ours = our_reader(again)
    reader = (independent_reader(path, format, again) if samples <= LONG else None) or ours
    by_ours, by_reader = (
        {name: [torques(x) for x in several] for name, several in states.items()} for torques in (ours.torques, reader.torques)
    )
    wanted = {name: [model.predicted(m) for m in motions] for name, motions in logs.motions.items()}
    first, lever = next(iter(states)), levers(again.robot)
    q, dq, ddq = (np.vstack(part) for part in zip(*states[first], strict=True))
    sharp = {
        name: judged_torques([model.whole(x) for x in states[name]], motions, lever).raw.all
        for name, motions in logs.motions.items()
        if model.standstill.rounded
    }
    return Measured(
        {name: judged_torques(by_reader[name], motions, lever) for name, motions in logs.motions.items()},
        {name: judged_torques(wanted[name], motions, lever) for name, motions in logs.motions.items()},
        sharp,
        reader.name,
        _difference(by_reader, by_ours),
        "",
        Along((q, dq, ddq), np.vstack(wanted[first]), np.vstack(by_ours[first])),
    )


def measured_program(model: ModelTorques, logs: LogsAgain) -> Measured:
    """Residuals of the parameters alone, as a program has them, on every data set that can be read."""
    if not logs.motions:
        return Measured(unmeasured="; ".join(logs.missing.values()) or UNKNOWN)
    lever = levers(model.parameters.layout.robot)
    alone = {name: [model.alone((m.q, held_direction(m), m.ddq)) for m in motions] for name, motions in logs.motions.items()}
    wanted = {name: [model.predicted(m) for m in motions] for name, motions in logs.motions.items()}
    first = next(iter(logs.motions))
    states = [(m.q, held_direction(m), m.ddq) for m in logs.motions[first]]
    q, dq, ddq = (np.vstack(part) for part in zip(*states, strict=True))
    return Measured(
        {name: judged_torques(alone[name], motions, lever) for name, motions in logs.motions.items()},
        {name: judged_torques(wanted[name], motions, lever) for name, motions in logs.motions.items()},
        along=Along((q, dq, ddq), np.vstack(wanted[first]), np.vstack(alone[first])),
    )


def _difference(one: Mapping[str, list[Array]], other: Mapping[str, list[Array]]) -> float:
    """Largest difference over all data sets, relative to the largest torque."""
    a, b = (np.vstack([tau for each in torques.values() for tau in each]) for torques in (one, other))
    return float(np.abs(a - b).max() / max(float(np.abs(b).max()), np.finfo(float).tiny))
