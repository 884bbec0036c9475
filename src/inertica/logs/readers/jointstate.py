"""Messages that state joints by name (`sensor_msgs/JointState` and compatible ones), collected into columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.errors import FileError, Fix, InputError
from inertica.logs.readers.table import Table

_FIELDS = {"position": ("position", "positions"), "velocity": ("velocity", "velocities"), "effort": ("effort", "efforts")}
_ACCELERATION = ("acceleration", "accelerations")
_ACTUAL, _REFERENCE = ("feedback", "actual"), ("reference", "desired")
JOINT_STATE = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState")
CONTROLLER_STATE = ("JointTrajectoryControllerState", "JTCState")

TOPIC = Fix("topic", "name one: --topic NAME on the command line, topic: NAME in the card")


def pick_topic(path: Path, topics: Mapping[str, str], wanted: str | None) -> str:
    """The topic to read: the one asked for, else the only one with joint states.

    Args:
        path: the recording.
        topics: topic -> message type of everything in it.
        asked: what the user wants.
    """
    available = ", ".join(f"{topic} ({kind})" for topic, kind in sorted(topics.items())) or "nothing"
    if wanted is not None:
        for name in (wanted, "/" + wanted.lstrip("/")):
            if name in topics:
                return name
        raise FileError(path, f"has no topic '{wanted}'; it holds: {available}")
    states = [topic for topic, kind in topics.items() if kind in JOINT_STATE]
    states = states or [topic for topic, kind in topics.items() if kind.rpartition("/")[2] in CONTROLLER_STATE]
    if len(states) == 1:
        return states[0]
    if not states:
        raise FileError(path, f"holds no sensor_msgs/JointState; it holds: {available}", fix=TOPIC)
    raise FileError(path, f"holds joint states on {len(states)} topics: {', '.join(sorted(states))}", fix=TOPIC)


@dataclass
class Collector:
    """Gathers messages one by one; `table` gives the columns.

    Args:
        path: the recording.
        topic: where the messages come from.
        stamps: header or receive.
        wanted: joints to keep; all when None.
    """

    path: Path
    topic: str
    stamps: str = "header"
    wanted: Sequence[str] | None = None
    names: list[str] = field(default_factory=list)
    stamped: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    rows: list[dict[str, tuple[float, ...]]] = field(default_factory=list)
    row_names: list[tuple[str, ...]] = field(default_factory=list)
    uneven: int = 0
    others: int = 0

    def add(self, message: Any, received: int) -> None:
        """One message with the time it was recorded at, in ns."""
        names = get_field(message, ("name", "joint_names"))
        if names is None:
            raise FileError(self.path, f"the messages on {self.topic} name no joints (fields name or joint_names)")
        named = tuple(str(name) for name in names)
        if self.wanted is not None and named and not set(named) & set(self.wanted):
            self.others += 1
            self._remember(named)
            return
        values = _values(message)
        if any(len(row) not in (0, len(named)) for row in values.values()) or len(set(named)) != len(named):
            self.uneven += 1
            values = {key: row if len(row) == len(named) else () for key, row in values.items()}
        self._remember(named)
        self.rows.append(values)
        self.row_names.append(named)
        self.received.append(int(received))
        self.stamped.append(stamp_of(message))

    def _remember(self, named: tuple[str, ...]) -> None:
        if self.row_names and named == self.row_names[-1]:
            return
        self.names += [name for name in dict.fromkeys(named) if name not in self.names]

    def table(self, form: str, warnings: Sequence[str] = ()) -> Table:
        """The columns `<joint>/position` and so on, and the clock `stamp` in ns."""
        if not self.rows:
            what = (
                f"of the joints {', '.join(self.wanted)}; it names {', '.join(self.names)}" if self.others and self.wanted else ""
            )
            raise FileError(self.path, f"the topic {self.topic} holds no message {what}".rstrip())
        joints = [name for name in self.names if self.wanted is None or name in self.wanted]
        self._check_wanted(joints)
        clock, notes = self._clock()
        columns: dict[str, NDArray[np.generic]] = {"stamp_ns": clock}
        for key in sorted({key for row in self.rows for key, values in row.items() if values}):
            block = self._block(key, joints)
            columns |= {f"{joint}/{key}": block[:, j] for j, joint in enumerate(joints) if np.isfinite(block[:, j]).any()}
        table_notes = list(warnings)
        if self.uneven:
            table_notes.append(
                f"{self.uneven} messages on {self.topic} have not one value per joint; what does not fit was left out"
            )
        if self.others:
            notes.append(f"{self.others} messages on {self.topic} hold none of the robot's joints and were left out")
        left = [name for name in self.names if name not in joints]
        if left:
            notes.append(f"joints of {self.topic} that the robot has not: {', '.join(left)}")
        return Table(self.path, form, columns, joints=tuple(joints), warnings=tuple(table_notes), notes=tuple(notes))

    def _check_wanted(self, joints: list[str]) -> None:
        if self.wanted is None:
            return
        missing = [name for name in self.wanted if name not in joints]
        if missing:
            raise InputError(
                f"{self.path}: {self.topic} does not name the joint{'s' * (len(missing) > 1)} {', '.join(missing)}; it names "
                f"{', '.join(self.names)}",
                fix=Fix(
                    "log_joints",
                    "state its own names in the robot's order: --log-joints A,B,.. on the command line, log_joints: [A, B] in the "
                    "card",
                ),
            )

    def _clock(self) -> tuple[NDArray[np.int64], list[str]]:
        if self.stamps == "receive":
            return np.array(self.received, np.int64), [f"t is the time at which {self.topic} was recorded"]
        if not any(self.stamped):
            return np.array(self.received, np.int64), [
                "the messages bear no time of their own; t is the time they were recorded at"
            ]
        return np.array(self.stamped, np.int64), []

    def _block(self, key: str, joints: list[str]) -> NDArray[np.float64]:
        """(N, joints) values of one field, whatever the order of the joints in each message."""
        index = {joint: j for j, joint in enumerate(joints)}
        block = np.full((len(self.rows), len(joints)), np.nan)
        for k, (row, named) in enumerate(zip(self.rows, self.row_names, strict=True)):
            for name, value in zip(named, row.get(key, ()), strict=False):
                if name in index:
                    block[k, index[name]] = value
        return block


def get_field(message: Any, names: Sequence[str]) -> Any:
    """A field under one of several names, of an object or a mapping."""
    for name in names:
        value = message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
        if value is not None:
            return value
    return None


def _values(message: Any) -> dict[str, tuple[float, ...]]:
    """Fields of a joint state, or of a controller state whose feedback and reference are points of a trajectory."""
    actual, reference = get_field(message, _ACTUAL), get_field(message, _REFERENCE)
    if actual is None:
        return {key: _floats(get_field(message, names)) for key, names in _FIELDS.items()}
    out = {key: _floats(get_field(actual, names)) for key, names in _FIELDS.items()}
    out["acceleration"] = _floats(get_field(actual, _ACCELERATION))
    if reference is not None:
        for key in ("position", "velocity"):
            out[f"reference_{key}"] = _floats(get_field(reference, _FIELDS[key]))
        out["reference_acceleration"] = _floats(get_field(reference, _ACCELERATION))
    return out


def _floats(values: Any) -> tuple[float, ...]:
    return () if values is None else tuple(float(value) for value in values)


def stamp_of(message: Any) -> int:
    """The header's time in ns, 0 when there is none."""
    stamp = get_field(get_field(message, ("header",)), ("stamp",)) if get_field(message, ("header",)) is not None else None
    if stamp is None:
        return 0
    seconds = get_field(stamp, ("sec", "secs"))
    rest = get_field(stamp, ("nanosec", "nsec", "nsecs"))
    return int(seconds or 0) * 1_000_000_000 + int(rest or 0)
