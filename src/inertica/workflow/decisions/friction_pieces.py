"""Pieces of which the friction of a joint is put together, and the laws that they amount to.

    F = Fv v + Fc s + dFs s exp(-(v / vs)^2) + Fw tanh(v / vw) + mu |load| s + off,      s = sign(v)

Every piece but the offset brakes at every speed when its amplitude is not negative, so their sum does.  Coulomb friction that
depends on the direction of motion is among them: for a joint that moves, Fcp and Fcn are Coulomb friction (Fcp + Fcn) / 2 and an
offset (Fcp - Fcn) / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertica.arrays import Array
from inertica.robot.friction import DRY, LAWS, Candidate, FrictionLaw
from inertica.robot.layout import Parameters
from inertica.robot.terms import State

PLAIN = ("viscous", "coulomb", "offset")
"""Laws of the first fit, the first two of which most joints have."""


def others() -> dict[str, Candidate]:
    """Laws that may be added to those, as they say of themselves."""
    return {kind: law.candidate for kind, law in LAWS.items() if law.candidate is not None and kind not in PLAIN}


@dataclass(frozen=True)
class Piece:
    """A part of the friction of one joint: the law it comes from, by its name, and, where it has one, its speed in rad/s or m/s."""

    joint: int
    kind: str
    speed: float = 0.0

    @property
    def place(self) -> tuple[int, str]:
        """What a joint has once, at whatever speed."""
        return self.joint, self.kind

    @property
    def law(self) -> FrictionLaw:
        return LAWS[self.kind].at_speed(self.joint, self.speed)

    @property
    def how(self) -> Candidate:
        """How the law may be added."""
        candidate = LAWS[self.kind].candidate
        assert candidate is not None
        return candidate

    @property
    def brakes(self) -> bool:
        return LAWS[self.kind].brakes

    @property
    def loaded(self) -> bool:
        """Whether it depends on the load of the joint."""
        return self.law.load is not None

    @property
    def parameter(self) -> str:
        """Name of its amplitude."""
        return self.law.parameters[self.how.column].name

    def column(self, rate: Array, load: Array) -> Array:
        """On samples of the joint's velocity and of the gravity torque on it."""
        law = LAWS[self.kind].at_speed(0, self.speed)
        x = State((), (rate,), (), {s.name: s.value for s in law.shapes}, (), (load,))
        return np.broadcast_to(np.asarray(law.columns(x)[self.how.column][0], float), rate.shape)


def laws_of(joint: int, pieces: Sequence[Piece], carried: Parameters) -> list[FrictionLaw]:
    """The laws that the pieces of a joint amount to.

    Args:
        joint: 0-based.
        pieces: of all joints.
        carried: links that load it.
    """
    of_joint = [p for p in pieces if p.joint == joint]
    laws = [p.law for p in of_joint if p.kind not in {q.how.includes for q in of_joint}]
    if not any(DRY in law.states for law in laws):
        laws = [LAWS[p.how.alone or p.kind].at_speed(joint, p.speed) for p in of_joint]
    return [law if law.load is None else replace(law, moments=carried.moments()) for law in laws]  # type: ignore[call-arg]
