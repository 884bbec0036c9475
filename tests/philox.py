"""Normal numbers of `inertica.dynamics.noise` in plain NumPy: the reference for what targets compute."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.noise import MULTIPLIER, WORD, round_keys


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
