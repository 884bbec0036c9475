"""The genetic algorithm on functions whose minimum is known, beside SciPy's differential evolution."""

from __future__ import annotations

import numpy as np
from scipy.optimize import differential_evolution

from inertica.estimators.closed_loop.optimisers import OPTIMISERS, GeneticAlgorithm, _stochastic_uniform
from inertica.estimators.iteration import Stop


class Valleys:
    """Rastrigin's function about a point: many minima, the least of them known."""

    size, scale, longest = 3, np.ones(3), np.full(3, np.inf)
    centre = np.array([0.3, -0.2, 0.1])

    def costs(self, x):
        y = x - self.centre
        return 0.01 + np.sum(y**2 + 0.05 * (1.0 - np.cos(12.0 * y)), axis=1)

    def beta(self, x):
        return x


def test_finds_the_least_of_many_minima_as_differential_evolution_does():
    goal, start = Valleys(), np.array([-0.6, 0.7, -0.5])
    search = GeneticAlgorithm(population=60, generations=120, spread=1.0, stall=120)
    found = search.minimise(goal, start, Stop(), np.random.default_rng(0))
    other = differential_evolution(lambda x: float(goal.costs(x[None])[0]), [(a - 1, a + 1) for a in start], rng=0)
    assert np.allclose(found.x, goal.centre, atol=0.02) and np.allclose(other.x, goal.centre, atol=1e-3)
    assert found.cost < 0.02 < goal.costs(start[None])[0]
    assert found.watch.reason.startswith("converged")
    again = search.minimise(goal, start, Stop(), np.random.default_rng(0))
    assert np.array_equal(again.x, found.x)


def test_it_never_loses_its_best_member():
    goal, start = Valleys(), Valleys.centre.copy()
    found = GeneticAlgorithm(generations=5).minimise(goal, start, Stop(), np.random.default_rng(1))
    assert found.cost == goal.costs(start[None])[0]


def test_selection_follows_the_expectation():
    """Stochastic uniform selection: every member comes floor or ceil of its expected number of times."""
    expectation = 1.0 / np.sqrt(np.arange(1, 11))
    rng = np.random.default_rng(2)
    for _ in range(50):
        counts = np.bincount(_stochastic_uniform(expectation, 57, rng), minlength=10)
        expected = 57 * expectation / expectation.sum()
        assert np.all(np.abs(counts - expected) < 1.0) and counts.sum() == 57


def test_it_is_there_by_name():
    assert OPTIMISERS["ga"] is GeneticAlgorithm
