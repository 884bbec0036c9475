"""`excite`: an optimal exciting trajectory for a robot, families and criteria by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError, nearest
from inertica.excitation import (
    Condition,
    Criterion,
    Design,
    Determinant,
    Fourier,
    FourierBlend,
    FrischCost,
    QuinticPoints,
    Search,
    Shaped,
    SmallestSingular,
    Spline,
    Survey,
    Trapezoid,
    design,
    information,
    robot_constraints,
)
from inertica.excitation.own import middle_pose, usual_margin
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.preprocessing.prepare import prepare
from inertica.robot.description import Description
from inertica.robot.load import load

Array = NDArray[np.float64]

FAMILIES = ("fourier", "blend", "spline", "points", "trapezoid")
CRITERIA = ("condition", "scaled-condition", "survey", "determinant", "smallest", "frisch")


def excite(
    robot: str | Path | Description,
    *,
    family: str = "fourier",
    period: float = 10.0,
    harmonics: int = 10,
    criterion: str = "condition",
    grid: int = 100,
    margin: float | tuple[float, float, float] | None = None,
    torque_margin: float = 0.1,
    floor: float | None = None,
    given: Sequence[str | Path | Log] = (),
    rate: float = 100.0,
    seconds: float = 30.0,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Design:
    """Design a trajectory that excites what matters inside the robot's limits.

    Args:
        robot: catalog name, model file, card, or a description.
        family: fourier, blend, spline, points or trapezoid.
        period: duration in s.
        harmonics: or via points of splines and trapezoids.
        criterion: condition, scaled-condition, survey, determinant, smallest or frisch.
        grid: points at which the criterion is evaluated.
        margin: distance to position, velocity and acceleration limits, SI; 0.1, or a twentieth of the limit where that is less.
        torque_margin: share of the torque limits kept free.
        floor: lowest height of the last link's origin in m.
        given: logs whose knowledge is to be completed.
        rate: in Hz of the samples that constraints are checked for.
        seconds: time for the search.
        seed: of the search.
        progress: receives one line per step.
    """
    description = robot if isinstance(robot, Description) else load(robot)
    base = base_model(description.layout)
    engine = base.engine
    shape = _family(description, family, period, harmonics)
    measure = _criterion(criterion, description.robot.n, grid, seed)
    free = usual_margin(description) if margin is None else margin
    constraints = robot_constraints(description, engine, margin=free, torque_margin=torque_margin, floor=floor)
    known = []
    for entry in given:
        motion = prepare(entry if isinstance(entry, Log) else read_log(entry, description))
        use = ~motion.mask
        known.append(information(engine, base, motion.q[use], motion.dq[use], motion.ddq[use]))
    say = progress or (lambda _: None)
    return design(
        engine, base, shape, measure, constraints, grid=grid, given=known, rate=rate, search=Search(seconds=seconds), rng=seed,
        progress=lambda p: say(f"{p.stage}: {measure.name} {p.best:.4g}"),
    )  # fmt: skip


def _family(description: Description, name: str, period: float, count: int) -> Shaped:
    start = middle_pose(description)
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


def _criterion(name: str, joints: int, grid: int, seed: int) -> Criterion:
    makers: dict[str, Callable[[], Criterion]] = {
        "condition": Condition,
        "scaled-condition": lambda: Condition(scaled=True),
        "survey": Survey,
        "determinant": Determinant,
        "smallest": SmallestSingular,
        "frisch": lambda: FrischCost.drawn(np.random.default_rng(seed), grid, joints),
    }
    if name not in makers:
        raise InputError(f"unknown criterion '{name}'; {nearest(name, makers)}")
    return makers[name]()
