"""A robot's own motion: the one shipped for it, or one designed on the spot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from inertica.errors import InerticaError, InputError
from inertica.excitation.constraints import robot_constraints
from inertica.excitation.files import catalog_trajectory, has_trajectory
from inertica.excitation.fourier import Fourier
from inertica.excitation.optimal import design
from inertica.excitation.search import Search
from inertica.excitation.trajectory import Array, Trajectory
from inertica.identifiability.base import base_model
from inertica.robot.description import Description

KINDS = {"identification": (10.0, 5, 0), "validation": (12.0, 4, 7)}
"""Period in s, harmonics and seed of what is designed here."""

QUICK = Search(random=100, evaluations=400, rounds=3, iterations=20)
"""Limited by its steps and not by time, so that the same robot gets the same motion everywhere."""


def own_trajectory(
    description: Description, kind: str = "identification", say: Callable[[str], None] = lambda _: None
) -> Trajectory:
    """The motion shipped for a catalog robot; for any other robot one that is designed quickly, not the best there is.

    Args:
        description: with limits of position or velocity.
        kind: identification or validation.
        say: progress.
    """
    if has_trajectory(description.name, kind):
        return catalog_trajectory(description.name, kind).trajectory
    limits, name = description.robot.limits, description.name
    unlimited = [
        joint.name for joint, speed in zip(description.robot.joints, limits.velocity, strict=True) if not np.isfinite(speed)
    ]
    if unlimited:
        raise InputError(
            f"there is no {kind} trajectory for '{name}', and none can be designed without limits of the velocity of "
            f"{', '.join(unlimited)}; state them in the model or the card (limits: {{velocity: [...]}}), or give a trajectory"
        )
    base = base_model(description.layout)
    period, harmonics, seed = KINDS[kind]
    constraints = robot_constraints(description, base.engine, margin=usual_margin(description))
    family = Fourier.still(period, middle_pose(description), harmonics, free_start=True)
    found = design(
        base.engine, base, family, None, constraints, search=QUICK, rng=seed,
        progress=lambda p: say(f"designing a motion for {kind}, none is stored for {name}: condition {p.best:.4g}"),
    )  # fmt: skip
    if not found.feasible:
        worst = found.violations[0] if found.violations else "no motion keeps the limits"
        raise InerticaError(
            f"there is no {kind} trajectory for '{name}', and a quick design failed: {worst}; use inertica excite"
        )
    return found.trajectory


def usual_margin(description: Description) -> tuple[float, float, float]:
    """0.1 off the limits of position, velocity and acceleration, or a twentieth of them where that is less."""
    limits = description.robot.limits
    spans = (np.subtract(limits.upper, limits.lower).min(), min(limits.velocity), min(limits.acceleration))
    q, dq, ddq = (min(0.1, 0.05 * float(s)) for s in spans)
    return q, dq, ddq


def middle_pose(description: Description) -> Array:
    """(n,) the home pose, moved off the ends of the joint ranges by at least a quarter of them."""
    limits, home = description.robot.limits, np.array(description.home or np.zeros(description.robot.n))
    low, high = np.array(limits.lower), np.array(limits.upper)
    bounded = np.isfinite(high - low)
    with np.errstate(invalid="ignore"):
        return np.where(bounded, np.clip(home, low + 0.25 * (high - low), high - 0.25 * (high - low)), home)
