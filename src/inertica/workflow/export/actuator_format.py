"""What a target of exported actuators is: one file per simulator, one line each in `actuator_formats`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from inertica import __version__
from inertica.errors import InputError
from inertica.escape import code_comment
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
        card: text of a card beside it, which adds what it has no place for.
    """

    content: bytes
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    card: bytes | None = None


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


def friction_in_words(actuators: JointActuators) -> tuple[str, ...]:
    """The sentence on dry friction that is no constant."""
    names = ", ".join(actuators.richer())
    return (f"dry friction of {names} depends on speed or load: the file holds the constant one that does the same work in the "
            "logs",) if names else ()  # fmt: skip


def parts_in_words(actuators: JointActuators) -> tuple[str, ...]:
    """The sentence on what a configuration lacks of a result of `identify`, besides its links."""
    parts: dict[str, list[str]] = {}
    for part in actuators.exported.lost if actuators.exported else ():
        parts.setdefault(part.what, []).extend([] if part.joint is None else [str(part.joint + 1)])
    text = ", ".join(f"{what} (joint {', '.join(joints)})" if joints else what for what, joints in parts.items())
    return (
        (f"armature, viscous and Coulomb friction are all that the file holds of the result; it lacks {text}",) if parts else ()
    )


def header(template: str, actuators: JointActuators, title: str) -> str:
    """The first lines of a configuration; refuses one of servos without any gains."""
    if not actuators.driven:
        raise InputError(
            f"the result has no gains, without which there is no {title}: state loop: {{law: pd, kp: [...], kd: [...]}} in the robot "
            "card before `identify`, or use a result of `inertica actuators`"
        )
    robot, origin = code_comment(actuators.description.name), code_comment(actuators.origin)
    return template.format(robot=robot, version=__version__, origin=origin)


def python_file(lines: Iterable[str], actuators: JointActuators, delay: str) -> ActuatorFile:
    """A configuration as Python text, and what it cannot hold.

    Args:
        lines: of the file.
        actuators: of the robot.
        delay: what is to be done where commands are late; delays follow it in brackets.
    """
    lost = [*gains_in_words(actuators), *zeros_in_words(actuators), *friction_in_words(actuators), *parts_in_words(actuators)]
    if actuators.delayed():
        lost.append(f"{delay} ({delays_in_words(actuators)})")
    return ActuatorFile("\n".join(lines).encode("ascii"), (), tuple(lost))


def gains_in_words(actuators: JointActuators) -> tuple[str, ...]:
    """The sentence on joints without gains."""
    rest = [name for j, name in enumerate(actuators.names) if j not in actuators.driven]
    if not rest:
        return ()
    return (
        f"the gains of {', '.join(rest)} are not known, so no servo is written for them; state loop: {{law: pd, kp: [...], "
        "kd: [...]} in the robot card",
    )
