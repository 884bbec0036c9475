"""Errors that no model in use has: each a small named function on a simulated log, or on the robot that is simulated.

A `Log` from `Experiment.run` knows what really happened (`log.truth`), so an effect is added to what was recorded; the loop does not
feel it.  `tilted` and `stretched` change the robot itself.

    Experiment.of(tilted(description, 1.0)).run(trajectory)          # leans by a degree, and nobody knows
    with_ripple(log, 0.05)                                           # torque ripples by 5 % of its standard deviation
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.logs.log import Log
from inertica.preprocessing.filters import Butterworth
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.model import Robot, rotation_x, vector

PHASE = 0.3
"""Of ripples, rad."""


def with_ripple(log: Log, share: float, per_turn: int = 40) -> Log:
    """Torque that ripples with position: share * std(tau_j) sin(per_turn q_j + 0.3).

    Args:
        log: simulated.
        share: amplitude over the standard deviation of the joint's torque.
        per_turn: ripples a turn of the joint.
    """
    tau, q = _truth(log, "tau"), _truth(log, "q")
    return _recorded(log, {"tau": log.need("tau") + share * tau.std(axis=0) * np.sin(per_turn * q + PHASE)})


def with_elasticity(log: Log, deflection: float = 0.005) -> Log:
    """Positions measured on the motor's side of gears that give, while the loop holds the link's: q + tau / k.

    Joints whose torque stays below `deflection` keep a stiffness of 1 N m/rad.

    Args:
        log: simulated.
        deflection: of every joint at its largest torque, rad or m.
    """
    tau = _truth(log, "tau")
    stiffness = np.maximum(np.abs(tau).max(axis=0) / deflection, 1.0)
    return _recorded(log, {"q": log.need("q") + tau / stiffness})


def with_soft_drives(log: Log, parameters: Parameters, deflection: float = 0.005, bandwidth: float = 30.0) -> Log:
    """Gears that give inside the loop: it holds the motors where they were, and links at q - tau / k take other torque.

    First order in the deflection, and without what is faster than the bandwidth: motors, not links, follow the controller's noise.

    Args:
        log: simulated.
        parameters: of the simulated robot.
        deflection: of every joint at its largest torque, rad or m.
        bandwidth: of the deflection in Hz.
    """
    q, dq, ddq, tau = (_truth(log, name) for name in ("q", "dq", "ddq", "tau"))
    delivered = Butterworth(cutoff=bandwidth).kinematics(np.array(tau), 1.0 / log.rate)
    compliance = deflection / np.maximum(np.abs(delivered.q).max(axis=0), 1e-12)
    slopes = Engine(parameters.layout, threads=1).torque_derivatives(q, dq, ddq, parameters)
    change = sum(
        np.einsum("kij,kj->ki", D, compliance * x)
        for D, x in zip(slopes, (delivered.q, delivered.dq, delivered.ddq), strict=True)
    )
    return _recorded(log, {"tau": log.need("tau") - change})


def with_friction_drift(log: Log, parameters: Parameters, viscous: float = 0.2, coulomb: float = 0.2) -> Log:
    """Friction that falls over the record, as when oil warms up; by the shares given at its end.

    Args:
        log: simulated.
        parameters: of the simulated robot, with viscous and Coulomb friction.
        viscous, coulomb: shares lost.
    """
    dq = _truth(log, "dq")
    n = log.n
    Fv, Fc = (_per_joint(parameters, kind, n) for kind in ("viscous", "coulomb"))
    elapsed = ((log.t - log.t[0]) / (log.t[-1] - log.t[0]))[:, None]
    return _recorded(log, {"tau": log.need("tau") - elapsed * (viscous * Fv * dq + coulomb * Fc * np.sign(dq))})


def tilted(description: Description, degrees: float) -> Description:
    """The robot on a base that leans about the x axis."""
    gravity = rotation_x(float(np.deg2rad(degrees))) @ np.array(description.robot.gravity)
    return _with_robot(description, description.robot.with_gravity(gravity))


def stretched(description: Description, share: float, joint: int = 2) -> Description:
    """The robot with one joint further from the one before it than stated; the furthest of all where that distance is zero.

    Args:
        description: the robot as stated.
        share: of the distance.
        joint: from 0.
    """
    joints = list(description.robot.joints)
    far = [float(np.linalg.norm(j.position)) * (j.parent >= 0) for j in joints]
    k = joint if joint < len(far) and far[joint] > 1e-6 else int(np.argmax(far))
    joints[k] = replace(joints[k], position=vector((1.0 + share) * np.array(joints[k].position)))
    return _with_robot(description, replace(description.robot, joints=tuple(joints)))


def _with_robot(description: Description, robot: Robot) -> Description:
    """The description of another robot with the same terms and parameter values."""
    layout = replace(description.layout, robot=robot)
    prior = description.prior
    return replace(description, robot=robot, layout=layout, prior=Parameters(layout, prior.values, prior.shapes, prior.origin))


def _per_joint(parameters: Parameters, kind: str, n: int) -> Array:
    out = np.zeros(n)
    for p, value in zip(parameters.layout.parameters, parameters.values, strict=True):
        if p.kind == kind and p.joint is not None:
            out[p.joint] = value
    return out


def _truth(log: Log, name: str) -> Array:
    if not log.truth or name not in log.truth:
        raise InputError(f"{log.origin} does not say what really happened; effects are added to simulated logs")
    return np.asarray(log.truth[name])


def _recorded(log: Log, signals: Mapping[str, Array]) -> Log:
    return replace(log, signals={**log.signals, **signals})
