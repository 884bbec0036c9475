"""Pieces of which the friction of a joint is put together, and the laws that they amount to.

    F = Fv v + Fc s + dFs s exp(-(v / vs)^2) + Fw tanh(v / vw) + mu |load| s + off,      s = sign(v)

Every piece but the offset brakes at every speed when its amplitude is not negative, so their sum does.  Coulomb friction that
depends on the direction of motion is among them: for a joint that moves, Fcp and Fcn are Coulomb friction (Fcp + Fcn) / 2 and an
offset (Fcp - Fcn) / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.robot.friction import Coulomb, LoadDependent, Offset, Saturating, SmoothCoulomb, Stribeck, Viscous, stribeck_decay
from inertica.robot.layout import Parameters
from inertica.robot.terms import Term

Array = NDArray[np.float64]

VISCOUS, COULOMB, OFFSET, STRIBECK, SATURATING, LOAD = "viscous", "Coulomb", "offset", "Stribeck", "saturating", "load-dependent"
SHAPED = (STRIBECK, SATURATING)
SYMBOLS = {VISCOUS: "Fv", COULOMB: "Fc", OFFSET: "off", STRIBECK: "dFs", SATURATING: "Fw", LOAD: "mu"}


@dataclass(frozen=True)
class Piece:
    """A part of the friction of one joint: its kind and, where it has one, its speed in rad/s or m/s."""

    joint: int
    kind: str
    speed: float = 0.0

    @property
    def place(self) -> tuple[int, str]:
        """What a joint has once, at whatever speed."""
        return self.joint, self.kind

    @property
    def parameter(self) -> str:
        """Name of its amplitude."""
        return f"{SYMBOLS[self.kind]}{self.joint + 1}"

    def column(self, rate: Array, load: Array) -> Array:
        """On samples of the joint's velocity and of the gravity torque on it."""
        sign = np.sign(rate)
        columns: dict[str, Callable[[], Array]] = {
            VISCOUS: lambda: rate,
            COULOMB: lambda: sign,
            OFFSET: lambda: np.ones(len(rate)),
            STRIBECK: lambda: np.asarray(sign * stribeck_decay(rate, self.speed, 2.0)),
            SATURATING: lambda: np.tanh(rate / self.speed),
            LOAD: lambda: np.abs(load) * sign,
        }
        return columns[self.kind]()


def laws_of(joint: int, pieces: Sequence[Piece], carried: Parameters) -> list[Term]:
    """The laws that the pieces of a joint amount to.

    Args:
        joint: 0-based.
        pieces: of all joints.
        carried: links that load it.
    """
    own = {p.kind: p for p in pieces if p.joint == joint}
    terms: list[Term] = [Viscous(joint)] if VISCOUS in own else []
    if STRIBECK in own:
        terms.append(Stribeck(joint, vs=own[STRIBECK].speed))
    elif COULOMB in own:
        terms.append(Coulomb(joint))
    if SATURATING in own:
        smooth = STRIBECK not in own and COULOMB not in own
        speed = own[SATURATING].speed
        terms.append(SmoothCoulomb(joint, vc=speed) if smooth else Saturating(joint, vw=speed))
    if OFFSET in own:
        terms.append(Offset(joint))
    if LOAD in own:
        terms.append(LoadDependent(joint, carried.moments()))
    return terms
