"""The same robot and the same log in other units: lengths, masses and times multiplied, gravity with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.robot.drives import Coupling
from inertica.robot.friction import Coulomb, DirectionalCoulomb, FrictionLaw, LoadDependent, Stribeck
from inertica.robot.layout import Layout, Parameters
from inertica.robot.model import Joint, Limits, Robot, vector
from inertica.robot.natural import NaturalUnits
from inertica.robot.terms import Spring, Term

COORDINATE = {"q": 0, "ql": 0, "qr": 0, "theta": 0, "dq": 1, "dqr": 1, "dtheta": 1, "ddq": 2, "ddqr": 2}
"""Signal -> how often it is differentiated by time."""


@dataclass(frozen=True)
class Scale:
    """Factors on kilograms, metres and seconds."""

    mass: float = 1.0
    length: float = 1.0
    time: float = 1.0

    def of(self, unit: str) -> float:
        """Factor on the value of what is measured in `unit`."""
        return NaturalUnits(self.mass, self.length, self.time).size(unit)

    def of_parameters(self, layout: Layout) -> np.ndarray:
        """(P,) factors on standard parameters."""
        return np.array([self.of(p.unit) for p in layout.parameters])

    def coordinates(self, robot: Robot, derivative: int = 0) -> np.ndarray:
        """(n,) factors on joint coordinates or a derivative of them."""
        return np.array([self.of(j.unit) for j in robot.joints]) / self.time**derivative

    def efforts(self, robot: Robot) -> np.ndarray:
        """(n,) factors on torques and forces."""
        return np.array([self.of(j.effort_unit) for j in robot.joints])

    def description(self, d: Description) -> Description:
        """The robot of another size; what only simulation uses (control loop, noise) is left out."""
        robot = self.robot(d.robot)
        terms = tuple(self._term(t, d.robot) for t in d.layout.terms)
        payloads = tuple(replace(p, position=self._place(p.position)) for p in d.layout.payloads)
        layout = replace(d.layout, robot=robot, terms=terms, payloads=payloads)
        values = d.prior.values * self.of_parameters(d.layout)
        prior = Parameters(layout, values, None, d.prior.origin)  # type: ignore[arg-type]
        shapes = {
            link: tuple((self._place(a), self._place(b), self.length * radius) for a, b, radius in capsules)
            for link, capsules in d.shapes.items()
        }
        return replace(d, robot=robot, layout=layout, prior=prior, shapes=shapes, loop=None, noise={}, sensors={})

    def robot(self, robot: Robot) -> Robot:
        joints = tuple(self._joint(j) for j in robot.joints)
        position, speed, acceleration = (self.coordinates(robot, k) for k in range(3))
        old = robot.limits
        limits = Limits(
            tuple(old.lower * position), tuple(old.upper * position), tuple(old.velocity * speed),
            tuple(old.acceleration * acceleration), tuple(old.torque * self.efforts(robot)),
        )  # fmt: skip
        gravity = vector(np.array(robot.gravity) * self.of("m/s^2"))
        return replace(robot, joints=joints, limits=limits, gravity=gravity)

    def log(self, log: Log, robot: Robot) -> Log:
        """The record of that robot by a clock of other seconds; `robot` is the one before."""
        factors = {s: self.coordinates(robot, k) for s, k in COORDINATE.items()} | {"tau": self.efforts(robot)}
        signals = {symbol: values * factors.get(symbol, 1.0) for symbol, values in log.signals.items()}
        return replace(log, t=log.t * self.time, signals=signals, channels=(), truth={})

    def _place(self, x: tuple[float, ...]) -> tuple[float, float, float]:
        return vector(self.length * np.array(x))

    def _joint(self, joint: Joint) -> Joint:
        lengths = tuple(replace(x, value=self.length * x.value) for x in joint.lengths)
        return replace(joint, position=self._place(joint.position), arm=self._place(joint.arm), lengths=lengths)

    def _term(self, term: Term, robot: Robot) -> Term:
        """With its constants, which are speeds, lengths and moments of links."""
        if isinstance(term, Coupling):
            return replace(term, width=term.width / self.time)
        if isinstance(term, Spring):
            return replace(term, rest=term.rest * float(self.coordinates(robot)[term.at]))
        if not isinstance(term, FrictionLaw):
            return term
        slides = robot.joints[term.at].prismatic
        shapes = {s.name: s.value * self.of(s.unit.replace("rad", "m") if slides else s.unit) for s in term.shapes}
        scaled = term.with_shapes(shapes)
        if isinstance(scaled, (Coulomb, DirectionalCoulomb, Stribeck, LoadDependent)):
            scaled = replace(scaled, width=scaled.width * self.of("m/s" if slides else "rad/s"))
        if isinstance(scaled, LoadDependent):
            moment, mass = self.of("kg m"), self.of("kg")
            factors = np.tile([moment, moment, moment, mass], len(scaled.moments) // 4)
            scaled = replace(scaled, moments=tuple(np.array(scaled.moments) * factors))
        return scaled
