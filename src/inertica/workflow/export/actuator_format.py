"""What a target of exported actuators is: one file per simulator, one line each in `actuator_formats`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inertica.errors import InputError
from inertica.workflow.export.joint_actuators import JointActuators


@dataclass(frozen=True)
class Destination:
    """Where a file goes, and what reads it.

    Args:
        folder: of the file, in the end.
        mujoco: version of MuJoCo that reads it, (major, minor).
    """

    folder: Path
    mujoco: tuple[int, int]


@dataclass(frozen=True)
class ActuatorFile:
    """A file as text.

    Args:
        content: its bytes.
        notes: what it replaces.
        lost: what it cannot hold, one sentence each.
    """

    content: bytes
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class ActuatorFormat:
    """A target of exported actuators.

    Args:
        name: what people type for it behind --as.
        title: for people.
        ending: of the names of its files.
        write: actuators and where their file goes -> the file.
    """

    name: str
    title: str
    ending: str
    write: Callable[[JointActuators, Destination], ActuatorFile]


def delays_in_words(actuators: JointActuators) -> str:
    """Joints with their delays."""
    return ", ".join(f"{name} {1e3 * delay:.3g} ms" for name, delay in actuators.delayed().items())


def zeros_in_words(actuators: JointActuators) -> tuple[str, ...]:
    """The sentence on zeros of commands, which configurations have no place for."""
    zeros = ", ".join(f"{name} {zero:.4g}" for name, zero in actuators.shifted().items())
    return (f"the servo aims at command - zero: subtract the zero from what is commanded ({zeros})",) if zeros else ()


def require_gains(actuators: JointActuators, title: str) -> None:
    """Refuses a configuration of servos without any gains."""
    if not actuators.driven:
        raise InputError(
            f"the result has no gains, without which there is no {title}: state loop: {{law: pd, kp: [...], kd: [...]}} in the robot "
            "card before `identify`, or use a result of `inertica actuators`"
        )


def gains_in_words(actuators: JointActuators) -> tuple[str, ...]:
    """The sentence on joints without gains."""
    rest = [name for j, name in enumerate(actuators.names) if j not in actuators.driven]
    if not rest:
        return ()
    return (
        f"the gains of {', '.join(rest)} are not known, so no servo is written for them; state loop: {{law: pd, kp: [...], "
        "kd: [...]} in the robot card",
    )
