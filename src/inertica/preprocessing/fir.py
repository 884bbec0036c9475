"""Finite impulse responses that low-pass and differentiate in one step, without delay.

The ideal low-pass sin(w n) / (pi n) is cut to a finite length by a Kaiser window (Oppenheim and Schafer, Discrete-Time Signal
Processing, section 7.6).  Derivatives are those of the polynomial through 17 samples, which are maximally flat differentiators
(Fornberg 1988): up to a fifth of the sampling rate they are right to 1e-4, where central differences have lost a quarter of the
velocity.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from inertica.arrays import Array

SIDE = 8
"""Samples on each side that a derivative is taken from."""


def flat_derivatives(side: int = SIDE) -> tuple[Array, Array]:
    """(2 side + 1,) factors on samples -side to side whose sums are the first and second derivative per sample."""
    k = np.arange(1, side + 1)
    ratio = np.array([factorial(side) ** 2 / (factorial(side - i) * factorial(side + i)) for i in range(1, side + 1)])
    first = -((-1.0) ** k) * ratio / k
    second = -2.0 * (-1.0) ** k * ratio / k**2
    return np.concatenate([-first[::-1], [0.0], first]), np.concatenate([second[::-1], [-2.0 * second.sum()], second])


def differentiators(w: float, half: int, beta: float, dt: float) -> tuple[Array, Array, Array]:
    """Taps of position, velocity and acceleration, each (2 (half + SIDE) + 1,) for samples before and after the one that is read.

    Args:
        w: cut-off in rad per sample, where half of the amplitude is left.
        half: samples of the low-pass on each side.
        beta: of the Kaiser window.
        dt: sampling period in s.
    """
    n = np.arange(-half, half + 1.0)
    low = np.kaiser(len(n), beta) * np.sinc(w * n / np.pi) * w / np.pi
    low /= low.sum()
    first, second = flat_derivatives()
    return np.pad(low, SIDE), np.convolve(low, first) / dt, np.convolve(low, second) / dt**2
