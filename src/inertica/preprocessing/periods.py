"""Periodic records: finding the period, averaging over periods, and the noise that the spread between periods shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InputError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

ALIKE = 0.98
"""Similarity of the record with itself one period later that a period must reach; 1 is identity."""

AS_GOOD = 0.995
"""The shortest lag that is this close to the best similarity is the period; later ones are multiples of it."""

LOOKED_AT = 20_000
"""Samples of a record by which it is told whether its motion repeats."""


@dataclass(frozen=True, eq=False)
class PeriodNoise:
    """Noise found by comparing periods, per joint.

    Args:
        periods: how many were averaged.
        q, tau: (n,) variance of a single sample about the mean over periods.
    """

    periods: int
    q: Array
    tau: Array

    @property
    def q_of_mean(self) -> Array:
        """(n,) variance of the averaged position."""
        return np.asarray(self.q / self.periods)

    @property
    def tau_of_mean(self) -> Array:
        """(n,) variance of the averaged torque."""
        return np.asarray(self.tau / self.periods)


def detect_period(q: Array, dt: float) -> float | None:
    """The period of a motion (N, n) in s, None when it does not repeat at least once.

    Similarity at lag k is 2 sum x(t) x(t+k) / sum (x(t)^2 + x(t+k)^2), summed over joints scaled to equal size.
    """
    from scipy import signal

    x = q - q.mean(axis=0)
    size = x.std(axis=0)
    x = x[:, size > 0.0] / size[size > 0.0]
    N = len(x)
    if N < 8 or not x.shape[1]:
        return None
    product = sum(signal.correlate(c, c, method="fft")[N - 1 :] for c in x.T)
    energy = np.concatenate([[0.0], np.cumsum(np.sum(x**2, axis=1))])
    k = np.arange(N)
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = 2.0 * product / (energy[N - k] + energy[N] - energy[k])
    lags = N // 2 + 1  # beyond, less than one period would be compared
    below = np.flatnonzero(alike[:lags] < 0.5)
    if not below.size:
        return None
    peaks = below[0] + signal.find_peaks(alike[below[0] : lags + 1])[0]
    if not peaks.size or alike[peaks].max() < ALIKE:
        return None
    best = int(peaks[alike[peaks] >= AS_GOOD * alike[peaks].max()][0])
    return dt * _refined(alike, best, lags)


def phase_edges(q: Array, rows: int, count: int) -> list[int]:
    """Where the parts of a record begin when every period of its motion is cut into `count` parts, and where the last one ends.

    Every `count`-th part is the same share of the motion.  A motion that does not repeat is one period.

    Args:
        q: (N, n) positions.
        rows: of the record that is cut; the same motion, on a clock that may be slower.
        count: of parts.
    """
    thin = q[:: max(1, len(q) // LOOKED_AT)]
    period = detect_period(thin, 1.0)
    length = float(rows) if period is None else rows * period / len(thin)
    parts = int(np.ceil(count * rows / length - 1e-6))
    parts += -parts % count  # parts of a last period that was not finished are empty
    return [min(rows, int(np.ceil(i * length / count - 1e-6))) for i in range(parts + 1)]


def _refined(alike: Array, lag: int, lags: int) -> float:
    """The lag to fractions of a sample: tops of the peaks at its multiples, the last one telling most."""
    exact = float(lag)
    for m in range(1, lags // lag + 1):
        near = round(m * exact)
        if near + 1 >= len(alike):
            break
        left, top, right = alike[near - 1 : near + 2]
        bend = left - 2.0 * top + right
        if bend < 0.0:
            exact = (near + float(np.clip(0.5 * (left - right) / bend, -1.0, 1.0))) / m
    return exact


@dataclass(frozen=True)
class Folded:
    """A periodic record cut into periods.

    Args:
        samples: per period.
        first: sample at which the first whole period begins.
        periods: how many whole ones there are.
    """

    samples: int
    first: int
    periods: int

    @classmethod
    def of(cls, count: int, period: float, dt: float, skip: int = 0) -> Folded:
        """Whole periods of a record, without the first `skip` of them."""
        samples = round(period / dt)
        periods = count // samples - skip if samples else 0
        if samples < 8 or periods < 1:
            raise InputError(
                f"a record of {count * dt:.4g} s holds no whole period of {period:.4g} s"
                + (f" after the {skip} that are skipped" if skip else "")
            )
        return cls(samples, skip * samples, periods)

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + self.periods * self.samples)

    def average(self, values: Array, use: Mask) -> tuple[Array, Array, Mask]:
        """Mean over periods (P, n), variance of a single sample (n,), and which phases no usable sample covers (P,)."""
        x = values[self.rows].reshape(self.periods, self.samples, -1)
        w = use[self.rows].reshape(self.periods, self.samples, 1).astype(float)
        count = w.sum(axis=0)
        plain = x.mean(axis=0)
        mean = np.where(count > 0, (w * x).sum(axis=0) / np.maximum(count, 1.0), plain)
        freedom = np.maximum(count - 1.0, 0.0).sum()
        spread = (w * (x - mean) ** 2).sum(axis=(0, 1))
        variance = spread / freedom if freedom > 0.0 else np.full(x.shape[2], np.nan)
        return mean, variance, count[:, 0] == 0.0

    def extended(self, values: Array, count: int) -> Array:
        """One period (P, n) or several continued periodically over a record of `count` samples."""
        return np.asarray(values[(np.arange(count) - self.first) % len(values)])
