"""`dual-ekf`: state and parameters in two filters side by side; `idim-ekf`: parameters alone, measured by the torque (survey, 6.1).

    dual-ekf   x' = f(x, beta) + v, y = H x + w   beside   beta' = beta + v, y = H x(beta) + w
    idim-ekf   beta' = beta + v,   tau = Y(q, dq, ddq) beta + w

The first keeps how errors of state and parameters go together only as the derivative dx/dbeta by which the state follows corrected
parameters, exact for parameters that do not move; joint filters keep all of it.  The second needs velocities and accelerations, so
positions must be filtered, and is biased by what noise does to the regressor, as least squares are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Capability, Estimate, Problem
from inertica.estimators.closed_loop.start import FromPrior, StartValues
from inertica.estimators.recursive.joint import RECURSIVE, FilterOptions, reported
from inertica.estimators.recursive.passes import ROWS, FilterPass, arrays, driven, joined, noises, passed
from inertica.estimators.recursive.records import Record, driven_by_torque, transition
from inertica.estimators.recursive.tuning import PRESETS, Variances, again, most_likely
from inertica.estimators.recursive.unknowns import PlainUnknowns
from inertica.threads import one_thread

CHUNK = 4096
"""Samples whose regressor is held at once."""


@dataclass(frozen=True)
class DualEkf(FilterOptions):
    """Two extended filters.

    Args:
        start, preset, tune, passes, longest_step, between, integrator: as for every filter.
    """

    name: ClassVar[str] = "dual-ekf"

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        begun = time.perf_counter()
        beta = self.first(problem, rng)
        records, dt = self.records(problem, beta)
        v = self.variances(problem, records, beta)
        map = transition(problem, beta, dt, self.integrates(problem, dt))

        def run(chosen: list[Record], beta: Array, v: Variances) -> FilterPass:
            from inertica.dynamics.llvm.stepping import stepper  # imports Numba
            from inertica.estimators.recursive import pairs

            s, _code = stepper(map, True)
            n, b, parts = map.n, len(beta), []
            begun, beta, C = beta.copy(), beta.copy(), np.diag(v.first[2 * n :])
            for r in chosen:
                noise = noises(v, r, chosen)
                every = max(1, -(-len(r.t) // ROWS))
                stored, x, P = arrays(len(r.t), n, 2 * n + b, every), r.start.copy(), np.diag(v.first[: 2 * n])
                at = pairs.dual(s, driven(r, begun), r.steps, r.q, r.used, x, beta, P, C, noise, np.zeros(0), stored)
                parts.append(passed(r, stored, len(r.t) if at < 0 else at, every, C, beta, 2 * n, at))
                if at >= 0:
                    break
            return joined(parts)

        with one_thread():
            if self.tune:
                short = records[0].stretches(*self.tuned_over)
                v = most_likely(lambda tried: sum(run([r], beta, tried).score for r in short), v)
            history = run(records, beta, v)
            for _ in range(self.rounds - 1):
                history = run(records, history.beta, again(v, history.covariance)) if history.broke is None else history
        history = history.widened() if self.tune else history
        return reported(
            self.name, problem, PlainUnknowns(beta), history, self.rounds, time.perf_counter() - begun, self.settings(v)
        )


@dataclass(frozen=True)
class IdimEkf(FilterOptions):
    """A filter of the parameters alone; with no noise of the parameters it is recursive weighted least squares with a prior.

    Args:
        start: first parameters, by default the prior's: least squares of the same data would count these twice.
        preset, passes: as for every filter.
    """

    start: StartValues = field(default_factory=FromPrior)

    name: ClassVar[str] = "idim-ekf"
    method_capabilities: ClassVar[frozenset[Capability]] = RECURSIVE
    without: ClassVar[frozenset[str]] = frozenset({"tune", "longest_step", "between", "integrator", "decimated", "sees_log"})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        from inertica.estimators.recursive import pairs  # imports Numba

        problem.require(self)
        begun = time.perf_counter()
        beta = np.array(self.start(problem, rng))
        records, _ = driven_by_torque(problem, np.inf, "held")
        v = PRESETS[self.begins](problem, records, beta)
        n, b = problem.base.layout.robot.n, len(beta)
        shapes = None if problem.prior is None else problem.prior.shapes
        rounds = self.passes or 1  # linear in the parameters: another pass would find the same
        for _ in range(rounds):
            C, parts = np.diag(v.first[2 * n :]), list[FilterPass]()
            noise = noises(v, records[0], records)
            for m, r in zip(problem.motions, records, strict=True):
                every = max(1, -(-len(m) // ROWS))
                stored, use = arrays(len(m), n, b, every), ~m.mask[:, None] & ~m.resting
                for first in range(0, len(m), CHUNK):
                    rows = slice(first, first + CHUNK)
                    Y = problem.engine.regressor(m.q[rows], m.dq[rows], m.ddq[rows], shapes)
                    left = m.tau[rows] - Y @ problem.fixed_values
                    pairs.parameters(
                        np.ascontiguousarray(Y[:, :, problem.base.retained]),
                        left,
                        use[rows],
                        beta,
                        C,
                        noise,
                        v.torque,
                        first,
                        stored,
                    )
                parts.append(passed(r, stored, len(m), every, C, beta, 0, -1))
        history = joined(parts)
        settings: dict[str, object] = {"preset": self.begins, "passes": rounds, "start": self.start.name}
        return reported(self.name, problem, PlainUnknowns(beta), history, rounds, time.perf_counter() - begun, settings)
