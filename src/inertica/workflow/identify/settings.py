"""`Settings`: what a user fixes of an identification."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from inertica.errors import InputError, nearest
from inertica.estimators.base import Capability, Estimator, Need
from inertica.estimators.options import with_options
from inertica.estimators.registry import method
from inertica.excitation.trajectory import Trajectory
from inertica.preprocessing.filters import FILTERS
from inertica.preprocessing.recipe import Regressor
from inertica.robot.description import Description


@dataclass(frozen=True)
class Settings:
    """What the user fixes; None leaves it to cross-validation.

    Args:
        method: a method or its name, or auto.
        cutoff: of the position filter in Hz.
        filter: of the positions: none, butterworth, forward, fourier, fir or savitzky-golay, see `named_filter`; chosen
            with the cut-off when not given.
        decimate: bandwidth to decimate to in Hz; follows the cut-off when not given.
        delay: of the torque in s, a number or one per joint.
        friction: names of laws on all joints.
        velocity: differences or recorded.
        references: what the controller followed, for methods that simulate it; the logs' own columns when not given.  One for all
            logs, one for each, or one for each and then one for each validation log.
        options: of the method that was asked for, name -> word; see `inertica.estimators.options`.
        estimate_gains: let methods that simulate the controller estimate its gains, too; the same as the option `estimate-gains`.
        quick: do not apply the estimate to itself, nor try neighbouring cut-offs; intervals then hold no bias, and say so.
        force: fit logs although their check found a problem.
        regressor: rows of linear fits: torque, or without accelerations momentum or power.
        refine_shapes: find the constants of friction laws that enter nonlinearly (Stribeck velocity and exponent, ...), too.
        prior: `truth` to start a fit of a log that was simulated with this very model from its values; 15 % off them when not given.
        gravity: free fall in the base frame in m/s^2, or `auto` to find its direction; as the card or model file says when not given.
    """

    method: str | Estimator = "auto"
    cutoff: float | None = None
    decimate: float | None = None
    delay: float | tuple[float, ...] | None = None
    friction: tuple[str, ...] | None = None
    velocity: str | None = None
    references: tuple[Trajectory, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    estimate_gains: bool = False
    quick: bool = False
    force: bool = False
    gravity: Literal["auto"] | tuple[float, float, float] | None = None
    filter: str | None = None
    regressor: Regressor = "torque"
    prior: Literal["truth"] | None = None
    refine_shapes: bool = False

    def __post_init__(self) -> None:
        if self.filter is not None and self.filter not in FILTERS:
            raise InputError(f"unknown filter '{self.filter}'; {nearest(self.filter, FILTERS)}")
        for what, value in (("cut-off", self.cutoff), ("decimation frequency", self.decimate)):
            if value is not None and not 0.0 < value < math.inf:
                raise InputError(f"the {what} should be a number of Hz greater than zero, not {value:g}")
        if isinstance(self.friction, str):  # a word would count as laws called by its letters
            names = ", ".join(repr(name.strip()) for name in self.friction.split(","))
            raise InputError(f"friction laws are given as a sequence of names: [{names}], not as one text")
        if self.delay is not None and not all(math.isfinite(d) for d in np.atleast_1d(self.delay)):
            raise InputError("the delay should be a number of seconds, or one for each joint")
        if self.gravity is not None and self.gravity != "auto":
            check_gravity(self.gravity)

    def method_can(self, capability: Capability) -> bool:
        """Whether the method asked for can do something; False while it is left to be chosen."""
        return self.method != "auto" and capability in method(self.method).capabilities

    @property
    def simulates(self) -> bool:
        """Whether the method asked for simulates the loop and does without a measured motion."""
        return self.method != "auto" and Need.MOTION not in method(self.method).needs

    @property
    def method_options(self) -> dict[str, str]:
        return dict(self.options) | ({"estimate-gains": "yes"} if self.estimate_gains else {})


def check_gravity(gravity: Sequence[float]) -> None:
    """Refuse what is no direction."""
    if isinstance(gravity, str) or len(gravity) != 3 or not all(map(math.isfinite, gravity)) or not any(gravity):
        raise InputError(
            f"gravity should be three numbers in m/s^2, free fall in the base frame such as 0,0,-9.81, or auto; not {gravity}"
        )


def check_method(settings: Settings) -> None:
    """Refuse a method or an option that there is not, before any work."""
    if settings.method != "auto":
        with_options(method(settings.method), settings.method_options)
    elif settings.method_options:
        options = ", ".join(settings.method_options)
        raise InputError(f"options of a method ({options}) need the method they belong to; state it, too")


def prepared_method(name: str | Estimator, description: Description, options: Mapping[str, str] | None = None) -> Estimator:
    """A method with options; one asked for by name also with the trust in its prior values that the robot's card states."""
    estimator = with_options(method(name), options or {})
    trusts = isinstance(name, str) and description.trust and Capability.TAKES_TRUST in estimator.capabilities
    return replace(estimator, trust=description.trust) if trusts else estimator  # type: ignore[type-var]
