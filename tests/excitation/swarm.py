"""A plain particle swarm, the yardstick for designs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def particle_swarm(
    cost: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, evaluations: int, rng: np.random.Generator,
    particles: int = 100,
) -> tuple[float, int]:  # fmt: skip
    """Best cost and evaluations used; global best, the usual constriction weights 0.7298 and 1.4962, clipped at the bounds."""
    x = rng.uniform(low, high, (particles, len(low)))
    v = rng.uniform(low - high, high - low, x.shape) * 0.5
    own, own_cost = x.copy(), cost(x)
    used = particles
    while used < evaluations:
        best = own[np.argmin(own_cost)]
        pulls = rng.random((2, *x.shape))
        v = 0.7298 * v + 1.4962 * (pulls[0] * (own - x) + pulls[1] * (best - x))
        x = np.clip(x + v, low, high)
        found = cost(x)
        used += particles
        better = found < own_cost
        own[better], own_cost[better] = x[better], found[better]
    return float(own_cost.min()), used
