"""Searches without gradients: they arrive, stay inside, and count what they use."""

from __future__ import annotations

import numpy as np

from inertica.excitation.swarm import particle_swarm, pattern_search

LOW, HIGH = np.array([-1.0, 0.0, -5.0, 2.0]), np.array([3.0, 4.0, 5.0, 3.0])
BEST = np.array([0.5, 0.0, 1.0, 3.0])  # on two of the bounds


def cost(x: np.ndarray) -> np.ndarray:
    assert np.all((x >= LOW) & (x <= HIGH))
    return np.abs(x - BEST).sum(axis=1) + ((x - BEST) ** 2).sum(axis=1) + 1.0


def test_swarm_and_pattern_search_arrive() -> None:
    calls: list[int] = []

    def counted(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        return cost(x)

    swarm = particle_swarm(counted, LOW, HIGH, 3000, np.random.default_rng(0), particles=20)
    assert swarm.evaluations == sum(calls) == 3000 and swarm.value < 1.01
    found = pattern_search(cost, LOW + 0.3 * (HIGH - LOW), LOW, HIGH, 5000)
    assert found.evaluations < 5000 and found.iterations > 0
    np.testing.assert_allclose(found.x, BEST, atol=1e-3)
    for descent in (swarm, found):
        values = [v for _, v in descent.history]
        assert values == sorted(values, reverse=True) and values[-1] == descent.value == cost(descent.x[None])[0]


def test_evaluations_are_kept_to() -> None:
    found = pattern_search(cost, LOW, LOW, HIGH, 100)
    assert 100 <= found.evaluations < 130
