"""MuJoCo: the robot's MJCF with `position` actuators, or `dcmotor` where the motor is stated, armature, damping and friction."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from inertica.dynamics.servo import HARD, Standstill
from inertica.robot.formats.mjcf import MJCF
from inertica.robot.formats.mjcf_actuators import Motor, PositionServo, SoftFriction, with_asset_folders, with_position_servos
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

WITH_MOTORS = (4, 0)
"""First version whose `dcmotor` takes commanded positions."""

STIFFEST = 0.9999
"""Largest impedance of MuJoCo's constraints."""


def write_mujoco(actuators: JointActuators, to: Destination) -> ActuatorFile:
    """A copy of the user's MJCF file with the values in place, or a new one of a robot that came in another format."""
    motors, lost = _motors(actuators, to.mujoco)
    actuators = _without_back_emf(actuators, motors)
    source = actuators.description.source.path
    copied = format_of(actuators.description.source) is MJCF
    content = actuators.mjcf or (_copy(actuators) if copied else mjcf_text(actuators.links).encode())
    if copied:
        content = with_asset_folders(content, source, os.path.relpath(source.parent.resolve(), to.folder.resolve()))
    delays = to.mujoco >= WITH_DELAY
    content, notes = with_position_servos(content, source, _servos(actuators, motors), _friction(actuators), delays)
    lost += [*gains_in_words(actuators), *zeros_in_words(actuators), *friction_in_words(actuators)]
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


def _motors(actuators: JointActuators, version: tuple[int, int]) -> tuple[dict[int, Motor], list[str]]:
    """Motors of joints that can be written, and sentences on those that cannot."""
    values, out, lost = actuators.values, dict[int, Motor](), list[str]()
    if not actuators.motor:
        return out, lost
    k, R, V = (actuators.motor[name] for name in ("torque_constant", "resistance", "voltage"))
    braking = []
    for j in actuators.driven:
        limit = float(values.torque_limit[j])
        by_supply = float(k[j] * V[j] / R[j])
        motor = Motor(float(k[j]), float(R[j]), float(V[j]), limit if limit < by_supply * (1.0 - 1e-9) else math.inf)
        if motor.back_emf <= values.viscous[j]:
            out[j] = motor
        else:
            braking.append(f"{actuators.names[j]} {values.viscous[j]:.3g} of {motor.back_emf:.3g} N m s/rad")
    if braking:
        lost.append(
            f"the back-EMF of the stated motors alone brakes more than was found ({', '.join(braking)}): these joints get position "
            "actuators; are torque_constant and resistance those of the joint's side?"
        )
    if out and version < WITH_MOTORS:
        names = ", ".join(actuators.names[j] for j in out)
        lost.append(
            f"MuJoCo {version[0]}.{version[1]} has no dcmotor that takes positions ({WITH_MOTORS[0]}.{WITH_MOTORS[1]} does): {names} "
            "get position actuators, in which back-EMF is damping of the joint"
        )
        return {}, lost
    return out, lost


def _without_back_emf(actuators: JointActuators, motors: Mapping[int, Motor]) -> JointActuators:
    """Damping of joints whose motor makes a part of it."""
    if not motors:
        return actuators
    viscous = actuators.values.viscous.copy()
    for j, motor in motors.items():
        viscous[j] -= motor.back_emf
    return actuators.with_values(actuators.values.changed(viscous=viscous))


def _servos(actuators: JointActuators, motors: Mapping[int, Motor]) -> list[PositionServo]:
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
                motors.get(j),
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
