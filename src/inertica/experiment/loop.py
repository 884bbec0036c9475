"""The control loop of a robot: law, gains, rate, limits; the same object drives the experiment and the simulations of estimators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.dynamics.laws import ByModel, FeedForward, Law, Saturated
from inertica.errors import InputError, nearest
from inertica.robot.control import LAWS, stated_law
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.model import Limits


@dataclass(frozen=True)
class ControlLoop:
    """How a robot is controlled.

    Args:
        law: a name of `robot.control.LAWS`: `pd` (survey, eq. 16), `pid` with anti-windup, `cascade` (DIDIM paper, eq. 53),
            `cascade-pi`, whose velocity loop has an integral, `computed-torque`, which has a model of the robot in it.
        rate: control steps per second.
        gains: name -> one value per joint, joint side: kp, kd; ki, windup for pid; kp, kv for cascade, with ki, windup for cascade-pi.
        saturation: largest torque per joint; None for none.
        drive_gains: torque per unit of current, per joint; 1 when the robot commands torque.
        feedforward: adds the torque of the reference motion, computed by the controller's model.
        difference_velocity: the law sees the difference of measured positions instead of the true velocity; None: exactly when
            the position is noisy.
        limits: references are kept inside position and velocity limits.
        tuned_for: (n,) inertia per joint that the gains were chosen for, where that is stated.
        model: values of the robot that the controller computes with, where it does.
    """

    law: str
    rate: float
    gains: Mapping[str, Array] = field(default_factory=dict)
    saturation: Array | None = None
    drive_gains: Array | None = None
    feedforward: bool = False
    difference_velocity: bool | None = None
    limits: Limits | None = None
    tuned_for: Array | None = None
    model: Parameters | None = None

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise InputError(f"unknown control law '{self.law}'; {nearest(self.law, LAWS)}")
        if not (np.isfinite(self.rate) and self.rate > 0.0):
            raise InputError(f"the control rate should be positive, not {self.rate:g} Hz")
        needed = LAWS[self.law].gains
        missing = [name for name in needed if name not in self.gains]
        if missing:
            raise InputError(f"the control law '{self.law}' needs the gain '{missing[0]}'; it takes {', '.join(needed)}")
        if self.feedforward and LAWS[self.law].commands_acceleration:
            raise InputError(f"the control law '{self.law}' has the model's torque in it; feeding it forward would add it twice")

    @classmethod
    def of(cls, description: Description) -> ControlLoop:
        """The loop a model file or card states."""
        stated = description.loop
        if stated is None:
            example = "loop: {law: pd, kp: [...], kd: [...], rate: 1000}"
            raise InputError(f"{description.name} states no control loop; add one to its card, such as {example}")
        law, gains = stated_law(stated, description.robot.n)
        if "rate" not in stated:
            raise InputError(f"the loop of {description.name} states no rate; add one, in Hz")
        return cls(
            law,
            float(stated["rate"]),
            gains,
            np.array(stated["saturation"], float) if "saturation" in stated else None,
            np.array(stated["ktau"], float) if "ktau" in stated else _motor_side_gain(stated),
            bool(stated.get("feedforward", False)),
            {"difference": True, "true": False}.get(str(stated.get("velocity"))),
            description.robot.limits,
            np.array(stated["tuned_for"], float) if "tuned_for" in stated else None,
            description.controller_values,
        )

    @property
    def dt(self) -> float:
        return 1.0 / self.rate

    @property
    def compiled_law(self) -> Law:
        """The law as it is traced into the simulation."""
        law: Law = LAWS[self.law]()
        if LAWS[self.law].commands_acceleration:
            model = self._model
            law = ByModel(law, model.layout, tuple(model.values.tolist()), tuple(model.shapes.tolist()))
        if self.feedforward:
            law = FeedForward(law)
        return law if self.saturation is None else Saturated(law)

    @property
    def all_gains(self) -> dict[str, Array]:
        """Every gain the compiled law asks for."""
        return dict(self.gains) | ({} if self.saturation is None else {"limit": self.saturation})

    def with_gains(self, **gains: ArrayLike) -> ControlLoop:
        return replace(self, gains=dict(self.gains) | {name: np.asarray(v, float) for name, v in gains.items()})

    def clipped(self, q: Array, dq: Array) -> tuple[Array, Array]:
        """References inside the limits, as controllers keep them."""
        if self.limits is None:
            return q, dq
        velocity = np.array(self.limits.velocity)
        return np.clip(q, self.limits.lower, self.limits.upper), np.clip(dq, -velocity, velocity)

    @property
    def follows_acceleration(self) -> bool:
        """Whether the acceleration of the reference matters."""
        return self.feedforward or "ddq" in LAWS[self.law].references

    @property
    def _model(self) -> Parameters:
        if self.model is None:
            raise InputError(f"the controller computes torques ({self.law}) by a model of the robot, and none was given")
        return self.model

    def followed(self, motion: Iterable[ArrayLike]) -> dict[str, Array]:
        """What the controller follows of a motion: kept inside the limits, with the torque that is fed forward if there is one.

        Args:
            motion: q, dq, ddq, (T, n) each.
        """
        q, dq, ddq = (np.asarray(x) for x in motion)
        q, dq = self.clipped(q, dq)
        if self.feedforward:
            return {"q": q, "dq": dq, "tau": Engine(self._model.layout, threads=1).inverse_dynamics(q, dq, ddq, self._model)}
        return {"q": q, "dq": dq} | ({"ddq": ddq} if self.follows_acceleration else {})


def _motor_side_gain(stated: Mapping[str, Any]) -> Array | None:
    side = stated.get("motor_side")
    return np.array(side["ktau"], float) if isinstance(side, Mapping) and "ktau" in side else None
