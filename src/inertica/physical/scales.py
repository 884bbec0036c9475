"""`Reference`: what the size of every parameter is measured against, so that margins, pulls and solvers are free of units.

A body has a reference mass m and length l, taken from its prior when that is sensible: M is measured in m, first moments in m l,
inertias in m l^2.  In these units the pseudo-inertia of the prior body is of order one.  Other parameters are measured in their
own prior size, or in the robot's natural unit of their kind (`robot.natural`) when the prior says (nearly) nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.robot import inertia
from inertica.robot.layout import Layout
from inertica.robot.natural import NaturalUnits
from inertica.robot.terms import RigidBody

LENGTHS = (0.05, 2.5)
"""Natural lengths of the robot within which reference lengths are kept."""

SMALLEST = 0.01
"""Natural units that are the least scale of a drive or friction parameter: priors of zero must not forbid everything else."""


@dataclass(frozen=True)
class Size:
    """Reference mass in kg and length in m of one body."""

    mass: float
    length: float

    @property
    def scale(self) -> Array:
        """(10,) sizes of the ten parameters."""
        m, l = self.mass, self.length
        return np.array([m * l**2] * 6 + [m * l] * 3 + [m])

    @property
    def pseudo(self) -> Array:
        """(4, 4) C with C J C' free of units."""
        return np.diag([1.0 / self.length] * 3 + [1.0]) / np.sqrt(self.mass)

    @property
    def spatial(self) -> Array:
        """(6, 6) the same for the spatial inertia."""
        return np.diag([1.0 / self.length] * 3 + [1.0] * 3) / np.sqrt(self.mass)


@dataclass(frozen=True, eq=False)
class Reference:
    """Prior values with the scale of every parameter.

    Args:
        layout: the parameters.
        values: (P,) prior; zeros when nothing is known.
        held: (P,) parameters that a solve leaves at the prior besides fixed ones, because no data touch them.
    """

    layout: Layout
    values: Array
    held: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, layout: Layout, values: ArrayLike | None = None) -> Reference:
        return cls(layout, np.zeros(layout.size) if values is None else np.array(values, float))

    @cached_property
    def fixed(self) -> NDArray[np.bool_]:
        """(P,) which parameters are given."""
        return np.array([bool(p.fixed) for p in self.layout.parameters])

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """(P,) which parameters are unknown."""
        return ~self.fixed if self.held is None else ~(self.fixed | self.held)

    @cached_property
    def sizes(self) -> tuple[Size, ...]:
        """Of every body, in the order of `layout.bodies`."""
        masses = [float(self.values[where][9]) for _, where in self.layout.bodies]
        heaviest = max(masses, default=0.0)
        return tuple(_size(self.values[where], heaviest, self.natural) for _, where in self.layout.bodies)

    @cached_property
    def natural(self) -> NaturalUnits:
        """Units of this robot, for what the prior says nothing about."""
        return NaturalUnits.of(self.layout, self.values)

    @cached_property
    def scale(self) -> Array:
        """(P,) size of every parameter."""
        out = np.empty(self.layout.size)
        for k, p in enumerate(self.layout.parameters):
            out[k] = max(abs(self.values[k]), SMALLEST * self.natural.size(p.unit))
        for (_, where), size in zip(self.layout.bodies, self.sizes, strict=True):
            out[where] = size.scale
        return out

    @cached_property
    def bodies(self) -> tuple[tuple[RigidBody, slice, Size], ...]:
        """Every body with its slice and size."""
        return tuple((b, w, s) for (b, w), s in zip(self.layout.bodies, self.sizes, strict=True))

    @cached_property
    def empty(self) -> NDArray[np.bool_]:
        """(P,) parameters of bodies without any values."""
        out = np.zeros(self.layout.size, bool)
        for _, where, _ in self.bodies:
            out[where] = not np.any(self.values[where])
        return out

    @cached_property
    def unknown(self) -> NDArray[np.bool_]:
        """(P,) parameters of which the prior says nothing; a zero among others of a body is knowledge: a symmetric link."""
        body = np.zeros(self.layout.size, bool)
        for _, where, _ in self.bodies:
            body[where] = True
        return np.where(body, self.empty, self.values == 0.0)

    def label(self, body: RigidBody) -> str:
        """How a body is named to people."""
        if body.suffix == str(body.link + 1):
            return f"link {body.suffix}"
        return f"payload {body.suffix}"


def _size(ten: Array, heaviest: float, natural: NaturalUnits) -> Size:
    """Of a body's prior; the robot's natural units where the prior is empty or impossible."""
    mass = float(ten[9])
    if mass <= 1e-3 * heaviest or mass <= 0.0:
        return Size(natural.mass, natural.length)
    spread = 0.5 * np.trace(inertia.matrix(ten)) / mass / 3.0
    length = float(np.sqrt(spread)) if spread > 0.0 else natural.length
    return Size(mass, float(np.clip(length, LENGTHS[0] * natural.length, LENGTHS[1] * natural.length)))
