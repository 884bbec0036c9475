"""The normal numbers of `inertica.dynamics.noise` in lanes."""

from __future__ import annotations

import math

from inertica.dynamics.llvm.lanes import MAGIC, Lanes
from inertica.dynamics.noise import KEY_STEP, MULTIPLIER, ROUNDS, WORD

_TWO52 = 4503599627370496.0


def write_normals(lanes: Lanes, count: int, run: str, seed: str, first_call: int = 0) -> list[str]:
    """Names of `count` normals for the argument %step, from the bits of run and seed."""
    mask = lanes.integer(WORD)
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
    low = lanes.put(f"and {lanes.whole} {name}, {lanes.integer(WORD)}")
    return low, lanes.put(f"lshr {lanes.whole} {name}, {lanes.integer(32)}")


def _philox(lanes: Lanes, counter: list[str], key: tuple[str, str]) -> list[str]:
    def op(kind: str, a: str, b: str) -> str:
        return lanes.put(f"{kind} {lanes.whole} {a}, {b}")

    mask, half = lanes.integer(WORD), lanes.integer(32)
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = op("mul", c0, lanes.integer(MULTIPLIER[0])), op("mul", c2, lanes.integer(MULTIPLIER[1]))
        c0, c1, c2, c3 = (
            op("xor", op("xor", op("lshr", p1, half), c1), k0),
            op("and", p1, mask),
            op("xor", op("xor", op("lshr", p0, half), c3), k1),
            op("and", p0, mask),
        )
        k0, k1 = (op("and", op("add", k, lanes.integer(s)), mask) for k, s in zip((k0, k1), KEY_STEP, strict=True))
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
