"""Sensors: how the recorded log differs from what happened.  Each imperfection is one small function on samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.arrays import Array
from inertica.errors import InputError


@dataclass(frozen=True)
class Sensors:
    """Imperfections of a recording, besides the noise that the control loop feels too.

    Args:
        rate: samples per second, at most the control rate; the control rate when None.  Instants between control steps take the
            nearest step.
        position_step: quantisation of positions, a number or one per joint; 0 for none.
        torque_step: quantisation of torques or currents.
        current: record the current tau / drive gain instead of the torque.
        delay: seconds by which the recorded torque lags the motion, a number or one per joint.
        hysteresis: of the torque sensor, the gap between rising and falling torque as a share of the record's torque range.
        torque_offset: added to the torque, a number or one per joint.
        velocity: standard deviation of a recorded velocity; None records no velocity.
        jitter: standard deviation of the sampling instants in s.
        dropped: share of samples that are missing.
        outliers: share of torque samples with a spike.
        outlier_size: of spikes, in standard deviations of the torque.
    """

    rate: float | None = None
    position_step: ArrayLike = 0.0
    torque_step: ArrayLike = 0.0
    current: bool = False
    delay: ArrayLike = 0.0
    hysteresis: float = 0.0
    torque_offset: ArrayLike = 0.0
    velocity: float | None = None
    jitter: float = 0.0
    dropped: float = 0.0
    outliers: float = 0.0
    outlier_size: float = 10.0

    def __post_init__(self) -> None:
        for name in ("dropped", "outliers", "hysteresis"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise InputError(f"'{name}' is a share, from 0 to below 1, not {getattr(self, name):g}")
        for name in ("position_step", "torque_step", "delay", "jitter", "outlier_size"):
            if np.any(np.asarray(getattr(self, name), float) < 0.0):
                raise InputError(f"'{name}' should not be negative")
        if self.rate is not None and not self.rate > 0.0:
            raise InputError(f"the sample rate should be positive, not {self.rate:g} Hz")

    def lags(self, n: int, control_rate: float) -> NDArray[np.int64]:
        """(n,) control steps by which the recorded torque lags."""
        return np.rint(np.broadcast_to(np.asarray(self.delay, float), (n,)) * control_rate).astype(np.int64)

    def steps(self, control_rate: float, control_steps: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Control steps at which samples are taken, ascending."""
        rate = self.rate or control_rate
        if rate > control_rate * (1 + 1e-9):
            raise InputError(f"the sample rate {rate:g} Hz exceeds the control rate {control_rate:g} Hz")
        duration = control_steps / control_rate
        instants = np.arange(int(np.floor(duration * rate + 1e-9))) / rate
        if self.jitter:
            instants = instants + self.jitter * rng.standard_normal(len(instants))
        steps = np.sort(np.clip(np.rint(instants * control_rate).astype(np.int64), 0, control_steps - 1), kind="stable")
        steps = steps[np.diff(steps, prepend=-1) > 0]  # in order already unless they jitter, which `unique` would not make use of
        if self.dropped:
            steps = steps[rng.random(len(steps)) >= self.dropped]
        return steps


def played(signal: Array, width: ArrayLike) -> Array:
    """Hysteresis as a play operator: the output stays where it is until the input has pushed it, `width` from turn to turn.

        y_k = min(max(y_(k-1), x_k - width/2), x_k + width/2),   y_0 = x_0

    Rising and falling signals come out `width` apart.

    Args:
        signal: (N, n).
        width: of the play, a number or one per column.
    """
    half = 0.5 * np.broadcast_to(np.asarray(width, float), signal.shape[-1:])
    low, high, out = signal - half, signal + half, np.array(signal, float)
    for k in range(1, len(out)):
        np.minimum(np.maximum(out[k - 1], low[k]), high[k], out=out[k])
    return out


def quantised(signal: Array, step: ArrayLike) -> Array:
    """Rounded to whole steps; a zero step leaves the signal as it is."""
    size = np.broadcast_to(np.asarray(step, float), signal.shape[-1:])
    return np.where(size > 0.0, np.rint(signal / np.where(size > 0.0, size, 1.0)) * size, signal)


def with_outliers(signal: Array, share: float, size: float, rng: np.random.Generator) -> Array:
    """Spikes of random sign on a share of the samples."""
    hit = rng.random(signal.shape) < share
    spikes = size * signal.std(axis=0) * rng.choice([-1.0, 1.0], signal.shape)
    return np.where(hit, signal + spikes, signal)
