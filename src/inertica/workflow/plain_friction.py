"""The viscous and Coulomb friction closest to other laws, for formats that know no more; with the error that is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.identifiability.states import random_states
from inertica.robot.friction import Coulomb, Viscous, friction_terms
from inertica.robot.layout import Layout, Parameters

Array = NDArray[np.float64]

SPEEDS = 400
"""Per direction, evenly spread up to the largest."""

CONFIGURATIONS = 20
"""Random ones that each speed is looked at in, since friction under load depends on them."""


@dataclass(frozen=True)
class PlainFriction:
    """What came out.

    Args:
        parameters: the result's with viscous and Coulomb friction in place of the laws.
        joints: 0-based, those whose law was replaced.
        speed: (n,) largest speed of each joint that was looked at.
        error: (n,) root mean square of the difference over the friction's own.
    """

    parameters: Parameters
    joints: tuple[int, ...]
    speed: Array
    error: Array

    @property
    def note(self) -> str:
        """What was done and how far it is off."""
        robot = self.parameters.layout.robot
        each = (
            f"{robot.joints[j].name} misses {100 * self.error[j]:.1f} % of its friction up to {self.speed[j]:.3g} "
            f"{robot.joints[j].unit}/s"
            for j in self.joints
        )
        return f"friction is approximated by viscous and Coulomb friction: {', '.join(each)}"


def plain_friction(parameters: Parameters, speeds: Array) -> PlainFriction:
    """Viscous and Coulomb coefficients that fit the friction of each joint best over its speeds, both directions alike.

    Joints whose friction is viscous and Coulomb already keep it; offsets stay offsets.

    Args:
        parameters: of the result.
        speeds: (n,) up to which the friction matters.
    """
    layout = parameters.layout
    n = layout.robot.n
    laws = tuple(t for t in friction_terms(layout.terms) if t.brakes)  # an offset does not depend on speed
    if any(t.memory for t in laws):
        raise InputError("friction with memory (lugre) has no single torque for a speed; it cannot be approximated")
    odd = tuple(j for j in range(n) if any(t.joint == j and len(t.plain) < len(t.parameters) for t in laws))
    if not odd:
        return PlainFriction(parameters, (), speeds, np.zeros(n))
    bare = Layout(layout.robot, tuple(t for t in layout.terms if t not in laws), layout.payloads)
    kept = tuple(t for t in layout.terms if not (t in laws and t.joint in odd))
    simple = Layout(layout.robot, (*kept, *(kind(j) for j in odd for kind in (Viscous, Coulomb))), layout.payloads)
    q = random_states(layout, CONFIGURATIONS, seed=0).q
    with_laws, without, rest_of = Engine(layout), Engine(bare), parameters.on(bare)
    values: dict[str, float] = {}
    error = np.zeros(n)
    for j in odd:
        v = (np.arange(SPEEDS) + 0.5) / SPEEDS
        v = np.tile(speeds[j] * np.concatenate([v, -v]), len(q))
        dq = np.zeros((len(v), n))
        dq[:, j] = v
        at = np.repeat(q, 2 * SPEEDS, axis=0)
        tau = with_laws.inverse_dynamics(at, dq, 0.0 * dq, parameters.values, parameters.shapes)
        friction = np.asarray(tau - without.inverse_dynamics(at, dq, 0.0 * dq, rest_of.values, rest_of.shapes))[:, j]
        columns = np.column_stack([v, np.sign(v)])
        (fv, fc), rest = nnls(columns, friction)
        values |= {f"Fv{j + 1}": float(fv), f"Fc{j + 1}": float(fc)}
        error[j] = rest / max(float(np.linalg.norm(friction)), 1e-300)
    return PlainFriction(parameters.on(simple).replaced(values), odd, speeds, error)
