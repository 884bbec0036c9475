"""Up to which frequency a fit should use the data: the gain of measured on predicted torque, band by band.

Noise N on the positions of a motion S makes the regression of measured on predicted torque in a band come out at S / (S + N)
instead of one, whatever the colour of the noise: this is the attenuation that the band would bring into the fit.  Repeated rows,
jitter of the clock and quantisation are such noise.  Noise of the torque makes the gain uncertain but not smaller.  Noise that goes
round the control loop gives minus the controller over the inertia, anything but one.

The search starts at a bandwidth that the position alone determines (it stands far above noise of any colour) or that gives every base
parameter its rows, and widens it while the gain of the next band is near one.  Short logs get their rows at a bandwidth far above the
motion, where there may be nothing but noise; the bandwidths below, down to two bands of the position, are for data left out to judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.estimators.base import Problem
from inertica.estimators.observe import Observations
from inertica.threads import one_thread

LEAST_GAIN = 0.75
"""Gain of the next band down to which the fit is widened, and up to its inverse: the spectrum is four times its noise there."""

HARMONICS = 2.0
"""Bands of the position that a fit holds at least: torque holds products of two velocities."""

ROWS_PER_PARAMETER = 4.0
"""Rows of a joint for each base parameter that a fit should have: two, of which the mask around reversals leaves at least half."""

FEWEST_ROWS = 100
"""Rows of a joint that a fit should have however few its parameters: ten for each of the parts that are left out in turn."""

ROWS_PER_PERIOD = 2.5
"""Rows that decimation leaves for each period of the bandwidth."""

STEP = 2.0**0.5
"""Ratio of neighbouring candidates."""

WINDOWS = 10
"""Stretches over all logs whose spectra are averaged."""

RIDGE = 1e-8
"""Of the squares of unit columns: what a short log leaves undetermined stays finite."""

Prepared = Callable[[float], Problem]
"""The problem with its motions prepared for a fit up to some Hz."""


@dataclass(frozen=True)
class BandGain:
    """Measured against predicted torque between two frequencies.

    Args:
        low, high: Hz.
        weighted: gain over all joints, each weighed by its noise.
        median: gain of the median joint.
    """

    low: float
    high: float
    weighted: float
    median: float

    @property
    def near_one(self) -> bool:
        return all(LEAST_GAIN <= gain <= 1.0 / LEAST_GAIN for gain in (self.weighted, self.median))


@dataclass(frozen=True)
class BandwidthSearch:
    """Where the search began, where it stopped, and why.

    Args:
        candidates: Hz, from the start upwards, up to where the search stopped.
        gains: of the bands that were looked at; the last one stopped the search if it is not near one.
    """

    candidates: tuple[float, ...]
    gains: tuple[BandGain, ...]

    @property
    def start(self) -> float:
        return self.candidates[0]

    @property
    def widest(self) -> float:
        return self.candidates[-1]


@dataclass(frozen=True)
class SearchStart:
    """Where a search begins.

    Args:
        band: Hz, of the position (`preprocessing.bandwidth.position_band`).
        narrowest: Hz that a fit needs at least: two bands of the position, and a hundred rows of every joint.
        first: Hz from which on the gain is looked at: there every base parameter has its rows.
    """

    band: float
    narrowest: float
    first: float

    @classmethod
    def of(cls, band: float, duration: float, parameters: int) -> SearchStart:
        """For logs of so many s in all, and so many base parameters."""
        narrowest = max(HARMONICS * band, FEWEST_ROWS / (ROWS_PER_PERIOD * duration))
        return cls(band, narrowest, max(narrowest, ROWS_PER_PARAMETER * parameters / (ROWS_PER_PERIOD * duration)))

    @property
    def below(self) -> tuple[float, ...]:
        """Hz, candidates from the narrowest up to the first, which is not among them."""
        steps = int(np.ceil(np.log(self.first / self.narrowest) / np.log(STEP) - 1e-9))
        return tuple(self.narrowest * STEP**k for k in range(steps))

    def at_least(self, bandwidth: float) -> SearchStart:
        """The same, with nothing below a bandwidth."""
        return SearchStart(self.band, max(self.narrowest, bandwidth), max(self.first, bandwidth))


def search_bandwidth(prepared: Prepared, start: float, highest: float, widest: float) -> BandwidthSearch:
    """Widen the fit from `start` while the gain of the next band is near one.

    Args:
        prepared: the problem at a bandwidth.
        start: Hz.
        highest: Hz that the rate of the logs allows.
        widest: Hz beyond which noise of the position is seen directly; not gone beyond.
    """
    candidates, gains = [min(start, highest)], list[BandGain]()
    with one_thread():
        gram, _, rows = _grams(prepared(candidates[0]), 0.0, candidates[0])
        while (high := candidates[-1] * STEP) <= min(highest, max(widest, start)):
            beta, weights = _weighted_fit(gram, rows)
            low = candidates[-1]
            gram, between, rows = _grams(prepared(high), low, high)
            gains.append(_gain(between, beta, weights, low, high))
            if not gains[-1].near_one:
                break
            candidates.append(high)
    return BandwidthSearch(tuple(candidates), tuple(gains))


def _gain(between: Array, beta: Array, weights: Array, low: float, high: float) -> BandGain:
    """Regression of the torque of a band on its prediction from the motion of that band."""
    x = np.append(beta, 0.0)
    predicted = np.einsum("jab,a,b->j", between, x, x)
    product = between[:, -1, :] @ x
    alive = predicted > 0.0
    if not alive.any():
        return BandGain(low, high, 0.0, 0.0)
    weighted = float(weights @ product / (weights @ predicted))
    return BandGain(low, high, weighted, float(np.median(product[alive] / predicted[alive])))


def _grams(problem: Problem, low: float, high: float) -> tuple[Array, Array, Array]:
    """(n, b + 1, b + 1) products of the fit's rows [W y], of their content between two frequencies, and (n,) rows."""
    system: Observations = problem.observations
    n, b = system.n, problem.base.rank
    everything, between, rows = np.zeros((n, b + 1, b + 1)), np.zeros((n, b + 1, b + 1)), np.zeros(n)
    lengths = np.array([len(m) for m in problem.motions])
    windows = np.maximum(1, np.rint(WINDOWS * lengths / lengths.sum()).astype(int))
    uses = _uses(system)
    for (W, y), use, motion, share in zip(system.by_motion(), uses, problem.motions, windows, strict=True):
        dt = motion.decimator.ratio * motion.dt
        edges = np.linspace(0, len(y), share + 1).astype(int)
        for j in range(n):
            at = np.ix_(*[np.append(system.columns[j], b)] * 2)
            A = np.column_stack([W[j], y[:, j]])
            everything[j][at] += A[use[:, j]].T @ A[use[:, j]]
            rows[j] += np.count_nonzero(use[:, j])
            for first, last in pairwise(edges):
                between[j][at] += band_products(A[first:last], dt, low, high)
    return everything, between, rows


def _uses(system: Observations) -> list[NDArray[np.bool_]]:
    """Per motion (m, n) which rows take part."""
    parts: list[list[NDArray[np.bool_]]] = [[] for _ in system.motions]
    for rows in system.rows():
        parts[rows.motion].append(rows.use)
    return [np.concatenate(part) for part in parts]


def band_products(A: Array, dt: float, low: float, high: float) -> Array:
    """(k, k) products of columns between two frequencies.

    By the spectra of second differences under a window, divided by the gain of that difference: the large slow part of the columns
    would leak into the bands above it otherwise.

    Args:
        A: (m, k) columns on a uniform clock.
        dt: of that clock, s.
        low, high: Hz.
    """
    if len(A) < 8:
        return np.zeros((A.shape[1], A.shape[1]))
    D = np.diff(A, 2, axis=0)
    D = D - D.mean(axis=0)
    f = np.fft.rfftfreq(len(D), dt)
    inside = (f > low) & (f <= high)
    difference_gain = np.maximum(2.0 - 2.0 * np.cos(2.0 * np.pi * f[inside] * dt), 1e-3)
    F = np.fft.rfft(np.hanning(len(D) + 2)[1:-1, None] * D, axis=0)[inside] / difference_gain[:, None]
    return np.asarray(np.real(F.conj().T @ F))


def _weighted_fit(gram: Array, rows: Array) -> tuple[Array, Array]:
    """Weighted least squares from products: beta (b,), and 1 / sigma^2 (n,) of every joint fitted alone."""
    b = gram.shape[1] - 1
    weights = np.zeros(len(gram))
    for j, G in enumerate(gram):
        size = np.sqrt(np.maximum(np.diag(G), 1e-300))
        unit, felt = G / np.outer(size, size), np.diag(G)[:b] > 0.0
        x = np.linalg.lstsq(unit[:b, :b][np.ix_(felt, felt)], unit[:b, b][felt], rcond=1e-11)[0]
        # floored: a torque without any error would take all the weight
        left = max(1.0 - float(unit[:b, b][felt] @ x), 1e-9) * G[b, b]
        weights[j] = max(rows[j] - np.count_nonzero(felt), 1.0) / left if left > 0.0 else 0.0
    H = np.einsum("jab,j->ab", gram, weights)
    size = np.sqrt(np.maximum(np.diag(H)[:b], 1e-300))
    unit = H[:b, :b] / np.outer(size, size) + RIDGE * np.eye(b)
    return np.linalg.solve(unit, H[:b, b] / size) / size, weights
