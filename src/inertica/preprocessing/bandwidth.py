"""The band of a recorded motion, and spectra of its signals."""

from __future__ import annotations

import numpy as np

from inertica.arrays import Array
from inertica.logs.noise import position_noise

ENERGY = 0.99
"""Part of a signal's energy that lies below its band."""


ABOVE_NOISE = 20.0
"""Standard deviations of its white noise below which the range of a position is no movement."""


def position_band(q: Array, dt: float, sigma: Array | None = None) -> Array:
    """(n,) Hz below which 99 % of the energy of each position lies, its linear trend taken off; 0 for joints that do not move:
    the noise of a joint at rest fills the spectrum.

    The position of a moving joint stands orders of magnitude above noise of any colour, repeated rows and jitter of the clock
    included; its derivatives do not, so bands taken from those measure the recorder instead of the motion.

    Args:
        q: (N, n) positions on a uniform clock.
        dt: of that clock, s.
        sigma: (n,) standard deviation of white noise on q; as the fourth difference shows it by default.
    """
    x = np.linspace(-1.0, 1.0, len(q))
    y = q - q.mean(axis=0)
    y = y - np.outer(x, (x @ y) / (x @ x))
    energy = np.cumsum(np.abs(np.fft.rfft(np.hanning(len(q))[:, None] * y, axis=0)) ** 2, axis=0)
    f = np.fft.rfftfreq(len(q), dt)
    moving = np.ptp(q, axis=0) > ABOVE_NOISE * (position_noise(q) if sigma is None else sigma)
    return np.array([f[np.searchsorted(e, ENERGY * e[-1])] if m else 0.0 for e, m in zip(energy.T, moving, strict=True)])


def widest_position_band(q: Array, dt: float, sigma: Array | None = None) -> float:
    """Hz, the highest `position_band` of all joints."""
    return float(position_band(q, dt, sigma).max(initial=0.0))


def spectra(y: Array, rate: float, length: int) -> tuple[Array, Array]:
    """Frequencies and spectral densities (F, n) by Welch's method: Hann windows that overlap by half, means taken off."""
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(length) / length)
    starts = range(0, len(y) - length + 1, length - length // 2)
    P = np.zeros((length // 2 + 1, y.shape[1]))
    for first in starts:
        part = y[first : first + length]
        P += np.abs(np.fft.rfft(window[:, None] * (part - part.mean(axis=0)), axis=0)) ** 2
    P *= 2.0 / (len(starts) * rate * float(window @ window))
    if length % 2 == 0:  # half the sampling rate, like zero, has no mirror image
        P[-1] /= 2.0
    return np.asarray(np.fft.rfftfreq(length, 1.0 / rate), float), P
