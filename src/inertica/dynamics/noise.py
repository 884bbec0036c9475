"""Measurement noise: one definition for all engines.

Normal numbers come from philox4x32-10 (Salmon et al. 2011) with counter (step, call, run low, run high) and key (seed low, seed
high), so that the noise of run k at step s is the same whatever else is computed beside it.  A call gives four 32-bit words and from
them four normals by Box-Muller,

    r = sqrt(-2 ln((w0 + 1/2) / 2^32)),   t = (w1 - 2^31) / 2^30 quarter turns,   z = (r cos t, r sin t),

the second pair from w2 and w3.  |z| <= 6.77.  Joint i takes number i % 4 of call i // 4 for its position and of call
TORQUE_CALL + i // 4 for its torque.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from inertica.scalars import Scalar, exp

TORQUE_CALL = 1 << 16
"""Calls from here on are torque noise."""

NEXT_CALL = 1 << 12
"""Between the calls of one distribution's several normal numbers."""


@dataclass(frozen=True)
class Distribution:
    """How a number of mean zero and variance one comes from independent normal ones.

    Args:
        normals: how many it takes.
        number: of them; on scalars of any type.
    """

    normals: int
    number: Callable[..., Scalar]


def _uniform(a: Scalar, b: Scalar) -> Scalar:
    """exp(-(a^2 + b^2) / 2) is even between 0 and 1."""
    # a^2 + b^2 is exponential with mean 2, so that the exponential is uniform between 0 and 1; sqrt(12) gives variance one
    return math.sqrt(12.0) * (exp(-0.5 * (a * a + b * b)) - 0.5)


def _laplace(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    """The difference of two exponential numbers."""
    # two exponential numbers of mean one are (a^2 + b^2) / 2 and (c^2 + d^2) / 2; their difference has variance two
    return 0.5 * math.sqrt(0.5) * (a * a + b * b - c * c - d * d)


NORMAL = "normal"
DISTRIBUTIONS: dict[str, Distribution] = {
    NORMAL: Distribution(1, lambda z: z),
    "uniform": Distribution(2, _uniform),
    "laplace": Distribution(4, _laplace),
}
"""By the names users type; uniform is what coarse quantisation looks like, laplace has heavy tails."""

ROUNDS = 10
MULTIPLIER = (0xD2511F53, 0xCD9E8D57)
KEY_STEP = (0x9E3779B9, 0xBB67AE85)
WORD = 0xFFFFFFFF
"""Constants of philox4x32-10 and the largest of its words."""


def round_keys(seed: int) -> list[tuple[int, int]]:
    """Both keys of every round."""
    low, high = seed & WORD, seed >> 32 & WORD
    return [((low + k * KEY_STEP[0]) & WORD, (high + k * KEY_STEP[1]) & WORD) for k in range(ROUNDS)]
