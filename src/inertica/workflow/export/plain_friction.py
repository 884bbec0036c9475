"""The viscous and Coulomb friction closest to other laws, for formats that know no more; with the error that is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from inertica.arrays import Array, Mask
from inertica.identifiability.states import random_states
from inertica.preprocessing.motion import Motion
from inertica.robot.friction import Coulomb, FrictionLaw, Viscous, friction_terms
from inertica.robot.layout import Layout, Parameters
from inertica.workflow.export.torques import ModelTorques

SPEEDS = 400
"""Per direction, evenly spread up to the largest, where there are no logs to take them from."""

CONFIGURATIONS = 20
"""Random ones that each of these speeds is looked at in, since friction under load depends on them."""


@dataclass(frozen=True, eq=False)
class FrictionStates:
    """Where laws are compared; every state counts once, so that a speed weighs as much as the time it is held.

    Args:
        q, dq: (N, n).
        use: (N, n) states that count for a joint.
        logged: whether they are those of logs.
    """

    q: Array
    dq: Array
    use: Mask
    logged: bool

    @classmethod
    def of_motions(cls, motions: Sequence[Motion]) -> FrictionStates:
        """The states of logs at which a joint moves: at rest, friction is anywhere inside its band."""
        q, dq = (np.vstack([getattr(m, name) for m in motions]) for name in ("q", "dq"))
        use = np.vstack([~(m.resting | m.spoiled[:, None]) for m in motions])
        return cls(q, dq, use & (dq != 0.0), True)

    @classmethod
    def up_to(cls, layout: Layout, speeds: Array) -> FrictionStates:
        """Speeds evenly spread up to (n,) largest ones, both directions alike, in random configurations."""
        v = (np.arange(SPEEDS) + 0.5) / SPEEDS
        v = np.concatenate([v, -v])
        q = np.repeat(random_states(layout, CONFIGURATIONS, seed=0).q, len(v), axis=0)
        dq = np.tile(v, CONFIGURATIONS)[:, None] * speeds
        return cls(q, dq, np.ones(dq.shape, bool), False)


@dataclass(frozen=True, eq=False)
class PlainFriction:
    """What came out.

    Args:
        parameters: the result's with viscous and Coulomb friction in place of the laws.
        joints: 0-based, those whose law was replaced.
        speed: (n,) largest speed of each joint that was looked at.
        error: (n,) root mean square of the difference over the friction's own.
        logged: whether the speeds are those of the logs, each weighed by how long it is held.
    """

    parameters: Parameters
    joints: tuple[int, ...]
    speed: Array
    error: Array
    logged: bool

    @property
    def note(self) -> str:
        """What was done and how far it is off."""
        robot = self.parameters.layout.robot
        each = (
            f"{robot.joints[j].name} misses {100 * self.error[j]:.1f} % of its friction up to {self.speed[j]:.3g} "
            f"{robot.joints[j].unit}/s"
            for j in self.joints
        )
        over = " over the speeds of the logs" if self.logged else ""
        return f"friction is approximated by viscous and Coulomb friction{over}: {', '.join(each)}"


def replaced_laws(layout: Layout, joint: int) -> tuple[FrictionLaw, ...]:
    """The laws of a joint that viscous and Coulomb friction take the place of; none where it has nothing else.

    Offsets do not depend on speed and stay; laws with memory have no single torque for a speed.
    """
    laws = tuple(t for t in friction_terms(layout.terms) if t.joint == joint and t.brakes)
    is_plain = all(len(t.plain) == len(t.parameters) for t in laws)
    return () if is_plain or any(t.memory for t in laws) else laws


def plain_friction(model: ModelTorques, states: FrictionStates) -> PlainFriction:
    """Viscous and Coulomb coefficients closest to the friction of each joint over the states: least squares, neither negative.

    Joints whose friction is viscous and Coulomb already keep it, as do those that move in no state.

    Args:
        model: of the result.
        states: at which they are compared.
    """
    parameters, layout = model.parameters, model.parameters.layout
    n = layout.robot.n
    laws = {j: replaced_laws(layout, j) for j in range(n) if states.use[:, j].any()}
    laws = {j: terms for j, terms in laws.items() if terms}
    speed = np.array([np.abs(v[use]).max() if use.any() else 0.0 for v, use in zip(states.dq.T, states.use.T, strict=True)])
    error = np.zeros(n)
    if not laws:
        return PlainFriction(parameters, (), speed, error, states.logged)
    replaced = [t for terms in laws.values() for t in terms]
    names = [p.name for t in replaced for p in t.parameters]
    friction = model.part(names, (states.q, states.dq, 0.0 * states.dq))
    values: dict[str, float] = {}
    for j in laws:
        use = states.use[:, j]
        v, tau = states.dq[use, j] / speed[j], friction[use, j]
        (fv, fc), rest = nnls(np.column_stack([v, np.sign(v)]), tau)
        values |= {f"Fv{j + 1}": float(fv) / speed[j], f"Fc{j + 1}": float(fc)}
        error[j] = rest / max(float(np.linalg.norm(tau)), np.finfo(float).tiny)
    others = tuple(t for t in layout.terms if t not in replaced)
    simple = Layout(layout.robot, (*others, *(kind(j) for j in laws for kind in (Viscous, Coulomb))), layout.payloads)
    return PlainFriction(parameters.on(simple).replaced(values), tuple(laws), speed, error, states.logged)
