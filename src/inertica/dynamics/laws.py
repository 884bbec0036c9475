"""Control laws on scalars of any type, one joint at a time.

A law names its gains, the reference signals it follows and its inner states, and gives the torque.  Like the recursions it is traced
into the simulation kernel.  Gains are on the joint side: torque per radian, per radian per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from inertica.scalars import Scalar, clip

Named = Mapping[str, Scalar]


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

    def torque(
        self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar
    ) -> tuple[Scalar, dict[str, Scalar]]:
        """Torque from reference and measured motion, and the inner states one step later."""


@dataclass(frozen=True)
class PD:
    """tau = kp (qr - q) + kd (dqr - dq)"""

    gains: ClassVar[tuple[str, ...]] = ("kp", "kd")
    references: ClassVar[tuple[str, ...]] = ("q", "dq")
    memory: ClassVar[tuple[str, ...]] = ()

    def torque(
        self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar
    ) -> tuple[Scalar, dict[str, Scalar]]:
        return gain["kp"] * (reference["q"] - q) + gain["kd"] * (reference["dq"] - dq), {}


@dataclass(frozen=True)
class PID:
    """tau = clip(kp e + kd de + ki I, +-limit),  I' = clip(I + e dt, +-windup), e = qr - q (survey, eq. 16)"""

    gains: ClassVar[tuple[str, ...]] = ("kp", "kd", "ki", "windup", "limit")
    references: ClassVar[tuple[str, ...]] = ("q", "dq")
    memory: ClassVar[tuple[str, ...]] = ("integral",)

    def torque(
        self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar
    ) -> tuple[Scalar, dict[str, Scalar]]:
        error = reference["q"] - q
        integral = clip(memory["integral"] + error * dt, 0.0 - gain["windup"], gain["windup"])
        tau = gain["kp"] * error + gain["kd"] * (reference["dq"] - dq) + gain["ki"] * integral
        return clip(tau, 0.0 - gain["limit"], gain["limit"]), {"integral": integral}
