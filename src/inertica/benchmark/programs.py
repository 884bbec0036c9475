"""Programs that are compared: each fits the first part of a split and predicts the torque of the second, whose torque it does not see.

Adding one: a class with `name`, `settings`, `missing` and `predict`, and one line in PROGRAMS.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np

from inertica.arrays import Array
from inertica.benchmark.manifest import Record, Split, read_window
from inertica.benchmark.plain import PlainPipeline, low_pass
from inertica.errors import InerticaError, InputError
from inertica.logs.read import read_log
from inertica.workflow.identify.run import identify
from inertica.workflow.identify.truth import against_truth


@dataclass(frozen=True)
class Prediction:
    """What a program did with a split.

    Args:
        torque: (N, n) at the stamps of the log that was left out.
        consistent: whether every link of its model could exist; None where it has no links, only sums of parameters.
        problem: of the fit, in the program's own words; empty where there was none.
        covered: how many 95 % intervals of base parameters hold the true value, and of how many; None where the program states none,
            or the truth is not known.
    """

    torque: Array
    consistent: bool | None
    problem: str = ""
    covered: tuple[int, int] | None = None


class Program(Protocol):
    """One program of the comparison."""

    @property
    def name(self) -> str:
        """In tables."""

    def missing(self) -> str:
        """The package without which it does not run here; empty where it does."""

    def settings(self, record: Record) -> tuple[str, ...]:
        """What a user has to state for this record besides model and log."""

    def predict(self, record: Record, split: Split) -> Prediction:
        """Fits the first part, predicts the second."""


def _known(record: Record) -> tuple[str, ...]:
    """What every program must be told."""
    facts = (("current gains", record.gains), ("coupling", record.coupling), ("transmission", record.transmission))
    return tuple(name for name, value in facts if value)


@dataclass(frozen=True)
class Inertica:
    """`identify` with all defaults; a log that its check refuses is forced, and the refusal is kept."""

    name: str = "inertica"

    def missing(self) -> str:
        return ""

    def settings(self, record: Record) -> tuple[str, ...]:
        return _known(record)

    def predict(self, record: Record, split: Split) -> Prediction:
        problem, logs = "", [window.path(record.folder) for window in split.fit]
        with tempfile.TemporaryDirectory() as folder:
            card = record.card(Path(folder))
            try:
                result = identify(card, logs)
            except InerticaError as error:
                problem = str(error)
                result = identify(card, logs, force=True)
        test = read_log(split.test.path(record.folder), result.description)
        covered = against_truth(result, str(record.folder / record.truth)).covered if record.truth else None
        return Prediction(np.asarray(result.predict(test)), bool(result.physically_consistent), problem, covered)


@dataclass(frozen=True)
class Plain:
    """Butterworth, central differences, Pinocchio's regressor, weighted least squares."""

    name: str = "plain pipeline"

    def missing(self) -> str:
        return "" if find_spec("pinocchio") else "pin"

    def settings(self, record: Record) -> tuple[str, ...]:
        springs = ("springs",) if record.springs else ()
        motor = ("motor side",) if record.motor_side else ()
        return ("cut-off of positions", "cut-off of columns", *motor, *springs, *_known(record))

    def predict(self, record: Record, split: Split) -> Prediction:
        pipeline = PlainPipeline(record.plain)
        pipeline.fit([read_window(record, window) for window in split.fit])
        return Prediction(pipeline.predict(read_window(record, split.test)), None)


@dataclass(frozen=True)
class Figaroh:
    """FIGAROH's public functions, in the order of its own identification class."""

    name: str = "FIGAROH"

    def missing(self) -> str:
        return "" if find_spec("figaroh") else "figaroh"

    def settings(self, record: Record) -> tuple[str, ...]:
        motor = ("motor side",) if record.motor_side else ()
        return ("cut-off", *motor, *_known(record))

    def predict(self, record: Record, split: Split) -> Prediction:
        from inertica.benchmark.figaroh import Fit

        parts = [read_window(record, window) for window in (*split.fit, split.test)]
        dt = 1.0 / parts[0].rate
        fit = Fit(str(record.folder / record.model), dt, record.positions, record.motor_side, record.coupling is not None)
        fit.run([(part.on_clock(part.q), part.on_clock(part.tau)) for part in parts[:-1]])
        test = parts[-1]
        torque = fit.predict(test.on_clock(test.q))
        return Prediction(np.column_stack([np.interp(test.t, test.clock, column) for column in torque.T]), None)


@dataclass(frozen=True)
class MujocoSysid:
    """mujoco.sysid's least squares on MuJoCo's inverse dynamics; motion and torque behind the filters of the plain pipeline."""

    name: str = "mujoco.sysid"

    def missing(self) -> str:
        if find_spec("mujoco") is None or find_spec("pinocchio") is None:  # the filters come with the plain pipeline
            return "mujoco[sysid]"
        from mujoco import sysid

        return "" if hasattr(sysid, "optimize") else "mujoco[sysid]"  # an empty module without its own dependencies

    def settings(self, record: Record) -> tuple[str, ...]:
        motor = ("motor side",) if record.motor_side else ()
        return ("cut-off of positions", "cut-off of columns", *motor, *_known(record))

    def predict(self, record: Record, split: Split) -> Prediction:
        from inertica.benchmark.mujoco_sysid import Fit

        if record.coupling:
            raise InputError("no place for a motor that turns with two joints")
        plain, fit = PlainPipeline(record.plain), Fit(record.folder / record.model, record.motor_side)
        parts = [read_window(record, window) for window in split.fit]
        fit.run([(plain.states(p), low_pass(p.on_clock(p.tau), record.columns, p.rate)) for p in parts])
        test = read_window(record, split.test)
        torque = fit.predict(plain.states(test))
        return Prediction(np.column_stack([np.interp(test.t, test.clock, column) for column in torque.T]), True)


PROGRAMS: Mapping[str, Program] = {p.name: p for p in (Inertica(), Plain(), Figaroh(), MujocoSysid())}
"""By name, in the order of the tables."""
