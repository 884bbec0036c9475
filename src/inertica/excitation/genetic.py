"""Candidates by a genetic algorithm, as the survey's toolbox has it beside its interior-point search.

Tournaments of two choose parents; children are blends of both (BLX-alpha: uniform over the span of the parents, widened by alpha on
either side), and a share of their coefficients is changed by normal numbers whose size shrinks from generation to generation.  The
best are kept as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from inertica.excitation.search import Task, judged_candidates
from inertica.excitation.trajectory import Array

POPULATION = 240
"""As in the toolbox."""

ELITE = 0.05
"""Share of a generation that survives."""

BLEND = 0.5
"""Share of the parents' distance by which children may lie outside."""

MUTATED, FIRST, LAST = 0.1, 0.3, 0.01
"""Share of coefficients that are changed, and by how much in the first and the last generation, in multiples of their scale."""

GENERATIONS = 400
"""Over which changes shrink; the search goes on with the last size while there is time."""


def evolve(task: Task, rng: Generator) -> Array:
    """The best candidate of a genetic algorithm, within its joint limits; ends with the time or the target.

    Args:
        task: what is designed; its search says after how many candidates to end where no time is set.
        rng: generator.
    """
    task.stage = "genetic"
    k = len(task.scale)
    x, merits = judged_candidates(task, task.grid.rest + task.scale * rng.standard_normal((POPULATION, k)), fill=task.box is None)
    task.judge(x[int(np.argmin(merits))])
    survivors = max(1, round(ELITE * POPULATION))
    generations = GENERATIONS if np.isfinite(task.search.seconds) else max(1, task.search.evaluations // POPULATION)
    generation = 0
    while not task.finished and (np.isfinite(task.search.seconds) or generation < generations):
        size = FIRST * (LAST / FIRST) ** min(1.0, generation / generations)
        children, child_merits = judged_candidates(task, _children(x, merits, POPULATION - survivors, size * task.scale, rng))
        best = np.argsort(merits)[:survivors]
        x, merits = np.vstack([x[best], children]), np.concatenate([merits[best], child_merits])
        generation += 1
        if generation % 10 == 0:
            task.judge(x[int(np.argmin(merits))])
    found_best = x[int(np.argmin(merits))]
    task.judge(found_best)
    return np.asarray(found_best)


def _children(x: Array, merits: Array, count: int, size: Array, rng: Generator) -> Array:
    """(count, k) blends of parents that won a tournament of two, some of their coefficients changed."""
    rivals = rng.integers(len(x), size=(2, 2, count))
    winners = np.where(merits[rivals[0]] <= merits[rivals[1]], rivals[0], rivals[1])
    mother, father = x[winners[0]], x[winners[1]]
    way = rng.uniform(-BLEND, 1.0 + BLEND, mother.shape)
    changed = rng.random(mother.shape) < MUTATED
    return np.asarray(mother + way * (father - mother) + np.where(changed, size * rng.standard_normal(mother.shape), 0.0))
