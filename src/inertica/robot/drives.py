"""Drives: armature and couplings between a motor and several joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inertica.errors import InputError
from inertica.robot.friction import direction
from inertica.robot.terms import Column, OnJoint, Parameter, State, Term
from inertica.scalars import Scalar


@dataclass(frozen=True)
class Armature(OnJoint):
    """tau = Ia ddq: inertia of rotor and gear, seen from the joint.

    `shared_with` is the toolbox form of a coupled drive: the motor of joint j drives joint k as well, with the same inertia,
    tau_k += Ia_j ddq_j and tau_j += Ia_j ddq_k.
    """

    shared_with: int | None = None
    rank = 0
    symbols = (("Ia", "armature", "kg m^2", 0.0),)

    def columns(self, x: State) -> list[Column]:
        if self.shared_with is None:
            return [{self.at: x.ddq[self.at]}]
        return [{self.at: x.ddq[self.at] + x.ddq[self.shared_with], self.shared_with: x.ddq[self.at]}]


@dataclass(frozen=True)
class Coupling(Term):
    """A motor that turns with a linear combination of joints, theta = sum_k c_k q_k.

    Its inertia Iam, viscous friction Fvm and Coulomb friction Fcm act on every joint involved,

        tau_k += c_k ( Iam sum_{l != k} c_l ddq_l + Fvm sum_{l != k} c_l dq_l + Fcm sign(sum_l c_l dq_l) ),

    the motor's own share of each joint, c_k^2 Iam and c_k^2 Fvm, being part of that joint's Ia and Fv.

    Args:
        motor: 0-based number the parameters carry (`Iam6`).
        joints: 0-based joints it turns with.
        ratios: c_k, one per joint; 1 by default.
        width: of a smooth sign.
    """

    motor: int
    joints: tuple[int, ...]
    ratios: tuple[float, ...] = ()
    width: float = 0.0

    def __post_init__(self) -> None:
        if len(self.joints) < 2 or len(set(self.joints)) != len(self.joints):
            raise InputError(f"the coupling of motor {self.motor + 1} needs two or more different joints")
        if self.ratios and len(self.ratios) != len(self.joints):
            raise InputError(
                f"the coupling of motor {self.motor + 1} has {len(self.ratios)} ratios for {len(self.joints)} joints"
            )

    @property
    def joint(self) -> None:
        return None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        kinds = (("Iam", "armature", "kg m^2"), ("Fvm", "viscous", "N m s/rad"), ("Fcm", "coulomb", "N m"))
        return tuple(Parameter(f"{symbol}{self.motor + 1}", kind, unit, lower=0.0) for symbol, kind, unit in kinds)

    @property
    def _ratio(self) -> dict[int, float]:
        return dict(zip(self.joints, self.ratios or (1.0,) * len(self.joints), strict=True))

    @property
    def reversals(self) -> tuple[tuple[int, Mapping[int, float]], ...]:
        return tuple((k, self._ratio) for k in self.joints)

    def columns(self, x: State) -> list[Column]:
        ratio = self._ratio

        def others(rates: list[Scalar]) -> Column:
            return {k: c * sum(ratio[j] * rates[j] for j in self.joints if j != k) for k, c in ratio.items()}

        motor_speed = sum(c * x.dq[k] for k, c in ratio.items())
        s = direction(motor_speed, self.width)
        return [others(list(x.ddq)), others(list(x.dq)), {k: c * s for k, c in ratio.items()}]


@dataclass(frozen=True)
class ToolboxCoupling(Term):
    """Friction of a coupled drive as the survey's toolbox models it; its inertia is the shared `Armature` of the motor's joint.

    tau_k += Fvm dq_j + Fcm s(dq_j) and tau_j += Fvm dq_k + Fcm s(dq_k), j the motor's own joint, k the other one.

    Args:
        motor: 0-based number of the motor and of its own joint.
        other: 0-based number of the other joint.
        width: of a smooth sign.
        rotor: Coulomb friction of the rotor, which turns with both joints: on the motor's own joint Fcm (s(dq_j + dq_k) - s(dq_j))
            in place of Fcm s(dq_k) (consistent-parameters paper, eqs. 34-35).
    """

    motor: int
    other: int
    width: float = 0.0
    rotor: bool = False

    @property
    def joint(self) -> None:
        return None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        kinds = (("Fvm", "viscous", "N m s/rad"), ("Fcm", "coulomb", "N m"))
        return tuple(Parameter(f"{symbol}{self.motor + 1}", kind, unit, lower=0.0) for symbol, kind, unit in kinds)

    @property
    def reversals(self) -> tuple[tuple[int, Mapping[int, float]], ...]:
        both = {self.other: 1.0, self.motor: 1.0} if self.rotor else {self.other: 1.0}
        return ((self.other, {self.motor: 1.0}), (self.motor, both))

    def columns(self, x: State) -> list[Column]:
        j, k = self.motor, self.other
        motor_direction = direction(x.dq[j], self.width)
        dry = direction(x.dq[j] + x.dq[k], self.width) - motor_direction if self.rotor else direction(x.dq[k], self.width)
        return [{k: x.dq[j], j: x.dq[k]}, {k: motor_direction, j: dry}]
