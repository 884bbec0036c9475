"""Trajectories: reference motions t -> q, dq, ddq, and the linear form that optimisers move.

Every family that is designed here is linear in its parameters: with the same functions of time phi_m for all joints,

    q_j(t) = sum_m phi_m(t) P[m, j],

and the boundary conditions are linear equalities on P.  They hold by construction because coefficients move P only along the
columns of `free`, an orthonormal basis of the directions that leave them satisfied.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.errors import InputError


class Samples(NamedTuple):
    """Positions, velocities, accelerations, each (..., n); or their basis functions, each (N, M)."""

    q: Array
    dq: Array
    ddq: Array


@runtime_checkable
class Trajectory(Protocol):
    """A reference motion.  Outside [0, period] a periodic one repeats, another one rests at its first or last pose."""

    @property
    def n(self) -> int:
        """Number of joints."""

    @property
    def period(self) -> float:
        """Duration in seconds."""

    @property
    def periodic(self) -> bool:
        """Whether it repeats."""

    def __call__(self, t: ArrayLike) -> Samples:
        """q, dq, ddq at times t (N,), each (N, n)."""

    def describe(self) -> str:
        """One line for people."""


class Shaped(ABC):
    """A trajectory that is linear in its parameters and so can be designed."""

    @property
    @abstractmethod
    def period(self) -> float:
        """Duration in seconds."""

    @property
    @abstractmethod
    def periodic(self) -> bool:
        """Whether it repeats."""

    @property
    @abstractmethod
    def parameters(self) -> Array:
        """(M, n) all parameters, those fixed by boundary conditions included."""

    @property
    @abstractmethod
    def free(self) -> Array:
        """(M, k) orthonormal columns: directions of the parameters that keep every boundary condition."""

    @property
    @abstractmethod
    def resting(self) -> Array:
        """(M, n) parameters of the gentlest motion with the same boundary conditions: repairs shrink towards it."""

    @abstractmethod
    def basis(self, t: Array) -> Samples:
        """phi_m(t) and its two derivatives, each (N, M), for t inside [0, period]."""

    @abstractmethod
    def with_parameters(self, parameters: Array) -> Self:
        """The same family with other parameters (M, n)."""

    @abstractmethod
    def describe(self) -> str:
        """One line for people."""

    @abstractmethod
    def slowed(self, factor: float) -> Self:
        """The same path in `factor` times the time: velocities are divided by the factor, accelerations by its square."""

    @property
    def rests_at_ends(self) -> bool:
        """Whether velocity and acceleration vanish at both ends."""
        return True

    @property
    def corners(self) -> Array:
        """Times at which the acceleration is not smooth; its extremes may lie there."""
        return np.zeros(0)

    @property
    def n(self) -> int:
        return int(self.parameters.shape[1])

    def functions(self, t: Array) -> Samples:
        """`basis` with velocities and accelerations at the ends exactly zero: a sharp friction sign must not see rounding."""
        q, dq, ddq = self.basis(t)
        if self.rests_at_ends:
            ends = (t == 0.0) | (t == self.period)
            dq[ends] = ddq[ends] = 0.0
        return Samples(q, dq, ddq)

    @cached_property
    def coefficients(self) -> Array:
        """(k n,) what an optimiser may move freely."""
        return (self.free.T @ self.parameters).ravel()

    def with_coefficients(self, x: ArrayLike) -> Self:
        """The same family with other free coefficients; parts fixed by boundary conditions stay."""
        k = self.free.shape[1]
        values = np.asarray(x, float)
        if values.size != k * self.n:
            raise InputError(f"expected {k * self.n} coefficients ({k} for each of {self.n} joints), got {values.size}")
        step = values.reshape(k, self.n) - self.free.T @ self.parameters
        return self.with_parameters(self.parameters + self.free @ step)

    def __call__(self, t: ArrayLike) -> Samples:
        """q, dq, ddq at times t (N,), each (N, n)."""
        times, outside = inside(t, self.period, self.periodic)
        q, dq, ddq = (phi @ self.parameters for phi in self.functions(times))
        dq[outside] = ddq[outside] = 0.0
        return Samples(q, dq, ddq)


class Series(Shaped):
    """A motion of harmonics of one period about poses."""

    duration: float

    @property
    def period(self) -> float:
        return self.duration

    @property
    def periodic(self) -> bool:
        return True

    def _check(self, pose: str, *tables: str) -> None:
        """Period, pose (n,) and tables (rows, n) as read-only arrays; the last two tables are of one shape."""
        object.__setattr__(self, "duration", duration(self.duration))
        object.__setattr__(self, pose, row(getattr(self, pose), pose))
        for name in tables:
            object.__setattr__(self, name, matrix(getattr(self, name), name, len(getattr(self, pose))))
        check_pair(*((name, getattr(self, name)) for name in tables[-2:]))


class AtTimes(Shaped):
    """A motion that is not periodic, given at times of which the last is its end."""

    times: Array

    @property
    def period(self) -> float:
        return float(self.times[-1])

    @property
    def periodic(self) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class ThroughPoints(AtTimes):
    """A motion through points (M, n) at given times (M,), of which the first and the last are fixed."""

    times: Array
    points: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", matrix(self.points, "points"))
        object.__setattr__(self, "times", knots(self.times, len(self.points)))

    @classmethod
    def still(cls, duration: float, start: ArrayLike, points: int, *options: float) -> Self:
        """All points at one pose, evenly spaced."""
        return cls(np.linspace(0.0, duration, points), np.tile(np.asarray(start, float), (points, 1)), *options)

    def with_parameters(self, parameters: Array) -> Self:
        return replace(self, points=parameters)

    def slowed(self, factor: float) -> Self:
        return replace(self, times=slowing(factor) * self.times)

    @property
    def parameters(self) -> Array:
        return self.points

    @cached_property
    def free(self) -> Array:
        return np.eye(len(self.points))[:, 1:-1]

    @property
    def resting(self) -> Array:
        along = quintic_step(self.times[:, None] / self.period).q
        return self.points[0] + along * (self.points[-1] - self.points[0])


def inside(t: ArrayLike, period: float, periodic: bool) -> tuple[Array, NDArray[np.bool_]]:
    """Times brought into [0, period], and which of them lie where the robot rests before or after the motion."""
    times = np.atleast_1d(np.asarray(t, float)).ravel()
    if not np.isfinite(times).all():
        raise InputError("a trajectory was asked for at a time that is not finite")
    if periodic:
        within = (times >= 0.0) & (times <= period)
        return np.where(within, times, np.mod(times, period)), np.zeros(len(times), bool)
    return np.clip(times, 0.0, period), (times < 0.0) | (times > period)


def matrix(values: ArrayLike, what: str, columns: int | None = None) -> Array:
    """A read-only finite (rows, n) array, or a sentence that says what does not fit."""
    out = np.array(values, float, ndmin=2)
    if out.ndim != 2 or out.size == 0 or (columns is not None and out.shape[1] != columns):
        expected = "a table with one column per joint" if columns is None else f"a table with {columns} columns"
        raise InputError(f"{what} should be {expected}, got shape {out.shape}")
    if not np.isfinite(out).all():
        raise InputError(f"{what} holds a value that is not finite")
    out.setflags(write=False)
    return out


def row(values: ArrayLike, what: str) -> Array:
    """One read-only finite number per joint."""
    out = np.array(values, float, ndmin=1)
    if out.ndim != 1 or out.size == 0 or not np.isfinite(out).all():
        raise InputError(f"{what} should be one finite number per joint")
    out.setflags(write=False)
    return out


def check_pair(first: tuple[str, Array], second: tuple[str, Array]) -> None:
    """Two tables of one shape."""
    (a, A), (b, B) = first, second
    if A.shape != B.shape:
        raise InputError(f"{a} and {b} should have the same shape, got {A.shape} and {B.shape}")


def duration(value: float, what: str = "the period") -> float:
    if not (np.isfinite(value) and value > 0.0):
        raise InputError(f"{what} should be a positive number of seconds, not {value:g}")
    return float(value)


def slowing(factor: float) -> float:
    """A factor by which a motion can be slowed down."""
    if not (np.isfinite(factor) and factor > 1.0):
        raise InputError(f"a motion is slowed down by a factor greater than 1, not {factor:g}")
    return float(factor)


def knots(times: ArrayLike, count: int) -> Array:
    """Read-only ascending times from zero, one per point."""
    out = np.array(times, float)
    if out.shape != (count,) or not np.isfinite(out).all() or count < 2 or out[0] != 0.0 or not np.all(np.diff(out) > 0.0):
        raise InputError(f"times should be {count} ascending seconds from 0, one per point")
    out.setflags(write=False)
    return out


def null_space(conditions: ArrayLike) -> Array:
    """(M, k) orthonormal columns that every row of `conditions` (c, M) maps to zero."""
    C = np.asarray(conditions, float)
    C = C / np.linalg.norm(C, axis=1, keepdims=True)
    # the null space of the conditions at the ends: coefficients in it are free
    _, s, Vt = np.linalg.svd(C, full_matrices=True)
    return np.ascontiguousarray(Vt[np.sum(s > 1e-12) :].T)


def quintic_step(x: Array) -> Samples:
    """10 x^3 - 15 x^4 + 6 x^5 and its derivatives: from 0 to 1, at rest at both ends."""
    return Samples(x**3 * (10.0 - 15.0 * x + 6.0 * x**2), 30.0 * x**2 * (1.0 - x) ** 2, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x))
