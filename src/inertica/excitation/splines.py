"""Splines: through positions (cubic, quintic), and quintic through positions, velocities and accelerations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from inertica.errors import InputError
from inertica.excitation.trajectory import Array, AtTimes, Samples, ThroughPoints, knots, matrix, quintic_step, slowing

if TYPE_CHECKING:
    from scipy.interpolate import BPoly, BSpline


@dataclass(frozen=True, eq=False)
class Spline(ThroughPoints):
    """The spline of degree 3 or 5 through points, at rest (velocity and acceleration zero) at both ends.

    A cubic spline has two conditions too few for that; it gets one more knot in the middle of its first and last segment.

    Args:
        times: (K,) seconds of the points, the first at 0.
        points: (K, n) positions; a design moves all but the first and the last.
        degree: 3 (acceleration continuous) or 5 (its second derivative too).
    """

    degree: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.degree not in (3, 5):
            raise InputError(f"the degree of a spline should be 3 or 5, not {self.degree}")

    @property
    def corners(self) -> Array:
        x = self.times
        middles = [] if self.degree == 5 else [0.5 * (x[0] + x[1]), 0.5 * (x[-2] + x[-1])]
        return np.unique(np.concatenate([x[1:-1], middles]))

    @cached_property
    def _splines(self) -> tuple[BSpline, BSpline, BSpline]:
        from scipy.interpolate import make_interp_spline

        K, k, x = len(self.times), self.degree, self.times
        knot = np.concatenate([np.full(k + 1, x[0]), self.corners, np.full(k + 1, x[-1])])
        rest = [(1, np.zeros(K)), (2, np.zeros(K))]
        spline = make_interp_spline(x, np.eye(K), k=k, t=knot, bc_type=(rest, rest))
        return spline, spline.derivative(1), spline.derivative(2)

    def basis(self, t: Array) -> Samples:
        return Samples(*(s(t) for s in self._splines))

    def describe(self) -> str:
        kind = {3: "cubic", 5: "quintic"}[self.degree]
        return f"{kind} spline through {len(self.times)} points, {self.period:g} s, {self.n} joints"


@dataclass(frozen=True, eq=False)
class QuinticPoints(AtTimes):
    """Polynomials of degree 5 through points with position, velocity and acceleration (Frisch paper, section 3.2).

    Args:
        times: (K,) seconds of the points, the first at 0.
        q, dq, ddq: (K, n) at the points.
        rest: the first and last point keep their values in a design, and have no velocity and acceleration.
    """

    times: Array
    q: Array
    dq: Array
    ddq: Array
    rest: bool = True

    def __post_init__(self) -> None:
        q = matrix(self.q, "q")
        object.__setattr__(self, "q", q)
        object.__setattr__(self, "times", knots(self.times, len(q)))
        for name in ("dq", "ddq"):
            values = matrix(getattr(self, name), name, q.shape[1])
            if len(values) != len(q):
                raise InputError(f"{name} has {len(values)} points, q has {len(q)}")
            object.__setattr__(self, name, values)
            if self.rest and (values[0].any() or values[-1].any()):
                raise InputError(f"{name} is not zero at the first or last point; set it to zero or use rest=False")

    @classmethod
    def still(cls, times: ArrayLike, start: ArrayLike, rest: bool = True) -> QuinticPoints:
        """All points at rest at one pose."""
        t = np.asarray(times, float)
        q = np.tile(np.asarray(start, float), (len(t), 1))
        return cls(t, q, 0.0 * q, 0.0 * q, rest)

    @property
    def rests_at_ends(self) -> bool:
        return self.rest

    @property
    def corners(self) -> Array:
        return self.times

    @cached_property
    def parameters(self) -> Array:
        return np.vstack([self.q, self.dq, self.ddq])

    @cached_property
    def free(self) -> Array:
        K = len(self.times)
        fixed = [i * K + e for i in range(3) for e in (0, K - 1)] if self.rest else []
        return np.delete(np.eye(3 * K), fixed, axis=1)

    @property
    def resting(self) -> Array:
        if not self.rest:
            return np.vstack([np.tile(self.q.mean(axis=0), (len(self.q), 1)), 0.0 * self.dq, 0.0 * self.ddq])
        step = quintic_step(self.times[:, None] / self.period)
        way = self.q[-1] - self.q[0]
        return np.vstack([self.q[0] + step.q * way, step.dq / self.period * way, step.ddq / self.period**2 * way])

    @cached_property
    def _polynomials(self) -> tuple[BPoly, BPoly, BPoly]:
        from scipy.interpolate import BPoly

        units = np.eye(3 * len(self.times)).reshape(3, len(self.times), -1)
        p = BPoly.from_derivatives(self.times, np.swapaxes(units, 0, 1))
        return p, p.derivative(1), p.derivative(2)

    def basis(self, t: Array) -> Samples:
        return Samples(*(p(t) for p in self._polynomials))

    def with_parameters(self, parameters: Array) -> Self:
        q, dq, ddq = np.split(parameters, 3)
        return replace(self, q=q, dq=dq, ddq=ddq)

    def slowed(self, factor: float) -> Self:
        k = slowing(factor)
        return replace(self, times=k * self.times, dq=self.dq / k, ddq=self.ddq / k**2)

    def describe(self) -> str:
        return f"quintic polynomials through {len(self.times)} states, {self.period:g} s, {self.n} joints"
