"""Chirps, steps and reversals: what shows the actuators of a robot whose torque is not measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from inertica.excitation.trajectory import Array, Samples, Series, matrix, quintic_step, row, slowing

EDGE = 0.1
"""Share of the duration in which a waveform grows from rest, and in which it fades."""

SLOWEST = 1.0
"""Cycles in the whole duration at which a chirp begins."""

FASTEST = 4.0
"""Cycles in the whole duration at which the chirp of the k-th waveform ends, in units of k."""


@dataclass(frozen=True, eq=False)
class Chirps(Series):
    """q(t) = start + sum_k amplitude_k w_k(t): chirps (odd k) and trains of smooth steps to and fro (even k), from rest to rest.

    Chirps show armature, damping and delay over a band; steps show delay, Coulomb friction, and torque limits where they are reached;
    both reverse all the time.  Every joint takes amplitudes of its own, so that no two move alike.

    Args:
        duration: in seconds.
        start: (n,) pose at both ends.
        amplitude: (K, n).
    """

    duration: float
    start: Array
    amplitude: Array

    def __post_init__(self) -> None:
        self._check("start", "amplitude", "amplitude")

    @classmethod
    def still(cls, duration: float, start: ArrayLike, waveforms: int) -> Chirps:
        """No motion yet: where a design begins."""
        first = row(start, "start")
        return cls(duration, first, matrix(np.zeros((waveforms, len(first))), "amplitude"))

    @cached_property
    def parameters(self) -> Array:
        return np.vstack([self.start, self.amplitude])

    @cached_property
    def free(self) -> Array:
        return np.eye(1 + len(self.amplitude))

    @property
    def resting(self) -> Array:
        return np.vstack([self.start, 0.0 * self.amplitude])

    def basis(self, t: Array) -> Samples:
        x = t / self.duration
        one, zero = np.ones((len(t), 1)), np.zeros((len(t), 1))
        waves = [_chirp(x, k) if k % 2 else _steps(x, k) for k in range(1, 1 + len(self.amplitude))]
        q, dq, ddq = (np.stack(part, axis=1) for part in zip(*waves, strict=True))
        return Samples(np.hstack([one, q]), np.hstack([zero, dq / self.duration]), np.hstack([zero, ddq / self.duration**2]))

    def with_parameters(self, parameters: Array) -> Self:
        return replace(self, start=parameters[0], amplitude=parameters[1:])

    def slowed(self, factor: float) -> Self:
        return replace(self, duration=slowing(factor) * self.duration)

    def describe(self) -> str:
        return f"chirps and steps, {len(self.amplitude)} waveforms, {self.duration:g} s, {self.n} joints"


def _chirp(x: Array, k: int) -> tuple[Array, Array, Array]:
    """A sine whose frequency grows evenly along [0, 1], inside a window; value and two derivatives."""
    growth = FASTEST * k - SLOWEST
    angle = 2.0 * np.pi * (SLOWEST * x + 0.5 * growth * x**2)
    rate, more = 2.0 * np.pi * (SLOWEST + growth * x), 2.0 * np.pi * growth
    s, c = np.sin(angle), np.cos(angle)
    w, dw, ddw = _window(x)
    return w * s, dw * s + w * rate * c, ddw * s + 2.0 * dw * rate * c + w * (more * c - rate**2 * s)


def _window(x: Array) -> tuple[Array, Array, Array]:
    """Grows from 0 to 1 and fades again, twice differentiable."""
    rise, fall = quintic_step(np.clip(x / EDGE, 0.0, 1.0)), quintic_step(np.clip((1.0 - x) / EDGE, 0.0, 1.0))
    w = rise.q * fall.q  # the two never change at once
    dw = (rise.dq * fall.q - rise.q * fall.dq) / EDGE
    return w, dw, (rise.ddq * fall.q + rise.q * fall.ddq) / EDGE**2


def _steps(x: Array, k: int) -> tuple[Array, Array, Array]:
    """Steps to and fro between levels, as fast as a quintic of half a hold is: k + 2 holds of equal length along [0, 1]."""
    holds = k + 2
    # levels that differ from waveform to waveform and from hold to hold, and come back to zero; the golden section repeats nothing
    levels = np.concatenate([[0.0], 2.0 * np.mod(0.618034 * k * np.arange(1, holds), 1.0) - 1.0, [0.0]])
    out = [np.full(len(x), 0.0) for _ in range(3)]
    length = 0.5 / holds
    for i in range(holds):
        part = quintic_step(np.clip((x - (i + 0.25) / holds) / length, 0.0, 1.0))
        height = levels[i + 1] - levels[i]
        for total, value, power in zip(out, part, range(3), strict=True):
            total += height * value / length**power
    return out[0], out[1], out[2]
