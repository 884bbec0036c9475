"""Noise, resolution and range of recorded signals, read off the signals themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.arrays import Array, Mask

FOURTH = np.sqrt(70.0)  # norm of the fourth difference 1 -4 6 -4 1
MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation

REPEATS = 10
"""Rows in succession up to which repeated values are those of a recorder that had nothing new."""

LONG = 200_000
"""Samples of a record beyond which only the beginning of each of its pieces is looked at."""

_WINDOWS, _LEAST, _BEGINNING = (
    50,
    200,
    1000,
)  # pieces of a record, samples of a piece, those of one that are looked at in a long record
_OFTEN = 0.2  # part of the pieces that must show a step
_FEW_STEPS = 60


def extremes(values: Array) -> tuple[Array, Array]:
    """(n,) smallest and (n,) largest value of each column of (N, n); for narrow arrays quicker than along their first axis."""
    return np.array([x.min() for x in values.T]), np.array([x.max() for x in values.T])


def repeated_rows(signals: Sequence[Array]) -> Mask:
    """(N,) samples at which every measured signal (N, n) has the very values of the sample before, a few in a row at most.

    The recorder had nothing new then and wrote the old values under a new stamp.  Longer runs are a robot at rest, or a recording that
    hangs, and not meant here.
    """
    same = np.concatenate([[False], np.logical_and.reduce([np.all(x[1:] == x[:-1], axis=1) for x in signals])])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        same[start:stop] = stop - start <= REPEATS
    return same


def position_noise(q: Array) -> Array:
    """(n,) standard deviation of white noise on positions (N, n), at least that of their quantisation.

    The fourth difference removes any smooth motion; its median size is the noise, whatever few jerks there are.
    """
    if len(q) < 6:
        return np.zeros(q.shape[1])
    jerks = np.concatenate([np.diff(part, 4, axis=0) for part in (_pieces(q, _WINDOWS) if len(q) > LONG else [q])])
    spread = MAD * np.median(np.abs(jerks), axis=0) / FOURTH
    steps = np.array([quantisation_step(column) or 0.0 for column in q.T])
    return np.asarray(np.maximum(spread, steps / np.sqrt(12.0)))


def quantisation_step(x: Array) -> float | None:
    """The step of which all differences are multiples; None when there is none to be seen.

    The record is looked at piece by piece and the median step counts: numbers written with so many digits change their step with
    their size, and motion too fast for its steps shows none.
    """
    finite = np.isfinite(x)
    x = x if finite.all() else x[finite]
    steps = [_step(part) for part in _pieces(x, max(1, min(_WINDOWS, len(x) // _LEAST)))]
    known_steps = [step for step in steps if step is not None]
    return float(np.median(known_steps)) if len(known_steps) >= _OFTEN * len(steps) else None


def _pieces(x: Array, count: int) -> list[Array]:
    """Equal parts of a record in the order of time; of a long one only how each begins."""
    return [part[:_BEGINNING] if len(x) > LONG else part for part in np.array_split(x, count)]


def _step(x: Array) -> float | None:
    """The step of one piece: values that are multiples of it, but for an offset."""
    tiny = 1e-9 * max(float(np.ptp(x)), 1e-3 * float(np.abs(x).max(initial=0.0)))
    d = np.sort(np.abs(np.diff(x)))
    d = d[d > tiny]
    between = np.diff(d)  # fast motion makes many steps per sample, but not always the same number
    small = np.concatenate([d, between[between > tiny]])
    if len(d) < 20 or len(small) < 30:
        return None
    step = _quantile(small, 0.02)
    multiple = np.rint(d / step)
    few = (multiple >= 1.0) & (multiple <= _FEW_STEPS)
    if not few.any():
        return None
    step = _quantile(d[few] / multiple[few], 0.5)
    y = x - x[0]
    for most in (1e2, 1e4, 1e6):  # further away the same error of the step shows more, so it is refined outwards
        multiple = np.rint(y / step)
        near = np.abs(multiple) <= most
        size = float(multiple[near] @ multiple[near])
        step = float(y[near] @ multiple[near]) / size if size > 0.0 else step
        if not step > tiny:
            return None
    if not abs(np.mean(np.exp(2j * np.pi * y / step))) > 0.9:  # values are not aligned
        return None
    uneven = len(np.unique(np.rint(np.diff(x) / step))) > 1  # an even ramp is aligned with its own increment
    return step if uneven and len(np.unique(np.rint(y / step))) > 5 else None


def _quantile(x: Array, part: float) -> float:
    """As `np.quantile`, which takes longer than all else that is done with a piece."""
    at = part * (len(x) - 1)
    low = int(at)
    high = min(low + 1, len(x) - 1)
    a, b = np.partition(x, (low, high))[[low, high]]
    share = at - low
    return float(b - (b - a) * (1.0 - share) if share >= 0.5 else a + (b - a) * share)
