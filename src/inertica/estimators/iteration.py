"""When an iteration ends: stop rules, and the watch that keeps its history and says why it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from inertica.arrays import Array

WORSE = 1.5
"""An estimate whose residual exceeds the best one by this factor has run away from it."""


RUNAWAY = 3.0
"""Two residuals in a row above the best one by this factor: the iteration diverges."""


@dataclass(frozen=True)
class StepTolerance:
    """max_k |beta_i+1 - beta_i| / sigma_k <= step: ends when no parameter moves by a part of its standard deviation that matters.

    Args:
        step: that part.
        iterations: most of them.
    """

    step: float = 0.01
    iterations: int = 50

    @property
    def exhausted(self) -> str:
        return f"no convergence within {self.iterations} iterations"

    @property
    def reached(self) -> str:
        return f"no parameter moved by more than {self.step:g} of its standard deviation"

    @staticmethod
    def size(change: Array, spread: Array) -> float:
        """Largest change in standard deviations, spread the covariance (b, b)."""
        std, step = np.sqrt(np.maximum(np.diag(spread), 0.0)), np.abs(change)
        return float(np.max(np.divide(step, std, out=np.zeros_like(step), where=std > 0.0), initial=0.0))


@dataclass(frozen=True)
class Stop:
    """crit1 = | |rho_i+1| - |rho_i| | / |rho_i|,  crit2 = max_k |beta_i+1 - beta_i| / |beta_i|  (DIDIM paper, eq. 34; survey, 9.3.3).

    Both must fall below their limits, as in the DIDIM paper; `either` is what the survey's toolbox does.  Both papers print crit1
    without the absolute value, and then every decrease would end the iteration.  crit2 is taken over parameters whose relative
    standard deviation is below `settled`: a true zero never settles in relative terms.  Nor does a change count that
    stays within two standard deviations, the interval that the papers print.

    Args:
        residual: limit of crit1.
        step: limit of crit2.
        iterations: most of them.
        rule: both or either.
        settled: relative standard deviation up to which a parameter counts in crit2.
        within: standard deviations by which it may move without counting.
    """

    residual: float = 0.025
    step: float = 0.025
    iterations: int = 10
    rule: Literal["both", "either"] = "both"
    settled: float = 0.10
    within: float = 2.0

    def watch(self, beta: Array, residual: float) -> IterationHistory:
        """A watch that has seen the start and its residual."""
        return IterationHistory(self, [np.array(beta)], [float(residual)])


@dataclass
class IterationHistory:
    """The estimates of one iteration, the start first.

    Args:
        stop: the rule.
        betas: (b,) each.
        residuals: their residual norms.
        steps: crit2 of every iteration.
        simulations: closed-loop simulations so far.
        reason: why it ended; empty while it runs.
        notes: what happened on the way, one sentence each.
    """

    stop: Stop
    betas: list[Array]
    residuals: list[float]
    steps: list[float] = field(default_factory=list)
    simulations: int = 0
    reason: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return bool(self.reason)

    @property
    def iterations(self) -> int:
        return len(self.betas) - 1

    @property
    def beta(self) -> Array:
        """The latest estimate."""
        return self.betas[-1]

    @property
    def converged(self) -> bool:
        return self.reason.startswith("converged")

    @property
    def diverges(self) -> bool:
        """Whether the last two residuals are far above the best one."""
        r = self.residuals
        # two in a row: a single large residual may follow a step that was taken back
        return len(r) > 3 and min(r[-2:]) > RUNAWAY * min(r)

    def record(self, beta: Array, residual: float, std: Array) -> None:
        """One more estimate with its residual norm and standard deviations; decides whether it is the last."""
        change = relative_step(self.beta, beta, std, self.stop)
        before = self.residuals[-1]
        # a residual of zero cannot fall any further
        crit1 = abs(residual - before) / before if before > 0.0 else 0.0
        self.betas.append(np.array(beta))
        self.residuals.append(float(residual))
        self.steps.append(change)
        met = crit1 < self.stop.residual, change < self.stop.step
        # small steps alone are no convergence: an iteration can come to rest far above where it has been
        if (all(met) or (self.stop.rule == "either" and any(met))) and residual > WORSE * min(self.residuals):
            least = int(np.argmin(self.residuals))
            times = residual / self.residuals[least]
            self.reason = f"not converged: it came to rest at a residual {times:.2g} times that of iteration {least}"
        elif all(met) or (self.stop.rule == "either" and any(met)):
            self.reason = f"converged: residual changed by {100 * crit1:.2g} %, parameters by {100 * change:.2g} %"
        elif self.iterations >= self.stop.iterations:
            self.reason = (
                f"not converged within {self.stop.iterations} iterations: the residual still changes by {100 * crit1:.2g} %, "
                f"parameters by {100 * change:.2g} %"
            )

    def halt(self, reason: str) -> None:
        """End the iteration for another reason."""
        self.reason = reason

    def best(self) -> int:
        """The iteration whose estimate is to be kept: the last one, unless it ran away from a better one."""
        least = int(np.argmin(self.residuals))
        return least if self.residuals[-1] > WORSE * self.residuals[least] else self.iterations

    def history(self, names: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
        """residual, step and every parameter, per iteration, the start first."""
        out = {"residual": tuple(self.residuals), "step": tuple(self.steps)}
        path = np.array(self.betas)
        return out | {name: tuple(float(x) for x in path[:, k]) for k, name in enumerate(names)}


def relative_step(before: Array, after: Array, std: Array, stop: Stop) -> float:
    """Largest relative change over the parameters known well enough for it to mean something."""
    size, change = np.abs(after), np.abs(after - before)
    # relative steps of parameters that are not known from zero say nothing
    counts = (size > 0.0) & (std < stop.settled * size) & (change > stop.within * std)
    if not counts.any():
        return 0.0
    reference = np.where(before != 0.0, np.abs(before), size)
    return float(np.max(change[counts] / reference[counts]))
