"""Units of recorded signals: what each signal is measured in, and how other units become SI."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from inertica.errors import InputError


@dataclass(frozen=True)
class Signal:
    """What a symbol of a log stands for.

    Args:
        kind: position, velocity, acceleration, torque, current, or the same as reference.
        unit: SI unit for a revolute joint.
        linear: SI unit for a prismatic joint.
        motor: whether it is measured before the gears.
        partial: whether joints may lack it, and no fit of links needs it.
    """

    kind: str
    unit: str
    linear: str
    motor: bool = False
    partial: bool = False


SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {
        "q": Signal("position", "rad", "m"),
        "dq": Signal("velocity", "rad/s", "m/s"),
        "ddq": Signal("acceleration", "rad/s^2", "m/s^2"),
        "qr": Signal("reference position", "rad", "m"),
        "dqr": Signal("reference velocity", "rad/s", "m/s"),
        "ddqr": Signal("reference acceleration", "rad/s^2", "m/s^2"),
        "taur": Signal("reference torque", "N m", "N"),
        "tau": Signal("torque", "N m", "N"),
        "i": Signal("current", "A", "A"),
        "theta": Signal("position", "rad", "rad", motor=True),
        "dtheta": Signal("velocity", "rad/s", "rad/s", motor=True),
        "taum": Signal("torque", "N m", "N m", motor=True),
        "ql": Signal("link-side position", "rad", "m", partial=True),
        "temp": Signal("temperature", "°C", "°C", partial=True),
    }
)
"""The symbols of columns, in the order of the plain form; the same words as the key `columns` of a card."""

_DEGREE = math.pi / 180.0
_ANGLE = {"rad": 1.0, "deg": _DEGREE, "°": _DEGREE, "degree": _DEGREE, "degrees": _DEGREE, "radian": 1.0, "radians": 1.0}
_ANGLE |= {"mrad": 1e-3, "rev": 2.0 * math.pi, "turn": 2.0 * math.pi, "turns": 2.0 * math.pi}
_LENGTH = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6}
_TIME = {
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "ms": 1e-3,
    "msec": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "ns": 1e-9,
}
_TIME |= {"usec": 1e-6, "nsec": 1e-9, "nanosec": 1e-9, "nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3}
_TORQUE = {"nm": 1.0, "mnm": 1e-3, "knm": 1e3}
_FORCE = {"n": 1.0, "kn": 1e3}
_CURRENT = {"a": 1.0, "ma": 1e-3, "amp": 1.0, "amps": 1.0}
_TEMPERATURE = dict.fromkeys(("°c", "c", "degc", "celsius", "k", "kelvin"), 1.0)
"""What friction follows are differences of temperature, which are alike in both."""


def _per_time(units: Mapping[str, float], power: int) -> dict[str, float]:
    mark = {1: ("/s", "s^-1", "ps"), 2: ("/s^2", "/s2", "/s²", "s^-2")}[power]
    return {unit + end: factor for unit, factor in units.items() for end in mark}


_RPM = {"rpm": 2.0 * math.pi / 60.0, "rev/min": 2.0 * math.pi / 60.0}
_FAMILIES: Mapping[str, Mapping[str, float]] = {
    "rad": _ANGLE,
    "m": _LENGTH,
    "rad/s": _per_time(_ANGLE, 1) | _RPM,
    "m/s": _per_time(_LENGTH, 1),
    "rad/s^2": _per_time(_ANGLE, 2),
    "m/s^2": _per_time(_LENGTH, 2),
    "N m": _TORQUE,
    "N": _FORCE,
    "A": _CURRENT,
    "°C": _TEMPERATURE,
    "s": _TIME,
}


def plain(unit: str) -> str:
    """A unit without what writers do differently: case, spaces, dots of products; `N·m`, `N*m` and `Nm` are one."""
    return re.sub(r"[\s*·⋅.]", "", unit.replace("μ", "µ")).lower()


def factor(unit: str, si: str, where: str) -> float:
    """What a value in `unit` is multiplied with to be in the SI unit `si`; an error when they do not measure the same."""
    family = _FAMILIES[si]
    word = plain(unit)
    if word not in family:
        raise InputError(f"{where} is in '{unit}', which is no known unit of {_MEASURE[si]}; valid are: {', '.join(family)}")
    return family[word]


def is_unit(word: str) -> bool:
    """Whether a word is a unit of anything a log holds."""
    return any(plain(word) in family for family in _FAMILIES.values())


_MEASURE = {
    **{"rad": "angle", "m": "length", "rad/s": "angular velocity", "m/s": "velocity", "rad/s^2": "angular acceleration"},
    **{"m/s^2": "acceleration", "N m": "torque", "N": "force", "A": "current", "°C": "temperature", "s": "time"},
}
