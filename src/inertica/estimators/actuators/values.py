"""Values of the actuators of all joints, and what each quantity is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array


@dataclass(frozen=True)
class Kind:
    """A quantity of an actuator.

    Args:
        words: for people.
        unit: on a revolute joint; on a sliding one m takes the place of rad and N that of N m.
        positive: it cannot be negative, and is found as a logarithm.
        torque: it grows with the torque of the servo: all of these share one scale.
        optional: what it is where no log shows it, for a quantity that is only searched where it lowers the error; None for others.
    """

    words: str
    unit: str
    positive: bool = True
    torque: bool = True
    optional: float | None = None


QUANTITIES: Mapping[str, Kind] = {
    "armature": Kind("armature", "kg m^2"),
    "viscous": Kind("viscous friction", "N m s/rad"),
    "coulomb": Kind("Coulomb friction", "N m"),
    "delay": Kind("command delay", "s", positive=False, torque=False),
    "zero": Kind("zero of the command", "rad", positive=False, torque=False),
    "kp": Kind("stiffness kp", "N m/rad"),
    "kd": Kind("damping kd", "N m s/rad"),
    "torque_limit": Kind("torque limit", "N m", optional=np.inf),
    "stribeck": Kind("Stribeck friction", "N m", optional=0.0),
    "stribeck_speed": Kind("Stribeck speed", "rad/s", torque=False, optional=np.inf),
    "load_friction": Kind("friction per torque of the load", "1", torque=False, optional=0.0),
}
"""Quantities of one joint, in the order of reports and of JSON."""

OPTIONAL = tuple(name for name, kind in QUANTITIES.items() if kind.optional is not None)

RICHER = ("stribeck", "stribeck_speed", "load_friction")
"""Of dry friction that is no constant."""


@dataclass(frozen=True, eq=False)
class ActuatorValues:
    """One value per joint of every quantity, (n,) each, SI.

    The servo's torque is clip(kp (command(t - delay) - q - zero) + kd (commanded velocity - dq), +-torque_limit); the joint also
    feels armature ddq, viscous dq and dry friction against dq of size coulomb + stribeck exp(-(dq / stribeck_speed)^2) + load_friction
    times the torque of gravity and centrifugal forces on its links.
    """

    armature: Array
    viscous: Array
    coulomb: Array
    delay: Array
    zero: Array
    kp: Array
    kd: Array
    torque_limit: Array
    stribeck: Array
    stribeck_speed: Array
    load_friction: Array

    @classmethod
    def of(cls, n: int, **values: ArrayLike) -> ActuatorValues:
        """Values of n joints; what is not given is zero, what is optional as it is where no log shows it."""
        rest = {name: kind.optional or 0.0 for name, kind in QUANTITIES.items()}
        return cls(**{name: np.broadcast_to(np.asarray(values.get(name, rest[name]), float), (n,)).copy() for name in QUANTITIES})

    @property
    def n(self) -> int:
        return len(self.armature)

    @property
    def richer(self) -> bool:
        """Whether dry friction of any joint is no constant."""
        return bool(np.any(self.stribeck) or np.any(self.load_friction))

    def joints(self, which: ArrayLike) -> ActuatorValues:
        """Those of some joints."""
        chosen = np.asarray(which, int)
        return ActuatorValues(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    def changed(self, **values: ArrayLike) -> ActuatorValues:
        return replace(self, **{name: np.broadcast_to(np.asarray(v, float), (self.n,)).copy() for name, v in values.items()})
