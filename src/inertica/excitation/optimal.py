"""Optimal design: a family of trajectories, a criterion and constraints in, a motion that keeps all constraints out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation.basis import Basis
from inertica.excitation.collision import Approach, Collisions
from inertica.excitation.constraints import INSIDE, MotionConstraint
from inertica.excitation.criteria import Condition, Criterion, SmallestSingular
from inertica.excitation.genetic import evolve
from inertica.excitation.observation import Observation, stacked_factors
from inertica.excitation.search import Progress, Search, Task, descend, explore
from inertica.excitation.softened import softened
from inertica.excitation.trajectory import Array, Samples, Shaped, Trajectory
from inertica.identifiability.base import BaseModel
from inertica.threads import one_thread

FINER = 10
"""The result is checked on a grid this many times finer than the one it is designed on."""

DENSER = 4
"""The gradient stage holds constraints on a grid this many times finer; what is between is met by the final repair."""


SAFE_RATE = 1000.0
"""Hz at which the bodies of a robot must keep their distance all along the result."""


@dataclass(frozen=True)
class Violation:
    """A constraint that a motion does not keep: what, when it is worst, and by how much relative to its limit."""

    what: str
    time: float
    excess: float

    def __str__(self) -> str:
        return f"{self.what} exceeds its limit by {100.0 * self.excess:.3g} % at {self.time:.3f} s"


@dataclass(frozen=True, eq=False)
class Design:
    """What a design found.

    Args:
        trajectory: the motion.
        criterion: name of what was minimised.
        value: of the criterion, exact, on the grid.
        condition, smallest: condition number and smallest singular value of the base regressor on the grid, new rows only.
        feasible: whether every constraint holds on the fine grid; when not, this is a failure, see `violations`.
        violations: constraints that do not hold, worst first.
        history: (evaluations, best feasible value so far).
        evaluations: regressors of candidates evaluated; a gradient counts 1 + 3 n, what differences
            of the regressor in every signal would take.
        seconds: time taken.
        stop: why it ended.
        approach: the closest that bodies come, at 1 kHz; None without a constraint on collisions.
    """

    trajectory: Shaped
    criterion: str
    value: float
    condition: float
    smallest: float
    feasible: bool
    violations: tuple[Violation, ...]
    history: tuple[tuple[int, float], ...] = field(repr=False)
    evaluations: int
    seconds: float
    stop: str
    approach: Approach | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class DesignOptions:
    """How a design is searched.

    Args:
        grid: times at which the regressor is evaluated, or how many, evenly spaced.
        check: times at which constraints must hold; when not given, ten times as many as in the grid and between them.
        previous: R factors (k, base parameters) of logs that exist: their information R'R is added, so that the motion is sought
            that adds most to them.  With `noise` they should be weighted alike.
        rate: samples per second that the new log will have, so that it weighs rightly against previous ones.
        noise: standard deviation of each joint's torque; rows are divided by it.
        search: effort.
        progress: called now and then.
    """

    grid: int | ArrayLike = 100
    check: ArrayLike | None = None
    previous: Sequence[Array] = ()
    rate: float | None = None
    noise: Sequence[float] | None = None
    search: Search = field(default_factory=Search)
    progress: Callable[[Progress], None] | None = None


def design(
    engine: Engine, base: BaseModel, family: Shaped, criterion: Criterion | None = None,
    constraints: Sequence[MotionConstraint] = (), options: DesignOptions | None = None, rng: Generator | int = 0,
) -> Design:  # fmt: skip
    """A motion that minimises a criterion of the base regressor under constraints.

    Args:
        engine: of the base model's layout.
        base: which columns count.
        family: the trajectories to choose from; its coefficients are where the search may begin when they move the robot.
        criterion: cond(W) when not given.
        constraints: joint limits, torques, places.
        options: instants, effort, and what is there already.
        rng: generator or seed.
    """
    options = options or DesignOptions()
    check, effort, previous, noise = options.check, options.search, options.previous, options.noise
    wanted = _with_rank(Condition() if criterion is None else criterion, base)
    times = _grid(family, options.grid)
    fine = _finer(times, FINER, family) if check is None else np.asarray(check, float)
    dense = _finer(times, DENSER, family) if check is None else fine
    soft = Engine(softened(engine.layout, effort.softness), threads=engine.threads, target=engine.target)
    observe, smooth = (
        observation(e, base, wanted.full, previous, _weight(options.rate, family.period, len(times)), noise)
        for e in (engine, soft)
    )
    with one_thread():  # two BLAS threads make factorisations of this size many times slower
        on_grid, on_dense, on_fine = (Basis.of(family, t) for t in (times, dense, fine))
        finest = None
        if check is None and any(isinstance(c, Collisions) for c in constraints):
            finest = Basis.of(family, np.union1d(np.arange(0.0, family.period, 1.0 / SAFE_RATE), [family.period]))
        task = Task(
            on_grid, on_dense, on_fine, observe, smooth, wanted, constraints, effort, check is None, options.progress, finest
        )
        _solve(task, family, np.random.default_rng(rng))
        return _result(task, family, base, engine)


def observation(
    engine: Engine, base: BaseModel, full: bool = False, previous: Sequence[Array] = (), scale: float = 1.0,
    noise: Sequence[float] | None = None,
) -> Observation:  # fmt: skip
    """The observation matrix that a criterion looks at: base parameters, or all that have an effect."""
    if engine.layout.names != base.layout.names:
        raise InputError("engine and base model belong to different layouts")
    columns = np.sort(np.concatenate([base.retained, base.eliminated])) if full else base.retained
    weights = None if noise is None else tuple(1.0 / s for s in noise)
    return Observation(engine, tuple(int(c) for c in columns), weights, scale, stacked_factors(previous, len(columns)))


def violations(trajectory: Trajectory, constraints: Sequence[MotionConstraint], times: ArrayLike) -> tuple[Violation, ...]:
    """Constraints that a trajectory does not keep at given times, worst first."""
    t = np.asarray(times, float)
    motion = trajectory(t)
    messages = []
    for c in constraints:
        excess = c.excess(motion)
        for label, column in zip(c.labels, excess.T, strict=True):
            worst = int(np.argmax(column))
            if not column[worst] <= INSIDE:
                messages.append(Violation(label, float(t[worst]), float(column[worst])))
    return tuple(sorted(messages, key=lambda v: -v.excess))


def evaluate(trajectory: Trajectory, engine: Engine, base: BaseModel, criterion: Criterion, grid: int | ArrayLike = 100) -> float:
    """The criterion of any trajectory on a grid."""
    wanted = _with_rank(criterion, base)
    motion = trajectory(_grid(trajectory, grid))
    with one_thread():
        return float(wanted.values(observation(engine, base, wanted.full), motion, 1)[0])


def _with_rank(criterion: Criterion, base: BaseModel) -> Criterion:
    """The smallest singular value that is not zero by structure is the one at the base model's rank."""
    if isinstance(criterion, SmallestSingular) and criterion.rank is None:
        return replace(criterion, rank=base.rank)
    return criterion


def _grid(trajectory: Trajectory | Shaped, grid: int | ArrayLike) -> Array:
    """Evenly spaced times; the end of a periodic motion is its beginning and left out."""
    if isinstance(grid, int):
        if grid < 2:
            raise InputError(f"a grid of {grid} points is too small")
        return np.linspace(0.0, trajectory.period, grid, endpoint=not trajectory.periodic)
    return np.asarray(grid, float)


def _finer(t: Array, factor: int, family: Shaped) -> Array:
    """A grid with every interval divided, corners added; that of a periodic motion goes on to the end of the period."""
    ends = np.append(t, family.period) if family.periodic and t[-1] < family.period else t
    even = np.interp(np.arange((len(ends) - 1) * factor + 1) / factor, np.arange(len(ends)), ends)
    return np.union1d(even, family.corners)


def _weight(rate: float | None, period: float, points: int) -> float:
    return 1.0 if rate is None else math.sqrt(rate * period / points)


def _solve(task: Task, family: Shaped, rng: Generator) -> None:
    starts: list[Array] = []
    begun = family.coefficients
    if np.any(begun != task.fine.rest):  # the user's own motion competes, and is improved
        task.stage = "given start"
        task.judge(begun)
        starts.append(begun)
    if task.search.optimiser == "ga":
        evolve(task, rng)
        return
    if task.search.random or task.search.evaluations or not starts:
        starts.append(explore(task, rng))
    for start in starts:
        if task.search.rounds and not task.finished:
            descend(task, start)


def _result(task: Task, family: Shaped, base: BaseModel, engine: Engine) -> Design:
    approach = _made_safe(task)
    trajectory = family.with_coefficients(task.fine.rest if task.x is None else task.x)
    broken = violations(trajectory, task.constraints, task.fine.t)
    W = observation(engine, base).stacked(Samples(*task.grid.motion(trajectory.coefficients)))
    s = np.linalg.svd(W, compute_uv=False)
    out_of_time = task.seconds > task.search.seconds
    stop = "time" if out_of_time else "target" if task.best <= task.search.target else "finished"
    return Design(
        trajectory=trajectory,
        criterion=task.criterion.name,
        value=task.best,
        condition=float(s[0] / s[-1]) if s[-1] > 0.0 else math.inf,
        smallest=float(s[-1]),
        feasible=task.x is not None and not broken,
        violations=broken,
        history=tuple(task.history),
        evaluations=task.evaluations,
        seconds=task.seconds,
        stop=stop,
        approach=approach,
    )


def _made_safe(task: Task) -> Approach | None:
    """The closest approach of the result, looked at at every instant of the finest grid; a result that comes too close is shrunk."""
    bodies = [c for c in task.constraints if isinstance(c, Collisions) and c.pairs]
    if not bodies or task.finest is None or task.x is None:
        return None
    everywhere = np.arange(len(task.finest.t))
    if not all(c.free(task.finest.positions(task.x, everywhere)) for c in bodies):
        task.thorough, task.best, x = True, math.inf, task.x
        task.x = None
        task.judge(x)
        if task.x is None:
            return None
    q = task.finest.positions(task.x, everywhere)
    return min((c.approach(q, task.finest.t) for c in bodies), key=lambda a: a.distance)
