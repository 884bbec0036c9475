"""`Recipe`: every choice between a recorded log and a motion, with the defaults of the literature."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError
from inertica.preprocessing.filters import Butterworth, Filter
from inertica.preprocessing.resample import Interpolation

Regressor = Literal["torque", "momentum", "power"]


@dataclass(frozen=True)
class Recipe:
    """How a log becomes a motion.

    Args:
        rate: of the uniform clock in Hz; the log's mean rate by default.
        interpolation: for clocks that jitter and for fractional delays: cubic, makima, pchip or linear.
        delay: s by which torque was recorded later than motion, one number or one per joint; taken out by reading torque later.
        velocity_delay: the same for recorded velocity.
        filter: of the positions; the papers' Butterworth of order 4 at 50 Hz, forward and backward, by default.
        velocity: `differences` of the filtered position, or the `recorded` one, filtered alike; the acceleration is its derivative.
        filter_torque: low-pass the torque like the positions.  The Jaco2 paper does (its Figure 3); survey and DIDIM paper filter
            positions only, and decimation treats torque and model alike.
        border: samples masked at each end.  The papers cut 50 at 1 kHz and 50 Hz cut-off; by default that, scaled with rate over
            cut-off, at most a twentieth of the record.
        standstill: samples at which every joint is slower than this part of its rms velocity, or than the noise of its velocity,
            are masked; None for no mask.
        period: of a periodic motion in s, or `detect`.
        average: average over periods, which also measures the noise.
        skip: periods left out at the start, while the motion settles.
        decimate: what the papers call the decimation frequency in Hz: ratio round(0.8 (rate/2) / frequency).
        ratio: decimation ratio, when it is wanted as such.
        keep: which end of the record decimation keeps: `last` as MATLAB, `first` as SciPy.
        reversal: s before and after a change of sign of a joint's velocity within which linear fits leave out that joint's rows.
        regressor: what a row of a linear fit says: the `torque` of a joint, or without accelerations the rate of its `momentum`, or
            the `power` of all joints.
        prediction: filter of the positions that torques are predicted from, where another one than that of the fit predicts better.
    """

    rate: float | None = None
    interpolation: Interpolation = "cubic"
    delay: float | tuple[float, ...] = 0.0
    velocity_delay: float | tuple[float, ...] = 0.0
    filter: Filter = field(default_factory=Butterworth)
    velocity: Literal["differences", "recorded"] = "differences"
    filter_torque: bool = False
    border: int | None = None
    standstill: float | None = 0.01
    period: float | Literal["detect"] | None = None
    average: bool = False
    skip: int = 0
    decimate: float | None = None
    ratio: int | None = None
    keep: Literal["last", "first"] = "last"
    reversal: float | None = None
    prediction: Filter | None = None
    regressor: Regressor = "torque"

    def __post_init__(self) -> None:
        if self.velocity not in ("differences", "recorded"):
            raise InputError(f"velocity comes from 'differences' or is the 'recorded' one, not '{self.velocity}'")
        if self.regressor not in get_args(Regressor):
            raise InputError(f"rows of a fit are {', '.join(get_args(Regressor))}, not '{self.regressor}'")
        if self.decimate is not None and self.ratio is not None:
            raise InputError("state either the decimation frequency or the ratio, not both")
        if self.border is not None and self.border < 0:
            raise InputError(f"the border cannot be {self.border} samples")
        if isinstance(self.period, (int, float)) and not self.period > 0.0:
            raise InputError(f"the period should be greater than zero, not {self.period:g} s")
        if self.reversal is not None and not 0.0 <= self.reversal < np.inf:
            raise InputError(f"the time around a reversal should be a number of seconds, not {self.reversal}")
        if self.average and self.period is None:
            raise InputError("averaging over periods needs the period in s, or 'detect'")

    @property
    def for_prediction(self) -> Recipe:
        """The same with the filter that suits predictions."""
        return self if self.prediction is None else replace(self, filter=self.prediction, prediction=None)

    def delays(self, n: int) -> NDArray[np.float64]:
        """(n,) delays of torque in s."""
        return _per_joint(self.delay, n, "delay")

    def velocity_delays(self, n: int) -> NDArray[np.float64]:
        return _per_joint(self.velocity_delay, n, "velocity delay")


def _per_joint(value: float | tuple[float, ...], n: int, what: str) -> NDArray[np.float64]:
    values = np.atleast_1d(np.asarray(value, float))
    if values.shape not in ((1,), (n,)) or not np.isfinite(values).all():
        raise InputError(f"the {what} should be one number in s or one for each of {n} joints")
    return np.array(np.broadcast_to(values, (n,)))
