"""DIDIM: direct and inverse dynamic identification models (Gautier, Janot, Vandanjon 2010).

Simulates the robot's own control loop with the current estimate and fits the measured torque with the regressor of the *simulated*
motion,

    beta_{i+1} = argmin_beta || y - W(q_s, dq_s, ddq_s) beta ||^2_{Sigma^-1},    (q_s, dq_s, ddq_s) simulated with beta_i,

so the observation matrix carries no measurement noise and no filter has to be tuned (survey, eqs. 45-46).  Only the torque is
measured; the price is that the control law must be known.  Fails when the simulated loop is much slower than the real one (a third
of its bandwidth in the paper) or when friction is far from the modelled law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Estimate
from inertica.estimators.closed_loop.iterated import ClosedLoopFit, Iterated, LinearStep, residual_norm
from inertica.estimators.covariance import scores_of
from inertica.estimators.evidence import Evidence
from inertica.estimators.iteration import IterationHistory
from inertica.experiment.track import Replay


@dataclass(frozen=True)
class Didim(Iterated):
    """Closed-loop identification from torque alone; with a consistent strategy PC-DIDIM."""

    kind: ClassVar[str] = "didim"

    def _iterate(self, run: ClosedLoopFit, replays: list[Replay]) -> Estimate:
        watch: IterationHistory | None = None
        at = run.start  # what the replays were simulated with
        steps: list[LinearStep | None] = []
        errors: list[Array] = []
        while True:
            system = run.simulated(replays).observations.checked()
            if watch is None:
                size, error = residual_norm(system, run.start)
                watch, errors = self.stop.watch(run.start, size), [error]
            sigma = system.sigmas
            solution = run.solve(self.solve, system.stacked(1.0 / sigma))
            size, error = residual_norm(system, solution.beta)
            watch.record(solution.beta, size, np.sqrt(np.maximum(np.diag(solution.spread), 0.0)))
            steps.append(LinearStep(solution, system, sigma))
            errors.append(error)
            steps[:-2] = [s if k + 1 == watch.best() else None for k, s in enumerate(steps[:-2])]
            following = run.follow(watch, self.stop, solution.beta, at)
            if following is None:
                break
            replays, at = following
        return self._result(run, watch, steps, errors)

    def _result(
        self, run: ClosedLoopFit, watch: IterationHistory, steps: list[LinearStep | None], errors: list[Array]
    ) -> Estimate:
        best = max(watch.best(), 1)
        step = steps[best - 1] or steps[-1]
        assert step is not None
        solution = step.solution
        weights, stacked = 1.0 / step.sigma, step.system.stacked(1.0 / step.sigma)
        scores = scores_of(step.system, solution.beta, weights) if self.hac else None
        evidence = Evidence(stacked.R, stacked.z, scores, solution.strategy)
        more = {f"torque_error_{j + 1}": tuple(float(e[j]) for e in errors) for j in range(run.simulator.n)}
        return run.estimate(self.name, watch, step, evidence, more)
