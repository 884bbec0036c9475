"""The estimate applied to itself: the control loop is simulated with it, recorded like the log, and identified in the same way.

What comes out differs from what went in by the bias of the whole pipeline (filter, reversals of velocity, noise in the regressor, the
torque that the controller holds over a period), plus noise that several repetitions average out.  `decisions.intervals` takes the bias
out of the estimate; tests of lack of fit take the replicas for what residuals of a right model look like.

Only a loop that is known tells this.  Friction makes kinks in the acceleration whose shape depends on the controller, so that a loop
put in the place of an unknown one corrects wrongly (measured: worse than no correction).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.dynamics.simulate import Noise, Simulation
from inertica.estimators.base import Estimate, Estimator, Need, Problem
from inertica.estimators.closed_loop.loop_simulation import follows
from inertica.estimators.consistent.strategy import settled
from inertica.excitation.trajectory import Trajectory
from inertica.experiment.loop import ControlLoop
from inertica.experiment.run import LoopRun
from inertica.experiment.track import Track
from inertica.logs.log import Log, Origin
from inertica.logs.noise import position_noise
from inertica.physical.cone import SolveError
from inertica.preprocessing.bandwidth import widest_position_band
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.natural import levers
from inertica.workflow.identify.replay import own_reference

RUNS = 4
"""Repetitions.  One is worse than none, since it is as noisy as the estimate; eight were no better than four."""

LEAST = 2
"""Repetitions of which a mean and its scatter can be told."""

UNEXPLAINED = 0.3
"""Share of a joint's tracking error that the simulated loop may leave unexplained; beyond it is another loop than the log's."""

NOISES = 5.0
"""Differences between log and simulation below so many standard deviations of the position noise count for nothing."""

WINDOW, EARLY = 0.05, 0.01
"""Periods of the motion's band over which tracking errors are averaged, so that noise does not count as unexplained, and those from
which the state at the beginning is taken."""

SILENT = 1e-8
"""rad, or lengths of the longest link on sliding joints; a log with less noise is a noise-free simulation, whose law sees the true
velocity unless stated."""


@dataclass(frozen=True, eq=False)
class Replica:
    """One repetition: the simulated logs prepared by the same recipe, and what the same method finds in them."""

    problem: Problem
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class Replicas:
    """The estimate applied to itself.

    Args:
        runs: repetitions that differ in their noise; empty when there is a reason.
        reason: why there are none, as the end of a sentence; empty when there are.
        noise: (n,) standard deviation of the position noise that was put in, largest over the logs.
    """

    runs: tuple[Replica, ...] = ()
    reason: str = ""
    noise: Array | None = None

    @property
    def betas(self) -> Array:
        """(R, b) base parameters found."""
        return np.array([run.estimate.beta for run in self.runs])


@dataclass(frozen=True)
class Repetitions:
    """Simulated repetitions of an experiment.

    Args:
        count: of runs.
        seed: of their noise.
    """

    count: int = RUNS
    seed: int = 0


def replicas(
    description: Description,
    parameters: Parameters,
    logs: Sequence[Log],
    recipe: Recipe,
    problem: Problem,
    estimator: Estimator,
    references: Sequence[Trajectory] = (),
    repetitions: Repetitions | None = None,
) -> Replicas:
    """Simulate the loop along every log with the estimate, prepare and fit what it records; or say why that cannot be done.

    Args:
        description: the robot with its loop.
        parameters: the estimate, friction included.
        logs: that it came from.
        recipe: how they were prepared.
        problem: what was fitted.
        estimator: the method; the strength of a prior that cross-validation chose is kept.
        references: what the controller followed, one for all logs or one for each; the logs' own columns when not given.
        repetitions: how many, and their noise.
    """
    repetitions = repetitions or Repetitions()
    if reason := _missing(description, logs, estimator, references):
        return Replicas(reason=reason)
    loop, engine = ControlLoop.of(description), _engine(problem)
    repeated: list[list[Log]] = []
    noises: list[Array] = []
    for k, log in enumerate(logs):
        loop_log = _LoopLog(log, loop, engine, parameters, own_reference(references, k))
        if reason := loop_log.mismatch():
            return Replicas(reason=reason if len(logs) == 1 else f"{log.origin}: {reason}")
        noises.append(loop_log.noise)
        simulated = loop_log.repeated(recipe, repetitions, k)
        if simulated is None:
            return Replicas(reason="the control loop is unstable when it is simulated with the estimate and its noise")
        repeated.append(simulated)
    method, runs = settled(estimator, problem), []
    for each in zip(*repeated, strict=True):
        own_problem = replace(problem, motions=tuple(prepare(log, recipe) for log in each))
        try:
            runs.append(Replica(own_problem, method.estimate(own_problem)))
        except SolveError:  # exact data can lie on the very boundary of what is possible; the other repetitions serve
            continue
    if len(runs) < min(LEAST, repetitions.count):
        return Replicas(reason="no consistent parameters were found in simulated repetitions of the experiment")
    return Replicas(tuple(runs), "", np.max(noises, axis=0))


def _missing(description: Description, logs: Sequence[Log], estimator: Estimator, references: Sequence[Trajectory]) -> str:
    """What is needed and not there, as the end of a sentence; empty when all is there."""
    if description.loop is None:
        return "the control loop is not known (a `loop:` section in the robot card would state it)"
    if "rate" not in description.loop:
        return "the control loop states no rate"
    if Need.LOOP in estimator.needs:
        return f"the method '{estimator.name}' simulates the loop itself"
    for k, log in enumerate(logs):
        if "q" not in log.signals:
            return f"{log.origin} has no recorded position"
        if not np.isfinite(log.need("tau")).any(axis=0).all():
            return f"{log.origin} has not the torque of every joint"
        if "qr" not in log.signals and own_reference(references, k) is None:
            return f"{log.origin} does not say which reference the controller followed (columns qr1.., or a reference)"
    return ""


def _engine(problem: Problem) -> Engine:
    """Dynamics to simulate with; states of friction need all parameters, not only the base ones."""
    layout = problem.base.layout
    return Engine(layout) if layout.memory else problem.engine


class _LoopLog:
    """The loop of one log, simulated with the estimate."""

    def __init__(
        self,
        log: Log,
        loop: ControlLoop,
        engine: Engine,
        parameters: Parameters,
        reference: Trajectory | None,
    ) -> None:
        self.log, self.parameters = log, parameters
        self.rows = ~log.mask & np.isfinite(log.t)
        self.t, self.q = log.running[self.rows], log.need("q")[self.rows]
        whole = np.isfinite(self.q).all(axis=1)
        self.most_noise = (
            log.position_noise if whole.all() else position_noise(self.q[whole])
        )  # the motion itself counts as noise
        self.silent = SILENT * levers(parameters.layout.robot)
        band = widest_position_band(self.q[whole], 1.0 / log.rate)
        self.period = log.rate / band if band > 0.0 else 1.0  # samples
        track = Track.along(log, self.t, loop, reference)
        self.track = replace(track, start=self._start(*(track.reference[name][0] for name in ("q", "dq"))))
        self.run = LoopRun(loop, engine, parameters.shapes, noisy=bool(np.any(self.most_noise > self.silent)))
        self.smooth = self._simulate(np.zeros(log.n), np.arange(2), 0)  # two lanes, so that the same compiled code serves
        self.stable = bool(follows(self.smooth, self.track)[0])
        self.noise = self._noise() if self.stable else self.most_noise

    def _start(self, q: Array, dq: Array) -> tuple[Array, Array]:
        """The reference's first state; the log's where that is elsewhere: the tracking error of a slice does not begin at zero."""
        early = slice(0, max(4, round(EARLY * self.period)))
        t, seen = self.t[early] - self.t[0], self.q[early]
        if not np.isfinite(seen).all():
            return q, dq
        rate, first = np.polyfit(t, seen, 1)
        away = np.abs(seen[0] - q) > NOISES * np.maximum(self.most_noise, self.silent)
        return np.where(away, first, q), np.where(away, rate, dq)

    def _simulate(self, noise: Array, runs: NDArray[np.int64], seed: int) -> Simulation:
        values = np.tile(self.parameters.values, (len(runs), 1))
        return self.run.simulate(values, self.track, noise=Noise(q=noise, seed=seed), runs=runs)

    def _positions(self, run: Simulation, lane: int) -> Array:
        """Measured positions at the samples of the log; between control steps along the cubic through both, noise of the first."""
        a, b, s = self.track.before, self.track.after, self.track.share[:, None]
        noise = (run.q_measured[lane] - run.q[lane])[a]
        if not s.any():
            return np.asarray(run.q[lane][a] + noise)
        q, step = run.q[lane], self.track.dt * run.dq[lane]
        chord = q[b] - q[a]
        bend = (1.0 - s) * (step[a] - chord) - s * (step[b] - chord)
        return np.asarray(q[a] + s * chord + s * (1.0 - s) * bend + noise)

    def _noise(self) -> Array:
        """(n,) of the positions: what a noise-free simulation explains is motion, which differences alone cannot tell from noise."""
        difference = self.q - self._positions(self.smooth, 0)
        return np.minimum(position_noise(difference[np.isfinite(difference).all(axis=1)]), self.most_noise)

    def mismatch(self) -> str:
        """Why the simulated loop is not that of the log, as the end of a sentence; empty when it is."""
        if not self.stable:
            return "the control loop does not follow its reference when it is simulated with the estimate"
        width = max(1, round(WINDOW * self.period))
        tracking = self.q - self.track.reference["q"][self.track.keep][self.track.before]
        left = self.q - self._positions(self.smooth, 0)
        finite = np.isfinite(tracking).all(axis=1) & np.isfinite(left).all(axis=1)
        whole, rest = (_averaged(x[finite], width) for x in (tracking, left))
        share = rest / np.maximum(whole, 1e-300)
        lost = (share > UNEXPLAINED) & (rest > NOISES * np.maximum(self.noise, self.silent))
        if not lost.any():
            return ""
        shares = ", ".join(f"{j + 1} ({100 * share[j]:.0f} %)" for j in np.flatnonzero(lost))
        return f"the simulated loop leaves most of the tracking error unexplained on joint {shares}; the loop may be another one"

    def repeated(self, recipe: Recipe, repetitions: Repetitions, number: int) -> list[Log] | None:
        """Logs of several runs, different noise in each; None when one is unstable.

        Args:
            recipe: says whether a recorded velocity is needed.
            repetitions: how many, and their noise.
            number: of the log among those of the experiment.
        """
        count, seed = repetitions.count, repetitions.seed
        runs = number * count + np.arange(count)
        run = self._simulate(self.noise, runs if count > 1 else np.repeat(runs, 2), seed)
        if not follows(run, self.track).all():
            return None
        return [self._log(run, lane, recipe, np.random.default_rng([seed, number, lane])) for lane in range(count)]

    def _log(self, run: Simulation, lane: int, recipe: Recipe, rng: np.random.Generator) -> Log:
        signals = {"q": self._positions(run, lane), "tau": run.tau[lane][self.track.before]}  # the torque is held in between
        if recipe.velocity == "recorded":
            signals["dq"] = self._velocities(run, lane, rng)
        return replace(
            self.log,
            signals={symbol: self._placed(symbol, values) for symbol, values in signals.items()},
            channels=(),
            origin=Origin(format="self-application"),
            warnings=(),
            notes=(),
            truth={},
        )

    def _velocities(self, run: Simulation, lane: int, rng: np.random.Generator) -> Array:
        """As recorded: the simulated ones and noise as large as what the log shows beyond them."""
        measured = self.log.need("dq")[self.rows]
        left = measured - self.track.sampled(self.smooth.dq[:1])[0]
        finite = np.isfinite(left).all(axis=1)
        sd = np.minimum(position_noise(left[finite]), position_noise(measured[finite]))
        return np.asarray(self.track.sampled(run.dq[lane : lane + 1])[0] + sd * rng.standard_normal(measured.shape))

    def _placed(self, symbol: str, values: Array) -> Array:
        """At the rows of the log, without a value where the log has none."""
        out = np.full((len(self.log), self.log.n), np.nan)
        out[self.rows] = values
        return np.where(np.isfinite(self.log.need(symbol)), out, np.nan)


def _averaged(x: Array, width: int) -> Array:
    """(n,) root mean square of averages over windows."""
    count = max(1, len(x) // width)
    means = x[: count * width].reshape(count, -1, x.shape[1]).mean(axis=1)
    return np.asarray(np.sqrt(np.mean(means**2, axis=0)))
