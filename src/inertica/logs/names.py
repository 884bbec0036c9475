"""Names of columns: which signal, which joint and which unit a header such as `joint_3_target_position [deg]` means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from inertica.logs.units import is_unit

_POSITION = {"q", "pos", "position", "positions", "angle", "angles", "jpos"}
_VELOCITY = {"dq", "qd", "qdot", "vel", "velocity", "velocities", "speed", "speeds", "jvel"}
_ACCELERATION = {"ddq", "qdd", "qddot", "acc", "accel", "acceleration", "accelerations"}
_TORQUE = {"tau", "torque", "torques", "effort", "efforts", "trq", "eff"}
_EFFORT = {"effort", "efforts", "eff"}
_CURRENT = {"i", "current", "currents", "cur", "amps", "iq"}
_BASE = {
    **dict.fromkeys(_POSITION, "q"),
    **dict.fromkeys(_VELOCITY, "dq"),
    **dict.fromkeys(_ACCELERATION, "ddq"),
    **dict.fromkeys(_TORQUE, "tau"),
    **dict.fromkeys(_CURRENT, "i"),
    **{"theta": "theta", "dtheta": "dtheta", "thetad": "dtheta", "thetadot": "dtheta", "taum": "taum", "qm": "theta"},
    **{"ql": "ql", "temp": "temp", "temperature": "temp", "temperatures": "temp"},
    **{"dqm": "dtheta", "qr": "qr", "qref": "qr", "qdes": "qr", "dqr": "dqr", "dqref": "dqr", "ddqr": "ddqr", "ddqref": "ddqr"},
    **dict.fromkeys(("taur", "tauref", "taudes", "tauff", "feedforward", "ff"), "taur"),
}
_REFERENCE = {"ref", "reference", "des", "desired", "target", "cmd", "command", "commanded", "setpoint", "set", "goal"}
_TARGET = _REFERENCE - {"set"} | {"action", "actions"}
"""Words that mean a position target where they stand alone."""
_OF_REFERENCE = {"q": "qr", "dq": "dqr", "ddq": "ddqr", "tau": "taur", "taur": "taur"}
_MOTOR = {"motor", "mot", "drive"}
_OF_MOTOR = {"q": "theta", "dq": "dtheta", "tau": "taum", "i": "i", "theta": "theta", "dtheta": "dtheta", "taum": "taum"}
_MEASURED = {"actual", "act", "meas", "measured", "mes", "msr", "sensor", "state", "states", "observed", "m", "field"}
_JOINT = {"joint", "joints", "axis", "j", "jnt", "dof", "a"}
"""`a` is the axis of KUKA and others: A1_pos."""
_CLOCK = {"t", "time", "stamp", "timestamp", "timestamps", "clock", "secs", "seconds"}

_BRACKET = re.compile(r"(?P<name>.*?)\s*[\[(]\s*(?P<inside>[^\])]*?)\s*[\])]\s*")
_TOKEN = re.compile(r"[a-z]+|\d+")


@dataclass(frozen=True)
class Header:
    """A column name taken apart.

    Args:
        text: as it stands in the file.
        name: without the unit.
        unit: the unit it states, empty for none.
    """

    text: str
    name: str
    unit: str = ""


def take_apart(text: str) -> Header:
    """The name and the unit of a header: `q1 [deg]`, `q1 (deg)`, `time_ms`, `q1_deg`; a number in brackets is an index."""
    name = text.strip().strip('"').strip()
    match = _BRACKET.fullmatch(name)
    if match and match["name"] and match["inside"] and not match["inside"].isdigit():
        return Header(text, match["name"].strip(), match["inside"])
    head, mark, tail = name.rpartition("_")
    # single letters after an underscore (`tau_m`, `q_s`) are more often part of the name, but for the clock
    if mark and head and is_unit(tail) and (len(tail) > 1 or (tail == "s" and clock_word(head))):
        return Header(text, head, tail)
    return Header(text, name)


def tokens(name: str) -> list[str]:
    """Words and numbers of a name in lower case: `actual_qd[3]` -> actual, qd, 3."""
    return _TOKEN.findall(re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())


def topics_removed(name: str) -> list[str]:
    """The name as it is, then without its first topics: `/arm/joint_states/elbow/position`, `joint_states/elbow/position`, ..."""
    parts = [part for part in name.split("/") if part]
    return [name, *("/".join(parts[k:]) for k in range(1, len(parts)))]


def clock_word(name: str) -> bool:
    """Whether a name means the clock: `t`, `time`, `header.stamp`."""
    words = tokens(take_apart(name).name) if "[" in name or "(" in name or "_" in name else tokens(name)
    return bool(words) and words[-1] in _CLOCK and set(words[:-1]) <= {"header", "time", "robot", "controller", "rel", "relative"}


@dataclass(frozen=True)
class Meaning:
    """What a column name says.

    Args:
        symbol: of `units.SIGNALS`.
        number: the joint's number as written; None when the rest of the name is a joint's name.
        effort: it was called effort, a word that also stands for currents.
        doubtful: it may as well be another symbol (`q_d`: desired position, or velocity).
    """

    symbol: str
    number: int | None = None
    effort: bool = False
    doubtful: str = ""


def meaning(name: str) -> Meaning | None:
    """What a name with one joint number means: `q1`, `pos_1`, `joint_1_position`, `actual_q[0]`, `target_qd_3`; None if unclear."""
    parts = tokens(name)
    numbers = [part for part in parts if part.isdigit()]
    if len(numbers) != 1 or len(numbers[0]) > 4:
        return None
    words = [part for part in parts if not part.isdigit()]
    signal = _signal(words)
    return None if signal is None else Meaning(signal.symbol, int(numbers[0]), signal.effort, signal.doubtful)


def word_meaning(name: str) -> Meaning | None:
    """What a name without any joint means: `position`, `target_velocity`, `observation.effort`."""
    parts = tokens(name)
    return None if any(part.isdigit() for part in parts) else _signal(parts)


@dataclass(frozen=True)
class NamingRank:
    """How well a way of naming a signal says that it was measured: the lowest is taken, `reason` says why."""

    order: int
    reason: str


def rank(words: Sequence[str]) -> NamingRank:
    """The rank of a column's name, its joint left out, among other columns for the same signal."""
    if any(word in _MEASURED for word in words):
        return NamingRank(0, "its name says that it was measured")
    if any(word in _EFFORT for word in words):
        return NamingRank(2, "the others do not say what they are")
    return NamingRank(1, "its name says it most plainly")


def looks_needed(text: str) -> bool:
    """Whether a header means a signal with a joint number, or the clock."""
    name = take_apart(text).name
    return meaning(name) is not None or clock_word(name)


def torque_word(name: str) -> bool:
    """Whether a name speaks of a torque, of whatever kind."""
    return any(word in _TORQUE or word == "taum" for word in tokens(name))


def _signal(words: list[str]) -> Meaning | None:
    rest = [word.removeprefix("joint") for word in words if word not in _JOINT]  # jointpos: the joint's
    if rest == ["q", "d"]:
        return Meaning("qr", doubtful="dq")
    if rest in (["dq", "d"], ["q", "r"]):
        return Meaning("dqr" if rest[0] == "dq" else "qr")
    if rest[-1:] == ["dot"] and rest[:-1]:  # q_dot, theta_dot
        rest = [*rest[:-2], rest[-2] + "dot"]
    if rest[-1:] == ["m"] and rest[:-1] in (["tau"], ["q"], ["theta"], ["dq"]):  # tau_m: of the motor
        rest = ["motor", *rest[:-1]]
    if rest and set(rest) <= _TARGET:
        return Meaning("qr")
    reference = any(word in _REFERENCE for word in rest)
    motor = any(word in _MOTOR for word in rest)
    base = [word for word in rest if word not in _REFERENCE | _MOTOR | _MEASURED]
    if len(base) == 2 and "current" in base:  # current position: the present one
        base.remove("current")
    if len(base) != 1 or base[0] not in _BASE:
        return None
    symbol = _BASE[base[0]]
    if motor:
        symbol = _OF_MOTOR.get(symbol, "")
    if reference:
        symbol = _OF_REFERENCE.get(symbol, "")
    return Meaning(symbol, effort=base[0] in _EFFORT) if symbol else None
