"""Periodic records: finding the period, averaging over periods, and the noise that the spread between periods shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from inertica.arrays import Array, Mask
from inertica.errors import InputError

ALIKE = 0.98
"""Similarity of the record with itself one period later that a period must reach; 1 is identity."""

RETURNS = 0.9
"""The same from which parts of a motion count as told by its repetition.  Motions that begin from rest or end early reach it."""

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


def detect_period(q: Array, dt: float, similarity: float = ALIKE) -> float | None:
    """The period of a motion (N, n) in s, None when it does not repeat at least once.

    Similarity at lag k is 2 sum x(t) x(t+k) / sum (x(t)^2 + x(t+k)^2), summed over joints scaled to equal size.
    """
    x = q - q.mean(axis=0)
    size = x.std(axis=0)
    x = x[:, size > 0.0] / size[size > 0.0]
    N = len(x)
    if N < 8 or not x.shape[1]:
        return None
    product = _autocorrelation(x)
    energy = np.concatenate([[0.0], np.cumsum(np.sum(x**2, axis=1))])
    k = np.arange(N)
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = 2.0 * product / (energy[N - k] + energy[N] - energy[k])
    lags = N // 2 + 1  # beyond, less than one period would be compared
    below = np.flatnonzero(alike[:lags] < 0.5)
    if not below.size:
        return None
    peaks = below[0] + _peaks(alike[below[0] : lags + 1])
    if not peaks.size or alike[peaks].max() < similarity:
        return None
    best = int(peaks[alike[peaks] >= AS_GOOD * alike[peaks].max()][0])
    return dt * _refined(alike, best, lags)


def _autocorrelation(x: Array) -> Array:
    """(N,) sums of x(t) x(t + k) over samples and columns.  `scipy.signal` does the same; importing it takes half a second."""
    N = len(x)
    size = fft.next_fast_len(2 * N - 1, real=True)
    spectrum = [fft.rfft(c, size) * fft.rfft(c[::-1], size) for c in x.T]
    return np.sum([fft.irfft(s, size)[N - 1 : 2 * N - 1] for s in spectrum], axis=0)


def _peaks(x: Array) -> NDArray[np.intp]:
    """Samples that exceed both neighbours; of several equal ones in a row the middle."""
    steps = np.flatnonzero(np.diff(x) != 0.0)
    starts, ends = np.append(0, steps + 1), np.append(steps, len(x) - 1)
    top = x[starts]
    high = np.flatnonzero((top[1:-1] > top[:-2]) & (top[1:-1] > top[2:])) + 1
    return (starts[high] + ends[high]) // 2


def period_share(q: Array) -> float | None:
    """The period of a motion (N, n) as a share of its duration; None when it does not repeat.  Missing values count as the mean."""
    thin = q[:: max(1, len(q) // LOOKED_AT)]
    thin = np.where(np.isfinite(thin), thin, np.nanmean(thin, axis=0))
    period = detect_period(thin, 1.0, RETURNS)
    return None if period is None else period / len(thin)


def part_labels(rows: int, count: int, period: float | None) -> NDArray[np.intp]:
    """(rows,) to which of `count` parts of a record each row belongs: the same part of every period where its motion repeats.

    A part that is left out must not be told by its own repetition in what is fitted; parts of time would be, parts of the period
    are not.

    Args:
        rows: of the record.
        count: of parts.
        period: `period_share` of its motion.
    """
    phase = np.arange(rows) / rows
    if period is not None:
        phase = np.mod(phase / period, 1.0)
    return np.minimum((phase * count + 1e-9).astype(np.intp), count - 1)  # edges that are exact rows stay so in spite of rounding


def part_counts(lengths: Sequence[int], count: int) -> NDArray[np.intp]:
    """How many of about `count` parts each record gets by its length; one at least, and two in all."""
    shares = np.maximum(1, np.rint(count * np.array(lengths) / sum(lengths)).astype(int))
    if shares.sum() < 2:
        shares[int(np.argmax(lengths))] = 2
    return shares


def shared_parts(lengths: Sequence[int], periods: Sequence[float | None], counts: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Labels of the rows of several records (`part_labels`), each of which has parts of its own, numbered on.

    Args:
        lengths: rows of every record.
        periods: of every record, see `period_share`.
        counts: parts of every record.
    """
    firsts = np.cumsum(counts) - counts
    each = zip(lengths, periods, counts, firsts, strict=True)
    return [first + part_labels(rows, int(parts), period) for rows, period, parts, first in each]


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
