"""Finite Fourier series, alone or with a quintic blend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from inertica.errors import InputError
from inertica.excitation.trajectory import Array, Samples, Series, check_pair, matrix, null_space, quintic_step, row, slowing

if TYPE_CHECKING:
    from scipy.interpolate import BPoly

REST_TOLERANCE = 1e-9
"""A series whose speed or acceleration at the start exceeds this fraction of its amplitude is not one that starts at rest."""


def harmonics(t: Array, period: float, count: int) -> Samples:
    """Functions that go with A_1 .. A_H, B_1 .. B_H: sin(w k t)/(w k) and -cos(w k t)/(w k), w = 2 pi/period; each (N, 2 H)."""
    w = 2.0 * np.pi / period * np.arange(1, count + 1)
    angle = np.outer(2.0 * np.pi * (t / period), np.arange(1, count + 1))
    s, c = np.sin(angle), np.cos(angle)
    return Samples(np.hstack([s / w, -c / w]), np.hstack([c, s]), np.hstack([-w * s, w * c]))


@dataclass(frozen=True, eq=False)
class Fourier(Series):
    """q(t) = q0 + sum_k [A_k/(w k) sin(w k t) - B_k/(w k) cos(w k t)], w = 2 pi/period, from rest to rest.

    Sum B_k/k = 0, sum A_k = 0 and sum k B_k = 0 make it start and end at q0 without velocity and acceleration; q0 is then also the
    mean over the period.

    Args:
        duration: the period in seconds.
        start: (n,) q0.
        A, B: (H, n) coefficients, in units of velocity.
        free_start: whether a design may move q0.
    """

    duration: float
    start: Array
    A: Array
    B: Array
    free_start: bool = False

    def __post_init__(self) -> None:
        self._check("start", "A", "B")
        if len(self.A) < 3:
            raise InputError(f"{len(self.A)} harmonics cannot start and end at rest; take at least 3")
        missed = np.abs(_conditions(self.duration, len(self.A)) @ self.parameters).max()
        if missed > REST_TOLERANCE * max(1.0, float(np.abs(self.parameters).max())):
            raise InputError("the series does not start at rest; use Fourier.at_rest to project coefficients, or a multisine")

    @classmethod
    def at_rest(cls, duration: float, start: ArrayLike, A: ArrayLike, B: ArrayLike, free_start: bool = False) -> Fourier:
        """Coefficients projected onto those that start and end at rest."""
        first, a, b = row(start, "start"), matrix(A, "A"), matrix(B, "B")
        check_pair(("A", a), ("B", b))
        Z = null_space(_conditions(duration, len(a))[:, 1:])
        projected = Z @ (Z.T @ np.vstack([a, b]))
        return cls(duration, first, projected[: len(a)], projected[len(a) :], free_start)

    @classmethod
    def still(cls, duration: float, start: ArrayLike, harmonics: int, free_start: bool = False) -> Fourier:
        """No motion yet: where a design begins."""
        zero = np.zeros((harmonics, len(row(start, "start"))))
        return cls(duration, row(start, "start"), zero, zero, free_start)

    @property
    def harmonics(self) -> int:
        return len(self.A)

    @cached_property
    def parameters(self) -> Array:
        return np.vstack([self.start, self.A, self.B])

    @cached_property
    def free(self) -> Array:
        Z = null_space(_conditions(self.duration, self.harmonics)[:, 1:])
        head = np.zeros((len(Z) + 1, 1))
        head[0] = 1.0
        moving = np.vstack([np.zeros((1, Z.shape[1])), Z])
        return np.hstack([head, moving]) if self.free_start else moving

    @property
    def resting(self) -> Array:
        return np.vstack([self.start, 0.0 * self.A, 0.0 * self.B])

    def basis(self, t: Array) -> Samples:
        one, zero = np.ones((len(t), 1)), np.zeros((len(t), 1))
        wave = harmonics(t, self.duration, self.harmonics)
        return Samples(np.hstack([one, wave.q]), np.hstack([zero, wave.dq]), np.hstack([zero, wave.ddq]))

    def with_parameters(self, parameters: Array) -> Self:
        H = self.harmonics
        return replace(self, start=parameters[0], A=parameters[1 : 1 + H], B=parameters[1 + H :])

    def slowed(self, factor: float) -> Self:
        k = slowing(factor)
        return replace(self, duration=k * self.duration, A=self.A / k, B=self.B / k)

    def describe(self) -> str:
        return f"Fourier series, {self.harmonics} harmonics of {1.0 / self.duration:g} Hz, {self.duration:g} s, {self.n} joints"


@dataclass(frozen=True, eq=False)
class FourierBlend(Series):
    """A free Fourier series plus the quintic polynomial that takes its ends to rest.

    q(t) = p(t) + sum_k [A_k/(w k) sin(w k t) - B_k/(w k) cos(w k t)] with p of degree 5 such that q(0) = start, q(period) = end and
    velocity and acceleration vanish at both ends.  Any A, B will do.

    Args:
        duration: the period in seconds.
        start, end: (n,) poses.
        A, B: (H, n) coefficients, in units of velocity.
    """

    duration: float
    start: Array
    end: Array
    A: Array
    B: Array

    def __post_init__(self) -> None:
        self._check("start", "A", "B")
        object.__setattr__(self, "end", matrix(self.end, "end", len(self.start))[0])

    @classmethod
    def still(cls, duration: float, start: ArrayLike, harmonics: int, end: ArrayLike | None = None) -> FourierBlend:
        """A trajectory of this family without oscillation: from `start` to `end`, or at rest."""
        first = row(start, "start")
        zero = np.zeros((harmonics, len(first)))
        return cls(duration, first, first if end is None else row(end, "end"), zero, zero)

    @property
    def periodic(self) -> bool:
        return bool(np.array_equal(self.start, self.end))

    @property
    def harmonics(self) -> int:
        return len(self.A)

    @cached_property
    def parameters(self) -> Array:
        return np.vstack([self.start, self.end, self.A, self.B])

    @cached_property
    def free(self) -> Array:
        return np.eye(2 + 2 * self.harmonics)[:, 2:]

    @property
    def resting(self) -> Array:
        return np.vstack([self.start, self.end, 0.0 * self.A, 0.0 * self.B])

    @cached_property
    def _blend(self) -> BPoly:
        """For each harmonic function the quintic with its values and derivatives at both ends, which is subtracted."""
        from scipy.interpolate import BPoly

        ends = harmonics(np.array([0.0, self.duration]), self.duration, self.harmonics)
        return BPoly.from_derivatives([0.0, self.duration], np.stack(ends, axis=1))

    def basis(self, t: Array) -> Samples:
        T = self.duration
        step = quintic_step(t / T)
        up = (step.q, step.dq / T, step.ddq / T**2)
        down = (1.0 - up[0], -up[1], -up[2])
        wave = harmonics(t, T, self.harmonics)
        blend = (self._blend(t), self._blend(t, 1), self._blend(t, 2))
        return Samples(*(np.column_stack([d, u, w - b]) for d, u, w, b in zip(down, up, wave, blend, strict=True)))

    def with_parameters(self, parameters: Array) -> Self:
        H = self.harmonics
        return replace(self, start=parameters[0], end=parameters[1], A=parameters[2 : 2 + H], B=parameters[2 + H :])

    def slowed(self, factor: float) -> Self:
        k = slowing(factor)
        return replace(self, duration=k * self.duration, A=self.A / k, B=self.B / k)

    def describe(self) -> str:
        return f"Fourier series with quintic blend, {self.harmonics} harmonics, {self.duration:g} s, {self.n} joints"


def _conditions(period: float, count: int) -> Array:
    """(3, 1 + 2 H): what start-at-rest demands of [q0, A, B]: sum B_k/(w k) = 0, sum A_k = 0, sum w k B_k = 0."""
    wave = harmonics(np.zeros(1), period, count)
    return np.hstack([np.zeros((3, 1)), np.vstack([wave.q, wave.dq, wave.ddq])])
