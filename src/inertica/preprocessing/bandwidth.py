"""The bandwidth of a recorded motion, and the low-pass that suits it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.preprocessing.filters import default_cutoff

Array = NDArray[np.float64]

ENERGY = 0.99
"""Part of a signal's energy that lies below its band."""

MARGIN = 6.0
"""A cut-off is this many times the bandwidth: torques hold products of sines of the joint angles, so several harmonics."""

_SEGMENT = 8.0  # s of a segment whose spectrum is averaged


@dataclass(frozen=True, eq=False)
class Bandwidth:
    """What the spectra of velocities say, in Hz.

    Args:
        joints: (n,) below it lies 99 % of a joint's velocity energy, the noise floor taken off; 0 for joints that do not move.
        cutoff: suggested for torque and regressor columns, one for all joints; positions may keep twice that.
    """

    joints: Array
    cutoff: float


def bandwidth(q: Array, dt: float) -> Bandwidth:
    """Bandwidth of positions (N, n) on a uniform clock."""
    rate = 1.0 / dt
    length = min(len(q) - 1, max(256, round(_SEGMENT * rate)))
    f, P = (x[1:] for x in spectra(np.diff(q, axis=0), rate, length))
    gain = 2.0 - 2.0 * np.cos(2.0 * np.pi * f * dt)  # of a first difference
    joints = np.array([_of_joint(f, p, gain) for p in P.T])
    joints[np.ptp(q, axis=0) == 0.0] = 0.0
    highest = default_cutoff(rate)
    return Bandwidth(joints, float(np.clip(MARGIN * joints.max(initial=0.0), min(4.0 * f[0], highest), highest)))


def position_band(q: Array, dt: float) -> Array:
    """(n,) Hz below which 99 % of the energy of each position lies, its linear trend taken off; 0 for joints that do not move.

    The position of a moving joint stands orders of magnitude above noise of any colour, repeated rows and jitter of the clock
    included; its derivatives do not, so bands taken from those measure the recorder instead of the motion.

    Args:
        q: (N, n) positions on a uniform clock.
        dt: of that clock, s.
    """
    x = np.linspace(-1.0, 1.0, len(q))
    y = q - q.mean(axis=0)
    y = y - np.outer(x, (x @ y) / (x @ x))
    energy = np.cumsum(np.abs(np.fft.rfft(np.hanning(len(q))[:, None] * y, axis=0)) ** 2, axis=0)
    f = np.fft.rfftfreq(len(q), dt)
    moving = np.ptp(q, axis=0) > 0.0
    return np.array([f[np.searchsorted(e, ENERGY * e[-1])] if m else 0.0 for e, m in zip(energy.T, moving, strict=True)])


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


def _of_joint(f: Array, P: Array, gain: Array) -> float:
    floor = float(np.median((P / gain)[f > 2.0 / 3.0 * f[-1]]))  # of the position, where motion has died out
    total = np.cumsum(np.maximum(P - floor * gain, 0.0))
    return float(f[np.searchsorted(total, ENERGY * total[-1])]) if total[-1] > 0.0 else 0.0
