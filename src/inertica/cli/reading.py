"""Options that say how a log is to be read, for commands that take logs of strangers; the same as keys of a robot card."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from inertica.errors import InputError, nearest
from inertica.logs.units import SIGNALS
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.robot.settings import Side


def add_reading(parser: argparse.ArgumentParser) -> None:
    """--columns, --rate, --unit, --side, --log-joints, --most-unpacked, --topic, --episode, --feature."""
    group = parser.add_argument_group("reading", "how the logs are to be read; the same may be stated in a robot card")
    group.add_argument(
        "--columns", metavar="A,B,.. | q=PATTERN,..",
        help="names of all columns in order, for files without a header (t,q1,q2,tau1,tau2; - for one that is not needed), or which "
        "columns a signal has, {} for the joint (tau=tau_con{})",
    )  # fmt: skip
    group.add_argument("--rate", metavar="HZ", help="sampling rate of logs without a clock")
    group.add_argument(
        "--unit", metavar="SIGNAL=UNIT", action="append", default=[],
        help="unit of columns whose header states none, such as q=deg or t=ms; may be given several times",
    )  # fmt: skip
    group.add_argument(
        "--side",
        choices=get_args(Side),
        help="of the gears, on which q, dq and tau were recorded where the card has a transmission",
    )
    group.add_argument("--most-unpacked", metavar="GIB", help="that a packed log may unpack to (8, and 200 times its size)")
    group.add_argument("--topic", metavar="NAME", help="of the joint states, where a ROS bag or MCAP file holds several")
    group.add_argument("--episode", metavar="K", type=int, help="of a LeRobot dataset that holds several")
    group.add_argument(
        "--feature", metavar="SIGNAL=NAME", action="append", default=[],
        help="feature of a LeRobot dataset that a signal is read from (tau=observation.load); may be given several times",
    )  # fmt: skip
    group.add_argument("--log-joints", metavar="A,B,..", help="the log's own names of the robot's joints, in the robot's order")


def loaded_robot(arguments: argparse.Namespace) -> Description:
    """ROBOT of the command line, read, with what the options say of its logs."""
    return with_reading(load(arguments.robot), reading_options(arguments))


def refuse_reading(arguments: argparse.Namespace) -> None:
    """Lines from stdin begin with the names of their columns and are in SI units."""
    if stated := reading_options(arguments):
        raise InputError(
            f"'{next(iter(stated))}' says how a file is to be read; lines from stdin begin with the names of their columns, and are "
            "in SI units"
        )


def described(arguments: argparse.Namespace) -> str | Description:
    """ROBOT of the command line; with what the options say of its logs where they say something."""
    stated = reading_options(arguments)
    return with_reading(load(arguments.robot), stated) if stated else str(arguments.robot)


def with_reading(description: Description, stated: Mapping[str, Any]) -> Description:
    """The same robot with other words on how its logs are to be read."""
    joints = stated.get("log_joints")
    if joints is not None and len(joints) != description.robot.n:
        raise InputError(f"--log-joints names {len(joints)} joints, but {description.name} has {description.robot.n}")
    return replace(description, log={**description.log, **stated})


def reading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the command line states, as entries of `Description.log`."""
    out: dict[str, Any] = {}
    if arguments.columns is not None:
        out["columns"] = _columns(arguments.columns)
    if arguments.rate is not None:
        out["rate"] = _positive(arguments.rate, "--rate", "Hz")
    if arguments.most_unpacked is not None:
        out["most_unpacked"] = _positive(arguments.most_unpacked, "--most-unpacked", "GiB")
    if arguments.unit:
        out["units"] = dict(_unit(word) for word in arguments.unit)
    if arguments.side is not None:
        out["side"] = arguments.side
    if arguments.topic is not None:
        out["topic"] = arguments.topic
    if arguments.episode is not None:
        out["episode"] = arguments.episode
    if arguments.feature:
        out["features"] = dict(_feature(word) for word in arguments.feature)
    if arguments.log_joints is not None:
        out["log_joints"] = _words(arguments.log_joints, "--log-joints")
    return out


def _columns(word: str) -> tuple[str, ...] | dict[str, str]:
    words = _words(word, "--columns")
    if not any("=" in one for one in words):
        return words
    out: dict[str, str] = {}
    for one in words:
        symbol, sign, pattern = (part.strip() for part in one.partition("="))
        if symbol not in SIGNALS and symbol != "t":
            raise InputError(f"--columns: '{symbol}' is no signal of a log; {nearest(symbol, [*SIGNALS, 't'])}")
        if not sign or (symbol != "t" and pattern.count("{}") != 1):
            raise InputError(
                f"--columns: '{one}' should be a signal and its columns with {{}} for the joint, such as tau=effort_{{}}"
            )
        out[symbol] = pattern
    return out


def _words(word: str, option: str) -> tuple[str, ...]:
    words = tuple(one.strip() for one in word.split(","))
    if not all(words):
        raise InputError(f"{option} has an empty name in '{word}'")
    return words


def _positive(word: str, option: str, unit: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise InputError(f"{option} should be a number of {unit} greater than zero, not '{word}'")
    return value


def _unit(word: str) -> tuple[str, str]:
    symbol, _, unit = (part.strip() for part in word.partition("="))
    if not unit:
        raise InputError(f"--unit should be SIGNAL=UNIT, such as q=deg or t=ms; not '{word}'")
    if symbol not in SIGNALS and symbol != "t":
        raise InputError(f"--unit: '{symbol}' is no signal of a log; {nearest(symbol, [*SIGNALS, 't'])}")
    return symbol, unit


def _feature(word: str) -> tuple[str, str]:
    symbol, _, feature = (part.strip() for part in word.partition("="))
    if not feature:
        raise InputError(f"--feature should be SIGNAL=NAME, such as tau=observation.load; not '{word}'")
    return symbol, feature
