"""DIDIM: direct and inverse dynamic identification models (Gautier, Janot, Vandanjon 2010).

Simulates the robot's own control loop with the current estimate and fits the measured torque with the regressor of the *simulated*
motion,

    beta_{i+1} = argmin_beta || y - W(q_s, dq_s, ddq_s) beta ||^2_{Sigma^-1},    (q_s, dq_s, ddq_s) simulated with beta_i,

so the observation matrix carries no measurement noise and no filter has to be tuned (survey, eqs. 45-46).  Only the torque is
measured; the price is that the control law must be known.  Fails when the simulated loop is much slower than the real one (a third
of its bandwidth in the paper) or when friction is far from the modelled law.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.base import Estimate, Need, Problem
from inertica.estimators.closed_loop import SIMULATED, ClosedLoop, SimulatedSystem, Step, residual_norm
from inertica.estimators.covariance import scores_of
from inertica.estimators.evidence import Evidence
from inertica.estimators.iteration import Stop, Watch
from inertica.estimators.least_squares import check_counts, joint_sigmas
from inertica.estimators.loop_simulation import Replay
from inertica.estimators.solve import LinearSolve, Unconstrained
from inertica.estimators.start import FromPrior, Start

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Didim:
    """Closed-loop identification from torque alone.

    Args:
        solve: how each linear problem is solved; a consistent strategy makes this PC-DIDIM.
        start: first estimate; `Regular()` is the paper's identity inertia matrix.
        stop: relative change of residual norm and of parameters below 2.5 %, at most 10 iterations.
        retune: keep bandwidth and damping of the simulated loop by updating its gains each iteration (DIDIM paper, eq. 59).
        tuned_for: inertia per joint that the stated gains were tuned for; that of the prior when not given.
        estimate_gains: estimate the gains of the loop, too.
        integrator: euler, rk2 or rk4, one step per control period.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    solve: LinearSolve = field(default_factory=Unconstrained)
    start: Start = field(default_factory=FromPrior)
    stop: Stop = field(default_factory=Stop)
    retune: bool = False
    tuned_for: tuple[float, ...] | None = None
    estimate_gains: bool = False
    integrator: Literal["euler", "rk2", "rk4"] = "rk4"
    hac: bool = True

    name: ClassVar[str] = "didim"
    needs: ClassVar[frozenset[Need]] = SIMULATED

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        run = ClosedLoop(self, problem, rng)
        begun = run.simulate(run.start)
        if begun is None:
            return run.failed_start(self.name)
        found = self._iterate(run, begun[0])
        again = run.simulate(run.start) if run.hold_gains() else None
        return found if again is None else self._iterate(run, again[0])

    def _iterate(self, run: ClosedLoop, replays: list[Replay]) -> Estimate:
        watch: Watch | None = None
        at = run.start  # what the replays were simulated with
        steps: list[Step | None] = []
        errors: list[Array] = []
        while True:
            system = SimulatedSystem(run.simulated(replays))
            if watch is None:
                check_counts(system)
                size, error = residual_norm(system, run.start)
                watch, errors = self.stop.watch(run.start, size), [error]
            sigma = joint_sigmas(system)
            solution = self.solve(system.stacked(1.0 / sigma), run.problem)
            size, error = residual_norm(system, solution.beta)
            watch.record(solution.beta, size, np.sqrt(np.maximum(np.diag(solution.spread), 0.0)))
            steps.append(Step(solution, system, sigma))
            errors.append(error)
            steps[:-2] = [s if k + 1 == watch.best() else None for k, s in enumerate(steps[:-2])]
            following = run.follow(watch, self.stop, solution.beta, at)
            if following is None:
                break
            replays, at = following
        return self._result(run, watch, steps, errors)

    def _result(self, run: ClosedLoop, watch: Watch, steps: list[Step | None], errors: list[Array]) -> Estimate:
        kept = max(watch.best(), 1)
        step = steps[kept - 1] or steps[-1]
        assert step is not None
        solution = step.solution
        weights, stacked = 1.0 / step.sigma, step.system.stacked(1.0 / step.sigma)
        scores = scores_of(step.system, solution.beta, weights) if self.hac else None
        evidence = Evidence(stacked.R, stacked.z, scores, solution.strategy)
        more = {f"torque_error_{j + 1}": tuple(float(e[j]) for e in errors) for j in range(run.simulator.n)}
        return run.estimate(self.name, watch, step, evidence, more)
