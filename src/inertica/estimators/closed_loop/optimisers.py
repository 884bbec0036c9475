"""Minimisers of sums of squares whose trial points are evaluated as batches.

Levenberg-Marquardt takes its Jacobian from perturbed lanes of one batch (or from exact tangents) and tries several dampings at once.
The derivative-free ones are there for the comparison the survey makes (section 5.1, 9.3.5): Nelder-Mead, particle swarm,
differential evolution, a genetic algorithm, CMA-ES; each generation is one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.estimators.iteration import IterationHistory, Stop
from inertica.threads import one_thread

DAMPINGS: Array = np.logspace(-4.0, 3.0, 8)
"""Multiples of the current damping that are tried together: one block of lanes."""

LEAST = 1e-12
"""Damping never falls below this part of the squared column norms."""


class Objective(Protocol):
    """Residuals of a model as a function of its unknowns."""

    @property
    def size(self) -> int:
        """Number of unknowns."""

    @property
    def scale(self) -> Array:
        """(p,) by how much each may be expected to vary."""

    @property
    def longest(self) -> Array:
        """(p,) the most each may change in one step."""

    def costs(self, x: Array) -> Array:
        """(B,) sums of squares; infinite where the simulation is unstable."""

    def normal(self, x: Array) -> tuple[Array, Array]:
        """J'J and J'r at one point, J (m, p) the derivative of the residuals r."""

    def beta(self, x: Array) -> Array:
        """(b,) base parameters."""

    def std(self, G: Array, cost: float) -> Array:
        """(b,) standard deviations that go with J'J."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a minimiser ended."""

    x: Array
    cost: float
    watch: IterationHistory


class Optimiser(Protocol):
    """A minimiser with its options."""

    name: ClassVar[str]

    def minimise(self, objective: Objective, x: Array, stop: Stop, rng: np.random.Generator) -> Minimum: ...


@dataclass(frozen=True)
class LevenbergMarquardt:
    """(J'J + lambda D) dx = -J'r, D = diag(J'J), or its largest entry where the unknowns are coordinates of one scale.

    Args:
        damping: lambda at the start (MATLAB's and the survey's 0.01).
        retries: how often larger dampings are tried before the point counts as a minimum.
    """

    damping: float = 1e-2
    retries: int = 2

    name: ClassVar[str] = "levenberg-marquardt"

    def minimise(self, objective: Objective, x: Array, stop: Stop, rng: np.random.Generator) -> Minimum:
        cost, damping = float(objective.costs(x[None])[0]), self.damping
        watch = stop.watch(objective.beta(x), np.sqrt(cost))
        if not np.isfinite(cost):
            watch.halt("the loop simulated with the starting values is unstable; check its gains and rate, or start elsewhere")
        while not watch.done:
            G, g = objective.normal(x)
            step = _Steps(G, g, bool(np.isfinite(objective.longest).all()))
            result = None
            for _ in range(self.retries + 1):
                # several dampings are lanes of one batch: they cost hardly more than one
                tried = damping * DAMPINGS
                points = x + _shortened(step(tried), objective.longest)
                costs = objective.costs(points)
                best = int(np.argmin(costs))
                if costs[best] < cost:
                    result = best
                    break
                damping = tried[-1]
            if result is None:
                watch.halt(f"converged: no step lowers the residual further after {watch.iterations} iterations")
                break
            x, cost, damping = points[result], float(costs[result]), max(tried[result], LEAST)
            watch.record(objective.beta(x), np.sqrt(cost), objective.std(G, cost))
        return Minimum(x, cost, watch)


class _Steps:
    """Steps from J'J and J'r for any damping; unknowns that share one scale are damped alike, others by their own column's norm."""

    def __init__(self, G: Array, g: Array, alike: bool) -> None:
        self.root = np.sqrt(np.maximum(np.diag(G), 1e-300))
        if alike:
            self.root[:] = self.root.max()
        # one eigendecomposition serves every damping: each step is then a division
        with one_thread():
            values, self.V = np.linalg.eigh(G / np.outer(self.root, self.root))
        # J'J has no negative eigenvalues but by rounding
        self.values = np.maximum(values, 0.0)
        self.g = self.V.T @ (g / self.root)

    def __call__(self, dampings: Array) -> Array:
        """(L, p)"""
        return np.stack([-(self.V @ (self.g / (self.values + d))) / self.root for d in dampings])


def _shortened(steps: Array, longest: Array) -> Array:
    """Steps (L, p) scaled back, direction kept, where one coordinate would move too far."""
    excess = np.max(np.abs(steps) / longest, axis=1, initial=0.0)
    return np.asarray(steps / np.maximum(excess, 1.0)[:, None])


@dataclass(frozen=True)
class NelderMead:
    """The simplex method; reflection, expansion and both contractions of a step are lanes of one batch.

    Args:
        spread: size of the first simplex relative to each unknown's scale.
        steps: most steps.
        tolerance: relative spread of costs at which the simplex counts as one point.
    """

    spread: float = 0.1
    steps: int = 2000
    tolerance: float = 1e-6

    name: ClassVar[str] = "nelder-mead"

    def minimise(self, objective: Objective, x: Array, stop: Stop, rng: np.random.Generator) -> Minimum:
        simplex = np.vstack([x, x + np.diag(self.spread * objective.scale)])
        costs = objective.costs(simplex)
        p = objective.size
        watch = _started(objective, x, costs[0], stop)
        grow, shrink, shorten = 1.0 + 2.0 / p, 0.75 - 0.5 / p, 1.0 - 1.0 / p  # adaptive coefficients of Gao and Han
        for _ in range(self.steps):
            order = np.argsort(costs)
            simplex, costs = simplex[order], costs[order]
            if np.isfinite(costs[-1]) and costs[-1] - costs[0] < self.tolerance * abs(costs[0]):
                break
            middle = simplex[:-1].mean(axis=0)
            away = middle - simplex[-1]
            tries = np.stack([middle + away, middle + grow * away, middle + shrink * away, middle - shrink * away])
            trial_costs = objective.costs(tries)
            best = int(np.argmin(trial_costs))
            if trial_costs[best] < costs[-1]:
                simplex[-1], costs[-1] = tries[best], trial_costs[best]
            else:
                simplex[1:] = simplex[0] + shorten * (simplex[1:] - simplex[0])
                costs[1:] = objective.costs(simplex[1:])
        return _finished(objective, simplex[int(np.argmin(costs))], float(np.min(costs)), watch, "simplex")


@dataclass(frozen=True)
class ParticleSwarm:
    """Particles drawn towards their own and the swarm's best point (constriction coefficients of Clerc and Kennedy).

    Args:
        particles: evaluated as one batch.
        generations: most steps.
        spread: of the first positions relative to each unknown's scale.
    """

    particles: int = 40
    generations: int = 50
    spread: float = 0.1

    name: ClassVar[str] = "particle-swarm"

    def minimise(self, objective: Objective, x: Array, stop: Stop, rng: np.random.Generator) -> Minimum:
        size = (self.particles, objective.size)
        at = x + self.spread * objective.scale * rng.standard_normal(size)
        at[0] = x
        moving = np.zeros(size)
        personal_best, costs = at.copy(), objective.costs(at)
        watch = _started(objective, x, costs[0], stop)
        for _ in range(self.generations):
            best = personal_best[int(np.argmin(costs))]
            pull = 1.49618 * (rng.random(size) * (personal_best - at) + rng.random(size) * (best - at))
            moving = 0.7298 * moving + pull
            at = at + moving
            now = objective.costs(at)
            better = now < costs
            personal_best[better], costs[better] = at[better], now[better]
        k = int(np.argmin(costs))
        return _finished(objective, personal_best[k], float(costs[k]), watch, "swarm")


@dataclass(frozen=True)
class DifferentialEvolution:
    """Differential evolution (SciPy's); a generation is one batch.

    Args:
        population: members per unknown, as SciPy counts them.
        generations: most of them.
        spread: half width of the search box relative to each unknown's scale.
    """

    population: int = 1
    generations: int = 50
    spread: float = 0.3

    name: ClassVar[str] = "differential-evolution"

    def minimise(self, objective: Objective, x: Array, stop: Stop, rng: np.random.Generator) -> Minimum:
        from scipy.optimize import differential_evolution

        reach = self.spread * objective.scale
        watch = _started(objective, x, objective.costs(x[None])[0], stop)
        result = differential_evolution(
            lambda points: objective.costs(np.ascontiguousarray(points.T)),
            list(zip(x - reach, x + reach, strict=True)),
            x0=x, maxiter=self.generations, popsize=max(1, self.population), vectorized=True, updating="deferred", polish=False,
            rng=rng, tol=1e-6,
        )  # fmt: skip
        return _finished(objective, np.asarray(result.x), float(result.fun), watch, "population")


@dataclass(frozen=True)
class GeneticAlgorithm:
    """A real-coded genetic algorithm with the operators of MATLAB's `ga`, which the survey's toolbox calls; a generation is one batch.

    Parents are drawn by stochastic uniform selection with expectations 1/sqrt(rank).  The best members live on; a share of the others
    is made by scattered crossover (every unknown from either parent), the rest by Gaussian mutation whose width shrinks to zero.

    Args:
        population: members of a generation.
        generations: most of them.
        spread: half width of the first population, and first width of mutations, relative to each unknown's scale.
        elite: share of the population that lives on.
        crossover: share of the others that come from two parents.
        stall: generations without a better member after which it ends.
    """

    population: int = 48
    generations: int = 50
    spread: float = 0.3
    elite: float = 0.05
    crossover: float = 0.8
    stall: int = 20

    name: ClassVar[str] = "genetic-algorithm"

    def minimise(self, objective: Objective, x: Array, stop: Stop, rng: np.random.Generator) -> Minimum:
        count, reach = self.population, self.spread * objective.scale
        at = x + reach * rng.uniform(-1.0, 1.0, (count, objective.size))
        at[0] = x
        costs = objective.costs(at)
        watch = _started(objective, x, costs[0], stop)
        elite = max(1, round(self.elite * count))
        crossed = round(self.crossover * (count - elite))
        idle = 0
        for generation in range(self.generations):
            order = np.argsort(costs)
            at, costs = at[order], costs[order]
            parents = at[_stochastic_uniform(1.0 / np.sqrt(1.0 + np.arange(count)), count - elite + crossed, rng)]
            mothers, fathers, single = np.split(parents, [crossed, 2 * crossed])
            children = np.where(rng.random(mothers.shape) < 0.5, mothers, fathers)
            # mutations shrink linearly, as MATLAB's mutationgaussian with shrink = 1
            width = (1.0 - generation / self.generations) * reach
            mutants = single + width * rng.standard_normal(single.shape)
            new = np.vstack([children, mutants])
            new_costs = objective.costs(new)
            idle = 0 if np.min(new_costs) < costs[0] else idle + 1
            at, costs = np.vstack([at[:elite], new]), np.concatenate([costs[:elite], new_costs])
            if idle >= self.stall:
                break
        best = int(np.argmin(costs))
        return _finished(objective, at[best], float(costs[best]), watch, "population")


def _stochastic_uniform(expectation: Array, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Members by their expectation: equal steps along a line on which each has its length; in random order, so that pairs are too."""
    ends = np.cumsum(expectation) / np.sum(expectation)
    steps = (rng.random() + np.arange(count)) / count
    return rng.permutation(np.minimum(np.searchsorted(ends, steps, side="right"), len(ends) - 1))


@dataclass(frozen=True)
class CmaEs:
    """Covariance matrix adaptation (the `cmaes` package); a generation is one batch.

    Args:
        generations: most of them.
        spread: first step size relative to each unknown's scale.
        population: per generation; 4 + 3 ln(p) rounded up to whole blocks of lanes by default.
    """

    generations: int = 200
    spread: float = 0.05
    population: int | None = None

    name: ClassVar[str] = "cma-es"

    def minimise(self, objective: Objective, x: Array, stop: Stop, rng: np.random.Generator) -> Minimum:
        from cmaes import CMA  # imports SciPy's statistics, which takes half a second

        p = objective.size
        count = self.population or 8 * int(np.ceil((4 + 3 * np.log(p)) / 8))
        search = CMA(np.zeros(p), self.spread, population_size=count, seed=int(rng.integers(2**31)))
        best, least = x, float(objective.costs(x[None])[0])
        watch = _started(objective, x, least, stop)
        for _ in range(self.generations):
            points = np.stack([search.ask() for _ in range(count)])
            costs = objective.costs(x + points * objective.scale)
            # CMA-ES ranks only: any value above all others serves for an unstable loop
            finite = np.where(np.isfinite(costs), costs, 1e300)
            search.tell([(point, float(cost)) for point, cost in zip(points, finite, strict=True)])
            k = int(np.argmin(finite))
            if finite[k] < least:
                best, least = x + points[k] * objective.scale, float(finite[k])
            if search.should_stop():
                break
        return _finished(objective, best, least, watch, "distribution")


OPTIMISERS: dict[str, Callable[[], Optimiser]] = {
    "lm": LevenbergMarquardt, "nelder-mead": NelderMead, "pso": ParticleSwarm, "de": DifferentialEvolution,
    "ga": GeneticAlgorithm, "cma-es": CmaEs,
}  # fmt: skip
"""By the names users type."""


def _started(objective: Objective, x: Array, cost: float, stop: Stop) -> IterationHistory:
    return stop.watch(objective.beta(x), float(np.sqrt(cost)))


def _finished(objective: Objective, x: Array, cost: float, watch: IterationHistory, what: str) -> Minimum:
    if not np.isfinite(cost):
        watch.halt("the loop is unstable at every point that was tried; check its gains and rate, or start elsewhere")
        return Minimum(x, cost, watch)
    beta = objective.beta(x)
    watch.record(beta, float(np.sqrt(cost)), np.full(len(beta), np.inf))
    watch.reason = f"converged: the {what} ended at a residual of {np.sqrt(cost):.4g}, from {watch.residuals[0]:.4g}"
    return Minimum(x, cost, watch)
