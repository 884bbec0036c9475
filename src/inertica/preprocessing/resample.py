"""A uniform clock for a log: where the samples lie, which of them are filled in, and the signals on it.

A clock that is uniform already keeps its samples untouched.  One that jitters is replaced by a uniform one of the same mean rate and
every signal, positions and torques alike, is read off the interpolating curve through its own samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.linalg import solve_banded

from inertica.arrays import Array, Mask
from inertica.errors import InputError
from inertica.logs.breaks import regular_intervals

if TYPE_CHECKING:
    from scipy.interpolate import BSpline, PPoly

Interpolation = Literal["cubic", "makima", "pchip", "linear"]

EXACT = 0.01
"""A clock counts as uniform when no sample is off by more than this part of the interval."""

ROUNDED = 1e-9
"""Part of the interval by which rounding alone moves samples of a uniform clock."""

GAP = 1.75
"""An interval longer than this many regular ones is a gap."""

BLOCK = 4096
"""Samples of a spline that are read at a time, so that what lies between stays in the cache."""

FORGOTTEN = 40
"""Samples after which a slope of a cubic spline knows nothing of a value: each is 2 - sqrt(3) of the one before, 1e-23 in all."""


@dataclass(frozen=True, eq=False)
class UniformClock:
    """t_k = start + k dt.

    Args:
        start, dt: in s.
        count: number of samples.
        exact: the log's own samples lie on it, so nothing but gaps is interpolated.
        jitter: standard deviation of the log's intervals (gaps apart) over their mean.
    """

    start: float
    dt: float
    count: int
    exact: bool
    jitter: float

    @property
    def t(self) -> Array:
        return np.asarray(self.start + self.dt * np.arange(self.count), float)

    @property
    def rate(self) -> float:
        return 1.0 / self.dt


def uniform_clock(t: Array, rate: float | None = None, period: float | None = None) -> UniformClock:
    """The uniform clock for ascending times.

    Args:
        t: times of the usable samples, running on across breaks (`Log.running`): gaps are filled.
        rate: wanted, at least the mean rate of the log; thinning out is the business of decimation.
        period: of the motion; the interval is adapted so that it holds a whole number of samples.
    """
    if len(t) < 3:
        raise InputError(f"a uniform clock needs three usable samples or more; this log has {len(t)}")
    regular = regular_intervals(t)
    dt = float(np.mean(regular))
    jitter = float(np.std(regular) / dt)
    if rate is not None:
        if rate * dt < 1.0 - EXACT:
            raise InputError(
                f"a clock of {rate:g} Hz would skip samples of this log, recorded at {1 / dt:.4g} Hz; decimate instead"
            )
        dt = 1.0 / rate
    elif jitter < 0.1:
        dt = _slope(t, dt)
    if period is not None:
        dt = period / round(period / dt)
    k = (t - t[0]) / dt
    exact = bool(np.abs(k - np.rint(k)).max() < EXACT)
    return UniformClock(float(t[0]), dt, int(np.floor(k[-1] + EXACT)) + 1, exact, jitter)


def _slope(t: Array, dt: float) -> float:
    """The interval that fits a clock best which may have gaps: a straight line through sample numbers that skip them."""
    steps = np.rint(np.diff(t) / dt)
    k = np.concatenate([[0.0], np.cumsum(np.maximum(steps, 1.0))])
    k -= k.mean()
    return float(k @ t / (k @ k))


def on_clock(
    clock: UniformClock,
    t: Array,
    values: Array,
    use: Mask,
    shift: Sequence[float],
    how: Interpolation,
    stale: Mask | None = None,
) -> tuple[Array, Mask]:
    """A signal on the clock, and where there was nothing near to read it from.

    Args:
        clock: the uniform one.
        t: (M,) times of the log.
        values: (M, n) as recorded, NaN where there is none.
        use: (M,) samples to go by.
        shift: per joint, s: the value at clock time x is the one recorded at x + shift.
        how: interpolation.
        stale: (M,) samples that only repeat the one before: interpolated over, but not counted as missing.
    """
    current = use if stale is None else use & ~stale
    missing = np.zeros(clock.count, bool)
    whole = clock.exact and not any(shift) and len(t) == clock.count > 2
    if whole and current.all() and np.isfinite(values).all():  # nothing to fill in
        return np.ascontiguousarray(values, float).view(), missing  # whoever freezes it leaves the log's own alone
    out, x = np.empty((clock.count, values.shape[1])), clock.t
    evenly = how == "cubic" and clock.exact and len(t) == clock.count >= 4 and current.all()
    if evenly and np.isfinite(values).all() and np.abs(t - x).max() < ROUNDED * clock.dt:
        return _shifted(clock, values, shift)
    for j, column in enumerate(values.T):
        finite = np.isfinite(column)
        good = current & finite
        if np.count_nonzero(good) < 3:
            raise InputError(f"joint {j + 1} has fewer than three usable samples of a signal", joint=j + 1)
        known, at = t[good], x + shift[j]
        if clock.exact and shift[j] == 0.0 and len(known) == clock.count:  # nothing to fill in
            out[:, j] = column[good]
            continue
        missing |= _far(t[use & finite], at, clock.dt) | (at < known[0] - EXACT * clock.dt) | (at > known[-1] + EXACT * clock.dt)
        out[:, j] = interpolant(known, column[good], how)(np.clip(at, known[0], known[-1]))
        if clock.exact and shift[j] == 0.0:  # the recorded numbers themselves, not what rounding makes of them
            out[np.rint((known - clock.start) / clock.dt).astype(int), j] = column[good]
    return out, missing


def _shifted(clock: UniformClock, values: Array, shift: Sequence[float]) -> tuple[Array, Mask]:
    """Samples (N, n) of the clock itself as `on_clock` gives them, off one spline for all joints of a delay."""
    out, missing, last = np.array(values, float), np.zeros(clock.count, bool), clock.count - 1.0
    for delay in np.unique(shift):
        place, alike = np.arange(clock.count) + delay / clock.dt, np.equal(shift, delay)
        missing |= (place < -EXACT) | (place > last + EXACT)
        if delay:
            out[:, alike] = uniform_spline(out[:, alike], np.clip(place, 0.0, last))
    return out, missing


def interpolant(t: Array, y: Array, how: Interpolation) -> PPoly | BSpline:
    """A curve through the samples, or one for each column of them."""
    from scipy import interpolate

    if how == "cubic":
        return interpolate.CubicSpline(t, y, bc_type="natural" if len(t) < 4 else "not-a-knot")
    if how == "makima":
        return interpolate.Akima1DInterpolator(t, y, method="makima")
    if how == "pchip":
        return interpolate.PchipInterpolator(t, y)
    if how == "linear":
        return interpolate.make_interp_spline(t, y, k=1)
    raise InputError(f"unknown interpolation '{how}'; valid are: cubic, linear, makima, pchip")


def uniform_spline(y: Array, at: Array) -> Array:
    """(M, k) the not-a-knot cubic spline through samples (N, k), N >= 4, of a uniform clock, read at sample numbers `at` (M,).

    What `interpolant` gives, in a fraction of the time and without coefficients of a million pieces: slopes are worked out for a
    stretch of the samples at a time, with as many neighbours as the slopes in it can tell of.
    """
    out = np.empty((len(at), y.shape[1]))
    # where times go back, as at the ends of averaged periods, another stretch begins
    ends = [0, *(np.flatnonzero(np.diff(at) < 0.0) + 1), len(at)]
    for part in (slice(k, min(k + BLOCK, end)) for begin, end in pairwise(ends) for k in range(begin, end, BLOCK)):
        k = np.minimum(at[part].astype(int), len(y) - 2)
        first = max(int(k[0]) - FORGOTTEN, 0)
        near = y[first : int(k[-1]) + 2 + FORGOTTEN]
        k, u = k - first, (at[part] - k)[:, None]
        rows = slice(int(k[0]), int(k[-1]) + 1) if (np.diff(k) == 1).all() else k
        d, m = np.diff(near, axis=0), _slopes(near)
        d, before, after = d[rows], m[rows], m[1:][rows]
        bend = before + after - 2.0 * d
        out[part] = near[rows] + u * (before + u * (d - before - bend + u * bend))
    return out


def _slopes(y: Array) -> Array:
    """(N, k) slopes per sample of the not-a-knot cubic spline through (N, k) samples of a uniform clock.

    One tridiagonal system for all columns, m_i-1 + 4 m_i + m_i+1 = 3 (y_i+1 - y_i-1); its first and last row say that the third
    derivative does not jump next to an end.
    """
    step = np.diff(y, axis=0)
    right = np.empty_like(y, order="F")
    right[1:-1] = 3.0 * (step[:-1] + step[1:])
    right[0], right[-1] = 0.5 * (5.0 * step[0] + step[1]), 0.5 * (step[-2] + 5.0 * step[-1])
    bands = np.ones((3, len(y)))
    bands[1, 1:-1], bands[0, 1], bands[2, -2] = 4.0, 2.0, 2.0
    return np.asarray(solve_banded((1, 1), bands, right, overwrite_b=True, check_finite=False))


def _far(known: Array, at: Array, dt: float) -> Mask:
    """Times inside a gap, half an interval or more away from the samples at its ends."""
    after = np.clip(np.searchsorted(known, at), 1, len(known) - 1)
    left, right = known[after - 1], known[after]
    near = np.minimum(np.abs(at - left), np.abs(right - at))
    return np.asarray((right - left > GAP * dt) & (near > 0.5 * dt))
