"""From recorded to SI values on the joint side: units, gears and couplings, currents.

With the transmission matrix N and the joint angles q_off at which the motors read zero,

    theta = N (q - q_off),   dtheta = N dq,   tau = N' tau_motor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.logs.units import SIGNALS, factor
from inertica.robot.model import Limits

BEYOND = 0.1
"""Part of a joint's range by which positions lie clearly outside."""

OVERLOAD = 1.5
"""Times its limit that a torque is clearly beyond it."""

_JOINT_SIDE = {"theta": "q", "dtheta": "dq", "taum": "tau"}


def si_factor(symbol: str, unit: str, prismatic: bool, where: str) -> float:
    """The factor from a recorded unit to the SI unit of that signal at that joint."""
    signal = SIGNALS[symbol]
    return factor(unit, signal.linear if prismatic else signal.unit, where)


def joint_side(signals: Mapping[str, Array], transmission: ArrayLike, offset: ArrayLike | None = None) -> dict[str, Array]:
    """Joint-side q, dq, tau of the motor-side theta, dtheta, taum that are there.

    Args:
        signals: symbol -> (N, n) in SI units.
        transmission: (n, n) matrix N of theta = N (q - q_off).
        offset: (n,) q_off; zero by default.
    """
    matrix = np.asarray(transmission, float)
    n = len(matrix)
    zero = np.zeros(n) if offset is None else np.asarray(offset, float)
    if zero.shape != (n,):
        raise InputError(f"the offset of the transmission has the shape {zero.shape}, expected ({n},)")
    out: dict[str, Array] = {}
    if "theta" in signals:
        out["q"] = _solve(matrix, signals["theta"]) + zero
    if "dtheta" in signals:
        out["dq"] = _solve(matrix, signals["dtheta"])
    if "taum" in signals:
        out["tau"] = _times(signals["taum"], matrix)
    return out


def _solve(matrix: Array, motor: Array) -> Array:
    return _times(motor, np.asarray(np.linalg.inv(matrix).T, np.float64))


def _times(rows: Array, matrix: Array) -> Array:
    """rows @ matrix in which a missing value spoils only what depends on it (0 * NaN would spoil everything)."""
    if np.isfinite(rows).all():
        return rows @ matrix
    out = np.where(np.isfinite(rows), rows, 0.0) @ matrix
    out[(~np.isfinite(rows)).astype(float) @ (matrix != 0.0) > 0.0] = np.nan
    return out


def converted(
    signals: Mapping[str, Array],
    settings: Mapping[str, Any],
    offset: Sequence[float] | None = None,
    efforts: frozenset[str] = frozenset(),
    side: str | None = None,
    limits: Limits | None = None,
) -> tuple[dict[str, Array], list[str], list[str]]:
    """Signals with joint-side values added as the card's `torque` and `transmission` say; also notes and warnings.

    A gain turns the logged number into the torque of the side it was logged on: of the motor when the card states a
    transmission, of the joint when it does not.

    Args:
        signals: symbol -> (N, n) in SI units.
        settings: `Description.log`.
        offset: q_off of the transmission.
        efforts: symbols the file calls effort, which are currents when the card says so.
        side: motor or joint, what columns called q, dq and tau are; None leaves it to what the card and the limits say.
        limits: of the robot.
    """
    out = dict(signals)
    notes: list[str] = []
    warnings: list[str] = []
    transmission = settings.get("transmission")
    if transmission is None and _theta_of_joints(out, limits):
        out = {{"theta": "q", "dtheta": "dq"}.get(symbol, symbol): values for symbol, values in out.items()}
        warnings.append(
            "theta is taken for the position of the joints: tau is their torque, and no transmission in the card makes theta that of "
            "the motors"
        )
    if transmission is None and (missing := [symbol for symbol in _JOINT_SIDE if symbol in out]):
        lacking = [s for s in missing if _JOINT_SIDE[s] not in out]
        if lacking:
            warnings.append(
                f"{', '.join(lacking)} are motor-side signals and the card states no transmission; "
                "without it they give no joint-side signal"
            )
        if "taum" in out and "tau" in out:
            warnings.append(
                "torque is taken from tau, on the joint side; taum, of the motors, is not used without a transmission in the card; "
                "--columns 'tau=...' takes other columns for the torque"
            )
    if transmission is not None and not set(_JOINT_SIDE) & set(out):
        decided = side or _likely_side(out, transmission, offset, limits)
        _say_side(out, decided, side is not None, notes, warnings)
        out = _on_motor_side(out, transmission, offset) if decided == "motor" else out
    _torques(out, settings, efforts, notes)
    if transmission is not None:
        added = joint_side(out, transmission, offset)
        for symbol, values in added.items():
            if symbol in out:
                notes.append(f"{symbol} is there on the joint side, so the motor side was not converted")
                continue
            out[symbol] = values
            notes.append(f"{symbol} was computed from the motor side with the card's transmission")
    return out, notes, warnings


def _theta_of_joints(signals: Mapping[str, Array], limits: Limits | None) -> bool:
    """Whether theta is the position of the joints, as in textbooks: beside their torque, and within the limits of the robot."""
    if "theta" not in signals or "tau" not in signals or {"q", "dq", "taum"} & set(signals):
        return False
    return limits is None or _within({"q": signals["theta"]}, limits)


def _likely_side(signals: Mapping[str, Array], transmission: ArrayLike, offset: ArrayLike | None, limits: Limits | None) -> str:
    """The motor's, as a card with a transmission says, unless only the joint's keeps the log within the robot's limits."""
    if limits is None:
        return "motor"
    behind = joint_side({m: signals[j] for m, j in _JOINT_SIDE.items() if j in signals}, transmission, offset)
    return "joint" if _within(signals, limits) and not _within(behind, limits) else "motor"


def _within(signals: Mapping[str, Array], limits: Limits) -> bool:
    """Whether positions and torques are clearly not beyond the limits of the model, as far as it states them."""
    if "q" in signals:
        low, high = np.array(limits.lower), np.array(limits.upper)
        room = BEYOND * np.where(np.isfinite(high - low), high - low, 0.0)
        q = signals["q"]
        if np.any((q < low - room) | (q > high + room)):  # a missing value is neither
            return False
    return "tau" not in signals or not np.any(np.abs(signals["tau"]) > OVERLOAD * np.array(limits.torque))


def _say_side(signals: Mapping[str, Array], side: str, stated: bool, notes: list[str], warnings: list[str]) -> None:
    names = ", ".join(symbol for symbol in _JOINT_SIDE.values() if symbol in signals)
    if not names:
        return
    if stated:
        notes.append(f"{names} are on the {side} side, as stated")
        return
    other = "joint" if side == "motor" else "motor"
    why = {
        "motor": "the card states a transmission, which is for motor-side logs",
        "joint": "the card states a transmission, but with it the log would be beyond the model's limits, and is not without",
    }
    warnings.append(
        f"{names} are taken for {side}-side signals: {why[side]}; `side: {other}` in the card, or --side {other}, says otherwise "
        f"(`side: {side}` confirms it)"
    )


def _on_motor_side(signals: Mapping[str, Array], transmission: ArrayLike, offset: ArrayLike | None) -> dict[str, Array]:
    """Signals with q, dq, tau called theta, dtheta, taum; those that have no motor-side name are converted at once."""
    motor = {joint: name for name, joint in _JOINT_SIDE.items()}
    out = {motor.get(symbol, symbol): values for symbol, values in signals.items()}
    matrix = np.asarray(transmission, float)
    for symbol in ("ddq", "qr", "dqr", "ddqr"):
        if symbol in out:
            zero = np.asarray(offset, float) if symbol == "qr" and offset is not None else 0.0
            out[symbol] = _solve(matrix, out[symbol]) + zero
    if "taur" in out:
        out["taur"] = _times(out["taur"], matrix)
    return out


def _torques(out: dict[str, Array], settings: Mapping[str, Any], efforts: frozenset[str], notes: list[str]) -> None:
    """Apply the card's `torque`: currents, or torques in a unit of their own."""
    torque = settings.get("torque")
    if torque is None or "gain" not in torque:
        return
    gain = np.asarray(torque["gain"], float)
    target = "taum" if settings.get("transmission") is not None else "tau"
    if torque["from"] == "torque":
        for symbol in ("tau", "taum"):
            if symbol in out:
                out[symbol] = out[symbol] * gain
                notes.append(f"{symbol} was multiplied with the card's gains")
        return
    if "i" not in out and "tau" in out and "tau" in efforts:
        out["i"] = out.pop("tau")
        notes.append("effort was taken for current, as the card says")
    if "i" in out:
        for symbol in {"tau", target} & set(out):
            del out[symbol]
            notes.append(f"the recorded {symbol} was set aside: the card says torque from current")
        out[target] = out["i"] * gain
        notes.append(f"{target} is the current times the card's gains")
    elif "tau" in out or "taum" in out:
        notes.append("the card says torque from current, but the file holds torques and no current: they were used as they are")
