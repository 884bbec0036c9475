"""Noise: published vectors, statistics, and the same run whatever batch it is in."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.dynamics.noise import TORQUE_CALL
from philox import normals, philox

WORDS = [  # published test vectors of philox4x32-10: counter, key, result
    ([0, 0, 0, 0], (0, 0), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, (0xFFFFFFFF, 0xFFFFFFFF), [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        (0xA4093822, 0x299F31D0),
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), WORDS)
def test_philox_gives_the_published_words(counter, key, words) -> None:
    found = philox([np.array([c], np.uint64) for c in counter], key)
    assert [int(w[0]) for w in found] == words


def test_normals_are_normal_and_independent() -> None:
    z = normals(seed=5, runs=np.arange(8), steps=np.arange(5000), count=6)
    flat = z.ravel()
    N = flat.size
    assert abs(flat.mean()) < 4 / np.sqrt(N)
    assert abs(flat.std() - 1) < 4 / np.sqrt(2 * N)
    assert abs((flat**4).mean() - 3) < 4 * np.sqrt(96 / N)
    assert np.abs(flat).max() < 6.78
    by_channel = z.transpose(0, 2, 1).reshape(48, 5000)
    correlation = np.corrcoef(by_channel)[np.triu_indices(48, 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(5000)
    assert abs(np.mean(correlation**2) * 5000 - 1) < 0.2
    lag = (by_channel[:, 1:] * by_channel[:, :-1]).mean()
    assert abs(lag) < 4 / np.sqrt(N)


def test_seed_run_step_and_call_all_matter() -> None:
    base = normals(1, [3], [7], 4)
    for other in (
        normals(2, [3], [7], 4),
        normals(1, [4], [7], 4),
        normals(1, [3], [8], 4),
        normals(1, [3], [7], 4, TORQUE_CALL),
    ):
        assert not np.any(base == other)
    high = normals(1, [3 + (1 << 32)], [7], 4), normals(1 + (1 << 32), [3], [7], 4)
    assert not np.any(base == high[0]) and not np.any(base == high[1])
