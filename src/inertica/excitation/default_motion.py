"""A robot's own motion: the one shipped for it, or one designed on the spot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inertica.errors import InerticaError, InputError
from inertica.excitation.constraints import robot_constraints
from inertica.excitation.files import catalog_trajectory, has_trajectory
from inertica.excitation.fourier import Fourier
from inertica.excitation.optimal import DesignOptions, design
from inertica.excitation.safety import safe_start, surroundings
from inertica.excitation.search import Search
from inertica.excitation.trajectory import Trajectory
from inertica.identifiability.base import base_model
from inertica.robot.description import Description

KINDS = {"identification": (10.0, 5, 0), "validation": (12.0, 4, 7)}
"""Period in s, harmonics and seed of what is designed here."""

QUICK = Search(random=100, evaluations=400, rounds=3, iterations=20)
"""Limited by its steps and not by time, so that the same robot gets the same motion everywhere."""

ATTEMPTS = 4
"""Seeds with which a motion that keeps all distances is looked for: short searches among close bodies may find none."""


@dataclass(frozen=True, eq=False)
class DesignedMotion:
    """A motion and, of one that was designed here, a sentence on how near bodies come in it; empty for one that is shipped."""

    trajectory: Trajectory
    note: str = ""


def default_motion(
    description: Description, kind: str = "identification", say: Callable[[str], None] = lambda _: None
) -> DesignedMotion:
    """The motion shipped for a catalog robot; for any other robot one that is designed quickly, not the best there is.

    No two links come close to each other in it, nor any link to the floor, as in motions of `excite`.

    Args:
        description: with limits of position or velocity.
        kind: identification or validation.
        say: progress.
    """
    if has_trajectory(description.name, kind):
        return DesignedMotion(catalog_trajectory(description.name, kind).trajectory)
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
    bodies = surroundings(description)
    try:
        start = safe_start(description, bodies)
    except InerticaError as error:
        raise InerticaError(f"there is no {kind} trajectory for '{name}', and a quick design failed: {error}") from None
    constraints = robot_constraints(description, base.engine)
    constraints += [bodies] if bodies.pairs else []
    family = Fourier.still(period, start, harmonics, free_start=True)
    options = DesignOptions(
        search=QUICK,
        progress=lambda p: say(f"designing a motion for {kind}, none is stored for {name}: condition {p.best:.4g}"),
    )
    for attempt in range(ATTEMPTS):
        designed = design(base.engine, base, family, None, constraints, options, seed + 100 * attempt)
        if designed.feasible:
            break
    else:
        worst = designed.violations[0] if designed.violations else "no motion keeps the limits"
        raise InerticaError(
            f"there is no {kind} trajectory for '{name}', and a quick design failed: {worst}; use inertica excite"
        )
    near = "no two bodies of the model could meet" if designed.approach is None else f"closest approach, {designed.approach}"
    stands = any(plane.name == "floor" for plane in bodies.planes)
    fast = [joint.name for joint, a in zip(description.robot.joints, limits.acceleration, strict=True) if not np.isfinite(a)]
    bound = f"; no acceleration limit was kept for {', '.join(fast)}, the model states none: not for a real robot" if fast else ""
    floor = "" if stands else "; no floor was kept, the model does not say where it is (`excite` takes its height: floor)"
    return DesignedMotion(
        designed.trajectory, f"the {kind} motion was designed here, none is stored for {name}: {near}{floor}{bound}"
    )
