"""Position servos in an MJCF file: `position` actuators with gains, limit and delay, and how dry friction holds their joints.

    force = clip(kp (ctrl(t - delay) - q) - kv dq, +-limit)

Where the motor is known, a `dcmotor` with a position input: its controller adds the back-EMF k dq that the winding takes off again,

    v = clip(R/k (kp (ctrl - q) - kd dq) + k dq, +-voltage),      force = k/R (v - k dq)

so that with kd = kv + k^2/R this is the same servo with a viscous friction k^2/R that the joint's own damping no longer holds.

MuJoCo reads the delayed control between two steps by linear interpolation, which is the mean over a step of a command that is held
from step to step: a delay need be no whole number of steps.  Runge-Kutta reads it within the step, too, where the line that is
interpolated is half a step ahead of that mean: there the delay that is written is half a step longer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inertica.errors import InputError
from inertica.robot.formats.mjcf_file import mjcf_joints
from inertica.robot.formats.mjcf_settings import Settings
from inertica.robot.writeback import MARK
from inertica.robot.xmledit import Edits
from inertica.robot.xmlfile import Document, Element, children, describe, number, parse_xml

TIMESTEP = 0.002
"""s; MuJoCo's step where a file states none."""

FOLDERS = ("meshdir", "texturedir", "assetdir")


@dataclass(frozen=True)
class Motor:
    """What drives a joint, gear included, SI.

    Args:
        constant: k, torque per current and back-EMF per speed.
        resistance: of the winding.
        voltage: of the supply.
        torque: largest one by other causes than the supply; infinite for none.
    """

    constant: float
    resistance: float
    voltage: float
    torque: float = math.inf

    @property
    def back_emf(self) -> float:
        """Viscous friction that the winding makes."""
        return self.constant**2 / self.resistance


@dataclass(frozen=True)
class PositionServo:
    """One joint's servo, SI.

    Args:
        joint: its name.
        kp, kv: gains.
        limit: largest torque; infinite leaves what the file states.
        delay: of the control in s; zero or less is none.
        remark: comment beside it.
        motor: for a `dcmotor` in place of a `position` actuator.
    """

    joint: str
    kp: float
    kv: float
    limit: float = math.inf
    delay: float = 0.0
    remark: str = ""
    motor: Motor | None = None

    @property
    def tag(self) -> str:
        """Of the actuator."""
        return "position" if self.motor is None else "dcmotor"


@dataclass(frozen=True)
class SoftFriction:
    """MuJoCo's constraint by which dry friction holds: impedance and time constant in s of what velocity is left."""

    impedance: float
    time: float


def with_position_servos(
    content: bytes, path: Path, servos: Sequence[PositionServo], friction: SoftFriction | None = None, delays: bool = True
) -> tuple[bytes, tuple[str, ...]]:
    """The file with these servos, and notes on what of the file they replace.

    Args:
        content: of an MJCF file.
        path: of the file, for messages.
        servos: at most one per joint; actuators of other joints stay.
        friction: of the joints of these servos; None leaves what the file states.
        delays: whether delays are written; MuJoCo before 3.5 refuses files that have them.
    """
    document = parse_xml(path, content)
    settings, joints = mjcf_joints(document)
    edits, notes = Edits(document), []
    step, ahead = _timestep(document), 0.5 if _option(document, "integrator") == "RK4" else 0.0
    section = next((e for e in children(document.root, "actuator")), None)
    driven = _driven(document)
    new: list[tuple[str, dict[str, str]]] = []
    for servo in servos:
        element = joints[servo.joint]
        edits.set(element, "name", servo.joint)  # joints may have none, and actuators name the one they drive
        if friction is not None:
            edits.set(element, "solimpfriction", f"{friction.impedance!r} {friction.impedance!r}")
            edits.set(element, "solreffriction", f"{max(friction.time, 2.0 * step)!r} 1")
        stated = _attributes(servo, step, ahead, delays)
        old = driven.get(servo.joint, [])
        if len(old) > 1:
            raise document.error(old[1], f"joint '{servo.joint}' has {len(old)} actuators; leave one", servo.joint)
        if not old:
            new.append((servo.tag, {"name": servo.joint, "joint": servo.joint, **stated}))
        elif old[0].tag == servo.tag == "position":
            _change(document, settings, edits, old[0], stated)
        else:
            notes.append(f"{describe(old[0])} of joint '{servo.joint}' is replaced by a {servo.tag} actuator of the same name")
            name = {key: str(value) for key, value in old[0].attrib.items() if key in ("name", "group", "user")}
            edits.replace(old[0], servo.tag, {**name, "joint": servo.joint, **stated})
    if new and section is None:
        edits.add(document.root, "actuator", {}, new)
    elif section is not None:
        for tag, attributes in new:
            edits.add(section, tag, attributes)
    if new and (keys := [key for part in children(document.root, "keyframe") for key in children(part) if key.get("ctrl")]):
        for key in keys:
            edits.remove(key, "ctrl")
        notes.append("keyframes lose their ctrl, since the file has more actuators than before")
    for servo in servos:
        if servo.remark:
            edits.comment(_parent_body(joints[servo.joint]), f"{MARK} {servo.joint}", servo.remark)
    return edits.apply(), tuple(notes)


def with_asset_folders(content: bytes, path: Path, relative: str) -> bytes:
    """The file for another folder, from which meshes and textures are found behind `relative`."""
    document = parse_xml(path, content)
    if relative in ("", ".") or not any(e.get("file") for e in document.root.iter() if isinstance(e.tag, str)):
        return content
    edits = Edits(document)
    compilers = list(children(document.root, "compiler"))
    stated = {key: value for c in compilers for key in FOLDERS if (value := c.get(key)) is not None}
    places = {key: _joined(relative, stated.get(key, "")) for key in stated or dict.fromkeys(FOLDERS[:2], "")}
    if not compilers:
        edits.add(document.root, "compiler", places, first=True)
    for key, value in places.items():
        for compiler in compilers:
            edits.set(compiler, key, value)
    return edits.apply()


def _timestep(document: Document) -> float:
    stated = [number(document, option, "timestep") for option in children(document.root, "option") if option.get("timestep")]
    return stated[-1] if stated else TIMESTEP


def _option(document: Document, name: str) -> str | None:
    """What the last <option> that states it says."""
    stated = [value for option in children(document.root, "option") if (value := option.get(name)) is not None]
    return stated[-1] if stated else None


def _attributes(servo: PositionServo, step: float, ahead: float, delays: bool) -> dict[str, str]:
    out = _of_position(servo) if servo.motor is None else _of_motor(servo, servo.motor)
    if delays and servo.delay > 0.0:
        late = servo.delay + ahead * step
        # the control of as many steps as the delay is long, and one on either side to interpolate between
        samples = math.ceil(late / step) + 2
        out |= {"delay": repr(float(late)), "nsample": str(samples), "interp": "linear"}
    return out


def _of_position(servo: PositionServo) -> dict[str, str]:
    out = {"kp": repr(float(servo.kp)), "kv": repr(float(servo.kv))}
    if math.isfinite(servo.limit):
        limit = float(servo.limit)
        out |= {"forcelimited": "true", "forcerange": f"{-limit!r} {limit!r}"}
    return out


def _of_motor(servo: PositionServo, motor: Motor) -> dict[str, str]:
    damping = float(servo.kv + motor.back_emf)
    out = {
        "motorconst": f"{motor.constant!r} {motor.constant!r}",
        "resistance": repr(motor.resistance),
        "input": "pos",
        "controller": f"{float(servo.kp)!r} 0 {damping!r} 0 0 {motor.voltage!r}",
    }
    return out | ({"saturation": f"{motor.torque!r} 0 0"} if math.isfinite(motor.torque) else {})


def _change(document: Document, settings: Settings, edits: Edits, element: Element, stated: Mapping[str, str]) -> None:
    """Other values for a position actuator; what would scale or filter its control goes."""
    inherited = settings.attributes(element, "main")
    if "dampratio" in inherited and element.get("dampratio") is None:
        raise document.error(
            element,
            f"the class of {describe(element)} states dampratio, beside which MuJoCo takes no kv; remove it from the class",
        )
    edits.remove(element, "dampratio")
    for name, none in (("gear", "1"), ("timeconst", "0")):
        if name in inherited:
            edits.set(element, name, none)
    for name in ("delay", "nsample", "interp"):
        if name not in stated:
            edits.remove(element, name)
    for name, value in stated.items():
        edits.set(element, name, value)


def _driven(document: Document) -> dict[str, list[Element]]:
    out: dict[str, list[Element]] = {}
    for section in children(document.root, "actuator"):
        for element in children(section):
            if (name := element.get("joint") or element.get("jointinparent")) is not None:
                out.setdefault(name, []).append(element)
    return out


def _parent_body(joint: Element) -> Element:
    """The body of a joint, where comments on it stand."""
    parent = joint.getparent()
    if parent is None:
        raise InputError(f"{describe(joint)} is in no body")
    return parent


def _joined(relative: str, folder: str) -> str:
    return Path(relative, folder).as_posix()
