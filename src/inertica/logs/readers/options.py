"""What users state beside a log: names of columns, units, and what to take out of formats that hold more than one log."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from inertica.errors import InputError, nearest
from inertica.logs.units import SIGNALS
from inertica.robot.description import Description
from inertica.robot.settings import Side

ColumnMap = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class ReadOptions:
    """How to read a log.

    Args:
        columns: names of columns as the card's key `columns`; goes before the card.  A list names every column of the file in order,
            for files without a header.
        units: symbol -> unit for columns whose header states none, such as {"q": "deg", "t": "ms"}.
        rate: sampling rate in Hz of a file without a clock.
        offset: joint angles at which the motors read zero (q_off of theta = N (q - q_off)); the card's by default.
        side: motor or joint: what columns called q, dq and tau are where the card states a transmission.
        joints: the file's own names of the robot's joints, in the robot's order; the description's by default.
        topic: ROS topic of the joint states, when there are several.
        stamps: header (when a message was made) or receive (when it was recorded), for ROS.
        episode: of a LeRobot dataset; may be left out when there is only one.
        most_unpacked: GiB that a packed file (gz, NPZ, Parquet, MCAP) may unpack to; see `guard.Unpacked` for the usual limits.
        keys: symbol -> feature of a LeRobot dataset, such as {"tau": "observation.load"}.
        surroundings: of ROS, also topics that say how the base moves and what acts on the robot; by default where the base floats.
    """

    columns: ColumnMap | Sequence[str] | None = None
    units: Mapping[str, str] | None = None
    rate: float | None = None
    offset: Sequence[float] | None = None
    side: Side | None = None
    joints: Sequence[str] | None = None
    topic: str | None = None
    stamps: str = "header"
    episode: int | None = None
    keys: Mapping[str, str] | None = None
    most_unpacked: float | None = None
    surroundings: bool | None = None

    def __post_init__(self) -> None:
        if self.stamps not in ("header", "receive"):
            raise InputError(f"stamps cannot be '{self.stamps}'; valid are: header, receive")
        if self.side is not None and self.side not in get_args(Side):
            raise InputError(f"the side of a log cannot be '{self.side}'; valid are: {', '.join(get_args(Side))}")
        if self.most_unpacked is not None and not 0.0 < self.most_unpacked < math.inf:
            raise InputError(f"most_unpacked should be a number of GiB greater than zero, not {self.most_unpacked:g}")
        for symbol in self.units or {}:
            if symbol not in SIGNALS and symbol != "t":
                raise InputError(f"units cannot be stated for '{symbol}'; {nearest(symbol, [*SIGNALS, 't'])}")

    @property
    def header(self) -> tuple[str, ...] | None:
        """Names of all columns in order, where they are stated as a list."""
        return None if self.columns is None or isinstance(self.columns, Mapping) else tuple(self.columns)

    @property
    def column_map(self) -> ColumnMap:
        """Symbol -> names of its columns, where some are stated."""
        return self.columns if isinstance(self.columns, Mapping) else {}

    def completed(self, description: Description | None) -> ReadOptions:
        """The same with what a description says where nothing was stated: names of the joints, columns, units, rate ..."""
        if description is None:
            return self
        robot, card = description.robot, description.log
        if self.joints is not None and len(self.joints) not in (robot.driven, len(robot.independent)):
            raise InputError(f"joints names {len(self.joints)} joints, but {description.name} has {robot.driven}")

        def stated(option: Any, key: str, otherwise: Any = None) -> Any:
            return card.get(key, otherwise) if option is None else option

        return replace(
            self,
            joints=stated(self.joints, "log_joints", robot.joint_names[: robot.driven]),
            columns=stated(self.columns, "columns"),
            units=dict(card.get("units", {})) | dict(self.units or {}),
            rate=stated(self.rate, "rate"),
            offset=stated(self.offset, "transmission_offset"),
            side=stated(self.side, "side"),
            most_unpacked=stated(self.most_unpacked, "most_unpacked"),
            topic=stated(self.topic, "topic"),
            episode=stated(self.episode, "episode"),
            keys=stated(self.keys, "features"),
            surroundings=stated(self.surroundings, "surroundings", robot.floating),
        )
