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

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.lanes import MAGIC, Lanes

TORQUE_CALL = 1 << 16
"""Calls from here on are torque noise."""

_ROUNDS = 10
_MULTIPLIER = (0xD2511F53, 0xCD9E8D57)
_KEY_STEP = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFFFFFF
_TWO52 = 4503599627370496.0


def normals(seed: int, runs: ArrayLike, steps: ArrayLike, count: int, first_call: int = 0) -> NDArray[np.float64]:
    """(runs, steps, count) standard normal numbers; the plain reference for the compiled noise."""
    run = np.asarray(runs, np.uint64)[:, None, None]
    step = np.asarray(steps, np.uint64)[None, :, None]
    call = np.arange(first_call, first_call + -(-count // 4), dtype=np.uint64)[None, None, :]
    shape = np.broadcast_shapes(run.shape, step.shape, call.shape)
    counter = [np.broadcast_to(c, shape).astype(np.uint64) for c in (step, call, run & np.uint64(_WORD), run >> np.uint64(32))]
    words = philox(counter, (seed & _WORD, seed >> 32 & _WORD))
    out = np.empty((*shape, 4))
    for pair in range(2):
        radius = np.sqrt(-2.0 * np.log((words[2 * pair].astype(float) + 0.5) / 2.0**32))
        angle = (words[2 * pair + 1].astype(float) - 2.0**31) / 2.0**30 * (math.pi / 2)
        out[..., 2 * pair], out[..., 2 * pair + 1] = radius * np.cos(angle), radius * np.sin(angle)
    return out.reshape(shape[0], shape[1], -1)[..., :count]


def philox(counter: list[NDArray[np.uint64]], key: tuple[int, int]) -> list[NDArray[np.uint64]]:
    """philox4x32-10 on arrays of 32-bit words held in uint64."""
    mask, shift = np.uint64(_WORD), np.uint64(32)
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        p0, p1 = c0 * np.uint64(_MULTIPLIER[0]), c2 * np.uint64(_MULTIPLIER[1])
        c0, c1, c2, c3 = (p1 >> shift) ^ c1 ^ np.uint64(k0), p1 & mask, (p0 >> shift) ^ c3 ^ np.uint64(k1), p0 & mask
        k0, k1 = (k0 + _KEY_STEP[0]) & _WORD, (k1 + _KEY_STEP[1]) & _WORD
    return [c0, c1, c2, c3]


def write_normals(lanes: Lanes, count: int, run: str, seed: str, first_call: int = 0) -> list[str]:
    """The same in compiled lanes: names of `count` normals for the argument %step, from the bits of run and seed."""
    mask = lanes.integer(_WORD)
    # masked at entry so that the compiler sees 32-bit factors and takes the fast multiplication
    step = lanes.put(f"and {lanes.whole} {lanes.spread('%step', 'i64')}, {mask}")
    run_low, run_high = _halves(lanes, run)
    key = _halves(lanes, seed)
    out: list[str] = []
    for call in range(-(-count // 4)):
        words = _philox(lanes, [step, lanes.integer(first_call + call), run_low, run_high], key)
        for pair in range(2):
            if len(out) < count:
                out += _box_muller(lanes, words[2 * pair], words[2 * pair + 1])
    return out[:count]


def _halves(lanes: Lanes, name: str) -> tuple[str, str]:
    low = lanes.put(f"and {lanes.whole} {name}, {lanes.integer(_WORD)}")
    return low, lanes.put(f"lshr {lanes.whole} {name}, {lanes.integer(32)}")


def _philox(lanes: Lanes, counter: list[str], key: tuple[str, str]) -> list[str]:
    def op(kind: str, a: str, b: str) -> str:
        return lanes.put(f"{kind} {lanes.whole} {a}, {b}")

    mask, half = lanes.integer(_WORD), lanes.integer(32)
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        p0, p1 = op("mul", c0, lanes.integer(_MULTIPLIER[0])), op("mul", c2, lanes.integer(_MULTIPLIER[1]))
        c0, c1, c2, c3 = (
            op("xor", op("xor", op("lshr", p1, half), c1), k0),
            op("and", p1, mask),
            op("xor", op("xor", op("lshr", p0, half), c3), k1),
            op("and", p0, mask),
        )
        k0, k1 = (op("and", op("add", k, lanes.integer(s)), mask) for k, s in zip((k0, k1), _KEY_STEP, strict=True))
    return [c0, c1, c2, c3]


def _box_muller(lanes: Lanes, radius_word: str, angle_word: str) -> list[str]:
    def real(word: str) -> str:  # 2^52 + word
        return lanes.real_of(lanes.put(f"or {lanes.whole} {word}, {lanes.integer(0x4330000000000000)}"))

    uniform = lanes.mul(lanes.sub(real(radius_word), lanes.constant(_TWO52 - 0.5)), lanes.constant(2.0**-32))
    radius = lanes.sqrt(lanes.mul(lanes.constant(-2.0), lanes.log(uniform)))
    turns = lanes.mul(lanes.sub(real(angle_word), lanes.constant(_TWO52 + 2.0**31)), lanes.constant(2.0**-30))
    shifted = lanes.add(turns, lanes.constant(MAGIC))
    y = lanes.mul(lanes.sub(turns, lanes.sub(shifted, lanes.constant(MAGIC))), lanes.constant(math.pi / 2))
    s, c = lanes.quadrant(shifted, y)
    return [lanes.mul(radius, c), lanes.mul(radius, s)]
