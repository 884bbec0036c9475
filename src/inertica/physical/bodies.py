"""Coordinates in which every point is a robot that can exist; what kinds of them share (`cholesky`, `moments`).

With C J C' the pseudo-inertia of a body in reference units, C J C' = K(theta) + margin I with a K that is positive definite whatever
its ten coordinates are; what must not be negative is lower + scale s(theta) with a positive s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.equations import weighted_sum
from inertica.errors import InputError
from inertica.physical.constraints import MARGIN, SIGN_MARGIN
from inertica.physical.pseudo import PSEUDO, svec
from inertica.physical.scales import Reference
from inertica.scalars import Scalar


@dataclass(frozen=True, eq=False)
class BodyCoordinates(ABC):
    """Coordinates theta (P,) of a robot's parameters.

    Args:
        reference: scales, and values of fixed parameters; a body must be free as a whole or fixed as a whole.
        margin: of bodies, as in `constraints.RealBody`.
    """

    reference: Reference
    margin: float = MARGIN

    def __post_init__(self) -> None:
        for body, where, _ in self.reference.bodies:
            free = self.reference.free[where]
            if free.any() and not free.all():
                label = self.reference.label(body)
                raise InputError(f"{label} is partly fixed, which Cholesky coordinates cannot express; use the cone solver")

    def theta(self, chi: Array) -> Array:
        """Coordinates of strictly consistent parameters."""
        out = np.array(chi, float) / self.reference.scale
        for k in self._signed:
            out[k] = self._coordinate(max((chi[k] - self._lower(k)) / self.reference.scale[k], 1e-300))
        for body, where, size in self.reference.bodies:
            K = size.pseudo @ np.tensordot(chi[where], PSEUDO, axes=1) @ size.pseudo - self.margin * np.eye(4)
            try:
                out[where] = self._coordinates(K)
            except np.linalg.LinAlgError:
                label = self.reference.label(body)
                raise InputError(f"{label} is not a body that can exist, so it has no Cholesky coordinates") from None
        return out

    def chi(self, theta: Array) -> tuple[Array, Array]:
        """Parameters (P,) and their derivative (P, P); fixed parameters keep their value with zero derivative."""
        scale = self.reference.scale
        chi, J = theta * scale, np.diag(scale)
        for k in self._signed:
            value, slope, _ = self._scalar(theta[k])
            chi[k], J[k, k] = self._lower(k) + scale[k] * value, scale[k] * slope
        for _, where, size in self.reference.bodies:
            K, moves = self._body(theta[where])
            ten = to_ten(size.pseudo)
            chi[where] = ten @ svec(K + self.margin * np.eye(4))
            J[where, where] = ten @ svec(moves).T
        fixed = ~self.reference.free
        chi[fixed], J[fixed] = self.reference.values[fixed], 0.0
        return chi, J

    def scalars(self, theta: Sequence[Scalar]) -> list[Scalar]:
        """The same parameters from coordinates of any type, to be traced."""
        out: list[Scalar] = [float(s) * x for s, x in zip(self.reference.scale, theta, strict=True)]
        for k in self._signed:
            out[k] = float(self._lower(k)) + float(self.reference.scale[k]) * self._traced_scalar(theta[k])
        basis = np.eye(16).reshape(16, 4, 4)
        for _, where, size in self.reference.bodies:
            K = self._traced(theta[where])
            for i in range(4):
                K[5 * i] = K[5 * i] + self.margin
            ten = to_ten(size.pseudo) @ svec(0.5 * (basis + basis.transpose(0, 2, 1))).T
            out[where] = [weighted_sum(row, K) for row in ten]
        return [float(self.reference.values[k]) if not self.reference.free[k] else x for k, x in enumerate(out)]

    @property
    def sizes(self) -> Array:
        """(P,) by how much coordinates change with the same share of a parameter, in proportion to each other."""
        return np.ones(self.reference.layout.size)

    @abstractmethod
    def _coordinates(self, K: Array) -> Array:
        """(10,) of a body; LinAlgError when K is not positive definite."""

    @abstractmethod
    def _body(self, theta: Array) -> tuple[Array, Array]:
        """K (4, 4) and its derivative (10, 4, 4)."""

    @abstractmethod
    def _traced(self, theta: Sequence[Scalar]) -> list[Scalar]:
        """The sixteen entries of K."""

    @abstractmethod
    def _coordinate(self, part: float) -> float:
        """Of a positive scalar."""

    @abstractmethod
    def _scalar(self, theta: float) -> tuple[float, float, float]:
        """Value of a positive scalar and its two derivatives."""

    @abstractmethod
    def _traced_scalar(self, theta: Scalar) -> Scalar:
        """Value of a positive scalar."""

    @property
    def _signed(self) -> list[int]:
        kinds = ("inertia", "first_moment", "mass")
        return [k for k, p in enumerate(self.reference.layout.parameters) if p.kind not in kinds and np.isfinite(p.lower)]

    def _lower(self, k: int) -> float:
        return self.reference.layout.parameters[k].lower + SIGN_MARGIN * self.reference.scale[k]


def to_ten(root: Array) -> Array:
    """(10, 10) from svec of a scaled pseudo-inertia to the ten parameters."""
    return np.asarray(np.linalg.inv(svec(root @ PSEUDO @ root).T), float)
