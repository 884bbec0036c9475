"""Parts of a robot's torque at single states: inertia matrix, Coriolis matrix, gravity, friction, and what springs and formulas add.

    tau = M(q) ddq + C(q, dq) dq + g(q) + friction(q, dq) + other(q, dq)

With c(q, dq) = C(q, dq) dq quadratic in dq, the matrix of Christoffel symbols is its polar form:

    C(q, dq) e_j = (c(q, dq + e_j) - c(q, dq - e_j)) / 4,

exact but for rounding, and dM/dt - 2 C is skew-symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.robot.drives import Coupling, ToolboxCoupling
from inertica.robot.friction import FrictionLaw
from inertica.robot.layout import Layout, Parameters
from inertica.robot.terms import Term


@dataclass(frozen=True, eq=False)
class Parts:
    """What the torque of one state consists of.

    Args:
        q, dq, ddq: (n,) the state.
        M: (n, n) inertia matrix, armature and couplings included.
        C: (n, n) Christoffel form; C dq are the Coriolis and centrifugal torques.
        gravity: (n,) torque that holds links and payloads against gravity.
        friction: (n,) of friction laws and couplings.
        other: (n,) of springs, counterbalances and user formulas, as far as they do not depend on acceleration.
        tau: (n,) their sum: M ddq + C dq + gravity + friction + other.
    """

    q: Array
    dq: Array
    ddq: Array
    M: Array
    C: Array
    gravity: Array
    friction: Array
    other: Array
    tau: Array

    @property
    def coriolis(self) -> Array:
        """(n,) C dq."""
        return np.asarray(self.C @ self.dq)

    @property
    def inertial(self) -> Array:
        """(n,) M ddq."""
        return np.asarray(self.M @ self.ddq)


def parts(parameters: Parameters, q: ArrayLike, dq: ArrayLike | None = None, ddq: ArrayLike | None = None) -> Parts:
    """The parts of the torque at one state.

    Args:
        parameters: of the robot.
        q: (n,) joint positions.
        dq, ddq: (n,) velocities and accelerations; zero when not given.
    """
    layout = parameters.layout
    whole = Engine(layout, threads=1)
    zero = np.zeros(layout.robot.n)
    state = whole.motion(q=q, dq=zero if dq is None else dq, ddq=zero if ddq is None else ddq)
    at, v, a = (state[name][0] for name in ("q", "dq", "ddq"))
    links = parameters.on(Layout(layout.robot, (), layout.payloads))
    unit = np.eye(layout.robot.n)
    velocities = np.vstack([zero, v + unit, v - unit])
    torque = Engine(links.layout, threads=1).bias_forces(np.tile(at, (len(velocities), 1)), velocities, links)
    # c is quadratic in dq once gravity, the same at all velocities, cancels in the difference: (c(v + e) - c(v - e)) / 4 is exact
    gravity, (forward, backward) = torque[0], np.split(torque[1:], 2)
    M, C = whole.mass_matrix(at, parameters)[0], (forward - backward).T / 4.0
    friction = _bias(parameters, [t for t in layout.terms if _rubs(t)], at, v)
    other = _bias(parameters, [t for t in layout.terms if not _rubs(t)], at, v)
    return Parts(at, v, a, M, C, gravity, friction, other, whole.inverse_dynamics(at, v, a, parameters)[0])


def _rubs(term: Term) -> bool:
    return isinstance(term, FrictionLaw | Coupling | ToolboxCoupling)


def _bias(parameters: Parameters, terms: list[Term], q: Array, dq: Array) -> Array:
    """Torques of some of the terms without acceleration."""
    if not terms:
        return np.zeros(len(q))
    subset = parameters.on(Layout(parameters.layout.robot, tuple(terms)))
    values = np.array(subset.values)
    # the links stay in the layout, since terms may refer to them, but without inertia or weight
    for _, where in subset.layout.bodies:
        values[where] = 0.0
    return Engine(subset.layout, threads=1).bias_forces(q, dq, subset.with_values(values))[0]
