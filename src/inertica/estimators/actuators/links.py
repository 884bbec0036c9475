"""Links that are not quite known: their parameters as a function of errors in standard deviations.

Each link's mass may be off by a relative standard deviation s (with all that is proportional to it), its centre by s of its distance
along the line to it and by s of its radius of gyration across, its three second moments about the centre by s each; masses and moments
by factors, so that every link could exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.robot.inertia import from_com, to_com

STEP = 1e-4
"""Of central differences, in standard deviations: the function is smooth on the scale of one."""


@dataclass(frozen=True, eq=False)
class _Body:
    """One link's stated values and how they may be off."""

    mass: float
    center: Array
    moments: Array
    axes: Array
    shifts: Array
    std: float

    @classmethod
    def of(cls, ten: Array, std: float) -> _Body | None:
        """None for a link that is known, or has no mass that could be off."""
        if std == 0.0 or not ten[9] > 0.0:
            return None
        body = to_com(ten)
        moments, axes = np.linalg.eigh(0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia)
        gyration = float(np.sqrt(max(np.trace(body.inertia), 0.0) / (2.0 * body.mass)))
        distance = float(np.linalg.norm(body.com))
        along = body.com / distance if distance > 0.0 else np.zeros(3)
        line = np.outer(along, along)
        shifts = std * (distance * line + gyration * (np.eye(3) - line))
        return cls(body.mass, body.com, moments, axes, shifts, std)

    def at(self, d: Array) -> Array:
        """Ten parameters at the errors d (7,)."""
        mass = np.exp(self.std * d[0])
        moments = mass * self.moments * np.exp(self.std * d[4:7])
        second = (self.axes * moments) @ self.axes.T
        return from_com(mass * self.mass, self.center + self.shifts @ d[1:4], np.trace(second) * np.eye(3) - second)


class LinkErrors:
    """Links as a function of their errors.

    Args:
        links: (10 n,) as stated.
        std: relative, one number or one per link; 0 for links that are known.
    """

    def __init__(self, links: Array, std: ArrayLike) -> None:
        self.links, n = links, len(links) // 10
        stds = np.broadcast_to(np.asarray(std, float), (n,))
        self._bodies = [_Body.of(links[10 * j : 10 * j + 10], float(s)) for j, s in enumerate(stds)]
        self.count = 7 * sum(body is not None for body in self._bodies)

    def at(self, d: Array) -> Array:
        """(10 n,) links at the errors d (count,)."""
        out, first = self.links.copy(), 0
        for j, body in enumerate(self._bodies):
            if body is not None:
                out[10 * j : 10 * j + 10] = body.at(d[first : first + 7])
                first += 7
        return out

    def rates(self, d: Array) -> Array:
        """(count, 10 n) derivatives."""
        steps = STEP * np.eye(self.count)
        return np.array([(self.at(d + s) - self.at(d - s)) / (2.0 * STEP) for s in steps]).reshape(-1, len(self.links))
