"""Torque of the model's own links along a motion, apart: what gravity asks for, and what accelerations and speeds do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.checks.plainfit import Observed
from inertica.dynamics.engine import Engine
from inertica.physical.geometry_prior import without_placeholders
from inertica.robot.layout import Parameters

INERTIAL = ("inertia", "first_moment", "mass", "armature")
"""Kinds of parameters that make gravity and inertial torque; what is left is friction, springs and other terms."""


@dataclass(frozen=True, eq=False)
class ModelTorque:
    """Torques (M, n) on the rows of the plain fit, low-passed like the measured ones.

    Args:
        gravity: with the robot at rest in each pose.
        inertial: what accelerations and velocities add.
    """

    gravity: Array
    inertial: Array


def model_torque(seen: Observed, engine: Engine, prior: Parameters) -> ModelTorque | None:
    """Both parts of the torque; None for a model without masses, which says nothing."""
    believed = without_placeholders(prior)
    kinds = np.array([p.kind for p in believed.layout.parameters])
    chi = np.where(np.isin(kinds, INERTIAL), believed.values, 0.0)
    if not np.any(chi[kinds == "mass"]):
        return None
    m = seen.motion
    still = np.zeros_like(m.q)
    gravity = engine.inverse_dynamics(m.q, still, still, chi)
    whole = engine.inverse_dynamics(m.q, m.dq, m.ddq, chi)
    return ModelTorque(seen.reduced(gravity), seen.reduced(whole - gravity))
