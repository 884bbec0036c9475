"""Control laws on scalars of any type, one joint at a time.

A law names its gains, the reference signals it follows and its inner states, and gives the torque.  Like the recursions it is
traced into the simulation kernel.  Gains are on the joint side: torque per radian, per radian per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from inertica.scalars import Scalar, clip

Named = Mapping[str, Scalar]
Torque = tuple[Scalar, dict[str, Scalar]]
"""The torque, and the inner states one step later."""


class Law(Protocol):
    """A diagonal control law.

    Attributes:
        gains: names of the gains, each one value per joint.
        references: which of q, dq, ddq, tau of the reference it uses.
        memory: names of inner states per joint, zero at the start.
    """

    @property
    def gains(self) -> tuple[str, ...]: ...
    @property
    def references(self) -> tuple[str, ...]: ...
    @property
    def memory(self) -> tuple[str, ...]: ...

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        """Torque from reference and measured motion."""


@dataclass(frozen=True)
class PD:
    """tau = kp (qr - q) + kd (dqr - dq)  (survey, eq. 16)"""

    gains: ClassVar[tuple[str, ...]] = ("kp", "kd")
    references: ClassVar[tuple[str, ...]] = ("q", "dq")
    memory: ClassVar[tuple[str, ...]] = ()

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        return gain["kp"] * (reference["q"] - q) + gain["kd"] * (reference["dq"] - dq), {}


@dataclass(frozen=True)
class PID:
    """tau = kp e + kd de + ki I,  I' = clip(I + e dt, +-windup), e = qr - q"""

    gains: ClassVar[tuple[str, ...]] = ("kp", "kd", "ki", "windup")
    references: ClassVar[tuple[str, ...]] = ("q", "dq")
    memory: ClassVar[tuple[str, ...]] = ("integral",)

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        error = reference["q"] - q
        integral = clip(memory["integral"] + error * dt, 0.0 - gain["windup"], gain["windup"])
        return gain["kp"] * error + gain["kd"] * (reference["dq"] - dq) + gain["ki"] * integral, {"integral": integral}


@dataclass(frozen=True)
class Cascade:
    """tau = kv (kp (qr - q) - dq): position loop around a velocity loop, no velocity reference (DIDIM paper, eq. 53).

    kv holds the drive gain, kv = 2 zeta wn J, kp = wn / (2 zeta).
    """

    gains: ClassVar[tuple[str, ...]] = ("kp", "kv")
    references: ClassVar[tuple[str, ...]] = ("q",)
    memory: ClassVar[tuple[str, ...]] = ()

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        return gain["kv"] * (gain["kp"] * (reference["q"] - q) - dq), {}


@dataclass(frozen=True)
class TorqueDriven:
    """tau = tau_r: no controller, the reference is the torque itself."""

    gains: ClassVar[tuple[str, ...]] = ()
    references: ClassVar[tuple[str, ...]] = ("tau",)
    memory: ClassVar[tuple[str, ...]] = ()

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        return reference["tau"], {}


@dataclass(frozen=True)
class FeedForward:
    """The torque of another law plus a given torque signal."""

    law: Law

    @property
    def gains(self) -> tuple[str, ...]:
        return self.law.gains

    @property
    def references(self) -> tuple[str, ...]:
        return (*self.law.references, "tau")

    @property
    def memory(self) -> tuple[str, ...]:
        return self.law.memory

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        tau, after = self.law.torque(reference, q, dq, gain, memory, dt)
        return tau + reference["tau"], after


@dataclass(frozen=True)
class Saturated:
    """The torque of another law within +-limit."""

    law: Law

    @property
    def gains(self) -> tuple[str, ...]:
        return (*self.law.gains, "limit")

    @property
    def references(self) -> tuple[str, ...]:
        return self.law.references

    @property
    def memory(self) -> tuple[str, ...]:
        return self.law.memory

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        tau, after = self.law.torque(reference, q, dq, gain, memory, dt)
        return clip(tau, 0.0 - gain["limit"], gain["limit"]), after
