"""MuJoCo: the robot's MJCF with `position` actuators, armature, damping and friction of every joint."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from inertica.dynamics.servo import HARD, Standstill
from inertica.robot.formats.mjcf import MJCF
from inertica.robot.formats.mjcf_actuators import PositionServo, SoftFriction, with_asset_folders, with_position_servos
from inertica.robot.formats.mjcf_write import mjcf_text
from inertica.robot.formats.table import format_of
from inertica.workflow.export.actuator_format import (
    ActuatorFile,
    ActuatorFormat,
    Destination,
    delays_in_words,
    friction_in_words,
    gains_in_words,
    zeros_in_words,
)
from inertica.workflow.export.joint_actuators import JointActuators

WITH_DELAY = (3, 5)
"""First version of MuJoCo whose actuators have a delay."""

STIFFEST = 0.9999
"""Largest impedance of MuJoCo's constraints."""


def write_mujoco(actuators: JointActuators, to: Destination) -> ActuatorFile:
    """A copy of the user's MJCF file with the values in place, or a new one of a robot that came in another format."""
    source = actuators.description.source.path
    copied = format_of(actuators.description.source) is MJCF
    content = actuators.mjcf or (_copy(actuators) if copied else mjcf_text(actuators.links).encode())
    if copied:
        content = with_asset_folders(content, source, os.path.relpath(source.parent.resolve(), to.folder.resolve()))
    delays = to.mujoco >= WITH_DELAY
    content, notes = with_position_servos(content, source, _servos(actuators), _friction(actuators), delays)
    lost = [*gains_in_words(actuators), *zeros_in_words(actuators), *friction_in_words(actuators)]
    if actuators.delayed() and not delays:
        lost.append(
            f"MuJoCo {to.mujoco[0]}.{to.mujoco[1]} has no delay of actuators ({WITH_DELAY[0]}.{WITH_DELAY[1]} does): send "
            f"commands late by {delays_in_words(actuators)}"
        )
    written = actuators.exported
    of_links = (*written.notes, *written.warnings) if written else ()
    return ActuatorFile(content, (*of_links, *notes), tuple(lost), actuators.card)


def _copy(actuators: JointActuators) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        MJCF.write(actuators.description, actuators.links, path, {})
        return path.read_bytes()


def _servos(actuators: JointActuators) -> list[PositionServo]:
    values = actuators.values
    out = []
    for j in actuators.driven:
        zero, delay = float(values.zero[j]), float(values.delay[j])
        words = [f"zero of the command {zero:.6g}"] * (zero != 0.0) + [f"command delay {1e3 * delay:.4g} ms"] * (delay > 0.0)
        out.append(
            PositionServo(
                actuators.names[j],
                float(values.kp[j]),
                float(values.kd[j]),
                float(values.torque_limit[j]),
                delay,
                ", ".join(words),
            )
        )
    return out


def _friction(actuators: JointActuators) -> SoftFriction | None:
    """How friction holds at standstill; None where that is MuJoCo's own way, or not known."""
    if actuators.result is None or (actuators.result.impedance, actuators.result.rate) != (HARD.impedance, HARD.rate):
        return None
    assert Standstill.mujoco().impedance < STIFFEST
    return SoftFriction(STIFFEST, 0.0)


MUJOCO = ActuatorFormat("mujoco-actuators", "an MJCF file with position actuators", ".xml", write_mujoco)
