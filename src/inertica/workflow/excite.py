"""`excite`: an optimal exciting trajectory for a robot, families and criteria by name."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.engine import Engine
from inertica.errors import InputError, ModelWarning, nearest
from inertica.excitation import (
    Condition,
    Criterion,
    Design,
    Determinant,
    Fourier,
    FourierBlend,
    FrischCost,
    MotionConstraint,
    QuinticPoints,
    Search,
    Shaped,
    SmallestSingular,
    Spline,
    Survey,
    Trapezoid,
    Violation,
    design,
    information,
    robot_constraints,
    violations,
)
from inertica.excitation.assumed import AccelerationLimit, acceleration_limits, assumption, with_accelerations
from inertica.excitation.collision import Collisions
from inertica.excitation.safety import AUTO, require_limits, safe_start, surroundings
from inertica.excitation.solids import Obstacle
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.preprocessing.prepare import prepare
from inertica.robot.description import Description
from inertica.workflow.identify.inputs import described, read_one
from inertica.workflow.identify.result import Result
from inertica.workflow.payload.design import Purpose

Array = NDArray[np.float64]

FAMILIES = ("fourier", "blend", "spline", "points", "trapezoid")
CRITERIA = ("condition", "scaled-condition", "survey", "determinant", "smallest", "frisch")

INSTANTS = 2001
"""Of a slow pass, at which its limits are looked at."""


def excite(
    robot: str | Path | Description,
    *,
    family: str = "fourier",
    period: float | None = None,
    harmonics: int = 10,
    criterion: str | None = None,
    grid: int = 100,
    margin: float | tuple[float, float, float] | None = None,
    torque_margin: float = 0.1,
    k1: float | None = None,
    k2: float | None = None,
    floor: float | str | None = AUTO,
    box: Sequence[float] | None = None,
    obstacles: Sequence[Obstacle] = (),
    clearance: float | None = None,
    given: Sequence[str | Path | Log] = (),
    purpose: str = "robot",
    robot_from: str | Path | Result | None = None,
    flange: str | tuple[float, ...] | None = None,
    mass: float | None = None,
    rate: float = 100.0,
    seconds: float = 30.0,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Design:
    """Design a trajectory that excites what matters inside the robot's limits, without touching itself, the floor or obstacles.

    Acceleration limits that neither model nor card states are assumed (`excitation.assumed`), with a warning that says which.
    `slowed` of the trajectory that comes back is a slow first pass of it: `excite(...).trajectory.slowed(4)`.

    Args:
        robot: catalog name, model file, card, or a description.
        family: fourier, blend, spline, points or trapezoid.
        period: duration in s; 10, or 15 for a payload.
        harmonics: or via points of splines and trapezoids.
        criterion: condition (default), scaled-condition, survey, determinant, smallest or frisch; a payload has its own.
        grid: points at which the criterion is evaluated.
        margin: distance to position, velocity and acceleration limits, SI; a fiftieth of a joint's own when not given.
        torque_margin: share of the torque limits kept free.
        k1, k2: weights of the survey's criterion, 1 and 100 when not given.
        floor: height in m that every link stays above; `auto`: the base frame's plane where the robot stands on it; `none`.
        box: x, y, z of the lowest and the highest corner of a box that every link stays inside.
        obstacles: boxes, spheres and cylinders in the base frame.
        clearance: m kept free between bodies; 0.02, and 0.05 where the model has no shape of one, when not given.
        given: logs whose knowledge is to be completed.
        purpose: what is to be revealed: robot or payload.
        robot_from: a result whose masses, drive inertia and friction count in the torques; for a payload it also says how well
            the robot is known, exactly when not given.
        flange: for a payload: its frame, as for `payload`.
        mass: for a payload: of the load in kg, for the torque limits.
        rate: in Hz of the samples that constraints are checked for.
        seconds: time for the search.
        seed: of the search.
        progress: receives one line per step.

    Examples:
        >>> design = ia.excite("scara2", period=5.0, harmonics=3, seconds=1.0)
        >>> ia.save_trajectory(design.trajectory, "motion.yaml", robot="scara2")
    """
    return excitation(
        robot, family=family, period=period, harmonics=harmonics, criterion=criterion, grid=grid, margin=margin,
        torque_margin=torque_margin, k1=k1, k2=k2, floor=floor, box=box, obstacles=obstacles, clearance=clearance, given=given,
        purpose=purpose, robot_from=robot_from, flange=flange, mass=mass, rate=rate, seconds=seconds, seed=seed, progress=progress,
    ).design  # fmt: skip


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
    robot: str | Path | Description, *, family: str, period: float | None, harmonics: int, criterion: str | None, grid: int,
    margin: float | tuple[float, float, float] | None, torque_margin: float, k1: float | None, k2: float | None,
    floor: float | str | None, box: Sequence[float] | None, obstacles: Sequence[Obstacle], clearance: float | None,
    given: Sequence[str | Path | Log], purpose: str, robot_from: str | Path | Result | None,
    flange: str | tuple[float, ...] | None, mass: float | None, rate: float, seconds: float, seed: int,
    progress: Callable[[str], None] | None,
) -> Excitation:  # fmt: skip
    """As `excite`, with the bodies whose distances were kept and what can be expected of a load."""
    if purpose not in ("robot", "payload"):
        raise InputError(f"a motion is designed for the robot or for a payload, not for '{purpose}'")
    description = described(robot)
    base = base_model(description.layout)
    engine, load_wanted = base.engine, purpose == "payload"
    weights = {name: value for name, value in (("k1", k1), ("k2", k2)) if value is not None}
    if weights and (criterion != "survey" or load_wanted):
        raise InputError("--k1 and --k2 are the weights of --criterion survey; add it, or leave them out")
    if load_wanted:
        if criterion is not None or given:
            raise InputError("--criterion and --given are for motions that reveal the robot; --for payload has its own criterion")
        aim = Purpose.payload(description, base, robot_from, flange, mass)
    else:
        stated = {"mass": mass, "flange": flange}
        if stray := next((name for name, value in stated.items() if value is not None), None):
            raise InputError(f"--{stray} is for motions that reveal a load; add --for payload")
        chosen = _criterion(criterion or "condition", description.robot.n, grid, seed, weights)
        aim = Purpose.robot(chosen, description, robot_from)
    require_limits(description)
    feeling = engine if aim.carrying.layout == description.layout else Engine(aim.carrying.layout)
    accelerations = acceleration_limits(aim.carrying, feeling)
    carrying = with_accelerations(aim.carrying, accelerations)
    if sentence := assumption(description, accelerations):
        warnings.warn(ModelWarning(sentence), stacklevel=3)
    bodies = surroundings(description, floor, box, obstacles, clearance, aim.ball)
    start = safe_start(description, bodies)
    shape = _family(start, family, (15.0 if load_wanted else 10.0) if period is None else period, harmonics)
    limits = robot_constraints(carrying, feeling, margin=margin, torque_margin=torque_margin)
    constraints = [*limits, bodies] if bodies.pairs else limits
    known = []
    for entry in given:
        motion = prepare(read_one(entry, description))
        use = ~motion.mask
        known.append(information(engine, base, motion.q[use], motion.dq[use], motion.ddq[use]))
    say = progress or (lambda _: None)
    found = design(
        engine, base, shape, aim.criterion, constraints, grid=grid, previous=known, rate=rate, noise=aim.noise,
        search=Search(seconds=seconds), rng=seed, progress=lambda p: say(f"{p.stage}: {aim.criterion.name} {p.best:.4g}"),
    )  # fmt: skip
    expected = aim.expected(engine, base, found.trajectory, rate) if found.feasible else {}
    return Excitation(found, bodies, expected, accelerations, tuple(limits))


def _family(start: Array, name: str, period: float, count: int) -> Shaped:
    if not (math.isfinite(period) and period > 0.0):
        raise InputError(f"the period should be a positive number of seconds, not {period:g}")
    makers: dict[str, Callable[[], Shaped]] = {
        "fourier": lambda: Fourier.still(period, start, count, free_start=True),
        "blend": lambda: FourierBlend.still(period, start, count),
        "spline": lambda: Spline.still(period, start, count),
        "points": lambda: QuinticPoints.still(np.linspace(0.0, period, count), start),
        "trapezoid": lambda: Trapezoid.still(period, start, count),
    }
    if name not in makers:
        raise InputError(f"unknown family '{name}'; {nearest(name, makers)}")
    return makers[name]()


def _criterion(name: str, joints: int, grid: int, seed: int, weights: Mapping[str, float]) -> Criterion:
    makers: dict[str, Callable[[], Criterion]] = {
        "condition": Condition,
        "scaled-condition": lambda: Condition(scaled=True),
        "survey": lambda: Survey(k1=weights.get("k1", Survey.k1), k2=weights.get("k2", Survey.k2)),
        "determinant": Determinant,
        "smallest": SmallestSingular,
        "frisch": lambda: FrischCost.drawn(np.random.default_rng(seed), grid, joints),
    }
    if name not in makers:
        raise InputError(f"unknown criterion '{name}'; {nearest(name, makers)}")
    return makers[name]()
