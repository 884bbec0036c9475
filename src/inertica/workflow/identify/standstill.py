"""Dry friction where a joint's velocity changes its sign: a sharp jump, or one that predictions round off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array

Dynamics = Callable[[Array, Array, Array], Array]
"""(N, n) torques of q, dq and ddq."""

NEXT_TO_NOTHING = 1e-9
"""Share of a joint's usual speed; has a sign, and no effect otherwise."""


@dataclass(frozen=True)
class Standstill:
    """How predictions treat dry friction near standstill.

    Args:
        widths: (n,) in rad/s or m/s: friction follows tanh(velocity / width) instead of the sign of the velocity.  None for a joint
            whose friction is held: sharp, and at a stop on the side of the last motion.  Empty where that holds for all joints.
    """

    widths: tuple[float | None, ...] = ()

    @property
    def rounded(self) -> tuple[int, ...]:
        """0-based joints whose friction is rounded."""
        return tuple(j for j, width in enumerate(self.widths) if width is not None)

    def torque(self, dynamics: Dynamics, q: Array, dq: Array, held: Array, ddq: Array) -> Array:
        """(N, n) torques that some dynamics predict.

        Args:
            dynamics: with sharp signs.
            q, dq, ddq: of the motion.
            held: velocities with the direction of the last motion at stops.
        """
        joints = list(self.rounded)
        if not joints:
            return dynamics(q, held, ddq)
        width = np.array([w for w in self.widths if w is not None])
        velocity = np.array(held)
        velocity[:, joints] = dq[:, joints]
        tau, jump = np.array(dynamics(q, velocity, ddq)), friction_jump(dynamics, q, dq, ddq, self.speeds)
        tau[:, joints] += jump[:, joints] * rounding(dq[:, joints], width)
        return tau

    @property
    def speeds(self) -> Array:
        """(n,) of which next to nothing is taken; zero for joints that are held."""
        return np.array([w or 0.0 for w in self.widths])


HELD = Standstill()


def rounding(dq: Array, width: Array) -> Array:
    """tanh(velocity / width) less the sign of the velocity."""
    return np.asarray(np.tanh(dq / width) - np.sign(dq))


def friction_jump(dynamics: Dynamics, q: Array, dq: Array, ddq: Array, speeds: Array) -> Array:
    """(N, n) torque by which friction jumps from standstill to the side of each velocity, whatever law it is of.

    Args:
        dynamics: with sharp signs.
        q, dq, ddq: states.
        speeds: (n,) of which next to nothing is taken.
    """
    tiny = np.broadcast_to(NEXT_TO_NOTHING * speeds, np.shape(dq))
    up, rest, down = (dynamics(q, side * tiny, ddq) for side in (1.0, 0.0, -1.0))
    return np.where(dq >= 0.0, up - rest, rest - down)
