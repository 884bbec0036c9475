"""One trajectory of every family, with random coefficients."""

from __future__ import annotations

import numpy as np

from inertica.excitation import Fourier, FourierBlend, Multisine, QuinticPoints, Spline, Trapezoid

KINDS = ("fourier", "free_start", "blend", "multisine", "cubic", "quintic", "quintic_points", "free_points", "trapezoid")
AT_REST = tuple(k for k in KINDS if k not in ("multisine", "free_points"))


def random_trajectory(kind: str, seed: int, n: int = 3):
    """A trajectory of about 4 s whose coefficients are drawn at random."""
    rng = np.random.default_rng(seed)
    start, end = rng.uniform(-1, 1, (2, n))
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.4, 1.0, 6))])
    made = {
        "fourier": lambda: Fourier.still(4.0, start, 5),
        "free_start": lambda: Fourier.still(3.7, start, 4, free_start=True),
        "blend": lambda: FourierBlend.still(4.1, start, 4, end),
        "multisine": lambda: Multisine(3.9, start, np.zeros((5, n)), np.zeros((5, n))),
        "cubic": lambda: Spline(times, np.linspace(start, end, 7), 3),
        "quintic": lambda: Spline(times, np.linspace(start, end, 7), 5),
        "quintic_points": lambda: QuinticPoints(times, np.linspace(start, end, 7), np.zeros((7, n)), np.zeros((7, n))),
        "free_points": lambda: QuinticPoints.still(times, start, rest=False),
        "trapezoid": lambda: Trapezoid(times, np.linspace(start, end, 7)),
    }[kind]()
    return made.with_coefficients(rng.normal(size=made.coefficients.size))
