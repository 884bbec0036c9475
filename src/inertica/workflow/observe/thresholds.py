"""How large an external torque must be to count: thresholds that are crossed by chance at a stated rate.

Residuals are what the model leaves on known motion without contact, through the observer's own low-pass, so that their correlation in
time and the errors of the model count as they come.  Each joint is measured in its own rms; the largest joint's ratio is the one
series whose peaks count.  Peaks further apart than the low-pass remembers are taken for independent, and above a high level peaks
over it are exponential (the limit law of extremes for all tails between Gaussian and exponential).  k of them tell the mean excess a
only roughly, so that a fresh peak is beyond the level by x or more with probability (1 + x / (k a))^-k: the predictive law, which is
exp(-x / a) for many peaks.  Fresh motion of the same length crosses m times what lies k a ((k / m)^(1 / k) - 1) above the level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.code.observer_c import MEMORY
from inertica.errors import InputError
from inertica.workflow.observe.observer import Observed, Observer

FEWEST_PEAKS = 8
"""Peaks that tell a mean excess: fewer leave it uncertain by more than half."""

CERTAIN = 1.645
"""Standard deviations that noise exceeds in one direction in 5 % of all cases."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """What an observer shows along motion without contact.

    Args:
        observed: per stretch of motion.
        widening: (n,) factor by which fresh motion is expected to leave more than this one, at least 1.
    """

    observed: Sequence[Observed]
    widening: Array


@dataclass(frozen=True, eq=False)
class Thresholds:
    """When an external torque counts.

    Args:
        torque: (n,) threshold of every joint while it moves; what dry friction hides at rest comes on top.
        rms: (n,) of the residual of fresh motion without contact.
        smallest: (n,) external torque that is noticed in 95 % of all cases once the low-pass has settled.
        period: mean time in s between false alarms, over all joints.
        seconds: of motion that they were learned from.
        peaks: number of independent peaks in it.
    """

    torque: Array
    rms: Array
    smallest: Array
    period: float
    seconds: float
    peaks: int

    @property
    def extrapolated(self) -> bool:
        """Whether false alarms are asked to be rarer than the motion at hand can show."""
        return self.period > self.seconds


def thresholds(observer: Observer, sets: Sequence[Residuals], period: float) -> Thresholds:
    """Thresholds of all joints for one false alarm per `period` seconds.

    Args:
        observer: that made the residuals.
        sets: of motion without contact.
        period: s between false alarms on average.
    """
    settled = [(piece, piece.settled, s.widening) for s in sets for piece in s.observed]
    rows = [(np.abs(piece.torque[use]), piece.hidden[use], wider) for piece, use, wider in settled]
    count = sum(len(torque) for torque, _, _ in rows)
    if count < 2:
        raise InputError(
            "the motion without contact is too short for the observer's low-pass: thresholds need some seconds of it"
        )
    # at rest friction may hide any part of it: samples tell of the residual once the low-pass has forgotten the rest
    forgotten = np.exp(-MEMORY) * observer.hidden
    free = sum(np.sum(hidden <= forgotten, axis=0) for _, hidden, _ in rows)
    squares = sum(np.sum(np.where(hidden <= forgotten, wider * torque, 0.0) ** 2, axis=0) for torque, hidden, wider in rows)
    every = sum(np.sum((wider * torque) ** 2, axis=0) for torque, _, wider in rows) / count
    rms = np.sqrt(np.where(free > 0, squares / np.maximum(free, 1), every))
    rms = np.maximum(rms, np.finfo(float).tiny)
    limits = [
        _peaks(observer, piece.t[use], ratio(np.abs(piece.torque[use]) * wider, piece.hidden[use], rms))
        for piece, use, wider in settled
    ]
    peaks = np.sort(np.concatenate(limits))[::-1]
    seconds = float(sum(piece.t[use][-1] - piece.t[use][0] for piece, use, _ in settled if use.any()))
    level = _level(peaks, seconds / period)
    torque = level * rms
    return Thresholds(torque, rms, torque + CERTAIN * rms, period, seconds, len(peaks))


def ratio(torque: Array, hidden: Array, unit: Array) -> Array:
    """(N,) the largest joint's torque beyond what friction hides, in units (n,)."""
    return np.asarray(np.max(np.maximum(torque - hidden, 0.0) / unit, axis=1))


def _peaks(observer: Observer, t: Array, series: Array) -> Array:
    """Peaks that no larger one is near."""
    from scipy.signal import find_peaks

    if len(t) < 3:
        return np.array([series.max()]) if len(series) else np.zeros(0)
    apart = max(1.0, observer.memory / float(np.median(np.diff(t))))
    at, _ = find_peaks(np.concatenate([[-1.0], series, [-1.0]]), distance=apart)
    return np.asarray(series[at - 1])


def _level(peaks: Array, expected: float) -> float:
    """The level that as many fresh peaks as were seen would cross `expected` times; peaks (K,), the largest first."""
    k = min(max(int(np.ceil(np.sqrt(len(peaks)))), FEWEST_PEAKS), len(peaks) - 1)
    if k < 1:
        return float(peaks[0]) if len(peaks) else 0.0
    if expected >= k:
        return float(np.interp(expected, np.arange(1, len(peaks) + 1), peaks))
    excess = float(np.mean(peaks[:k]) - peaks[k])
    return float(peaks[k] + k * excess * np.expm1(np.log(k / expected) / k))
