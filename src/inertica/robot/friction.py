"""Friction laws: terms on one joint, functions of its velocity.

A law says of itself what others ask: its parameters with their signs, its constants, what it shares with other laws, what a simulated
robot is given for it, and how the automatic choice may use it.  A new one is a class and its name in `LAWS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np

from inertica.errors import InputError, nearest
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.model import Robot
from inertica.robot.natural import speeds
from inertica.robot.terms import Column, OnJoint, ShapeParameter, State, Term
from inertica.scalars import Scalar, absolute, exp, maximum, minimum, power, sign, tanh

DRY, CONSTANT = "dry friction", "an offset"

ASYMMETRY = 0.15
"""Direction-dependent friction of a robot that states none: this share more forwards, less backwards."""

BRISTLE_STIFFNESS = 2e4
"""N m/rad (N/m on sliding joints); the scale of real gears, where a source gives only placeholders."""

LOAD_SHARE = 0.05
"""Load-dependent friction of a robot that states none: this share of the gravity torque."""


@dataclass(frozen=True)
class Candidate:
    """How the automatic choice may add a law to the friction of a joint.

    Args:
        name: for people.
        column: which of the law's columns is added.
        speeds: slowest and fastest value of the law's first constant, a speed, in parts of the joint's 95th percentile speed; None for
            a law without one.
        significant: standard deviations by which it must differ from zero, serial correlation accounted for.
        felt: whether other parameters would feel it if it were missing.
        slow: whether it acts below its speed only, so that there must be rows as slow as that.
        includes: a law that it replaces.
        alone: the law that takes its place on a joint without dry friction.
        odds: against it before data are seen, which counts where they do not tell.
    """

    name: str
    column: int = 0
    speeds: tuple[float, float] | None = None
    significant: float = 3.3
    felt: bool = False
    slow: bool = False
    includes: str = ""
    alone: str = ""
    odds: float = 30.0

    @property
    def slowest(self) -> float:
        """Of a law of slow motion, below which what filters leave of sticking looks like it; zero for others."""
        return self.speeds[0] if self.slow and self.speeds else 0.0


@dataclass(frozen=True)
class FrictionLaw(OnJoint):
    """Base of friction laws.

    Attributes:
        constants: (option of the class, symbol, unit) of every constant that enters nonlinearly.
        usual_speeds: constants that are speeds -> what they are where nobody states them, in the robot's natural speeds.
        may_vanish: constants that may be zero.
        kinds: what it states that another law might state, too: dry friction, an offset.
        plain_symbols: those of parameters that URDF and MJCF know, as long as the sign is sharp.
        brakes: False for what is no friction but is stated beside it; it may have either sign.
        beside: laws that a simulated robot has along with it; None for a law that `simulate --friction` does not offer.
        candidate: how the automatic choice may use it; None if it may not.
    """

    constants: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    usual_speeds: ClassVar[Mapping[str, float]] = {}
    may_vanish: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[str, ...]] = ()
    plain_symbols: ClassVar[tuple[str, ...]] = ()
    brakes: ClassVar[bool] = True
    beside: ClassVar[tuple[str, ...] | None] = None
    candidate: ClassVar[Candidate | None] = None

    @classmethod
    def typical(cls, joint: int, robot: Description) -> tuple[Self, dict[str, float]]:
        """The law of a simulated robot with the values of its symbols, from what the robot's card states."""
        return cls(joint), {symbol: robot.friction_value(symbol, joint) for symbol, *_ in cls.symbols}

    @classmethod
    def at_speed(cls, joint: int, speed: float) -> Self:
        """The law with its first constant, a speed, if it has one."""
        return cls(joint, **{option: speed for option, *_ in cls.constants[:1]})

    @property
    def states(self) -> tuple[str, ...]:
        """What no other law of the same joint may state, too."""
        return self.kinds

    @property
    def plain(self) -> tuple[str, ...]:
        """Names of parameters that are viscous or Coulomb friction as URDF and MJCF mean them."""
        return () if getattr(self, "width", 0.0) else tuple(f"{symbol}{self.at + 1}" for symbol in self.plain_symbols)

    @property
    def shapes(self) -> tuple[ShapeParameter, ...]:
        return tuple(ShapeParameter(self._numbered(o), unit, getattr(self, o)) for o, _, unit in self.constants)

    def with_shapes(self, values: Mapping[str, float]) -> Self:
        """The same with other constants, by the names of its shapes."""
        changes: dict[str, Any] = {option: float(values[self._numbered(option)]) for option, *_ in self.constants}
        return replace(self, **changes)

    def constant(self, x: State, option: str) -> Scalar:
        return x.shapes[self._numbered(option)]

    def _numbered(self, option: str) -> str:
        return next(f"{symbol}{self.at + 1}" for name, symbol, _ in self.constants if name == option)

    @property
    def text(self) -> str:
        """As a card states it: its name, with its speeds and the options that are not the usual ones."""
        name, usual = word(self), type(self)(self.at)
        options = [f.name for f in fields(self) if f.name in self.usual_speeds or getattr(self, f.name) != getattr(usual, f.name)]
        stated = ", ".join(f"{option}: {_number_text(getattr(self, option))}" for option in options)
        return f"{{{name}: {{{stated}}}}}" if stated else name


@dataclass(frozen=True)
class Viscous(FrictionLaw):
    """tau = Fv dq"""

    rank = 1
    plain_symbols = ("Fv",)
    symbols = (("Fv", "viscous", "N m s/rad", 0.0),)
    beside = ()
    candidate = Candidate("viscous", felt=True, odds=1.0)  # nearly every joint has it

    def columns(self, x: State) -> list[Column]:
        return [{self.at: x.dq[self.at]}]


@dataclass(frozen=True)
class Coulomb(FrictionLaw):
    """tau = Fc sign(dq), or Fc tanh(dq / width) when a width is given."""

    width: float = 0.0
    rank = 2
    kinds = (DRY,)
    plain_symbols = ("Fc",)
    symbols = (("Fc", "coulomb", "N m", 0.0),)
    beside = ()
    candidate = Candidate("Coulomb", felt=True, odds=1.0)  # likewise

    def columns(self, x: State) -> list[Column]:
        return [{self.at: direction(x.dq[self.at], self.width)}]


@dataclass(frozen=True)
class SmoothCoulomb(FrictionLaw):
    """tau = Fc tanh(dq / vc): Coulomb friction whose width around standstill is a shape."""

    vc: float = 0.02
    rank = 2
    kinds = (DRY,)
    symbols = Coulomb.symbols
    constants = (("vc", "vc", "rad/s"),)
    usual_speeds: ClassVar[Mapping[str, float]] = {"vc": 0.004}
    beside = ("viscous",)

    def columns(self, x: State) -> list[Column]:
        return [{self.at: tanh(x.dq[self.at] / self.constant(x, "vc"))}]


@dataclass(frozen=True)
class Offset(FrictionLaw):
    """tau = off: a constant torque, for instance the offset of a current sensor or the mean of unequal Coulomb friction."""

    rank = 3
    kinds = (CONSTANT,)
    symbols = (("off", "offset", "N m", float("-inf")),)
    brakes = False
    candidate = Candidate("offset", felt=True, odds=1.0)  # the zero of a sensor or a drive is never exactly right

    def columns(self, x: State) -> list[Column]:
        return [{self.at: 1.0}]


@dataclass(frozen=True)
class DirectionalCoulomb(FrictionLaw):
    """tau = Fcp for positive, -Fcn for negative velocity: Coulomb friction that depends on the direction of motion.

    With a sharp sign it is the sum of one that does not and an offset.
    """

    width: float = 0.0
    rank = 2
    kinds = (DRY, CONSTANT)
    symbols = (("Fcp", "coulomb", "N m", 0.0), ("Fcn", "coulomb", "N m", 0.0))
    beside = ("viscous",)

    @classmethod
    def typical(cls, joint: int, robot: Description) -> tuple[Self, dict[str, float]]:
        fc = robot.friction_value("Fc", joint)
        return cls(joint), {"Fcp": fc * (1 + ASYMMETRY), "Fcn": fc * (1 - ASYMMETRY)}

    @property
    def states(self) -> tuple[str, ...]:
        return self.kinds[:1] if self.width else self.kinds

    def columns(self, x: State) -> list[Column]:
        s = direction(x.dq[self.at], self.width)
        return [{self.at: maximum(s, 0.0)}, {self.at: minimum(s, 0.0)}]


@dataclass(frozen=True)
class Stribeck(FrictionLaw):
    """tau = (Fc + dFs exp(-|dq / vs|^es)) sign(dq), dFs the excess of static over Coulomb friction.

    dFs may have either sign; Fc >= 0 and Fc + dFs >= 0 make the sum brake at every speed.  The automatic choice seeks vs between
    three hundredths of a joint's usual speed, below which what sticking at reversals leaves after filtering looks the same, and
    two fifths; friction that falls over the whole range of speeds is not Stribeck's.
    """

    vs: float = 0.05
    es: float = 2.0
    width: float = 0.0
    rank = 2
    kinds = (DRY,)
    plain_symbols = ("Fc",)
    symbols = (*Coulomb.symbols, ("dFs", "stribeck", "N m", float("-inf")))
    constants = (("vs", "vs", "rad/s"), ("es", "es", "1"))
    usual_speeds: ClassVar[Mapping[str, float]] = {"vs": 0.01}
    beside = ("viscous",)
    candidate = Candidate("Stribeck", 1, (0.03, 0.4), felt=True, slow=True, includes="coulomb")

    @classmethod
    def typical(cls, joint: int, robot: Description) -> tuple[Self, dict[str, float]]:
        fc = robot.friction_value("Fc", joint)
        fs = robot.friction_constant("stribeck", "Fs", joint, 1.3 * fc)
        return cls(joint, *_stribeck_constants(joint, robot)), {"Fc": fc, "dFs": fs - fc}

    def columns(self, x: State) -> list[Column]:
        dq = x.dq[self.at]
        s = direction(dq, self.width)
        return [{self.at: s}, {self.at: s * stribeck_decay(dq, self.constant(x, "vs"), self.constant(x, "es"))}]

    @property
    def inequalities(self) -> tuple[Mapping[str, float], ...]:
        return ({f"Fc{self.at + 1}": 1.0, f"dFs{self.at + 1}": 1.0},)


@dataclass(frozen=True)
class Saturating(FrictionLaw):
    """tau = Fw tanh(dq / vw): friction that grows with speed and levels off, as in greased gears.

    Together with Coulomb friction it can take almost any form, so the automatic choice asks more of it than of others.
    """

    vw: float = 0.3
    rank = 4
    symbols = (("Fw", "saturating", "N m", 0.0),)
    constants = (("vw", "vw", "rad/s"),)
    usual_speeds: ClassVar[Mapping[str, float]] = {"vw": 0.06}
    candidate = Candidate("saturating", 0, (0.06, 1.0), significant=4.5, alone="smooth")

    def columns(self, x: State) -> list[Column]:
        return [{self.at: tanh(x.dq[self.at] / self.constant(x, "vw"))}]


@dataclass(frozen=True)
class LuGre(FrictionLaw):
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

    constants = (
        ("sigma0", "sigma0_", "N m/rad"),
        ("sigma1", "sigma1_", "N m s/rad"),
        ("sigma2", "sigma2_", "N m s/rad"),
        ("fc", "lgFc", "N m"),
        ("fs", "lgFs", "N m"),
        ("vs", "lgvs", "rad/s"),
        ("es", "lges", "1"),
    )
    may_vanish = ("sigma1", "sigma2", "fs")
    beside = ()

    @classmethod
    def typical(cls, joint: int, robot: Description) -> tuple[Self, dict[str, float]]:
        """Stiff bristles, damped so that they do not ring with the drive's inertia."""
        fc = max(robot.friction_value("Fc", joint), 1e-3)
        sigma1 = float(np.sqrt(BRISTLE_STIFFNESS * max(robot.friction_value("Ia", joint), 1e-3)))
        vs, es = _stribeck_constants(joint, robot)
        return cls(joint, BRISTLE_STIFFNESS, sigma1, robot.friction_value("Fv", joint), fc, 1.3 * fc, vs, es), {}

    @property
    def memory(self) -> tuple[str, ...]:
        return (f"z{self.at + 1}",)

    def torque(self, x: State) -> Column:
        dq, (z,) = x.dq[self.at], x.memory
        rate = dq - absolute(dq) * z / self._steady_deflection(x)
        sigma = [self.constant(x, f"sigma{k}") for k in range(3)]
        return {self.at: sigma[0] * z + sigma[1] * rate + sigma[2] * dq}

    def advance(self, x: State, dt: Scalar) -> list[Scalar]:
        dq, (z,) = x.dq[self.at], x.memory
        phi = self._steady_deflection(x)
        end = sign(dq) * phi
        return [end + (z - end) * exp(0.0 - absolute(dq) * dt / phi)]

    def _steady_deflection(self, x: State) -> Scalar:
        fc, fs = self.constant(x, "fc"), self.constant(x, "fs")
        decay = stribeck_decay(x.dq[self.at], self.constant(x, "vs"), self.constant(x, "es"))
        return (fc + (fs - fc) * decay) / self.constant(x, "sigma0")


@dataclass(frozen=True)
class LoadDependent(FrictionLaw):
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
    symbols = (("mu", "load", "1", 0.0),)
    beside = ("viscous", "coulomb")
    candidate = Candidate("load-dependent", felt=True)

    @classmethod
    def typical(cls, joint: int, robot: Description) -> tuple[Self, dict[str, float]]:
        return cls(joint, robot.prior.moments()), {"mu": LOAD_SHARE}

    @property
    def load(self) -> tuple[float, ...]:
        return self.moments

    def columns(self, x: State) -> list[Column]:
        return [{self.at: absolute(x.load[self.at]) * direction(x.dq[self.at], self.width)}]


LAWS: dict[str, type[FrictionLaw]] = {
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


def law(name: str, joint: int, robot: Robot | None = None, /, **options: float | tuple[float, ...]) -> FrictionLaw:
    """A friction law by name on a 0-based joint; of a robot, speeds that are not stated are parts of its natural ones."""
    if name not in LAWS:
        raise InputError(f"unknown friction law '{name}'; {nearest(name, LAWS)}")
    kind = LAWS[name]
    valid = {f.name for f in fields(kind)} - {"at"}
    for option in options:
        if option not in valid:
            raise InputError(f"friction law '{name}' has no option '{option}'; {nearest(option, valid)}")
    usual = {} if robot is None else {option: share * float(speeds(robot)[joint]) for option, share in kind.usual_speeds.items()}
    return kind(joint, **{**usual, **options})


def word(law: FrictionLaw) -> str:
    """The name of a law in cards."""
    return next(name for name, kind in LAWS.items() if type(law) is kind)


def friction_terms(terms: Sequence[Term]) -> tuple[FrictionLaw, ...]:
    """The friction laws among terms."""
    return tuple(t for t in terms if isinstance(t, FrictionLaw))


def with_shapes(parameters: Parameters) -> tuple[FrictionLaw, ...]:
    """The friction laws of a layout with the shape values of `parameters` as their constants."""
    values = dict(zip((s.name for s in parameters.layout.shapes), parameters.shapes, strict=True))
    return tuple(t.with_shapes(values) for t in friction_terms(parameters.layout.terms))


def friction_text(laws: Sequence[FrictionLaw]) -> str:
    """Friction laws as the one-line YAML value of the key `friction`."""
    joints: dict[int, list[str]] = {}
    for each in laws:
        joints.setdefault(each.at, []).append(each.text)
    by_joint = ", ".join(f"{j + 1}: [{', '.join(texts)}]" for j, texts in sorted(joints.items()))
    return f"{{{by_joint}}}" if laws else "none"


def check_laws(laws: Sequence[FrictionLaw]) -> None:
    """Refuses laws that say the same of one joint twice, so that no data can tell them apart."""
    for one, other in combinations(laws, 2):
        for what in set(one.states) & set(other.states) if one.at == other.at else ():
            raise InputError(
                f"joint {one.at + 1} has the friction laws '{word(one)}' and '{word(other)}', which both state {what}: "
                "no motion can tell them apart; leave one of them out",
                joint=one.at + 1,
            )


def _stribeck_constants(joint: int, robot: Description) -> tuple[float, float]:
    """Vs and Es of a robot's card; else the usual ones."""
    usual = Stribeck.usual_speeds["vs"] * float(speeds(robot.robot)[joint])
    return robot.friction_constant("stribeck", "Vs", joint, usual), robot.friction_constant("stribeck", "Es", joint, 2.0)


def _number_text(value: float | tuple[float, ...]) -> str:
    return f"[{', '.join(repr(float(v)) for v in value)}]" if isinstance(value, tuple) else repr(float(value))


def direction(dq: Scalar, width: float) -> Scalar:
    """sign(dq), smooth over `width` when one is given."""
    return tanh(dq / width) if width else sign(dq)


def stribeck_decay(dq: Scalar, vs: Scalar, es: Scalar) -> Scalar:
    """exp(-|dq / vs|^es)"""
    return exp(0.0 - power(absolute(dq / vs), es))
