"""Control laws on scalars of any type, one joint at a time.

A law names its gains, the reference signals it follows and its inner states, and gives the torque; like the recursions it is traced
into the simulation kernel.  It also says what others ask of it: which gains a card must state, which of them carry a torque, how stiff
and damped a joint is under it.  Gains are on the joint side: torque per radian, per radian per second; those of a law that commands
accelerations are per unit of inertia.  A new law is a class and its name in `LAWS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from inertica.arrays import Array
from inertica.scalars import Scalar, clip

Named = Mapping[str, Scalar]
Torque = tuple[Scalar, dict[str, Scalar]]
"""The torque, and the inner states one step later."""

Vectors = Mapping[str, Sequence[Scalar]]
Torques = tuple[list[Scalar], dict[str, list[Scalar]]]
"""The same of all joints."""


@dataclass(frozen=True)
class ControlLaw(ABC):
    """Base of control laws, diagonal: each joint has its own gains.

    Attributes:
        formula: for people.
        gains: names of the gains, each one value per joint.
        torque_gains: those the torque is proportional to, all together; they grow with the inertia that a loop is tuned for.
        bounds: those that are no gains but limits of inner states.
        usual: values of gains that cards need not state.
        keys: (gain, key) where a card calls a gain otherwise.
        instead: (key, law): the law that is meant when a card states this gain, too.
        references: which of q, dq, ddq, tau of the reference it uses.
        memory: names of inner states per joint, zero at the start.
        fitted: whether `fit_loop` can find it in a log: `gains_of` known, and no memory but the integral named by `integrated`.
        integrated: the gain ki of a law tau = L + ki * integral of L, L being without memory; empty for others.
        commands_acceleration: `torque` is one per unit of inertia, from which the controller works out torques by its own model of the
            robot.
    """

    formula: ClassVar[str]
    gains: ClassVar[tuple[str, ...]]
    torque_gains: ClassVar[tuple[str, ...]]
    bounds: ClassVar[tuple[str, ...]] = ()
    usual: ClassVar[tuple[tuple[str, float], ...]] = ()
    keys: ClassVar[tuple[tuple[str, str], ...]] = ()
    instead: ClassVar[tuple[tuple[str, str], ...]] = ()
    references: ClassVar[tuple[str, ...]] = ("q", "dq")
    memory: ClassVar[tuple[str, ...]] = ()
    fitted: ClassVar[bool] = False
    integrated: ClassVar[str] = ""
    commands_acceleration: ClassVar[bool] = False

    @abstractmethod
    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        """Torque from reference and measured motion."""

    def torques(
        self, reference: Vectors, q: Sequence[Scalar], dq: Sequence[Scalar], gain: Vectors, memory: Vectors, dt: Scalar
    ) -> Torques:
        """The same of all joints."""
        tau: list[Scalar] = []
        after: dict[str, list[Scalar]] = {name: [] for name in self.memory}
        for j in range(len(q)):
            per_joint = ({name: x[j] for name, x in signals.items()} for signals in (reference, gain, memory))
            one, states = self.torque(next(per_joint), q[j], dq[j], next(per_joint), next(per_joint), dt)
            tau.append(one)
            for name, value in states.items():
                after[name].append(value)
        return tau, after

    @classmethod
    @abstractmethod
    def stiffness_damping(cls, gain: Mapping[str, Array]) -> tuple[Array, Array]:
        """(n,) torque per position error and per velocity (error) of slow motion."""

    @classmethod
    def servo(cls, gain: Mapping[str, Array]) -> dict[str, Array]:
        """What stated gains say of a servo that is commanded positions, as far as they go, (n,) each: `kp`, `kd`, `torque_limit`, and
        the `viscous` friction that it adds."""
        if cls.memory or cls.commands_acceleration or not set(cls.gains) <= set(gain):
            return {}
        stiffness, damping = cls.stiffness_damping(gain)
        return {"kp": stiffness, "kd": damping}

    @classmethod
    def motor(cls, gain: Mapping[str, Array]) -> dict[str, Array]:
        """What stated gains say of the motor behind the servo, (n,) each: `torque_constant`, `resistance`, `voltage`,
        `current_limit`; nothing for a law that commands torques."""
        return {}

    @classmethod
    def integral_rate(cls, gain: Mapping[str, Array]) -> Array:
        """(n,) 1/s at which the integral settles; infinite without one."""
        return np.full(np.shape(gain[cls.gains[0]]), np.inf)

    @classmethod
    def gains_of(cls, stiffness: tuple[float, float], damping: tuple[float, float]) -> dict[str, tuple[float, float]]:
        """Gains that make a joint so stiff and damped; every number with its standard deviation.  For a law with an integral, those of
        the part without it."""
        raise NotImplementedError


@dataclass(frozen=True)
class PD(ControlLaw):
    """tau = kp (qr - q) + kd (dqr - dq)  (survey, eq. 16)"""

    formula = "tau = kp (qr - q) + kd (dqr - dq)"
    gains = ("kp", "kd")
    torque_gains = ("kp", "kd")
    instead = (("ki", "pid"),)
    fitted = True

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        return gain["kp"] * (reference["q"] - q) + gain["kd"] * (reference["dq"] - dq), {}

    @classmethod
    def stiffness_damping(cls, gain: Mapping[str, Array]) -> tuple[Array, Array]:
        return gain["kp"], gain["kd"]

    @classmethod
    def gains_of(cls, stiffness: tuple[float, float], damping: tuple[float, float]) -> dict[str, tuple[float, float]]:
        return {"kp": stiffness, "kd": damping}


@dataclass(frozen=True)
class PID(ControlLaw):
    """tau = kp e + kd de + ki I,  I' = clip(I + e dt, +-windup), e = qr - q"""

    formula = "tau = kp (qr - q) + kd (dqr - dq) + ki I, |I| <= windup"
    gains = ("kp", "kd", "ki", "windup")
    torque_gains = ("kp", "kd", "ki")
    bounds = ("windup",)
    usual = (("ki", 0.0), ("windup", np.inf))
    keys = (("windup", "anti_windup"),)
    memory = ("integral",)

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        error = reference["q"] - q
        integral = clip(memory["integral"] + error * dt, 0.0 - gain["windup"], gain["windup"])
        return gain["kp"] * error + gain["kd"] * (reference["dq"] - dq) + gain["ki"] * integral, {"integral": integral}

    @classmethod
    def stiffness_damping(cls, gain: Mapping[str, Array]) -> tuple[Array, Array]:
        return gain["kp"], gain["kd"]

    @classmethod
    def integral_rate(cls, gain: Mapping[str, Array]) -> Array:
        return _settling(gain["ki"] / np.maximum(gain["kp"], 1e-300))


@dataclass(frozen=True)
class Cascade(ControlLaw):
    """tau = kv (kp (qr - q) - dq): position loop around a velocity loop, no velocity reference (DIDIM paper, eq. 53).

    kv holds the drive gain, kv = 2 zeta wn J, kp = wn / (2 zeta).
    """

    formula = "tau = kv (kp (qr - q) - dq)"
    gains = ("kp", "kv")
    torque_gains = ("kv",)
    instead = (("ki", "cascade-pi"),)
    references = ("q",)
    fitted = True

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        return gain["kv"] * (gain["kp"] * (reference["q"] - q) - dq), {}

    @classmethod
    def stiffness_damping(cls, gain: Mapping[str, Array]) -> tuple[Array, Array]:
        return gain["kp"] * gain["kv"], gain["kv"]

    @classmethod
    def gains_of(cls, stiffness: tuple[float, float], damping: tuple[float, float]) -> dict[str, tuple[float, float]]:
        (k, k_sd), (d, d_sd) = stiffness, damping
        kp = k / d if d else float("nan")
        return {"kp": (kp, abs(kp) * float(np.hypot(k_sd / k, d_sd / d)) if k and d else float("inf")), "kv": damping}


@dataclass(frozen=True)
class CascadePI(ControlLaw):
    """tau = kv (e + ki I),  I' = clip(I + e dt, +-windup), e = kp (qr - q) - dq: position loop around a PI velocity loop.

    What most drives of industry run: the velocity error is integrated, not the position error, so that gravity leaves no error at
    standstill.  With inertia J the poles are those of J s^3 + kv (s + kp) (s + ki): the integral settles with the slower of kp and ki.
    """

    formula = "tau = kv (e + ki I), e = kp (qr - q) - dq, I the integral of e, |I| <= windup"
    gains = ("kp", "kv", "ki", "windup")
    torque_gains = ("kv",)
    bounds = ("windup",)
    usual = (("ki", 0.0), ("windup", np.inf))
    keys = PID.keys
    references = ("q",)
    memory = ("integral",)
    fitted = True
    integrated = "ki"

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        error = gain["kp"] * (reference["q"] - q) - dq
        integral = clip(memory["integral"] + error * dt, 0.0 - gain["windup"], gain["windup"])
        return gain["kv"] * (error + gain["ki"] * integral), {"integral": integral}

    @classmethod
    def stiffness_damping(cls, gain: Mapping[str, Array]) -> tuple[Array, Array]:
        return gain["kv"] * (gain["kp"] + gain["ki"]), gain["kv"]

    @classmethod
    def integral_rate(cls, gain: Mapping[str, Array]) -> Array:
        return _settling(np.minimum(gain["kp"], gain["ki"]))

    @classmethod
    def gains_of(cls, stiffness: tuple[float, float], damping: tuple[float, float]) -> dict[str, tuple[float, float]]:
        return Cascade.gains_of(stiffness, damping)


@dataclass(frozen=True)
class ComputedTorque(ControlLaw):
    """tau = M(q) (ddqr + kd (dqr - dq) + kp (qr - q)) + h(q, dq), M and h those of the controller's model of the robot.

    With a model that is right, every joint's error is that of a double integrator, e'' + kd e' + kp e = 0, whatever the others do:
    kp = wn^2, kd = 2 zeta wn.  Friction of the model acts at the velocity of the reference, which does not chatter at rest.
    """

    formula = "tau = M(q) (ddqr + kp (qr - q) + kd (dqr - dq)) + h(q, dq), by the controller's model"
    gains = ("kp", "kd")
    torque_gains = ()
    references = ("q", "dq", "ddq")
    fitted = True
    commands_acceleration = True

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        return reference["ddq"] + gain["kp"] * (reference["q"] - q) + gain["kd"] * (reference["dq"] - dq), {}

    @classmethod
    def stiffness_damping(cls, gain: Mapping[str, Array]) -> tuple[Array, Array]:
        return PD.stiffness_damping(gain)

    @classmethod
    def gains_of(cls, stiffness: tuple[float, float], damping: tuple[float, float]) -> dict[str, tuple[float, float]]:
        return PD.gains_of(stiffness, damping)


@dataclass(frozen=True)
class DcMotor(ControlLaw):
    """tau = k i,  i = (V - k dq) / R,  V = clip(kp (qr - q) - kd dq, +-voltage): the position loop commands a DC motor's voltage.

    k is the torque constant in N m/A and the back-EMF in V s/rad, gear included; kp and kd are in V/rad and V s/rad.  The torque is
    that of a servo of stiffness k kp / R whose limit is the stall torque, and of a viscous friction k^2 / R.
    """

    formula = "tau = k (V - k dq) / R, V = kp (qr - q) - kd dq, |V| <= voltage, |tau| <= k current_limit"
    gains: ClassVar[tuple[str, ...]] = ("kp", "kd", "voltage", "torque_constant", "resistance", "current_limit")
    torque_gains = ()
    bounds = ("current_limit",)
    usual = (("kd", 0.0), ("current_limit", np.inf))
    references = ("q",)

    def torque(self, reference: Named, q: Scalar, dq: Scalar, gain: Named, memory: Named, dt: Scalar) -> Torque:
        stiffness, damping = self._volts(gain)
        volts = clip(stiffness * (reference["q"] - q) - damping * dq, 0.0 - gain["voltage"], gain["voltage"])
        current = (volts - gain["torque_constant"] * dq) / gain["resistance"]
        return gain["torque_constant"] * clip(current, 0.0 - gain["current_limit"], gain["current_limit"]), {}

    @classmethod
    def _volts(cls, gain: Mapping[str, Any]) -> tuple[Any, Any]:
        """V/rad and V s/rad of the position loop."""
        return gain["kp"], gain["kd"]

    @classmethod
    def stiffness_damping(cls, gain: Mapping[str, Array]) -> tuple[Array, Array]:
        servo_gains = cls.servo(gain)
        return servo_gains["kp"], servo_gains["kd"] + servo_gains["viscous"]

    @classmethod
    def servo(cls, gain: Mapping[str, Array]) -> dict[str, Array]:
        if set(cls.gains) <= set(gain):
            per_volt = gain["torque_constant"] / gain["resistance"]
            stiffness, damping = cls._volts(gain)
            limit = np.minimum(per_volt * gain["voltage"], gain["torque_constant"] * gain["current_limit"])
            return {
                "kp": per_volt * stiffness, "kd": per_volt * damping, "torque_limit": limit,
                "viscous": per_volt * gain["torque_constant"],
            }  # fmt: skip
        rate = gain[cls.gains[1]]
        # whatever the motor is: a loop without a rate does not damp
        return {"kd": np.where(rate == 0.0, 0.0, np.nan)}

    @classmethod
    def motor(cls, gain: Mapping[str, Array]) -> dict[str, Array]:
        names = ("torque_constant", "resistance", "voltage", "current_limit")
        return {name: gain[name] for name in names} if set(cls.gains) <= set(gain) else {}


@dataclass(frozen=True)
class Servo(DcMotor):
    """The same with gains of a servo's firmware: PWM = clip(p e - d de, +-1) of the supply, e in encoder counts (`counts` a turn).

    p is in shares of the full PWM per count, d in shares per count per second.
    """

    formula = "tau = k (PWM voltage - k dq) / R, PWM = p (qr - q) - d dq in counts, |PWM| <= 1"
    gains = ("p", "d", "counts", "voltage", "torque_constant", "resistance", "current_limit")
    usual = (("d", 0.0), ("current_limit", np.inf))

    @classmethod
    def _volts(cls, gain: Mapping[str, Any]) -> tuple[Any, Any]:
        per_radian = gain["voltage"] * gain["counts"] * (1.0 / (2.0 * np.pi))
        return gain["p"] * per_radian, gain["d"] * per_radian


def _settling(rate: Array) -> Array:
    return np.where(np.asarray(rate) > 0.0, rate, np.inf)


LAWS: dict[str, type[ControlLaw]] = {
    "pd": PD,
    "pid": PID,
    "cascade": Cascade,
    "cascade-pi": CascadePI,
    "computed-torque": ComputedTorque,
    "dc-motor": DcMotor,
    "servo": Servo,
}
"""Control laws by the names robot cards use."""


def gain_keys(bounds: bool = True) -> tuple[str, ...]:
    """The keys by which cards state gains, of all laws."""
    names = {g: dict(law.keys).get(g, g) for law in LAWS.values() for g in law.gains if bounds or g not in law.bounds}
    return tuple(names.values())


def stated_law(loop: Mapping[str, Any], n: int) -> tuple[str, dict[str, Array]]:
    """The law of a card's section `loop` and its gains, as far as they are stated or may be left out.

    Args:
        loop: the section.
        n: joints.
    """
    name = str(loop["law"]).lower()
    if name not in LAWS:
        return name, {}
    name = next((other for key, other in LAWS[name].instead if np.any(loop.get(key, 0.0))), name)
    law = LAWS[name]
    usual = {gain: np.full(n, value) for gain, value in law.usual}
    keys = {gain: dict(law.keys).get(gain, gain) for gain in law.gains}
    return name, usual | {gain: np.array(loop[key], float) for gain, key in keys.items() if key in loop}
