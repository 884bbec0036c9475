"""Search without gradients, as the Frisch paper does it: a particle swarm, then a pattern search from its best point.

`design` finds better motions with less effort; these are here to repeat published optimisations and as its yardstick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from inertica.excitation.trajectory import Array

Cost = Callable[[Array], Array]
"""Candidates (B, k) -> values (B,)."""

INERTIA, ATTRACTION = 0.7298, 1.4962
"""Constriction weights of Clerc and Kennedy."""

BATCH = 24
"""Polls of a pattern search that are evaluated together; those behind the first that improves do not count."""


@dataclass(frozen=True, eq=False)
class Descent:
    """What a search found.

    Args:
        x: (k,) the best point.
        value: its cost.
        iterations, evaluations: used.
        history: (evaluations, best value so far).
    """

    x: Array = field(repr=False)
    value: float
    iterations: int
    evaluations: int
    history: tuple[tuple[int, float], ...] = field(repr=False)


def particle_swarm(
    cost: Cost, low: Array, high: Array, evaluations: int, rng: np.random.Generator, particles: int = 100
) -> Descent:
    """Global best, constriction weights, clipped at the bounds.

    Args:
        cost: what is minimised.
        low, high: (k,) bounds.
        evaluations: after which no further iteration begins.
        rng: generator.
        particles: of the swarm.
    """
    x = rng.uniform(low, high, (particles, len(low)))
    v = rng.uniform(low - high, high - low, x.shape) * 0.5
    best_x, own_cost = x.copy(), cost(x)
    used, history = particles, [(particles, float(own_cost.min()))]
    while used < evaluations:
        best = best_x[np.argmin(own_cost)]
        pulls = rng.random((2, *x.shape))
        v = INERTIA * v + ATTRACTION * (pulls[0] * (best_x - x) + pulls[1] * (best - x))
        x = np.clip(x + v, low, high)
        costs = cost(x)
        used += particles
        better = costs < own_cost
        best_x[better], own_cost[better] = x[better], costs[better]
        history.append((used, float(own_cost.min())))
    return Descent(best_x[np.argmin(own_cost)], float(own_cost.min()), len(history), used, tuple(history))


def pattern_search(
    cost: Cost, start: Array, low: Array, high: Array, evaluations: int, mesh: float = 0.125, finest: float = 1e-5
) -> Descent:
    """Polls along the coordinates, the first that improves is taken; the mesh doubles with a success and halves without any.

    Args:
        cost: what is minimised.
        start: (k,) where it begins.
        low, high: (k,) bounds; polls are clipped there.
        evaluations: at most.
        mesh: first step, as a share of the width of the bounds; the largest, too.
        finest: mesh at which it ends.
    """
    x, k, width = start.copy(), len(start), high - low
    best, step = float(cost(x[None])[0]), mesh
    used, iterations, turn, idle = 1, 0, 0, 0
    history = [(1, best)]
    while used < evaluations and step >= finest:
        polls = (turn + np.arange(min(BATCH, 2 * k - idle))) % (2 * k)
        trials = np.repeat(x[None], len(polls), axis=0)
        trials[np.arange(len(polls)), polls % k] += np.where(polls < k, step, -step) * width[polls % k]
        values = cost(np.clip(trials, low, high))
        better = np.flatnonzero(values < best)
        count = int(better[0]) + 1 if len(better) else len(polls)
        used, turn, idle = used + count, int(polls[count - 1]) + 1, idle + count
        if len(better):
            x, best = np.clip(trials[count - 1], low, high), float(values[count - 1])
            step, idle, iterations = min(2.0 * step, mesh), 0, iterations + 1
        elif idle >= 2 * k:
            step, idle, iterations = 0.5 * step, 0, iterations + 1
        history.append((used, best))
    return Descent(x, best, iterations, used, tuple(history))
