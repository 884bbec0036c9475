"""First stage: robot and logs are read; logs that no fit can use are refused before anything is computed, each with the reason."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from inertica.arrays import Array
from inertica.checks.seen import doubts, refuse_sizes
from inertica.checks.some_torques import without_torque
from inertica.errors import InputError
from inertica.estimators.base import Capability
from inertica.excitation.trajectory import Trajectory
from inertica.logs.log import Log
from inertica.logs.noise import extremes
from inertica.logs.read import read_log
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.robot.model import Robot
from inertica.robot.natural import standstill
from inertica.workflow.identify.choice import Notes, Say
from inertica.workflow.identify.replay import own_reference
from inertica.workflow.identify.representative import Part, representative
from inertica.workflow.identify.settings import Settings, check_method
from inertica.workflow.identify.start_values import start_values

LogLike = str | Path | Log
T = TypeVar("T")

IDENTIFICATION, HOLD_OUT = "identification", "hold-out"
"""Data sets: what is fitted, and what a second fit leaves out where there is no validation log."""

SIGNAL = {"q": "position", "tau": "torque"}


@dataclass(frozen=True, eq=False)
class Inputs:
    """What there is to identify, from what, and what the user fixed.

    Args:
        description: the robot as it was stated.
        logs: all enter one fit.
        validation: name -> log that is only predicted.
        settings: what is fixed.
        command: the command line that asked for it; empty from Python.
    """

    description: Description
    logs: tuple[Log, ...]
    validation: Mapping[str, Log]
    settings: Settings
    notes: Notes = field(default_factory=Notes)
    command: str = ""

    @property
    def torque_only(self) -> bool:
        """Whether some log to fit has no position."""
        return any("q" not in log.signals for log in self.logs)

    @cached_property
    def part(self) -> Part:
        """What choices are made on."""
        return representative(self.logs)

    def without_torque_of(self, joints: Sequence[int], why: str) -> Inputs:
        """The same with the torque of some joints (from 0) left out of the fit, and a warning that says why.

        Raises:
            InputError: the method that was asked for needs the torque of every joint.
        """
        names, origins = self.logs[0].joints, _names(self.logs)
        joint_names = ", ".join(names[j] for j in joints)
        sentence = f"{origins}: {joint_names} {why}, so that nothing can be said of its drive and friction"
        moving = ", ".join(name for j, name in enumerate(names) if j not in joints)
        if self.settings.method != "auto" and not self.settings.method_can(Capability.LINEAR):
            needs = f"method '{self.settings.method}' needs the torque of every joint"
            raise InputError(
                f"{sentence}; {needs}: add a log in which it moves, or identify the others alone with a card that lists them "
                f"(joints: [{moving}])"
            )
        logs = tuple(log.without_torque_of(joints) for log in self.logs)
        rest = "its torque takes no part in the fit, and both stay as they are in the model; add a log in which it moves"
        return replace(self, logs=logs, notes=self.notes.warned([f"{sentence}: {rest}"]))

    def reference(self, k: int) -> Trajectory | None:
        """What the controller followed in the k-th log; see `own_reference`."""
        return own_reference(self.settings.references, k)

    def part_references(self) -> tuple[Trajectory, ...]:
        """What it followed in the stretches that choices are made on; none when the logs say it."""
        references = [self.reference(k) for k in self.part.numbers]
        return tuple(r for r in references if r is not None)


def read(
    robot: str | Path | Description, logs: Sequence[LogLike], validate: Sequence[LogLike], settings: Settings, say: Say
) -> Inputs:
    """Robot and logs, read and found usable.

    Args:
        robot: catalog name, model file, card, or a description.
        logs: files (with `@t0:t1` slices) or logs, to fit.
        validate: the same, only predicted; named as they are given here.
        settings: what the user fixes.
        say: progress.
    """
    start = time.perf_counter()
    check_method(settings)
    if not logs:
        raise InputError("identify needs at least one log")
    say("reading")
    description = described(robot)
    fitted = tuple(_read(x, description, settings) for x in logs)
    names = [str(x.origin) if isinstance(x, Log) else str(x) for x in validate]
    validation = numbered(names, [_read(x, description, settings) for x in validate])
    check_references(len(settings.references), len(fitted), len(validation))
    description, start_choices = start_values(description, fitted, settings.prior)
    notes = Notes().chose(*start_choices).warned(f"{log.origin}: {w}" for log in fitted for w in log.warnings)
    notes = notes.warned(f"{name}: {w}" for name, log in validation.items() for w in doubts(log))
    if (bare := without_torque(fitted)) is not None:
        notes = notes.warned([bare.text])
    inputs = Inputs(description, fitted, validation, settings, notes.took("read", start))
    if inputs.torque_only:
        return inputs
    still = check_logs(fitted, description.robot)
    return inputs.without_torque_of(still, "does not move") if still else inputs


def described(robot: str | Path | Description) -> Description:
    """A robot by its name or file, or as it is."""
    return robot if isinstance(robot, Description) else load(robot)


def read_one(source: LogLike, description: Description, *needs: str) -> Log:
    """A log of a robot; one of another robot, or without the signals that are needed, is refused."""
    log = source if isinstance(source, Log) else read_log(source, description)
    if log.n != description.robot.n:
        raise InputError(f"{log.origin} has {log.n} joints, {description.name} has {description.robot.n}")
    for symbol in needs:
        log.need(symbol)
    return log


def _read(source: LogLike, description: Description, settings: Settings) -> Log:
    log = read_one(source, description)
    if settings.velocity == "differences":  # a velocity that is not used cannot be wrong
        log = log.without("dq", "dtheta")
    for symbol in ("tau",) if settings.simulates and "q" not in log.signals else ("q", "tau"):
        log.need(symbol)
    refuse_sizes(log)
    return log


def numbered(names: Sequence[str], things: Sequence[T]) -> dict[str, T]:
    """Things by name; those that share one, as logs that never were files do, are numbered."""
    out: dict[str, T] = {}
    for k, (name, thing) in enumerate(zip(names, things, strict=True)):
        number = names[: k + 1].count(name)
        key = f"{name} {number}" if names.count(name) > 1 else name
        while key in out or (key != name and key in names):
            number += 1
            key = f"{name} {number}"
        out[key] = thing
    return out


def check_logs(logs: Sequence[Log], robot: Robot) -> tuple[int, ...]:
    """Joints (from 0) that move in no log.

    Raises:
        InputError: some joint has no values in some log, no joint moves, or the torque of one that does is zero throughout.
    """
    ends: dict[str, list[Array]] = {symbol: [] for symbol in SIGNAL}
    for log in logs:
        for symbol, words in SIGNAL.items():
            count, low, high = _seen(log.need(symbol))
            empty = np.flatnonzero(count < 3)
            if len(empty) and (symbol == "q" or len(empty) == log.n):
                raise InputError(
                    f"{log.origin}: the {words} of joint {empty[0] + 1} ({log.joints[empty[0]]}) has no usable values",
                    joint=log.joints[empty[0]],
                )
            ends[symbol].append(np.array([low, high]))
    moves = np.any([high - low > standstill(robot) for low, high in ends["q"]], axis=0)
    if not moves[: robot.driven].any():
        raise InputError(f"{_names(logs)}: no joint moves; identification needs a log of the robot in motion")
    for j, name in ((j, logs[0].joints[j]) for j in robot.independent):
        if moves[j] and not np.any([both[:, j] for both in ends["tau"]]):
            raise InputError(
                f"{_names(logs)}: the torque of joint {j + 1} ({name}) is zero throughout; was it recorded?", joint=name
            )
    return tuple(np.flatnonzero(~moves[: robot.driven]).tolist())


def check_all_move(logs: Sequence[Log], robot: Robot) -> None:
    """`check_logs`, and every joint moves in some log."""
    if still := check_logs(logs, robot):
        names = logs[0].joints
        resting, moving = (", ".join(names[j] for j in range(len(names)) if (j in still) is at_rest) for at_rest in (True, False))
        raise InputError(
            f"{_names(logs)}: {resting} does not move, so that nothing can be said of its drive and friction; add a log in which it "
            f"moves, or use a card that lists the others (joints: [{moving}])"
        )


def check_references(stated: int, logs: int, validation: int) -> None:
    """Trajectories that the controller followed: none, one for all logs, one for each, or one for validation logs, too."""
    if stated not in (0, 1, logs, logs + validation):
        each = f"{logs} (one for each log)" + (f" or {logs + validation} (validation logs, too)" if validation else "")
        raise InputError(f"{stated} reference trajectories were stated; state one for all logs, or {each}")


def _seen(values: Array) -> tuple[Array, Array, Array]:
    """(n,) how many values of each column are there, the smallest and the largest of them."""
    finite = np.isfinite(values)
    if finite.all():
        return np.full(values.shape[1], len(values)), *extremes(values)
    low, high = (np.where(finite, values, end) for end in (np.inf, -np.inf))
    return finite.sum(axis=0), low.min(axis=0), high.max(axis=0)


def _names(logs: Sequence[Log]) -> str:
    return ", ".join(str(log.origin) for log in logs)
