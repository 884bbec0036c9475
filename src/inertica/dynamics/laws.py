"""Control laws as the simulation takes them, and what can be put around those of `robot.control`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from inertica.dynamics.equations import Equations
from inertica.robot.control import Torques as Torques
from inertica.robot.control import Vectors as Vectors
from inertica.robot.layout import Layout
from inertica.scalars import Scalar, clip

Joints = Sequence[Scalar]


class Law(Protocol):
    """A control law of a robot.

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

    def torques(self, reference: Vectors, q: Joints, dq: Joints, gain: Vectors, memory: Vectors, dt: Scalar) -> Torques:
        """Torques from reference and measured motion, and the inner states one step later."""


@dataclass(frozen=True)
class TorqueDriven:
    """tau = tau_r: no controller, the reference is the torque itself."""

    gains: ClassVar[tuple[str, ...]] = ()
    references: ClassVar[tuple[str, ...]] = ("tau",)
    memory: ClassVar[tuple[str, ...]] = ()

    def torques(self, reference: Vectors, q: Joints, dq: Joints, gain: Vectors, memory: Vectors, dt: Scalar) -> Torques:
        return list(reference["tau"]), {}


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
class ByModel(_Wrapper):
    """A law that commands accelerations, made torques by the model of the robot that the controller has; friction of the model acts at
    the velocity of the reference.

    Args:
        law: with dq among its references.
        layout: of that model.
        values: of its parameters.
        shapes: of its nonlinear ones.
    """

    layout: Layout
    values: tuple[float, ...]
    shapes: tuple[float, ...] = ()

    def torques(self, reference: Vectors, q: Joints, dq: Joints, gain: Vectors, memory: Vectors, dt: Scalar) -> Torques:
        acceleration, after = self.law.torques(reference, q, dq, gain, memory, dt)
        model = Equations(self.layout)
        model.require_linear("a model in the controller")
        return model.inverse_dynamics(q, dq, acceleration, self.values, self.shapes, sliding=reference["dq"]), after


@dataclass(frozen=True)
class FeedForward(_Wrapper):
    """The torque of another law plus a given torque signal."""

    @property
    def references(self) -> tuple[str, ...]:
        return (*self.law.references, "tau")

    def torques(self, reference: Vectors, q: Joints, dq: Joints, gain: Vectors, memory: Vectors, dt: Scalar) -> Torques:
        tau, after = self.law.torques(reference, q, dq, gain, memory, dt)
        return [a + b for a, b in zip(tau, reference["tau"], strict=True)], after


@dataclass(frozen=True)
class Saturated(_Wrapper):
    """The torque of another law within +-limit."""

    @property
    def gains(self) -> tuple[str, ...]:
        return (*self.law.gains, "limit")

    def torques(self, reference: Vectors, q: Joints, dq: Joints, gain: Vectors, memory: Vectors, dt: Scalar) -> Torques:
        tau, after = self.law.torques(reference, q, dq, gain, memory, dt)
        return [clip(t, 0.0 - limit, limit) for t, limit in zip(tau, gain["limit"], strict=True)], after


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

    def torques(self, reference: Vectors, q: Joints, dq: Joints, gain: Vectors, memory: Vectors, dt: Scalar) -> Torques:
        seen, hidden, seen_before, hidden_before = (reference[name] for name in self.SEEN)
        position = [s + h * x for s, h, x in zip(seen, hidden, q, strict=True)]
        if self.difference:
            before = [s + h * (x - dt * v) for s, h, x, v in zip(seen_before, hidden_before, q, dq, strict=True)]
            dq = [(x - b) / dt for x, b in zip(position, before, strict=True)]
        return self.law.torques(reference, position, dq, gain, memory, dt)
