"""The search for good coefficients: random candidates, CMA-ES, then gradient steps with an augmented Lagrangian.

Stage 1 draws motions that fill the joint limits and lets CMA-ES (Hansen; the separable variant in many dimensions) improve the
best.  Candidates are shrunk into their joint limits before they are judged; other constraints add to the merit.  Stage 2 minimises

    merit(x) + sum_i (max(0, lambda_i + mu c_i(x))^2 - lambda_i^2)/(2 mu)

with L-BFGS-B, the multipliers lambda of the constraints c <= 0 being updated between rounds.  After every round the motion is
shrunk until it keeps all constraints on the fine grid and is judged exactly; the best such motion is the result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.random import Generator

from inertica.errors import InputError, nearest
from inertica.excitation.basis import Basis
from inertica.excitation.collision import Collisions
from inertica.excitation.constraints import INSIDE, JointLimits, MotionConstraint
from inertica.excitation.criteria import Criterion
from inertica.excitation.observation import Observation
from inertica.excitation.trajectory import Array, Samples

Optimiser = Literal["auto", "ga"]
"""How motions are sought: by CMA-ES and gradients, or by a genetic algorithm."""

OPTIMISERS: tuple[str, ...] = get_args(Optimiser)

FULL_COVARIANCE = 60
"""Dimensions up to which CMA-ES learns a full covariance; beyond, its separable variant."""

STATES_AT_ONCE = 2000
"""States of candidates evaluated in one engine call: their observation matrices stay in the cache."""

BISECTIONS = 14
"""Steps to find how far a motion must shrink: to 1e-4 of its size."""

FEW = 5
"""Steps of the same between two sizes of `NEARLY`."""

NEARLY = (0.998, 0.99, 0.97, 0.94, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Sizes that are tried before halving where bodies could meet: a motion around an obstacle may hit it when it is half as large."""

ROOM = 1e-5
"""Relative distance kept from a limit where the peak between grid points is estimated by a parabola."""

PENALTY = 30.0
"""Weight of the relative excess of constraints other than joint limits when candidates are compared."""


@dataclass(frozen=True)
class Search:
    """How long and how hard to search.

    Args:
        random: random candidates to begin with.
        evaluations: candidates judged by CMA-ES.
        population: candidates of a generation.
        rounds: of the gradient stage; 0 leaves it out.
        iterations: gradient steps of a round.
        sharpness: p of the p-norms in the first and the last round.
        softness: width of the smooth sign that gradients see, as a share of the velocity limits.
        weight: mu of the augmented Lagrangian in the first and the last round.
        seconds: stop after this time, with the best so far.
        target: stop once the criterion is this small.
        optimiser: `auto` as described above, or `ga`, a genetic algorithm alone (see `genetic.evolve`), which takes all of the time.
    """

    random: int = 200
    evaluations: int = 2000
    population: int = 40
    rounds: int = 10
    iterations: int = 60
    sharpness: tuple[float, float] = (4.0, 60.0)
    softness: float = 0.02
    weight: tuple[float, float] = (2.0, 1e4)
    seconds: float = math.inf
    target: float = -math.inf
    optimiser: Optimiser = "auto"

    def __post_init__(self) -> None:
        if self.optimiser not in OPTIMISERS:
            raise InputError(f"unknown optimiser '{self.optimiser}'; {nearest(self.optimiser, OPTIMISERS)}")


@dataclass(frozen=True)
class Progress:
    """Where a search stands."""

    stage: str
    evaluations: int
    best: float
    seconds: float


@dataclass(eq=False)
class Task:
    """One design problem, with the counters of its solution.

    Args:
        grid: the family where the criterion is evaluated.
        dense: where the gradient stage holds the constraints.
        fine: where the result is checked.
        observe, criterion, constraints: what is asked.
        soft: `observe` with smooth friction signs, for gradients.
        search: limits of the effort.
        between: constraints hold between the points of the fine grid, too.
        report: called now and then.
        finest: where bodies must not meet: looked at where the fine grid leaves it open, or throughout when `thorough`.
    """

    grid: Basis
    dense: Basis
    fine: Basis
    observe: Observation
    soft: Observation
    criterion: Criterion
    constraints: Sequence[MotionConstraint]
    search: Search
    between: bool = True
    report: Callable[[Progress], None] | None = None
    finest: Basis | None = None
    thorough: bool = False
    stage: str = ""
    evaluations: int = 0
    best: float = math.inf
    x: Array | None = None
    history: list[tuple[int, float]] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.limits = next((c for c in self.constraints if isinstance(c, JointLimits)), None)
        self.others = [c for c in self.constraints if c is not self.limits]
        self.box = self.dense.box(self.limits)
        self.fine_box = self.fine.box(self.limits)
        self.scale = self.fine.scales(self.limits)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def finished(self) -> bool:
        return self.seconds > self.search.seconds or self.best <= self.search.target

    def values(self, x: Array) -> Array:
        """(B,) criterion of candidates (B, k n) on the grid."""
        batch = max(1, STATES_AT_ONCE // len(self.grid.t))
        parts = [x[i : i + batch] for i in range(0, len(x), batch)]
        self.evaluations += len(x)
        return np.concatenate([self.criterion.values(self.observe, self.grid.motion(p), len(p)) for p in parts])

    def merit(self, values: Array) -> Array:
        """What is minimised: the logarithm of positive criteria, so that all have the same scale."""
        return values if self.criterion.logarithmic else np.log(values)

    def keeps(self, x: Array) -> bool:
        """Whether a candidate keeps every constraint on the fine grid, and between its points when `between`."""
        motion = self.fine.motion(x)
        bodies = [c for c in self.constraints if isinstance(c, Collisions) and c.pairs]
        if bodies and any(c.excess(self.grid.motion(x)).max() > INSIDE for c in bodies):  # few poses tell most
            return False
        for c in self.constraints:
            if isinstance(c, Collisions):
                continue
            excess = c.excess(motion)
            if not (excess.max() <= INSIDE and (not self.between or peaks(excess) <= -ROOM)):
                return False
        return all(self._clear(c, x, motion) for c in bodies)

    def _clear(self, bodies: Collisions, x: Array, motion: Samples) -> bool:
        """Whether bodies keep their distance on the fine grid, and on the finest wherever they could come closer in between."""
        d = bodies.distances(motion.q)
        if not (d >= bodies.kept).all():
            return False
        if self.finest is None:
            return True
        doubt = np.append(bodies.doubtful(motion, self.fine.t, d), False)
        at = np.searchsorted(self.fine.t, self.finest.t, side="right") - 1
        rows = np.flatnonzero(doubt[at] | self.thorough)
        return not rows.size or bodies.free(self.finest.positions(x, rows))

    def accept(self, x: Array, value: float) -> None:
        if value < self.best:
            self.best, self.x = value, x.copy()
        self.history.append((self.evaluations, self.best))
        if self.report is not None:
            self.report(Progress(self.stage, self.evaluations, self.best, self.seconds))

    def repaired(self, x: Array) -> Array | None:
        """The candidate shrunk until every constraint holds on the fine grid; None when not even rest does."""
        if self.fine_box is not None:
            x = np.clip(x, *self.fine_box)
        elif self.limits is not None:
            x = self.fine.into_limits(x, self.limits)[0]
        if self.keeps(x):
            return x
        rest = self.fine.rest
        if not self.keeps(rest):
            return None
        low, high = 0.0, 1.0
        for scale in NEARLY if any(isinstance(c, Collisions) for c in self.constraints) else ():
            if self.keeps(rest + scale * (x - rest)):
                low = scale
                break
            high = scale
        for _ in range(BISECTIONS if low == 0.0 else FEW):
            middle = 0.5 * (low + high)
            inside = self.keeps(rest + middle * (x - rest))
            low, high = (middle, high) if inside else (low, middle)
        return np.asarray(rest + low * (x - rest))

    def judge(self, x: Array) -> None:
        """Repair, evaluate exactly, and keep when better."""
        whole = self.repaired(x)
        if whole is not None:
            self.accept(whole, float(self.values(whole[None])[0]))


def peaks(excess: Array) -> float:
    """Largest value of (M, k) columns with the parabola through every inner maximum and its neighbours."""
    if len(excess) < 3:
        return float(excess.max())
    with np.errstate(invalid="ignore"):  # unlimited quantities are minus infinity throughout
        before, here, after = excess[:-2], excess[1:-1], excess[2:]
        bend = 2.0 * here - before - after
        # vertex of the parabola through three equidistant points
        rise = np.divide((after - before) ** 2, 8.0 * bend, out=np.zeros_like(here), where=bend > 0.0)
        top = np.where((here >= before) & (here >= after), here + rise, here)
    return float(max(np.nanmax(top), excess[0].max(), excess[-1].max()))


def explore(task: Task, rng: Generator) -> Array:
    """Random candidates, then CMA-ES from the best of them; returns the best candidate, repaired in its joint limits only."""
    search, k = task.search, len(task.scale)
    task.stage = "random"
    spread = task.grid.rest + task.scale * rng.standard_normal((max(1, search.random), k))
    x, merits = judged_candidates(task, spread, fill=task.box is None)
    best = int(np.argmin(merits))
    solution, value = x[best], float(merits[best])
    task.judge(solution)
    if search.evaluations < search.population or task.finished:
        return solution
    task.stage = "CMA-ES"
    strategy = _strategy(solution / task.scale, search.population, int(rng.integers(2**31)))
    for generation in range(search.evaluations // search.population):
        candidates = np.array([strategy.ask() for _ in range(search.population)])
        x, merits = judged_candidates(task, candidates * task.scale)
        away = np.mean((candidates - x / task.scale) ** 2, axis=1)  # keeps the strategy near what it is judged by
        # CMA-ES ranks only: any value above all others serves
        finite = np.where(np.isfinite(merits), merits, 1e6)
        strategy.tell([(a, float(m)) for a, m in zip(candidates, finite + away, strict=True)])
        best = int(np.argmin(merits))
        if merits[best] < value:
            solution, value = x[best], float(merits[best])
        if generation % 10 == 9:
            task.judge(solution)
        if task.finished or strategy.should_stop():
            break
    task.judge(solution)
    return solution


def _strategy(mean: Array, population: int, seed: int) -> Any:
    from cmaes import CMA, SepCMA

    sigma = 0.3 * float(np.sqrt(np.mean(mean**2))) or 0.3
    # a full covariance of many unknowns takes longer to adapt than to search without
    kind = CMA if len(mean) <= FULL_COVARIANCE else SepCMA
    return kind(mean=mean, sigma=sigma, population_size=population, seed=seed)


def judged_candidates(task: Task, x: Array, fill: bool = False) -> tuple[Array, Array]:
    """Candidates inside their joint limits, and their merits with the excess of other constraints added."""
    if task.box is not None:
        x = np.clip(x, *task.box)
    elif task.limits is not None:
        x = task.grid.into_limits(x, task.limits, fill)
    merits = task.merit(task.values(x))
    for c in task.others:
        if not c.labels:
            continue
        over = c.excess(task.grid.motion(x)).reshape(len(x), -1).max(axis=1)
        merits = merits + PENALTY * np.maximum(over, 0.0)
    return x, merits


def descend(task: Task, start: Array) -> Array:
    """Gradient rounds from a candidate; every round's end is repaired and judged."""
    search = task.search
    held = task.others if task.box is not None or task.limits is None else list(task.constraints)
    multipliers = [np.zeros((len(task.dense.t), len(c.labels))) for c in held]
    bounds = None if task.box is None else list(zip(task.box[0] / task.scale, task.box[1] / task.scale, strict=True))
    u = start / task.scale
    task.stage = "gradient"
    for p, mu in zip(np.geomspace(*search.sharpness, search.rounds), np.geomspace(*search.weight, search.rounds), strict=True):
        u = _round(task, u, held, multipliers, float(p), float(mu), bounds)
        x = u * task.scale
        motion = task.dense.motion(x)
        multipliers = [np.maximum(0.0, m + mu * c.excess(motion)) for m, c in zip(multipliers, held, strict=True)]
        task.judge(x)
        if task.finished:
            break
    return u * task.scale


def _round(
    task: Task, u: Array, held: Sequence[MotionConstraint], multipliers: Sequence[Array], p: float, mu: float,
    bounds: list[tuple[float, float]] | None,
) -> Array:  # fmt: skip
    """L-BFGS-B on the augmented Lagrangian with fixed multipliers; returns the best point seen."""
    from scipy.optimize import minimize

    def lagrangian(u: Array) -> tuple[float, Array]:
        x = u * task.scale
        value, rates = task.criterion.smooth(task.soft, task.grid.motion(x), p)
        task.evaluations += 1 + 3 * task.grid.n
        # chain rule of the logarithm that is minimised
        slope = 1.0 if task.criterion.logarithmic else 1.0 / value
        total = value if task.criterion.logarithmic else math.log(value)
        gradient = slope * task.grid.gradient(rates)
        motion = task.dense.motion(x) if held else Samples(*(np.zeros((0, task.grid.n)),) * 3)
        for c, m in zip(held, multipliers, strict=True):
            # augmented Lagrangian of inequalities (Powell, Hestenes, Rockafellar)
            active = np.maximum(0.0, m + mu * c.excess(motion))
            total += float(np.sum(active**2 - m**2)) / (2.0 * mu)
            gradient += task.dense.gradient(c.gradient(motion, active))
        return total, gradient * task.scale

    def watch(_: Array) -> None:
        if task.finished:
            raise StopIteration

    options = {"maxiter": task.search.iterations, "maxcor": 20}
    result = minimize(lagrangian, u, jac=True, method="L-BFGS-B", bounds=bounds, callback=watch, options=options)
    if not np.isfinite(result.x).all():
        raise InputError("the design left the finite numbers; check limits and prior parameters")
    return np.asarray(result.x)
