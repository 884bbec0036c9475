"""Columns of a force-torque sensor: `wrench_foot_fx`, `fx`, `/ft/wrench/force/x`."""

from __future__ import annotations

from collections.abc import Iterable

from inertica.errors import InputError
from inertica.logs.names import take_apart, tokens

PARTS = ("fx", "fy", "fz", "tx", "ty", "tz")

_PLAIN = {"wrench", "ft", "sensor"}
"""Words that columns of a sensor may have besides its name and what they hold."""


def wrench_columns(columns: Iterable[str], sensor: str | None = None) -> dict[str, str]:
    """fx, fy, ... -> column; empty where the sensor has none.

    Args:
        columns: names in a file.
        sensor: a link or frame by which columns are called; any sensor, the only one there is, by default.

    Raises:
        InputError: several sensors and none named, or a force without all of its three components.
    """
    sensors: dict[tuple[str, ...], dict[str, str]] = {}
    for text in columns:
        words = tokens(take_apart(text).name)
        if words[-2:-1] in (["force"], ["torque"]) and words[-1] in ("x", "y", "z"):
            part, rest = ("f" if words[-2] == "force" else "t") + words[-1], words[:-2]
        elif words and words[-1] in PARTS:
            part, rest = words[-1], words[:-1]
        else:
            continue
        sensors.setdefault(tuple(rest), {})[part] = text
    if sensor is not None:
        name = tokens(sensor)
        sensors = {words: parts for words, parts in sensors.items() if _names(words, name)}
    if len(sensors) > 1:
        several = "; ".join(", ".join(parts.values()) for parts in sensors.values())
        raise InputError(
            f"there are columns of {len(sensors)} force-torque sensors ({several}); name the link of the one that counts"
        )
    parts = next(iter(sensors.values()), {})
    if parts and (lacking := [part for part in PARTS[:3] if part not in parts]):
        raise InputError(f"there are columns {', '.join(parts.values())} of a force-torque sensor, but no {', '.join(lacking)}")
    return {part: parts[part] for part in PARTS if part in parts}


def _names(words: tuple[str, ...], name: list[str]) -> bool:
    """Whether the words of a column say this name, and nothing else but that it is a sensor's."""
    for k in range(len(words) - len(name) + 1):
        if list(words[k : k + len(name)]) == name:
            others = {*words[:k], *words[k + len(name) :]}
            return others <= _PLAIN
    return False
