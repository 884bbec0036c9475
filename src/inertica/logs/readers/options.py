"""What users state beside a log: names of columns, units, and what to take out of formats that hold more than one log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inertica.errors import InputError, nearest
from inertica.logs.units import SIGNALS
from inertica.robot.description import Description

ColumnMap = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class ReadOptions:
    """How to read a log.

    Args:
        columns: names of columns as the card's key `columns`; goes before the card.
        units: symbol -> unit for columns whose header states none, such as {"q": "deg", "t": "ms"}.
        rate: sampling rate in Hz of a file without a clock.
        offset: joint angles at which the motors read zero (q_off of theta = N (q - q_off)); the card's by default.
        joints: the file's own names of the robot's joints, in the robot's order; the description's by default.
        topic: ROS topic of the joint states, when there are several.
        stamps: header (when a message was made) or receive (when it was recorded), for ROS.
        episode: of a LeRobot dataset; may be left out when there is only one.
        keys: symbol -> feature of a LeRobot dataset, such as {"tau": "observation.load"}.
    """

    columns: ColumnMap | None = None
    units: Mapping[str, str] | None = None
    rate: float | None = None
    offset: Sequence[float] | None = None
    joints: Sequence[str] | None = None
    topic: str | None = None
    stamps: str = "header"
    episode: int | None = None
    keys: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if self.stamps not in ("header", "receive"):
            raise InputError(f"stamps cannot be '{self.stamps}'; valid are: header, receive")
        for symbol in self.units or {}:
            if symbol not in SIGNALS and symbol != "t":
                raise InputError(f"units cannot be stated for '{symbol}'; {nearest(symbol, [*SIGNALS, 't'])}")

    def completed(self, description: Description | None) -> ReadOptions:
        """The same with what a description says where nothing was stated: names of the joints, columns, offset."""
        if description is None:
            return self
        robot, card = description.robot, description.log
        if self.joints is not None and len(self.joints) != robot.n:
            raise InputError(f"joints names {len(self.joints)} joints, but {description.name} has {robot.n}")
        return replace(
            self,
            joints=robot.joint_names if self.joints is None else self.joints,
            columns=card.get("columns") if self.columns is None else self.columns,
            offset=card.get("transmission_offset") if self.offset is None else self.offset,
        )
