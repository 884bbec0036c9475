"""Messages beside joint states that say how a base moves and what acts on a robot: odometry, poses, twists, IMUs, force sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inertica.logs.names import tokens
from inertica.logs.readers.jointstate import get_field, stamp_of
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import Table, Values

VECTOR, QUATERNION = ("x", "y", "z"), ("x", "y", "z", "w")

Fields = Mapping[tuple[str, ...], tuple[str, ...]]
"""Path of nested fields -> the numbers at its end."""

_POSE: Fields = {("pose", "position"): VECTOR, ("pose", "orientation"): QUATERNION}
_TWIST: Fields = {("twist", "linear"): VECTOR, ("twist", "angular"): VECTOR}


def _inside(name: str, fields: Fields) -> Fields:
    """The fields of a message that is a field of another."""
    return {(name, *path): parts for path, parts in fields.items()}


KINDS: Mapping[str, tuple[str, Fields]] = {
    "Odometry": ("odom", {**_inside("pose", _POSE), **_inside("twist", _TWIST)}),
    "PoseStamped": ("pose", _POSE),
    "PoseWithCovarianceStamped": ("pose", _inside("pose", _POSE)),
    "TwistStamped": ("twist", _TWIST),
    "TwistWithCovarianceStamped": ("twist", _inside("twist", _TWIST)),
    "Imu": ("imu", {("orientation",): QUATERNION, ("angular_velocity",): VECTOR, ("linear_acceleration",): VECTOR}),
    "WrenchStamped": ("wrench", {("wrench", "force"): VECTOR, ("wrench", "torque"): VECTOR}),
}
"""Last word of a message's type -> a word for what it tells, and its numbers."""


def kind_of(message_type: str) -> str | None:
    """The entry of `KINDS` of a message type such as nav_msgs/msg/Odometry."""
    last = message_type.rpartition("/")[2]
    return last if last in KINDS else None


@dataclass
class FieldCollector:
    """Gathers the numbers of one topic; `table` gives them as columns `<topic>/<field>/<axis>`.

    Args:
        path: the recording.
        topic: where the messages come from.
        kind: of `KINDS`.
        stamps: header or receive.
    """

    path: Path
    topic: str
    kind: str
    stamps: str = "header"
    clock: list[tuple[int, int]] = field(default_factory=list)
    rows: list[list[float]] = field(default_factory=list)
    oriented: bool = True

    def add(self, message: Any, received: int) -> None:
        """One message with the time it was recorded at, in ns."""
        _, fields = KINDS[self.kind]
        self.rows.append([_number(message, (*path, part)) for path, parts in fields.items() for part in parts])
        self.clock.append((stamp_of(message), int(received)))
        covariance = get_field(message, ("orientation_covariance",))
        if covariance is not None and len(covariance) and float(covariance[0]) == -1.0:
            self.oriented = False  # how an Imu says that it has no orientation

    def table(self, form: str, without_orientation: bool = False) -> Table:
        """The columns and the clock `stamp_ns`."""
        word, fields = KINDS[self.kind]
        named = word in tokens(self.topic) or all(word in path for path in fields)
        start = (self.topic,) if named else (self.topic, word)
        names = ["/".join((*start, *path, part)) for path, parts in fields.items() for part in parts]
        stamped = self.stamps != "receive" and any(sent for sent, _ in self.clock)
        values = np.array(self.rows, float).reshape(-1, len(names))
        columns: dict[str, Values] = {
            "stamp_ns": np.array([sent if stamped else received for sent, received in self.clock], np.int64)
        }
        left_out = self.kind == "Imu" and (without_orientation or not self.oriented)
        for name, column in zip(names, values.T, strict=True):
            filled = np.isfinite(column).any()  # NaN throughout: the sender has no such value
            if filled and not (left_out and "/orientation/" in name):
                columns[name] = column
        return Table(self.path, form, columns, part=self.topic)


def field_collectors(path: Path, topics: Mapping[str, str], options: ReadOptions) -> dict[str, FieldCollector]:
    """Topic -> collector of those that say something of base and forces, where that is wanted."""
    kinds = {topic: kind_of(message_type) for topic, message_type in topics.items()} if options.surroundings else {}
    return {topic: FieldCollector(path, topic, kind, options.stamps) for topic, kind in kinds.items() if kind is not None}


def tables_of(collectors: Sequence[FieldCollector], form: str) -> tuple[Table, ...]:
    """Of all topics that hold messages; the orientation that an IMU works out counts where nothing else states one."""
    full = [c for c in collectors if c.rows]
    tracked = any(("pose", "orientation") in (path[-2:] for path in KINDS[c.kind][1]) for c in full)
    return tuple(c.table(form, without_orientation=tracked) for c in full)


def _number(message: Any, path: Sequence[str]) -> float:
    for name in path:
        message = get_field(message, (name,))
        if message is None:
            return np.nan
    return float(message)
