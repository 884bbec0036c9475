"""AdaNN: the Adaline neuron, which learns the base parameters by steepest descent (survey, sections 6.2 and 9.3.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.linear.least_squares import MEASURED
from inertica.estimators.neural.approach import Goal, Packed

RUNAWAY = 1e6
"""Distance from least squares, in torques, at which a learning rate is too large."""


@dataclass(frozen=True)
class AdaNN:
    """beta_k = beta_{k-1} + eta Y_k'(tau_k - Y_k beta_{k-1}), from the prior towards ordinary least squares (survey, eq. 50).

    Stochastic: one sample per step, the n rows of a random sample; every pass goes through all samples once, in a new random order.
    Batch: all rows in every step.  The normalised rule takes the step that minimises the error of these rows along their gradient
    (times `rate`), eta = rate g'g / |Y g|^2; the fixed one is the paper's, whose learning rate is not printed.

    Fails on poorly conditioned motion: the error along a weak direction shrinks with the square of its singular value only.
    The stochastic form ends on the noise of its last samples.  The toolbox leaves out part of every epoch and has a tolerance that
    never acts; neither is repeated here.

    Args:
        gradient: stochastic or batch.
        rule: normalised, or fixed with eta = rate.
        rate: learning rate; a factor on the normalised step, eta itself with the fixed one.
        passes: most steps, in multiples of the number of samples N: the paper's 10 N.
        tolerance: ends when no column of W is correlated with the residual by more than this part of |W_k| |y|.
        seed: of the order when no generator is passed.
    """

    gradient: Literal["stochastic", "batch"] = "stochastic"
    rule: Literal["normalised", "fixed"] = "normalised"
    rate: float = 1.0
    passes: int = 10
    tolerance: float = 1e-9
    seed: int = 0

    name: ClassVar[str] = "adann"
    needs: ClassVar[frozenset[Need]] = MEASURED | {Need.PRIOR}

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.RANDOM} if self.gradient == "stochastic" else ())

    def __post_init__(self) -> None:
        if not self.rate > 0.0 or not self.tolerance > 0.0 or self.passes < 1:
            raise InputError("adann: learning rate and tolerance are numbers above zero, and there is at least one pass")

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        from inertica.estimators.neural.loops import descend, one_pass  # their compiler takes long to import

        goal, beta = Goal.of(self, problem, self.tolerance), np.array(problem.prior_beta)
        normalised, most = self.rule == "normalised", self.passes * goal.samples
        rows = Packed.of(goal.system) if self.gradient == "stochastic" else None
        draw = np.random.default_rng(self.seed) if rng is None else rng
        steps, met = 0, False
        goal.look(steps, beta)
        while not met and steps < most:
            if rows is None:
                allowed = min(goal.piece, most - steps)
                steps += descend(beta, *goal.normal_equations, goal.small, normalised, self.rate, allowed)
            else:
                order = draw.permutation(goal.samples)
                one_pass(beta, rows.W, rows.y, rows.first, rows.columns, order, normalised, self.rate)
                steps += goal.samples
            if not goal.look(steps, beta) < RUNAWAY:
                raise InputError(self._divergence(goal, rows))
            met = goal.reached(beta)
        return goal.estimate(self.name, beta, met, {"gradient": self.gradient, "rule": self.rule, "rate": self.rate})

    def _divergence(self, goal: Goal, rows: Packed | None) -> str:
        if self.rule == "normalised":
            return f"adann: a learning rate of {self.rate:g} times the best step runs away; stay below 2"
        largest = goal.steepest if rows is None else float(np.max(np.sum(rows.W**2, axis=1)))
        return (
            f"adann: the learning rate {self.rate:g} makes the parameters run away; for these data stay below {2.0 / largest:.2g}"
        )
