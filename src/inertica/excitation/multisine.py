"""Multisines: harmonics with given amplitudes and random phases, without boundary conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from inertica.excitation.fourier import harmonics
from inertica.excitation.trajectory import Array, Samples, Series, matrix, row, slowing


@dataclass(frozen=True, eq=False)
class Multisine(Series):
    """q(t) = mean + sum_k [sine_k sin(w k t) + cosine_k cos(w k t)], w = 2 pi/period: periodic, in motion at all times.

    For experiments that run over several periods.  A controller reaches it by a ramp, see `Fourier` for one that starts at rest.

    Args:
        duration: the period in seconds.
        mean: (n,) pose about which the joints move.
        sine, cosine: (H, n) position amplitudes.
    """

    duration: float
    mean: Array
    sine: Array
    cosine: Array

    def __post_init__(self) -> None:
        self._check("mean", "sine", "cosine")

    @classmethod
    def random(cls, duration: float, mean: ArrayLike, amplitude: ArrayLike, rng: Generator) -> Multisine:
        """Random phases: amplitude (H, n) sin(w k t + phase), phase uniform over the circle."""
        size = matrix(amplitude, "amplitude")
        phase = rng.uniform(0.0, 2.0 * np.pi, size.shape)
        return cls(duration, row(mean, "mean"), size * np.cos(phase), size * np.sin(phase))

    @property
    def amplitude(self) -> Array:
        """(H, n)"""
        return np.hypot(self.sine, self.cosine)

    @property
    def phase(self) -> Array:
        """(H, n), of amplitude * sin(w k t + phase)."""
        return np.arctan2(self.cosine, self.sine)

    @property
    def rests_at_ends(self) -> bool:
        return False

    @cached_property
    def parameters(self) -> Array:
        return np.vstack([self.mean, self.sine, self.cosine])

    @cached_property
    def free(self) -> Array:
        return np.eye(1 + 2 * len(self.sine))[:, 1:]

    @property
    def resting(self) -> Array:
        return np.vstack([self.mean, 0.0 * self.sine, 0.0 * self.cosine])

    def basis(self, t: Array) -> Samples:
        count = len(self.sine)
        w = 2.0 * np.pi / self.duration * np.arange(1, count + 1)
        one, zero = np.ones((len(t), 1)), np.zeros((len(t), 1))
        wave = (x * np.concatenate([w, -w]) for x in harmonics(t, self.duration, count))
        return Samples(*(np.hstack([head, x]) for head, x in zip((one, zero, zero), wave, strict=True)))

    def with_parameters(self, parameters: Array) -> Self:
        H = len(self.sine)
        return replace(self, mean=parameters[0], sine=parameters[1 : 1 + H], cosine=parameters[1 + H :])

    def slowed(self, factor: float) -> Self:
        return replace(self, duration=slowing(factor) * self.duration)

    def describe(self) -> str:
        return f"multisine, {len(self.sine)} harmonics of {1.0 / self.duration:g} Hz, {self.duration:g} s, {self.n} joints"
