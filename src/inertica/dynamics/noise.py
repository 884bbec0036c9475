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

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def normals(seed: int, runs: ArrayLike, steps: ArrayLike, count: int, first_call: int = 0) -> NDArray[np.float64]:
    """(runs, steps, count) standard normal numbers; the plain reference for what targets compute."""
    run = np.asarray(runs, np.uint64)[:, None, None]
    step = np.asarray(steps, np.uint64)[None, :, None]
    call = np.arange(first_call, first_call + -(-count // 4), dtype=np.uint64)[None, None, :]
    shape = np.broadcast_shapes(run.shape, step.shape, call.shape)
    counter = [np.broadcast_to(c, shape).astype(np.uint64) for c in (step, call, run & np.uint64(WORD), run >> np.uint64(32))]
    words = philox(counter, (seed & WORD, seed >> 32 & WORD))
    out = np.empty((*shape, 4))
    for pair in range(2):
        radius = np.sqrt(-2.0 * np.log((words[2 * pair].astype(float) + 0.5) / 2.0**32))
        angle = (words[2 * pair + 1].astype(float) - 2.0**31) / 2.0**30 * (math.pi / 2)
        out[..., 2 * pair], out[..., 2 * pair + 1] = radius * np.cos(angle), radius * np.sin(angle)
    return out.reshape(shape[0], shape[1], -1)[..., :count]


def philox(counter: list[NDArray[np.uint64]], key: tuple[int, int]) -> list[NDArray[np.uint64]]:
    """philox4x32-10 on arrays of 32-bit words held in uint64."""
    mask, shift = np.uint64(WORD), np.uint64(32)
    c0, c1, c2, c3 = counter
    for k0, k1 in round_keys(key[0] | key[1] << 32):
        p0, p1 = c0 * np.uint64(MULTIPLIER[0]), c2 * np.uint64(MULTIPLIER[1])
        c0, c1, c2, c3 = (p1 >> shift) ^ c1 ^ np.uint64(k0), p1 & mask, (p0 >> shift) ^ c3 ^ np.uint64(k1), p0 & mask
    return [c0, c1, c2, c3]


def round_keys(seed: int) -> list[tuple[int, int]]:
    """Both keys of every round."""
    low, high = seed & WORD, seed >> 32 & WORD
    return [((low + k * KEY_STEP[0]) & WORD, (high + k * KEY_STEP[1]) & WORD) for k in range(ROUNDS)]
