"""Constraint sets: what a body, a drive or a user says about the parameters, as cones of linear maps.

Every constraint turns into blocks F chi + f in K, K one of four cones (zero, nonnegative, second order, positive semidefinite),
each with a name that people understand.  Rows are scaled to be of order one.  Constraints are combined freely: a set is a tuple.

Strict inequalities (a body *has* mass) get a margin, relative to the body's reference size (`scales.Reference`): J - margin E >= 0
where E is the pseudo-inertia unit of that size.  It keeps solutions off the boundary, where no real body is ("marginal
physicality", survey section 7.2), and leaves room for rounding in files.  Quantities that may well be zero (friction) only get a
margin of solver accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.physical.pseudo import PSEUDO, SPATIAL, smat, svec
from inertica.physical.scales import Reference, Size
from inertica.robot.drives import Coupling
from inertica.robot.terms import RigidBody

Cone = Literal["zero", "nonnegative", "second order", "semidefinite"]

MARGIN = 1e-5
"""Relative margin of bodies: smallest eigenvalue of the pseudo-inertia in units of the body's reference size."""

SIGN_MARGIN = 1e-9
"""Relative margin of what may be zero: solver accuracy, so that a sign is never wrong by rounding."""


@dataclass(frozen=True, eq=False)
class Block:
    """F chi + f in a cone.

    Args:
        name: what it says, for people: `link 3: a body that can exist`.
        cone: which.
        F: (rows, P); semidefinite rows are `svec` of a matrix.
        f: (rows,).
    """

    name: str
    cone: Cone
    F: Array
    f: Array

    def value(self, chi: Array) -> Array:
        return np.asarray(self.F @ chi + self.f)


class Constraint(Protocol):
    """Something that can be said about a robot's parameters."""

    def blocks(self, reference: Reference) -> Iterator[Block]: ...


@dataclass(frozen=True)
class PositiveInertia:
    """M > 0 and inertia about the CoM positive definite, as the 6x6 matrix inequality of the survey's eq. 59."""

    margin: float = MARGIN
    links: tuple[int, ...] | None = None

    def blocks(self, reference: Reference) -> Iterator[Block]:
        for body, where, size in _chosen(reference, self.links):
            rows = svec(size.spatial @ SPATIAL @ size.spatial).T
            f = -self.margin * svec(np.eye(6))
            name = f"{reference.label(body)}: CoM inertia positive definite"
            yield Block(name, "semidefinite", _rows(reference, where, rows), f)


@dataclass(frozen=True)
class RealBody:
    """Full consistency: the 4x4 pseudo-inertia positive definite (survey, eq. 61), so that a distribution of mass exists."""

    margin: float = MARGIN
    links: tuple[int, ...] | None = None

    def blocks(self, reference: Reference) -> Iterator[Block]:
        for body, where, size in _chosen(reference, self.links):
            rows = svec(size.pseudo @ PSEUDO @ size.pseudo).T
            f = -self.margin * svec(np.eye(4))
            yield Block(f"{reference.label(body)}: a body that can exist", "semidefinite", _rows(reference, where, rows), f)


@dataclass(frozen=True)
class Signs:
    """Lower bounds of the layout on drives and friction: armature, viscous, Coulomb not negative; friction brakes."""

    margin: float = SIGN_MARGIN

    def blocks(self, reference: Reference) -> Iterator[Block]:
        for k, p in enumerate(reference.layout.parameters):
            if p.kind in ("inertia", "first_moment", "mass") or not np.isfinite(p.lower):
                continue
            F = np.zeros((1, reference.layout.size))
            F[0, k] = 1.0 / reference.scale[k]
            f = np.array([-p.lower / reference.scale[k] - self.margin])
            yield Block(f"{p.name} not below {p.lower:g}", "nonnegative", F, f)
        for term in reference.layout.terms:
            for row in term.inequalities:
                yield _linear(f"{' + '.join(row)} not below 0", row, 0.0, reference, self.margin)


@dataclass(frozen=True)
class Shares:
    """A coupled motor's share of a joint's drive is part of it: Ia_k >= c_k^2 Iam, Fv_k >= c_k^2 Fvm (see `drives.Coupling`)."""

    margin: float = SIGN_MARGIN

    def blocks(self, reference: Reference) -> Iterator[Block]:
        layout = reference.layout
        for term in layout.terms:
            if not isinstance(term, Coupling):
                continue
            for joint, ratio in zip(term.joints, term.ratios or (1.0,) * len(term.joints), strict=True):
                for joint_kind, motor_kind in (("Ia", "Iam"), ("Fv", "Fvm")):
                    whole, share = f"{joint_kind}{joint + 1}", f"{motor_kind}{term.motor + 1}"
                    if whole in layout.names and share in layout.names:
                        row = {whole: 1.0, share: -(ratio**2)}
                        yield _linear(f"{whole} holds the share of {share}", row, 0.0, reference, self.margin)


@dataclass(frozen=True)
class MassBounds:
    """lower <= M <= upper of some links: {1-based link: (lower, upper)}."""

    bounds: Mapping[int, tuple[float, float]]

    def blocks(self, reference: Reference) -> Iterator[Block]:
        for body, where, size in _chosen(reference, tuple(self.bounds)):
            lower, upper = self.bounds[body.link + 1]
            unit = _rows(reference, where, np.eye(10)[9:] / size.mass)
            name = f"{reference.label(body)}: mass"
            if np.isfinite(lower):
                yield Block(f"{name} at least {lower:g} kg", "nonnegative", unit, np.array([-lower / size.mass]))
            if np.isfinite(upper):
                yield Block(f"{name} at most {upper:g} kg", "nonnegative", -unit, np.array([upper / size.mass]))


@dataclass(frozen=True)
class TotalMass:
    """lower <= sum of all links' masses <= upper; equal bounds state the mass."""

    lower: float
    upper: float

    def blocks(self, reference: Reference) -> Iterator[Block]:
        F = np.zeros((1, reference.layout.size))
        for body, where, _ in reference.bodies:
            if body.suffix == str(body.link + 1):
                F[0, where.start + 9] = 1.0
        size = max(abs(self.upper) if np.isfinite(self.upper) else abs(self.lower), np.finfo(float).tiny)
        if self.lower == self.upper:
            yield Block(f"total mass {self.lower:g} kg", "zero", F / size, np.array([-self.lower / size]))
            return
        if np.isfinite(self.lower):
            yield Block(f"total mass at least {self.lower:g} kg", "nonnegative", F / size, np.array([-self.lower / size]))
        if np.isfinite(self.upper):
            yield Block(f"total mass at most {self.upper:g} kg", "nonnegative", -F / size, np.array([self.upper / size]))


@dataclass(frozen=True)
class Bounds:
    """lower <= parameter <= upper by name, for any parameter."""

    bounds: Mapping[str, tuple[float, float]]

    def blocks(self, reference: Reference) -> Iterator[Block]:
        for name, (lower, upper) in self.bounds.items():
            if np.isfinite(lower):
                yield _linear(f"{name} at least {lower:g}", {name: 1.0}, -lower, reference, 0.0)
            if np.isfinite(upper):
                yield _linear(f"{name} at most {upper:g}", {name: -1.0}, upper, reference, 0.0)


@dataclass(frozen=True)
class Equal:
    """A relation the user knows: sum of coefficient times parameter = value, {'MY3': 1}, 0 for a symmetric link.

    Args:
        coefficients: parameter name -> coefficient.
        value: of the sum.
        name: what it says; made from the coefficients when empty.
    """

    coefficients: Mapping[str, float]
    value: float = 0.0
    name: str = ""

    def blocks(self, reference: Reference) -> Iterator[Block]:
        label = self.name or f"{_sum(self.coefficients)} = {self.value:g}"
        block = _linear(label, self.coefficients, -self.value, reference, 0.0)
        yield Block(block.name, "zero", block.F, block.f)


@dataclass(frozen=True)
class Custom:
    """Blocks made elsewhere, in the layout's order of parameters."""

    prebuilt: Sequence[Block] = field(default=())

    def blocks(self, reference: Reference) -> Iterator[Block]:
        yield from self.prebuilt


def symmetric(link: int, planes: str) -> tuple[Equal, ...]:
    """A link (1-based) that is its own mirror image in coordinate planes through its frame's origin, of `xy`, `xz`, `yz`.

    Symmetry in the plane normal to z (`xy`) means MZ = XZ = YZ = 0.
    """
    normal = {"xy": "Z", "xz": "Y", "yz": "X"}
    out: dict[str, Equal] = {}
    for plane in planes.split(","):
        axis = normal.get(plane.strip())
        if axis is None:
            raise InputError(f"link {link}: unknown plane '{plane}'; planes are xy, xz and yz")
        for name in ("XY", "XZ", "YZ"):
            if axis in name:
                out[name] = Equal({f"{name}{link}": 1.0}, 0.0, f"link {link}: symmetric ({name}{link} = 0)")
        out[f"M{axis}"] = Equal({f"M{axis}{link}": 1.0}, 0.0, f"link {link}: symmetric (M{axis}{link} = 0)")
    return tuple(out.values())


PHYSICAL: tuple[Constraint, ...] = (RealBody(), Signs(), Shares())
"""What holds for every robot: bodies that can exist, drives and friction of the right sign."""


def combined(defaults: Sequence[Constraint], user: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Both sets; a margin of all bodies among the given ones takes the place of the own one."""
    if any(isinstance(c, RealBody) and c.links is None for c in user):
        defaults = [c for c in defaults if not (isinstance(c, RealBody) and c.links is None)]
    return (*defaults, *user)


def assembled(constraints: Sequence[Constraint], reference: Reference) -> tuple[Block, ...]:
    """All blocks of a set.  What fixed parameters alone decide is left out: the user knows them."""
    out = []
    for constraint in constraints:
        for block in constraint.blocks(reference):
            if np.any(block.F[:, reference.free]):
                out.append(block)
    return tuple(out)


def slack(block: Block, chi: ArrayLike) -> float:
    """How far inside its cone a block is, margin already taken off: negative outside; minus the largest miss for equations."""
    return cone_slack(block.cone, block.value(np.asarray(chi, float)))


def cone_slack(cone: Cone, value: Array) -> float:
    """How far inside a cone a value is."""
    match cone:
        case "zero":
            return -float(np.abs(value).max())
        case "nonnegative":
            return float(value.min())
        case "second order":
            return float(value[0] - np.linalg.norm(value[1:]))
        case "semidefinite":
            return float(np.linalg.eigvalsh(smat(value))[0])


def _chosen(reference: Reference, links: tuple[int, ...] | None) -> Iterator[tuple[RigidBody, slice, Size]]:
    """Bodies of the links asked for (1-based), all when None; a payload is chosen only with all."""
    n = reference.layout.robot.n
    for link in links or ():
        if not 1 <= link <= n:
            raise InputError(f"{reference.layout.robot.name} has no link {link}; links are 1 to {n}")
    for body, where, size in reference.bodies:
        if links is None or (body.suffix == str(body.link + 1) and body.link + 1 in links):
            yield body, where, size


def _rows(reference: Reference, where: slice, rows: Array) -> Array:
    """Rows on a body's ten parameters as rows on all."""
    F = np.zeros((len(rows), reference.layout.size))
    F[:, where] = rows
    return F


def _sum(coefficients: Mapping[str, float]) -> str:
    """`Ia4 - 2*Ia5`."""
    words = "".join(f" {'-' if c < 0.0 else '+'} {'' if abs(c) == 1.0 else f'{abs(c):g}*'}{n}" for n, c in coefficients.items())
    return words.removeprefix(" + ").strip()


def _linear(name: str, coefficients: Mapping[str, float], constant: float, reference: Reference, margin: float) -> Block:
    """sum c chi + constant >= margin, scaled by the largest contribution."""
    F = np.zeros((1, reference.layout.size))
    for parameter, c in coefficients.items():
        F[0, reference.layout.index(parameter)] = c
    size = float(np.abs(F[0] * reference.scale).max())
    if size == 0.0:
        raise InputError(f"the constraint '{name}' has only zero coefficients")
    return Block(name, "nonnegative", F / size, np.array([constant / size - margin]))
