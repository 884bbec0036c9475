"""Via-point motion with trapezoidal acceleration, as industrial controllers run it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inertica.errors import InputError
from inertica.excitation.trajectory import Array, Samples, ThroughPoints

if TYPE_CHECKING:
    from scipy.interpolate import PPoly


@dataclass(frozen=True, eq=False)
class Trapezoid(ThroughPoints):
    """From point to point, stopping at each, with an acceleration that ramps, holds and ramps back, a cruise, and the reverse.

    Args:
        times: (K,) seconds of the points, the first at 0.
        points: (K, n) positions; a design moves all but the first and the last.
        ramp: share of a segment for each of its four acceleration ramps; 0.25 leaves no plateau.
        cruise: share of a segment at constant speed.
    """

    ramp: float = 0.1
    cruise: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0.0 < self.ramp <= 0.25 and self.cruise >= 0.0 and 4.0 * self.ramp + self.cruise <= 1.0 + 1e-12):
            raise InputError("ramp should be in (0, 0.25] and cruise in [0, 1 - 4 ramp]")

    @cached_property
    def _profile(self) -> tuple[PPoly, PPoly, PPoly]:
        """The way from 0 to 1 in unit time, by integrating the acceleration twice."""
        from scipy.interpolate import PPoly

        hold = max(0.0, 0.5 * (1.0 - self.cruise - 4.0 * self.ramp))
        lengths = np.array([self.ramp, hold, self.ramp, self.cruise, self.ramp, hold, self.ramp])
        heights = np.array([0.0, 1.0, 1.0, 0.0, 0.0, -1.0, -1.0, 0.0])
        keep = lengths > 0.0
        first, last = heights[:-1][keep], heights[1:][keep]
        x = np.concatenate([[0.0], np.cumsum(lengths[keep])])
        x[-1] = 1.0
        acceleration = PPoly(np.array([(last - first) / lengths[keep], first]), x)
        way = acceleration.antiderivative(2)
        scale = 1.0 / float(way(1.0))
        way.c = way.c * scale
        return way, way.derivative(1), way.derivative(2)

    @property
    def corners(self) -> Array:
        return np.unique(self.times[:-1, None] + np.diff(self.times)[:, None] * self._profile[0].x)

    def basis(self, t: Array) -> Samples:
        segment = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 2)
        length = np.diff(self.times)[segment]
        x = np.clip((t - self.times[segment]) / length, 0.0, 1.0)
        step, rate, rise = (p(x) for p in self._profile)
        out = [np.zeros((len(t), len(self.times))) for _ in range(3)]
        rows = np.arange(len(t))
        for phi, value, start in zip(out, (step, rate / length, rise / length**2), (1.0, 0.0, 0.0), strict=True):
            phi[rows, segment] = start - value
            phi[rows, segment + 1] = value
        return Samples(*out)

    def describe(self) -> str:
        return f"trapezoidal acceleration through {len(self.times)} points, {self.period:g} s, {self.n} joints"
