"""Families of trajectories and criteria by the names that users type.  Adding one is its class and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from inertica.errors import InputError, nearest
from inertica.excitation.chirps import Chirps
from inertica.excitation.criteria import Condition, Criterion, Determinant, FrischCost, SmallestSingular, Survey
from inertica.excitation.fourier import Fourier, FourierBlend
from inertica.excitation.splines import QuinticPoints, Spline
from inertica.excitation.trajectory import Array, Shaped
from inertica.excitation.trapezoid import Trapezoid


@dataclass(frozen=True)
class Setting:
    """What a criterion may depend on.

    Args:
        joints: of the robot.
        grid: points at which the criterion is evaluated.
        seed: of what is drawn at random.
        weights: those that the user states, by name.
    """

    joints: int
    grid: int = 100
    seed: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)


CRITERIA: dict[str, Callable[[Setting], Criterion]] = {
    "condition": lambda setting: Condition(),
    "scaled-condition": lambda setting: Condition(scaled=True),
    "survey": lambda setting: Survey(k1=setting.weights.get("k1", Survey.k1), k2=setting.weights.get("k2", Survey.k2)),
    "determinant": lambda setting: Determinant(),
    "smallest": lambda setting: SmallestSingular(),
    "frisch": lambda setting: FrischCost.drawn(np.random.default_rng(setting.seed), setting.grid, setting.joints),
}

WEIGHTED = ("survey",)
"""Criteria that take weights."""

FAMILIES: dict[str, Callable[[float, Array, int], Shaped]] = {
    "fourier": lambda period, start, count: Fourier.still(period, start, count, free_start=True),
    "blend": lambda period, start, count: FourierBlend.still(period, start, count),
    "spline": lambda period, start, count: Spline.still(period, start, count),
    "points": lambda period, start, count: QuinticPoints.still(np.linspace(0.0, period, count), start),
    "trapezoid": lambda period, start, count: Trapezoid.still(period, start, count),
    "chirps": lambda period, start, count: Chirps.still(period, start, count),
}
"""Of a period in s, a (n,) start pose and a number of harmonics or via points: a motion that stands still there."""


def named_criterion(name: str, setting: Setting) -> Criterion:
    """A criterion by name."""
    check_criterion(name)
    return CRITERIA[name](setting)


def check_criterion(name: str) -> None:
    """Refuses a criterion that there is not."""
    if name not in CRITERIA:
        raise InputError(f"unknown criterion '{name}'; {nearest(name, CRITERIA)}")


def check_family(name: str) -> None:
    """Refuses a family that there is not."""
    if name not in FAMILIES:
        raise InputError(f"unknown family '{name}'; {nearest(name, FAMILIES)}")
