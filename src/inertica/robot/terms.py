"""Terms: everything that adds torque to a joint besides the rigid links.

A term names its parameters and gives the regressor columns they multiply, as functions of the motion on scalars of any type.
The same lines serve the fit, the compiled kernels, their derivatives and the simulation.  Parameters that enter nonlinearly
(a Stribeck velocity) are `shapes`: for fixed shapes a term is linear like the others, which is what the choice of friction
laws uses.  A term with `memory` (LuGre) has an inner state; it can be simulated but has no regressor.

Friction laws are in `friction.py`, drives in `drives.py`, formulas of users in `formula.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from inertica.robot.model import IDENTITY, ORIGIN, Matrix, Vector
from inertica.robot.units import check_unit
from inertica.scalars import Scalar, cos, sin

Column = dict[int, Scalar]
"""One regressor column at one instant: 0-based joint -> torque on it per unit of the parameter; absent joints get none."""


@dataclass(frozen=True)
class Parameter:
    """One entry of a layout: a parameter that enters the torques linearly.

    Args:
        name: with the 1-based joint number, `Fc6`.
        kind: what it is in one word: inertia, first_moment, mass, armature, viscous, coulomb, offset, ...
        unit: SI.
        joint: 0-based joint or link it belongs to; None when it belongs to several.
        lower: sign constraint, 0 for what cannot be negative.
        fixed: known and not to be identified; its prior value holds.
    """

    name: str
    kind: str
    unit: str
    joint: int | None = None
    lower: float = float("-inf")
    fixed: bool = False


@dataclass(frozen=True)
class ShapeParameter:
    """A parameter that enters nonlinearly, with the value it starts from."""

    name: str
    unit: str
    value: float
    lower: float = 0.0


@dataclass(frozen=True)
class State:
    """What a term sees at one instant: joint coordinates and rates, its shapes by name, its memory, the load it carries.

    `load` is the torque of gravity on the rigid links; it is there only for terms that ask for it (`Term.load`).
    """

    q: Sequence[Scalar]
    dq: Sequence[Scalar]
    ddq: Sequence[Scalar]
    shapes: Mapping[str, Scalar] = field(default_factory=dict)
    memory: Sequence[Scalar] = ()
    load: Sequence[Scalar] = ()


class Term(ABC):
    """Base of all terms.  `rank` orders the terms of one joint in the layout: Ia 0, Fv 1, Fc 2, off 3, the rest after."""

    rank: int = 9

    @property
    @abstractmethod
    def joint(self) -> int | None:
        """The joint it is listed with, None for terms that span several joints."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[Parameter, ...]: ...

    @property
    def shapes(self) -> tuple[ShapeParameter, ...]:
        return ()

    @property
    def memory(self) -> tuple[str, ...]:
        """Names of inner states; zero at the start."""
        return ()

    @property
    def load(self) -> tuple[float, ...] | None:
        """MX, MY, MZ, M of every link, for a term that asks for the torque of gravity on the links; None for all others."""
        return None

    @property
    def inequalities(self) -> tuple[Mapping[str, float], ...]:
        """Sums of its parameters that cannot be negative, besides the bounds of single ones: name -> factor."""
        return ()

    @property
    def reversals(self) -> tuple[tuple[int, Mapping[int, float]], ...]:
        """(joint, {joint: factor}): the torque on the joint jumps where the sum of factors times velocities changes its sign.

        A joint's own velocity need not be named.
        """
        return ()

    def columns(self, x: State) -> list[Column]:
        """One column per parameter; the term's torque is the sum of parameter times column, plus `torque`."""
        return []

    def torque(self, x: State) -> Column:
        """Torque that no linear parameter multiplies."""
        return {}

    def advance(self, x: State, dt: Scalar) -> list[Scalar]:
        """Inner states one step later, with the motion held."""
        return []


@dataclass(frozen=True)
class OnJoint(Term):
    """A term of one joint, whose parameters are symbols with the joint's number.

    Attributes:
        symbols: (symbol, kind, unit, lower bound) of every parameter, in the order of the columns.
    """

    at: int
    symbols: ClassVar[tuple[tuple[str, str, str, float], ...]] = ()

    @property
    def joint(self) -> int:
        return self.at

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(Parameter(f"{name}{self.at + 1}", kind, unit, self.at, lower) for name, kind, unit, lower in self.symbols)


@dataclass(frozen=True)
class Spring(OnJoint):
    """tau = Ks (q - rest): a torsional spring, or a linear one on a prismatic joint."""

    rest: float = 0.0
    symbols = (("Ks", "stiffness", "N m/rad", 0.0),)

    def columns(self, x: State) -> list[Column]:
        return [{self.at: x.q[self.at] - self.rest}]


@dataclass(frozen=True)
class Counterbalance(OnJoint):
    """tau = Kbs sin(q) + Kbc cos(q): a spring or a weight that balances gravity on a revolute joint."""

    symbols = tuple((f"Kb{c}", "balance", "N m", float("-inf")) for c in "sc")

    def columns(self, x: State) -> list[Column]:
        return [{self.at: sin(x.q[self.at])}, {self.at: cos(x.q[self.at])}]


class OneParameter(Term):
    """A term of a user with one parameter, which has a name, a unit, a lower bound and the joint it is listed with."""

    name: str
    unit: str
    lower: float
    at: int | None

    @property
    def joint(self) -> int | None:
        return self.at

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (Parameter(self.name, "user", self.unit, self.at, self.lower),)


@dataclass(frozen=True)
class UserTerm(OneParameter):
    """A column given by a function of the motion: tau = K * column(motion), one parameter.

    Args:
        name: of the parameter.
        column: `State -> {joint: value}`, written with `inertica.scalars` functions; affine in ddq.
        unit: of the parameter, of the vocabulary in `inertica.robot.units`.
        lower: sign constraint.
        at: joint it is listed with.
    """

    name: str
    column: Callable[[State], Column]
    unit: str = "1"
    lower: float = float("-inf")
    at: int | None = None

    def __post_init__(self) -> None:
        check_unit(self.unit)

    def columns(self, x: State) -> list[Column]:
        return [self.column(x)]


@dataclass(frozen=True)
class RigidBody:
    """Ten inertial parameters of a body fixed to a link: the link itself, or a payload at a pose of its own.

    Args:
        link: 0-based link that carries it.
        suffix: what the parameter names end in: `3` for link 3, `p` for a payload.
        rotation: link <- body.
        position: origin of the body frame in the link frame.
    """

    link: int
    suffix: str
    rotation: Matrix = IDENTITY
    position: Vector = ORIGIN

    @property
    def at_link_frame(self) -> bool:
        return self.rotation == IDENTITY and self.position == ORIGIN

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        kinds = [("inertia", "kg m^2")] * 6 + [("first_moment", "kg m")] * 3 + [("mass", "kg")]
        names = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
        positive = {"XX", "YY", "ZZ", "M"}
        return tuple(
            Parameter(name + self.suffix, kind, unit, self.link, 0.0 if name in positive else float("-inf"))
            for name, (kind, unit) in zip(names, kinds, strict=True)
        )
