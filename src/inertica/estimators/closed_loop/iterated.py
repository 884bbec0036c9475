"""What the iterative closed-loop methods share: simulate, survive instability, re-tune, compare the loop, assemble the estimate."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar, Literal, Protocol

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.tsqr import Stacked
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, LoopFindings, Need, Problem
from inertica.estimators.closed_loop.gain_fit import GainSearch, GainStep, recorded_signals
from inertica.estimators.closed_loop.loop_check import GainFit, fit_gains
from inertica.estimators.closed_loop.loop_gains import DRIVE, LoopGains, driven
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator
from inertica.estimators.closed_loop.start import FromPrior, LeastSquaresOrPrior, StartValues
from inertica.estimators.evidence import Evidence, Solution
from inertica.estimators.iteration import IterationHistory, Stop
from inertica.estimators.observe import Observations
from inertica.estimators.solve import Composed, FitErrors, LinearSolve, Unconstrained, estimated
from inertica.experiment.track import Replay
from inertica.preprocessing.motion import Motion

HALVINGS = 7
"""How often a step that makes the simulated loop unstable is halved, all in one batch."""

DAMPINGS = (1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 0.1)
"""Of directions of unit columns, by which a simulation is held back where the data say little."""

REVERSAL = 0.1
"""Share of a joint's rms velocity below which the direction of a simulated motion is not settled."""

SLOWER = (2.0, 4.0, 8.0)
"""Factors on a guess of the inertia that a loop was tuned for."""

SIMULATED: frozenset[Need] = frozenset({Need.TORQUE, Need.LOOP, Need.REFERENCE})
SIMULATES: frozenset[Capability] = frozenset({Capability.SIMULATES, Capability.STARTS, Capability.COVARIANCE})


class IterationOptions(Protocol):
    """Fields that closed-loop methods have in common."""

    @property
    def start(self) -> StartValues: ...
    @property
    def stop(self) -> Stop: ...
    @property
    def integrator(self) -> str: ...
    @property
    def retune(self) -> bool: ...
    @property
    def tuned_for(self) -> tuple[float, ...] | None: ...
    @property
    def estimate_gains(self) -> bool: ...
    @property
    def check_loop(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class LinearStep:
    """One accepted linear solve: its solution, the rows it was fitted to, and the joint weights."""

    solution: Solution
    system: Observations
    sigma: Array


@dataclass(frozen=True)
class Iterated(Composed, ABC):
    """A method that solves a linear problem after each simulation of the loop.

    Args:
        solve: how each linear problem is solved; a consistent strategy makes the method physically consistent.
        start: first estimate; `Regular()` is the DIDIM paper's identity inertia matrix.
        stop: relative change of residual norm and of parameters below 2.5 %, at most 10 iterations.
        retune: keep bandwidth and damping of the simulated loop by updating its gains each iteration (DIDIM paper, eq. 59).
        tuned_for: inertia per joint that the stated gains were tuned for, as the loop states it when not given.  Where neither does,
            that of the prior serves on the way, and the last iterations have the gains as they are stated.
        estimate_gains: estimate the gains of the loop, too.
        check_loop: compare the stated control law with the log in the end; takes one simulation for every gain.
        integrator: euler, rk2 or rk4, one step per control period, or `variable`.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    solve: LinearSolve = field(default_factory=Unconstrained)
    start: StartValues = field(default_factory=FromPrior)
    stop: Stop = field(default_factory=Stop)
    retune: bool = False
    tuned_for: tuple[float, ...] | None = None
    estimate_gains: bool = False
    check_loop: bool = True
    integrator: Literal["euler", "rk2", "rk4", "variable"] = "rk4"
    hac: bool = True

    needs: ClassVar[frozenset[Need]] = SIMULATED
    method_capabilities: ClassVar[frozenset[Capability]] = SIMULATES

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        run = ClosedLoopFit(self, problem, rng)
        begun = run.begin()
        if begun is None and isinstance(self.start, LeastSquaresOrPrior) and problem.prior is not None:
            run.start = problem.prior_beta
            begun = run.simulate(run.start)
        if begun is None:
            return run.failed_start(self.name)
        estimate = self._iterate(run, begun[0])
        again = run.simulate(run.start) if run.hold_gains() else None
        return estimate if again is None else self._iterate(run, again[0])

    @abstractmethod
    def _iterate(self, run: ClosedLoopFit, replays: list[Replay]) -> Estimate:
        """From the replays at the start to the estimate."""


class ClosedLoopFit:
    """One run of a method.

    Args:
        method: its options.
        problem: what is identified.
        rng: for random starts.
    """

    def __init__(self, method: IterationOptions, problem: Problem, rng: np.random.Generator | None) -> None:
        self.begun = time.perf_counter()
        self.method = method
        self.simulator = LoopSimulator(problem, method.integrator)
        self.start = method.start(problem, rng)
        self.tuned_for, self.tuning_known = self._tuned_for(problem)
        self.following = method.retune  # whether gains follow the estimate
        self.simulator.settle(self.tuned_for)
        self.problem = self.simulator.problem
        self.gains: dict[str, Array] = {}
        self.unknown = LoopGains.of(self.problem) if method.estimate_gains else None
        self.logs = np.zeros(0 if self.unknown is None else self.unknown.size)
        self.gain_step: GainStep | None = None
        self._search: GainSearch | None = None
        self._calm, self._held = 0, False
        self.fit: GainFit | None = None
        self.last = self.start  # where the simulated loop was stable
        self.stable_at: Array | None = None  # in place of an estimate whose simulated loop was not stable
        self.drive: Array | None = None
        self._prepared: tuple[Problem, Callable[[Stacked], Solution]] | None = None
        self.notes: list[str] = []

    def _tuned_for(self, problem: Problem) -> tuple[Array, bool]:
        """(n,) inertias the stated gains belong to: stated, else those of the prior or of the start; and whether they are stated."""
        stated = self.simulator.loop.tuned_for if self.method.tuned_for is None else np.array(self.method.tuned_for, float)
        if stated is not None:
            _check_inertias(stated, self.simulator.n)
            return stated, True
        known = self.simulator.inertia(problem.prior_beta if problem.prior is not None else self.start)
        # an estimate may have a negative inertia somewhere, by which no gain can be scaled
        return np.where(known > 0.0, known, 1.0), False

    def begin(self) -> tuple[list[Replay], Array] | None:
        """Replays at the start.

        Where gains follow the estimate and nobody stated what they were tuned for, the loop may begin slower than the real one: a
        guess that is too small makes it too fast for its rate, and the last iterations have the stated gains.
        """
        replays = self.simulate(self.start)
        if not self.following or self.tuning_known:
            return replays
        guess = self.tuned_for
        for factor in SLOWER:
            if replays is not None:
                return replays
            self.tuned_for = factor * guess
            replays = self.simulate(self.start)
        return replays

    def current_gains(self, beta: Array) -> dict[str, Array]:
        """Gains of the simulated loop at this estimate: the estimated or stated ones, re-tuned if so asked."""
        if not self.following:
            return self.gains
        return self.simulator.retuned(beta, self.tuned_for) | self.gains

    def simulate(
        self, beta: Array, last: Array | None = None, information: Callable[[], Array] | None = None
    ) -> tuple[list[Replay], Array] | None:
        """Replays at beta, or as far towards it from `last` as the loop stays stable, and where that is; None when nowhere.

        Directions that the data say least about go first: what makes a loop unstable is mostly an inertia matrix that noise in
        poorly determined parameters has spoiled, and those may as well stay where they were.

        Args:
            beta: the estimate.
            last: an estimate at which the loop was stable.
            information: gives that of the estimate (b, b), the inverse of its covariance, where it is needed.
        """
        replays, stable = self.simulator(beta, self.current_gains(beta))
        if stable[0]:
            self.last = beta
            return replays, beta
        if last is None:
            return None
        if information is not None and (near := self._at(held_back(beta, last, information()))) is not None:
            _, replays, self.stable_at = near
            return replays, self.stable_at
        # all halvings are lanes of one batch: the simulation takes as long as one of them
        ways = last + 0.5 ** np.arange(1, HALVINGS + 1)[:, None] * (beta - last)
        halved = self._at(ways, clear=True)
        if halved is None:
            return None
        k, replays, at = halved
        self.notes.append(
            f"the loop simulated with an estimate was unstable; the step was halved {k + 1} times, to where it is stable"
        )
        return replays, at

    def _at(self, ways: Array, clear: bool = False) -> tuple[int, list[Replay], Array] | None:
        """The first of several points at which the loop is stable, the replays there and the point; None when it is at none.

        Args:
            ways: (k, b), nearest the estimate first.
            clear: take the next one where that is stable, too, to be clear of the edge where the loop rings.
        """
        lanes: dict[str, Array] = {}
        if self.following:
            each = [self.current_gains(way) for way in ways]
            lanes = {name: np.array([g[name] for g in each]) for name in each[0]}
        replays, stable = self.simulator(ways, lanes or self.gains)
        if not stable.any():
            return None
        k = int(np.argmax(stable))
        k = k + 1 if clear and k + 1 < len(ways) and stable[k + 1] else k
        return k, [r.lanes(slice(k, k + 1)) for r in replays], ways[k]

    def solve(self, strategy: LinearSolve, stacked: Stacked) -> Solution:
        """One linear problem; the strategy is prepared again only when the gains have changed the torques."""
        if self._prepared is None or self._prepared[0] is not self.problem:
            self._prepared = self.problem, strategy.prepared(self.problem)
        return self._prepared[1](stacked)

    def follow(
        self, watch: IterationHistory, stop: Stop, beta: Array, last: Array, information: Callable[[], Array] | None = None
    ) -> tuple[list[Replay], Array] | None:
        """After an iteration: update the gains, see whether to go on, and replay the loop at beta; None when it ends here."""
        self.update_gains(beta)
        if watch.converged and not self.settled_gains() and watch.iterations < stop.iterations:
            watch.reason = ""
        if watch.diverges:
            watch.halt("diverged: the residual grows; the best estimate was kept")
        open_end = watch.iterations < stop.iterations and (watch.converged or not watch.done)
        if open_end and (stated := self._as_stated(beta, watch.converged)) is not None:
            watch.reason = ""
            return stated
        if watch.done:
            return None
        following = self.simulate(beta, last, information)
        if following is None:
            watch.halt("the loop simulated with the last estimate is unstable, however small the step; that estimate was kept")
        return following

    def _as_stated(self, beta: Array, settled: bool) -> tuple[list[Replay], Array] | None:
        """The loop at beta with the gains as they are stated, where they followed an estimate by a guess of their tuning.

        Near the truth the stated gains are those of the real loop, whatever it was tuned for; re-tuned for another inertia they are
        not, and the parameters would be off.  So they follow only as long as the loop with the stated ones is unstable.

        Args:
            beta: the estimate.
            settled: whether the iteration would end with it.

        Returns:
            None where the gains are stated already, were tuned for a stated inertia, or leave the loop unstable.
        """
        if not self.following or self.tuning_known:
            return None
        self.following = False
        replays = self.simulate(beta)
        self.following = replays is None
        if replays is None and settled:
            self.notes.append(
                "what inertia the stated gains were tuned for is not known (option tuned-for, or `tuned_for` in the card's loop); "
                "that of the prior was taken to the end, since the loop with the gains as stated is unstable at the estimate"
            )
        return replays

    def simulated(self, replays: list[Replay]) -> Problem:
        """The problem with simulated motions in the place of measured ones."""
        motions = [r.motion(m) for m, r in zip(self.problem.motions, replays, strict=True)]
        simulated = (m if "q" in m.log.signals or m.recipe.standstill is None else _undecided(m) for m in motions)
        return replace(self.problem, motions=tuple(simulated))

    def update_gains(self, beta: Array) -> None:
        """One step of the gains, where the log determines them."""
        if self.unknown is None or self._held:
            return
        if self._search is None:
            self._search = GainSearch(self.simulator, self.unknown, recorded_signals(self.problem))
        step = self._search.step(beta, self.logs)
        if step is None:
            return
        # logarithms, so that gains stay positive; zero is the stated gain
        self.set_gains(np.where(step.free, self.logs + step.change, 0.0), step)
        change, limit = np.abs(step.change[step.free]), self.method.stop
        # either small in itself, or small against what is not known of the gain
        calm = np.all((change < limit.step) | (change < limit.within * step.std[step.free]))
        self._calm = self._calm + 1 if calm else 0

    def set_gains(self, logs: Array, step: GainStep | None) -> None:
        """Put estimated gains in the place of stated ones; torques from currents follow the drive gains."""
        assert self.unknown is not None
        self.logs, self.gain_step = logs, step
        self.gains = self.unknown.simulated(logs)
        self.drive = self.unknown.drive(logs)
        self.problem = driven(self.simulator.problem, self.drive)

    def settled_gains(self) -> bool:
        """Whether the parameters were found with gains that no longer moved: two small steps in a row, or none at all."""
        return self.gain_step is None or self._held or self._calm > 1

    def hold_gains(self) -> bool:
        """Leave the gains as they were found; whether there are any.  Parameters should then be found anew from the start:

        what wrong gains did to poorly determined ones wears off only slowly.
        """
        if self.gain_step is None:
            return False
        if not self.settled_gains():
            self.notes.append(
                "the gains of the loop had not settled when the iteration ended; allow more iterations, or fit the loop first"
            )
        self._held = True
        return True

    def simulable(self, beta: Array, information: Array) -> Array | None:
        """Where the simulated loop is stable, next to an estimate at which it is not; None where it is, or where positions are known.

        Torque alone leaves directions of the links' inertia to noise, which makes no loop that could be simulated; the nearest
        stable point differs from the estimate along those only.
        """
        if all("q" in m.log.signals for m in self.problem.motions) or self.simulate(beta) is not None:
            return None
        near = self._at(held_back(beta, self.last, information))
        return None if near is None else near[2]

    def check(self, beta: Array) -> tuple[str, ...]:
        """Warnings about the control law, and about gains that could not be told."""
        if not self.method.check_loop:
            return self._gain_warnings()
        self.fit = fit_gains(self.simulator, beta, self.current_gains(beta), self.drive)
        if self.fit is None and self.stable_at is not None:  # poorly determined parameters spoil the loop, not the loop itself
            self.fit = fit_gains(self.simulator, self.stable_at, self.current_gains(self.stable_at), self.drive)
        if self.fit is None:
            sentence = (
                "the loop simulated with the parameters found is unstable, so the control law could not be compared with the log"
            )
            return (
                *self._gain_warnings(),
                f"{sentence}; check its gains, or fit the loop first, before trusting these parameters",
            )
        return (*self._gain_warnings(), *self.fit.warnings())

    def _gain_warnings(self) -> tuple[str, ...]:
        if self.unknown is None or self.gain_step is None:
            return ()
        out, unknown = [], self.gain_step.unresolved
        if unknown:
            out.append(
                f"not separately identifiable from this log, and so kept as stated: {self.unknown.listed(unknown)}; the other gains "
                "and the parameters are right only as far as these are"
            )
        if any(self.unknown.unknown[k][0] == DRIVE for k in unknown):
            out.append(
                "torques come from currents: a common factor of all drive gains scales torques, gains and parameters alike and cannot "
                "be told from this log; a known payload settles it"
            )
        return tuple(out)

    def settings(self) -> dict[str, object]:
        """Options that shaped the numbers."""
        out: dict[str, object] = {"start": self.method.start.name, "stop": asdict(self.method.stop)}
        return out | {"integrator": self.method.integrator, "retune": self.method.retune}

    def found(self, gains: Mapping[str, Array]) -> LoopFindings:
        """The gains of the simulated loop where they are not the stated ones, and how the stated ones fit the log."""
        out = LoopFindings(gains, drive=self.drive)
        if self.unknown is not None and self.gain_step is not None:
            table, unresolved = self.unknown.table(self.gain_step.std, np.inf), self.unknown.listed(self.gain_step.unresolved)
            out = replace(out, gains_relative_std=table, gains_kept=unresolved)
        if self.fit is None:
            return out
        scale, std = (self.fit.gains.table(x, empty) for x, empty in ((self.fit.scale, 1.0), (self.fit.std, np.inf)))
        torque, unexplained = self.fit.torque, self.fit.unexplained
        return replace(out, loop_scale=scale, loop_scale_std=std, torque_ratio=torque, unexplained_tracking=unexplained)

    def failed_start(self, name: str) -> Estimate:
        """The start itself, marked as unknown throughout: the loop simulated with it is unstable."""
        reason = "the loop simulated with the starting values is unstable; check its gains and rate, or start from other values"
        return Estimate(
            name, self.problem.base, self.start,
            iterations=0, simulations=self.simulator.simulations, seconds=time.perf_counter() - self.begun, loop=self.found({}),
            stop_reason=reason, settings=self.settings(), warnings=(f"nothing was identified: {reason}",), failed=True,
        )  # fmt: skip

    def estimate(
        self, name: str, watch: IterationHistory, step: LinearStep, evidence: Evidence, more: Mapping[str, tuple[float, ...]]
    ) -> Estimate:
        """The outcome, with the comparison of the control law."""
        solution = step.solution
        warnings = [*solution.warnings, *dict.fromkeys(self.notes), *self.check(solution.beta)]
        if not watch.converged:
            warnings.append(f"{name}: {watch.reason}; a stated control law that is far from the real one is a frequent cause")
        covariance = solution.spread if evidence.scores is None else evidence.scores.through(solution.sensitivity)
        errors = FitErrors(step.sigma, covariance)
        out = estimated(name, self.problem, solution, errors, self.begun, evidence=evidence, settings=self.settings())
        stable_at = self.simulable(solution.beta, evidence.R.T @ evidence.R)
        return replace(
            out,
            loop=replace(self.found(self.current_gains(solution.beta)), stable_at=stable_at),
            iterations=watch.iterations,
            simulations=self.simulator.simulations,
            history=watch.history(self.problem.base.names) | dict(more),
            stop_reason=watch.reason,
            warnings=tuple(warnings),
        )


def held_back(beta: Array, last: Array, information: Array) -> Array:
    """(k, b) points between two estimates: beta - last damped ever more where the data say little, hardly where they say much.

    last + (H + lambda diag H)^-1 H (beta - last), H the information, lambda from 1e-5 to 0.1.
    """
    # unit columns make one damping mean the same for all parameters
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    step = vectors.T @ (scale * (beta - last))
    fractions = [np.maximum(values, 0.0) / (np.maximum(values, 0.0) + damping) for damping in DAMPINGS]
    return np.array([last + (vectors @ (share * step)) / scale for share in fractions])


def _undecided(motion: Motion) -> Motion:
    """The simulated motion of a record without positions, less the samples near reversals.

    A reversal that is simulated some samples too early has friction the wrong way round there, which is paid for by inertia: from
    such an estimate the iteration did not come back (TX40 from the regular start, 6 runs of 6).  Measured positions leave such samples
    out for their noise.
    """
    slow = np.abs(motion.dq) <= REVERSAL * np.sqrt(np.mean(motion.dq**2, axis=0))
    return replace(motion, resting=motion.resting | slow)


def _check_inertias(stated: Array, n: int) -> None:
    if stated.shape != (n,) or not np.all(stated > 0.0):
        values = ", ".join(f"{x:g}" for x in np.atleast_1d(stated))
        raise InputError(
            f"the inertia that the gains were tuned for should be {n} numbers above zero, one per joint, not {values}"
        )


def residual_norm(system: Observations, beta: Array) -> tuple[float, Array]:
    """Norm of y - W beta over all joints, and relative to the torque joint by joint."""
    parts = np.array([factor.misfit(beta) for factor in system.factors])
    return float(np.linalg.norm(parts)), parts / np.maximum([factor.size for factor in system.factors], 1e-300)
