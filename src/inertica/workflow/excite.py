"""`excite`: an optimal exciting trajectory for a robot, families and criteria by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inertica.checks.seen import seen
from inertica.dynamics.engine import Engine
from inertica.errors import ModelWarning
from inertica.excitation import (
    Design,
    DesignOptions,
    MotionConstraint,
    Search,
    Shaped,
    Violation,
    design,
    information,
    robot_constraints,
    violations,
)
from inertica.excitation.assumed import AccelerationLimit, acceleration_limits, assumption, with_accelerations
from inertica.excitation.collision import Collisions
from inertica.excitation.named import FAMILIES, Setting, named_criterion
from inertica.excitation.safety import require_limits, safe_start, surroundings
from inertica.identifiability.base import base_model
from inertica.options import merged
from inertica.preprocessing.prepare import prepare
from inertica.robot.description import Description
from inertica.robot.floating import require_fixed_base
from inertica.robot.loops import require_tree
from inertica.robot.plain import assumed_friction
from inertica.workflow.excite_options import ExciteOptions
from inertica.workflow.identify.inputs import described, read_one
from inertica.workflow.payload.design import Purpose

INSTANTS = 2001
"""Of a slow pass, at which its limits are looked at."""


def excite(
    robot: str | Path | Description,
    options: ExciteOptions | None = None,
    *,
    progress: Callable[[str], None] | None = None,
    **stated: Any,
) -> Design:
    """Design a trajectory that excites what matters inside the robot's limits, without touching itself, the floor or obstacles.

    Acceleration limits that neither model nor card states are assumed (`excitation.assumed`), with a warning that says which.
    `slowed` of the trajectory that comes back is a slow first pass of it: `excite(...).trajectory.slowed(4)`.

    Args:
        robot: catalog name, model file, card, or a description.
        options: of the design.
        progress: receives one line per step.
        stated: single options by name, see `ExciteOptions`.

    Examples:
        >>> design = ia.excite("scara2", period=5.0, harmonics=3, seconds=1.0)
        >>> ia.save_trajectory(design.trajectory, "motion.yaml", robot="scara2")
    """
    return excitation(robot, merged(ExciteOptions, options, stated), progress).design


@dataclass(frozen=True, eq=False)
class Excitation:
    """A design with what was looked at on the way.

    Args:
        design: the motion.
        bodies: what must not meet.
        expected: standard deviations of a load that the motion lets expect, empty where they are not known.
        accelerations: the acceleration limit of every joint, stated or assumed.
        constraints: what the motion keeps besides distances.
    """

    design: Design
    bodies: Collisions
    expected: dict[str, float]
    accelerations: tuple[AccelerationLimit, ...]
    constraints: tuple[MotionConstraint, ...]


@dataclass(frozen=True, eq=False)
class SlowPass:
    """A slow first pass of a motion.

    Args:
        trajectory: the same path in `factor` times the time.
        violations: limits that it does not keep: a torque that gravity asks for where the fast motion is helped by inertia.
    """

    trajectory: Shaped
    violations: tuple[Violation, ...]

    @classmethod
    def of(cls, trajectory: Shaped, factor: float, constraints: Sequence[MotionConstraint]) -> SlowPass:
        """Of a motion that keeps constraints; distances of bodies are those of the path and stay."""
        slow = trajectory.slowed(factor)
        return cls(slow, violations(slow, constraints, np.linspace(0.0, slow.period, INSTANTS)))


def excitation(
    robot: str | Path | Description, options: ExciteOptions, progress: Callable[[str], None] | None = None
) -> Excitation:
    """As `excite`, with the bodies whose distances were kept and what can be expected of a load."""
    description = described(robot)
    require_fixed_base(description.robot, "the design of motions")
    require_tree(description.robot, "the design of motions")
    if options.for_actuators:
        description = assumed_friction(description)
    base = base_model(description.layout)
    engine = base.engine
    if options.for_payload:
        aim = Purpose.payload(description, base, options.robot_from, options.flange, options.mass)
    else:
        setting = Setting(description.robot.n, options.grid, options.seed, options.weights)
        aim = Purpose.robot(named_criterion(options.chosen_criterion, setting), description, options.robot_from)
    require_limits(description)
    feeling = engine if aim.carrying.layout == description.layout else Engine(aim.carrying.layout)
    accelerations = acceleration_limits(aim.carrying, feeling)
    carrying = with_accelerations(aim.carrying, accelerations)
    if sentence := assumption(description, accelerations):
        warnings.warn(ModelWarning(sentence), stacklevel=3)
    bodies = surroundings(description, options.floor, options.box, options.obstacles, options.clearance, aim.ball)
    start = safe_start(description, bodies)
    shape = FAMILIES[options.chosen_family](options.duration, start, options.harmonics)
    limits = robot_constraints(carrying, feeling, margin=options.margin, torque_margin=options.torque_margin)
    constraints = [*limits, bodies] if bodies.pairs else limits
    known = []
    for entry in options.given:
        motion = prepare(seen(read_one(entry, description)))
        use = ~motion.mask
        known.append(information(engine, base, motion.q[use], motion.dq[use], motion.ddq[use]))
    say = progress or (lambda _: None)
    effort = DesignOptions(
        grid=options.grid, previous=known, rate=options.rate, noise=aim.noise,
        search=Search(seconds=options.seconds, optimiser=options.optimiser),
        progress=lambda p: say(f"{p.stage}: {aim.criterion.name} {p.best:.4g}"),
    )  # fmt: skip
    best = design(engine, base, shape, aim.criterion, constraints, effort, options.seed)
    expected = aim.expected(engine, base, best.trajectory, options.rate) if best.feasible else {}
    return Excitation(best, bodies, expected, accelerations, tuple(limits))
