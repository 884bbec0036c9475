"""Where a recorded motion drowns in its noise: the edge above which a position says nothing about acceleration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.logs.log import Log
from inertica.logs.noise import position_noise
from inertica.preprocessing.bandwidth import ENERGY, spectra, widest_position_band
from inertica.preprocessing.filters import PART_OF_RATE, Unfiltered
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import noise_on_clock, prepare
from inertica.preprocessing.recipe import Recipe

ABOVE = 4.0
"""Motion counts up to the frequency at which its spectrum has fallen to this many times the noise floor."""

CLEAR = 10.0
"""What exceeds the noise floor by this factor is motion beyond doubt."""

SEGMENTS = 4
"""Segments of a record, one after the other, whose spectra are averaged."""

TOP = 2.0 / 3.0
"""Of half the sampling rate: above it a spectrum is taken for noise."""

BANDS = 20.0
"""Bands of a motion that a filter keeps which is to take nothing of it; the papers' 50 Hz for arms that move at up to 2.5 Hz."""

_BELOW, _BEYOND = 0.9, 1.12  # a spectrum is smoothed over this range of the frequency
_FEWEST = 256  # samples of a segment


def noise_edge(q: Array, dt: float, sigma: Array | None = None) -> Array:
    """(n,) Hz, the highest frequency at which the smoothed spectrum of a signal is above four times its noise floor.

    Position, velocity and acceleration have the same signal-to-noise ratio at a frequency, so this is where the acceleration drowns.
    Spectra are those of the second difference, which leaks little, divided by the gain of that difference.  A joint whose motion does
    not stand out of the noise anywhere gets 0.

    Args:
        q: (N, n) recorded positions, or recorded velocities, on a uniform clock.
        dt: of that clock, s.
        sigma: (n,) standard deviation of white noise on q; as the fourth difference shows it by default.  The floor is at least the
            spectrum at the highest frequencies.
    """
    noise = position_noise(q) if sigma is None else np.asarray(sigma, float)
    if len(q) < 8:
        return np.zeros(q.shape[1])
    rate = 1.0 / dt
    length = min(len(q) - 2, max(_FEWEST, len(q) // SEGMENTS))
    f, P = (x[1:] for x in spectra(np.diff(q, 2, axis=0), rate, length))
    P = P / ((2.0 - 2.0 * np.cos(2.0 * np.pi * f * dt)) ** 2)[:, None]
    first = np.searchsorted(f, _BELOW * f)
    last = np.searchsorted(f, _BEYOND * f, side="right")
    total = np.vstack([np.zeros(P.shape[1]), np.cumsum(P[::-1], axis=0)])[::-1]  # from above, where numbers are small
    smooth = (total[first] - total[last]) / (last - first)[:, None]
    floor = np.maximum(2.0 * noise**2 / rate, _top_density(f, P))  # one-sided density of white noise
    above = (smooth > ABOVE * floor) & (np.ptp(q, axis=0) > 0.0)
    highest = len(f) - 1 - np.argmax(above[::-1], axis=0)
    return np.where(above.any(axis=0), f[highest], 0.0)


def _top_density(f: Array, P: Array) -> Array:
    """(n,) median of the densities (F, n) at the highest frequencies.

    Repeated rows and jitter of the clock are rare or small against the median size of differences and fill the spectrum all the
    same, so that a floor has to be seen in the spectrum, too.
    """
    return np.asarray(np.median(P[f > TOP * f[-1]], axis=0))


def edges_of(log: Log, *, velocity: bool = False) -> Array:
    """(n,) Hz, `noise_edge` of a log's positions, or of its recorded velocities, on a uniform clock."""
    if velocity and log.dq is None:
        raise InputError(f"{log.origin} has no recorded velocity whose noise could be looked at")
    motion = unfiltered(log, velocity)
    return noise_edge(motion.dq, motion.dt) if velocity else noise_edge(motion.q, motion.dt, noise_on_clock(log))


def unfiltered(log: Log, velocity: bool = False) -> Motion:
    """A log on a uniform clock, as it is."""
    source: Literal["recorded", "differences"] = "recorded" if velocity else "differences"
    return prepare(log, Recipe(filter=Unfiltered(), velocity=source, standstill=None, border=0))


def lowest_edge(logs: list[Log] | tuple[Log, ...], *, velocity: bool = False) -> float:
    """Hz, the lowest `noise_edge` over logs and joints, joints that show no motion left out; 0 when none does."""
    edges = np.concatenate([edges_of(log, velocity=velocity) for log in logs])
    return float(np.min(edges[edges > 0.0], initial=np.inf)) if np.any(edges > 0.0) else 0.0


def motion_band(q: Array, dt: float, sigma: Array | None = None) -> float:
    """Hz, highest over the joints of the frequency below which 99 % of a joint's velocity energy lies.

    Only what stands clearly above the noise floor counts; noise that is left above its own floor would add up over wide bands.
    """
    noise = position_noise(q) if sigma is None else np.asarray(sigma, float)
    if len(q) < 8:
        return 0.0
    rate = 1.0 / dt
    f, P = (x[1:] for x in spectra(np.diff(q, axis=0), rate, min(len(q) - 1, max(_FEWEST, 2 * len(q) // SEGMENTS))))
    gain = (2.0 - 2.0 * np.cos(2.0 * np.pi * f * dt))[:, None]  # of a first difference
    floor = gain * np.maximum(2.0 * noise**2 / rate, _top_density(f, P / gain))
    total = np.cumsum(np.where(CLEAR * floor < P, P, 0.0), axis=0)
    moving = (total[-1] > 0.0) & (np.ptp(q, axis=0) > 0.0)
    return max((float(f[np.searchsorted(x, ENERGY * x[-1])]) for x in total.T[moving]), default=0.0)


def widest_band(logs: list[Log] | tuple[Log, ...]) -> float:
    """Hz, the widest `motion_band` of the logs."""
    motions = [unfiltered(log) for log in logs]
    return max(motion_band(m.q, m.dt, noise_on_clock(log)) for log, m in zip(logs, motions, strict=True))


def usual_cutoff(logs: Sequence[Log]) -> float:
    """Hz, for a filter of positions whose cut-off nobody states or chooses: so far above the motion that it takes nothing of it."""
    bands = []
    for log in logs:
        q = log.need("q")
        bands.append(widest_position_band(q[~log.mask & np.isfinite(q).all(axis=1)], 1.0 / log.rate))
    most = PART_OF_RATE * min(log.rate for log in logs)
    return min(BANDS * max(bands), most) or most
