"""`ExciteOptions`: everything that can be stated of the design of a motion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inertica.errors import InputError
from inertica.excitation.collision import CLEARANCE, ROUGH
from inertica.excitation.named import CRITERIA, FAMILIES, WEIGHTED, check_criterion, check_family
from inertica.excitation.safety import AUTO, NONE
from inertica.excitation.search import OPTIMISERS, Optimiser
from inertica.excitation.solids import Obstacle
from inertica.options import listed, numbers, option
from inertica.robot.flange import name_or_pose

if TYPE_CHECKING:
    from inertica.logs.log import Log
    from inertica.workflow.identify.result import Result

PURPOSES = ("robot", "payload", "actuators")
BODIES, LOAD = "what must not be touched", "payload"
"""Titles of groups of options."""


def floor_height(word: str) -> float | str:
    """A height in m, auto or none."""
    if word in (AUTO, NONE):
        return word
    try:
        return float(word)
    except ValueError:
        raise InputError(f"the floor is a height in m, auto or none, not '{word}'") from None


def obstacle(word: str) -> Obstacle:
    """KIND:SIZE@X,Y,Z as an obstacle."""
    shape, at, place = word.partition("@")
    kind, colon, size = shape.partition(":")
    if not at or not colon:
        raise InputError(f"an obstacle is a kind, its size and its place, as in box:0.2,0.6,1@0.7,0,0.5, not '{word}'")
    position = numbers(place)
    if len(position) != 3:
        raise InputError(f"the place of an obstacle is 3 numbers in m, not '{place}'")
    return Obstacle(kind, numbers(size), (position[0], position[1], position[2]))


@listed
@dataclass(frozen=True)
class ExciteOptions:
    """What a motion is designed for, and what it keeps; see `excite`."""

    rate: float = option(100.0, "of the samples in Hz, those that are written and those that limits are checked for", unit="HZ")
    family: str | None = option(None, "of trajectories (default fourier; chirps for actuators)", choices=FAMILIES, label="Family")
    period: float | None = option(
        None,
        "duration (default 10; 15 for a payload, 20 for actuators)",
        unit="S",
        read=float,
        label="Duration (s)",
        least=0.5,
        most=600.0,
    )
    harmonics: int = option(10, "or via points for splines and trapezoids", label="Harmonics", least=1, most=40)
    criterion: str | None = option(
        None,
        "what is optimised (default condition; determinant for actuators; a payload has its own)",
        choices=CRITERIA,
        label="Criterion",
    )
    grid: int = option(100, "points at which the criterion is evaluated")
    margin: float | tuple[float, float, float] | None = option(
        None,
        "distance to position, velocity and acceleration limits, SI (default a fiftieth of each joint's own range and limits)",
        read=float,
    )
    torque_margin: float = option(0.1, "share of the torque limits kept free", unit="SHARE")
    k1: float | None = option(None, "weight of cond(W'W) in the criterion survey (default 1)", read=float)
    k2: float | None = option(None, "weight of 1/s_min in the criterion survey (default 100)", read=float)
    floor: float | str | None = option(
        AUTO,
        "height that every link stays above, or none (default auto: the plane of the base frame where the robot stands on it)",
        unit="M|none", read=floor_height, group=BODIES,
    )  # fmt: skip
    box: Sequence[float] | None = option(
        None, "lowest and highest corner of a box that every link stays inside", unit="=X,Y,Z,X,Y,Z", read=numbers, group=BODIES
    )
    obstacles: Sequence[Obstacle] = option(
        (), "box:X,Y,Z (sides), sphere:R or cylinder:R,LENGTH (along z), @ its centre; several times for several",
        unit="KIND:SIZE@X,Y,Z", read=obstacle, flag="obstacle", repeated=True, group=BODIES,
    )  # fmt: skip
    clearance: float | None = option(
        None, f"kept free (default {CLEARANCE:.0%} of the arm's length; {ROUGH:.0%} of built shapes, where the model has none)",
        unit="M", read=float, group=BODIES,
    )  # fmt: skip
    given: Sequence[str | Path | Log] = option((), "logs whose knowledge is to be completed", unit="LOG", read=str, repeated=True)
    purpose: str = option("robot", "what is to be revealed", choices=PURPOSES, flag="for")
    robot_from: str | Path | Result | None = option(
        None,
        "a result whose masses, drive inertia and friction count in the torques, and, for a payload, how well they are known",
        unit="RESULT",
    )
    mass: float | None = option(None, "of the load, at the flange, for the torque limits", unit="KG", read=float, group=LOAD)
    flange: str | tuple[float, ...] | None = option(
        None, "frame of the load, as for inertica payload", unit="FRAME|=X,Y,Z[,R,P,Y]", read=name_or_pose, group=LOAD
    )
    seconds: float = option(30.0, "time for the search", unit="S", label="Search for (s)", least=0.5, most=3600.0)
    seed: int = option(0, "of the search", label="Random seed", least=0, most=2**31)
    optimiser: Optimiser = option(
        "auto", "auto: CMA-ES, then gradients; ga: a genetic algorithm, as the survey's toolbox has it", choices=OPTIMISERS
    )

    def __post_init__(self) -> None:
        if self.purpose not in PURPOSES:
            raise InputError(f"a motion is designed for the robot, for a payload or for actuators, not for '{self.purpose}'")
        if self.family is not None:
            check_family(self.family)
        if self.criterion is not None:
            check_criterion(self.criterion)
        if self.period is not None and not 0.0 < self.period < math.inf:
            raise InputError(f"the period should be a positive number of seconds, not {self.period:g}")
        if self.weights and (self.criterion not in WEIGHTED or self.for_payload):
            raise InputError(f"k1 and k2 are weights of the criterion {' or '.join(WEIGHTED)}; choose it, or leave them out")
        if self.for_payload and (self.criterion is not None or self.given):
            raise InputError("criterion and given are for motions that reveal the robot; one for a payload has its own criterion")
        for name in () if self.for_payload else ("mass", "flange"):
            if getattr(self, name) is not None:
                raise InputError(f"{name} is for motions that reveal a load; say that this one is for a payload (purpose)")

    @property
    def for_payload(self) -> bool:
        return self.purpose == "payload"

    @property
    def for_actuators(self) -> bool:
        return self.purpose == "actuators"

    @property
    def chosen_family(self) -> str:
        return self.family or ("chirps" if self.for_actuators else "fourier")

    @property
    def chosen_criterion(self) -> str:
        return self.criterion or ("determinant" if self.for_actuators else "condition")

    @property
    def weights(self) -> dict[str, float]:
        """Of the criterion, those that are stated."""
        return {name: value for name, value in (("k1", self.k1), ("k2", self.k2)) if value is not None}

    @property
    def duration(self) -> float:
        """Of the motion in s."""
        return self.period if self.period is not None else {"payload": 15.0, "actuators": 20.0}.get(self.purpose, 10.0)
