"""Friction laws: terms on one joint, functions of its velocity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inertica.errors import InputError, nearest
from inertica.robot.terms import Column, Parameter, Shape, State, Term
from inertica.scalars import Scalar, absolute, exp, maximum, minimum, power, sign, tanh


@dataclass(frozen=True)
class _OnJoint(Term):
    at: int

    @property
    def joint(self) -> int:
        return self.at

    def _parameter(self, symbol: str, kind: str, unit: str, lower: float = float("-inf")) -> Parameter:
        return Parameter(f"{symbol}{self.at + 1}", kind, unit, self.at, lower)

    def _shape(self, symbol: str, unit: str, value: float) -> Shape:
        return Shape(f"{symbol}{self.at + 1}", unit, value)

    def _shape_value(self, x: State, symbol: str) -> Scalar:
        return x.shapes[f"{symbol}{self.at + 1}"]


@dataclass(frozen=True)
class Viscous(_OnJoint):
    """tau = Fv dq"""

    rank = 1

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self._parameter("Fv", "viscous", "N m s/rad", 0.0),)

    def columns(self, x: State) -> list[Column]:
        return [{self.at: x.dq[self.at]}]


@dataclass(frozen=True)
class Coulomb(_OnJoint):
    """tau = Fc sign(dq), or Fc tanh(dq / width) when a width is given."""

    width: float = 0.0
    rank = 2

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self._parameter("Fc", "coulomb", "N m", 0.0),)

    def columns(self, x: State) -> list[Column]:
        return [{self.at: direction(x.dq[self.at], self.width)}]


@dataclass(frozen=True)
class SmoothCoulomb(_OnJoint):
    """tau = Fc tanh(dq / vc): Coulomb friction whose width around standstill is a shape."""

    vc: float = 0.02
    rank = 2

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self._parameter("Fc", "coulomb", "N m", 0.0),)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return (self._shape("vc", "rad/s", self.vc),)

    def columns(self, x: State) -> list[Column]:
        return [{self.at: tanh(x.dq[self.at] / self._shape_value(x, "vc"))}]


@dataclass(frozen=True)
class Offset(_OnJoint):
    """tau = off: a constant torque, for instance the offset of a current sensor or the mean of unequal Coulomb friction."""

    rank = 3

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self._parameter("off", "offset", "N m"),)

    def columns(self, x: State) -> list[Column]:
        return [{self.at: 1.0}]


@dataclass(frozen=True)
class DirectionalCoulomb(_OnJoint):
    """tau = Fcp for positive, -Fcn for negative velocity: Coulomb friction that depends on the direction of motion."""

    width: float = 0.0
    rank = 2

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(self._parameter(symbol, "coulomb", "N m", 0.0) for symbol in ("Fcp", "Fcn"))

    def columns(self, x: State) -> list[Column]:
        s = direction(x.dq[self.at], self.width)
        return [{self.at: maximum(s, 0.0)}, {self.at: minimum(s, 0.0)}]


@dataclass(frozen=True)
class Stribeck(_OnJoint):
    """tau = (Fc + dFs exp(-|dq / vs|^es)) sign(dq), dFs the excess of static over Coulomb friction.

    dFs may have either sign; Fc >= 0 and Fc + dFs >= 0 make the sum brake at every speed.
    """

    vs: float = 0.05
    es: float = 2.0
    width: float = 0.0
    rank = 2

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self._parameter("Fc", "coulomb", "N m", 0.0), self._parameter("dFs", "stribeck", "N m"))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return (self._shape("vs", "rad/s", self.vs), self._shape("es", "1", self.es))

    def columns(self, x: State) -> list[Column]:
        dq = x.dq[self.at]
        s = direction(dq, self.width)
        return [{self.at: s}, {self.at: s * stribeck_decay(dq, self._shape_value(x, "vs"), self._shape_value(x, "es"))}]

    @property
    def inequalities(self) -> tuple[Mapping[str, float], ...]:
        return ({f"Fc{self.at + 1}": 1.0, f"dFs{self.at + 1}": 1.0},)


@dataclass(frozen=True)
class Saturating(_OnJoint):
    """tau = Fw tanh(dq / vw): friction that grows with speed and levels off, as in greased gears."""

    vw: float = 0.3
    rank = 4

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self._parameter("Fw", "saturating", "N m", 0.0),)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return (self._shape("vw", "rad/s", self.vw),)

    def columns(self, x: State) -> list[Column]:
        return [{self.at: tanh(x.dq[self.at] / self._shape_value(x, "vw"))}]


@dataclass(frozen=True)
class LuGre(_OnJoint):
    """Bristle friction with memory, for simulation.

        dz/dt = dq - |dq| z / phi,   phi = (Fc + (Fs - Fc) exp(-|dq / vs|^es)) / sigma0
        tau   = sigma0 z + sigma1 dz/dt + sigma2 dq

    All constants are shapes.  The bristle equation is linear in z, so z is advanced exactly over a step of constant velocity:
    with a = |dq| / phi, z(t + dt) = sign(dq) phi + (z - sign(dq) phi) exp(-a dt).
    """

    sigma0: float = 1e4
    sigma1: float = 10.0
    sigma2: float = 0.0
    fc: float = 1.0
    fs: float = 1.5
    vs: float = 0.05
    es: float = 2.0
    rank = 2

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return ()

    @property
    def shapes(self) -> tuple[Shape, ...]:
        values = (
            ("sigma0_", "N m/rad", self.sigma0),
            ("sigma1_", "N m s/rad", self.sigma1),
            ("sigma2_", "N m s/rad", self.sigma2),
            ("lgFc", "N m", self.fc),
            ("lgFs", "N m", self.fs),
            ("lgvs", "rad/s", self.vs),
            ("lges", "1", self.es),
        )
        return tuple(self._shape(symbol, unit, value) for symbol, unit, value in values)

    @property
    def memory(self) -> tuple[str, ...]:
        return (f"z{self.at + 1}",)

    def torque(self, x: State) -> Column:
        dq, (z,) = x.dq[self.at], x.memory
        rate = dq - absolute(dq) * z / self._steady_deflection(x)
        sigma = [self._shape_value(x, f"sigma{k}_") for k in range(3)]
        return {self.at: sigma[0] * z + sigma[1] * rate + sigma[2] * dq}

    def advance(self, x: State, dt: Scalar) -> list[Scalar]:
        dq, (z,) = x.dq[self.at], x.memory
        phi = self._steady_deflection(x)
        end = sign(dq) * phi
        return [end + (z - end) * exp(0.0 - absolute(dq) * dt / phi)]

    def _steady_deflection(self, x: State) -> Scalar:
        fc, fs = self._shape_value(x, "lgFc"), self._shape_value(x, "lgFs")
        decay = stribeck_decay(x.dq[self.at], self._shape_value(x, "lgvs"), self._shape_value(x, "lges"))
        return (fc + (fs - fc) * decay) / self._shape_value(x, "sigma0_")


@dataclass(frozen=True)
class LoadDependent(_OnJoint):
    """tau = mu |load| sign(dq), load the torque of gravity on the links: gears rub harder under load.

    The load is that of stated links, so that mu is a linear parameter like others; a first fit says what they weigh.

    Args:
        at: joint.
        moments: MX, MY, MZ, M of every link in its frame, one after the other.
        width: of a smooth sign.
    """

    moments: tuple[float, ...] = ()
    width: float = 0.0
    rank = 5

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self._parameter("mu", "load", "1", 0.0),)

    @property
    def load(self) -> tuple[float, ...]:
        return self.moments

    def columns(self, x: State) -> list[Column]:
        return [{self.at: absolute(x.load[self.at]) * direction(x.dq[self.at], self.width)}]


LAWS: dict[str, type[_OnJoint]] = {
    "viscous": Viscous,
    "coulomb": Coulomb,
    "smooth": SmoothCoulomb,
    "offset": Offset,
    "directional": DirectionalCoulomb,
    "stribeck": Stribeck,
    "saturating": Saturating,
    "lugre": LuGre,
    "load": LoadDependent,
}
"""Friction laws by the names robot cards use."""


def law(name: str, joint: int, **options: float | tuple[float, ...]) -> Term:
    """A friction law by name on a 0-based joint."""
    if name not in LAWS:
        raise InputError(f"unknown friction law '{name}'; {nearest(name, LAWS)}")
    kind = LAWS[name]
    valid = set(kind.__dataclass_fields__) - {"at"}
    for option in options:
        if option not in valid:
            raise InputError(f"friction law '{name}' has no option '{option}'; {nearest(option, valid)}")
    return kind(joint, **options)


def check_laws(terms: Sequence[Term]) -> None:
    """Refuses laws that say the same of one joint twice, so that no data can tell them apart.

    Coulomb friction that depends on direction is the sum of one that does not and an offset.
    """
    for term in terms:
        if not isinstance(term, DirectionalCoulomb):
            continue
        for other in terms:
            dry = isinstance(other, (Coulomb, SmoothCoulomb, Stribeck))
            if other.joint == term.joint and (dry or (isinstance(other, Offset) and not term.width)):
                name = next(word for word, kind in LAWS.items() if type(other) is kind)
                what = "an offset" if name == "offset" else "dry friction"
                raise InputError(
                    f"joint {term.at + 1} has the friction laws 'directional' and '{name}', which both state {what}: "
                    "no motion can tell them apart; leave one of them out"
                )


def direction(dq: Scalar, width: float) -> Scalar:
    """sign(dq), smooth over `width` when one is given."""
    return tanh(dq / width) if width else sign(dq)


def stribeck_decay(dq: Scalar, vs: Scalar, es: Scalar) -> Scalar:
    """exp(-|dq / vs|^es)"""
    return exp(0.0 - power(absolute(dq / vs), es))
