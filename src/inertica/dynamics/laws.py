"""Control laws as the simulation takes them, and what can be put around those of `robot.control`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from inertica.robot.control import Named as Named
from inertica.robot.control import Torque as Torque
from inertica.scalars import Scalar, clip


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
class TorqueDriven:
    """tau = tau_r: no controller, the reference is the torque itself."""

    gains: ClassVar[tuple[str, ...]] = ()
    references: ClassVar[tuple[str, ...]] = ("tau",)
    memory: ClassVar[tuple[str, ...]] = ()

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        return reference["tau"], {}


@dataclass(frozen=True)
class _Wrapper:
    """Another law, of which gains, references and memory are kept."""

    law: Law

    @property
    def gains(self) -> tuple[str, ...]:
        return self.law.gains

    @property
    def references(self) -> tuple[str, ...]:
        return self.law.references

    @property
    def memory(self) -> tuple[str, ...]:
        return self.law.memory


@dataclass(frozen=True)
class FeedForward(_Wrapper):
    """The torque of another law plus a given torque signal."""

    @property
    def references(self) -> tuple[str, ...]:
        return (*self.law.references, "tau")

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        tau, after = self.law.torque(reference, q, dq, gain, memory, dt)
        return tau + reference["tau"], after


@dataclass(frozen=True)
class Saturated(_Wrapper):
    """The torque of another law within +-limit."""

    @property
    def gains(self) -> tuple[str, ...]:
        return (*self.law.gains, "limit")

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        tau, after = self.law.torque(reference, q, dq, gain, memory, dt)
        return clip(tau, 0.0 - gain["limit"], gain["limit"]), after


@dataclass(frozen=True)
class Recorded(_Wrapper):
    """Another law that sees recorded positions at the steps that have one, noise included, and simulated ones at the others.

    References beside the other law's, of every step: `seen` is the recorded position or zero, `hidden` zero or one, where it is zero
    the recorded position counts; `seen before` and `hidden before` are those of the step before, from which differences are taken.

    Args:
        law: that sees them.
        difference: it sees the backward difference of positions, not the simulated velocity.
    """

    difference: bool

    SEEN: ClassVar[tuple[str, ...]] = ("seen", "hidden", "seen before", "hidden before")

    @property
    def references(self) -> tuple[str, ...]:
        return (*self.law.references, *self.SEEN)

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        seen, hidden, seen_before, hidden_before = (reference[name] for name in self.SEEN)
        position = seen + hidden * q
        if self.difference:
            dq = (position - (seen_before + hidden_before * (q - dt * dq))) / dt
        return self.law.torque(reference, position, dq, gain, memory, dt)
