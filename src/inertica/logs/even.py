"""Time stamps that jitter although samples were taken evenly: which of the two it is, positions tell.

Many recorders stamp a sample when it arrives, not when it was taken.  Read at the stamped times, a joint of 2 rad/s then shows 1 mrad
of noise for 0.5 ms of jitter, which no encoder has.  A smooth motion has small fourth differences: those of five samples at even
instants, and those of the same samples at the stamped instants (divided differences, scaled to the same response to white noise), say
on which clock the motion is smooth.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inertica.arrays import Array
from inertica.logs.breaks import regular_intervals
from inertica.logs.log import Log

JITTER = 0.02
"""Standard deviation of the intervals, as a share of them, from which a clock counts as one that jitters."""

SMOOTHER = 0.5
"""Fourth differences on the even clock, relative to those at the stamped times, at which samples count as even: median over joints."""

LOOKED_AT = 20_000
"""Fourth differences that are looked at."""

EVEN = np.array([1.0, -4.0, 6.0, -4.0, 1.0])


def evened(log: Log) -> Log:
    """The log with an even clock where its stamps jitter around one and its positions are smooth on that; else the log itself."""
    use = ~log.mask & np.isfinite(log.t)
    q = log.signals.get("q")
    if q is None or np.count_nonzero(use) < 20:
        return log
    recorded = log.running[use]
    numbers, clock = _numbered(recorded)
    if numbers is None or clock is None:
        return log
    rougher = _ratio(recorded, q[use], numbers)
    if not rougher < SMOOTHER:
        return log
    start, dt, jitter = clock
    t = np.array(log.t)
    t[use] = start + dt * numbers + (t - log.running)[use]
    if not np.all(np.diff(t[np.isfinite(t)]) >= 0.0):  # samples that are masked already lie between
        return log
    note = (
        f"the time stamps jitter by {100 * jitter:.2g} % around an even clock of {1 / dt:.5g} Hz, on which positions are "
        f"{1 / max(rougher, 1e-3):.2g} times smoother: samples are taken to be even"
    )
    return replace(log, t=t, warnings=(*log.warnings, note))


def _numbered(t: Array) -> tuple[Array | None, tuple[float, float, float] | None]:
    """Sample numbers on an even clock that every stamp is nearest to (gaps skip some), and its start, interval and jitter."""
    steps, regular = np.diff(t), regular_intervals(t)
    dt = float(np.mean(regular))
    jitter = float(np.std(regular)) / max(dt, 1e-300)
    if not JITTER < jitter < 0.5:
        return None, None
    if (whole := _line(t, np.arange(len(t), dtype=float))) is not None:  # no row is missing, however the stamps jitter
        return np.arange(len(t), dtype=float), (*whole, jitter)
    k = np.concatenate([[0.0], np.cumsum(np.maximum(np.rint(steps / dt), 1.0))])
    for _ in range(3):
        start, dt = _fitted(t, k)
        again = np.rint((t - start) / dt)
        if np.array_equal(again, k):
            break
        k = again
    clock = _line(t, k)
    return (None, None) if clock is None else (k, (*clock, jitter))


def _line(t: Array, k: Array) -> tuple[float, float] | None:
    """Start and interval of the even clock through stamps of numbered samples; None where a stamp is not nearest to its own."""
    start, dt = _fitted(t, k)
    return None if np.any(np.diff(k) < 1.0) or np.abs(t - start - dt * k).max() >= 0.5 * dt else (start, dt)


def _fitted(t: Array, k: Array) -> tuple[float, float]:
    """Start and interval of the straight line through stamps over sample numbers."""
    middle = k - k.mean()
    dt = float(middle @ t / (middle @ middle))
    return float(np.mean(t - dt * k)), dt


def _ratio(t: Array, q: Array, numbers: Array) -> float:
    """Size of the fourth differences on the even clock relative to those at the stamped times, median over joints that move."""
    whole = np.flatnonzero(numbers[4:] - numbers[:-4] == 4.0)
    whole = whole[:: max(1, len(whole) // LOOKED_AT)]
    if len(whole) < 10:
        return np.inf
    rows = whole[:, None] + np.arange(5)
    times = t[rows] - t[rows].mean(axis=1, keepdims=True)
    apart = times[:, :, None] - times[:, None, :] + np.eye(5)
    weights = 1.0 / np.prod(apart, axis=2)
    weights *= np.linalg.norm(EVEN) / np.linalg.norm(weights, axis=1, keepdims=True)
    values = q[rows]  # (windows, 5, n)
    even = np.median(np.abs(np.einsum("k,wkj->wj", EVEN, values)), axis=0)
    stamped = np.median(np.abs(np.einsum("wk,wkj->wj", weights, values)), axis=0)
    positive = stamped > 0.0
    return float(np.median(even[positive] / stamped[positive])) if positive.any() else np.inf
