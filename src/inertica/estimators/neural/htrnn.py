"""HTRNN: the Hopfield-Tank recurrent network, one neuron per base parameter (survey, sections 6.3 and 9.3.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.linear.least_squares import MEASURED
from inertica.estimators.neural.approach import Goal

EPSILON = 1e-3
"""The paper's tolerance for small values, as a share of the largest start value; it does not print its own."""

SATURATED = 0.99
"""Share of alpha beyond which a parameter is held by the range of its neuron."""


@dataclass(frozen=True)
class Htrnn:
    """u <- u + eta (Psi s - kappa),  s = alpha tanh(u / theta),  Psi = -W'W,  kappa = -W'y  (survey, eqs. 52-55, corrected).

    The paper prints eq. 53 with eta on the sum only and plus kappa, and eq. 54a with s_j for s_i.  The energy that the network
    minimises is |W s - y|^2 / 2, so that it approaches ordinary least squares inside |s| < alpha.  The start is s = beta_0, the prior
    (the toolbox sets u = beta_0).

    Fails on poorly conditioned motion as every steepest descent does, and when a parameter lies outside the range: then it is held
    at alpha, which the estimate says.

    Args:
        eta: step; from the spectrum of W'W when not given: theta / (alpha lambda_max), half of what is stable.
            Printed: 1e-6 for the TX40 and 1e-7 for the RV2SQ, the toolbox has them the other way round.
        range: alpha over the largest start value, max(|beta_0| + epsilon).
        theta: slope of the neurons; 5 as in the toolbox.
        passes: most steps, in multiples of the number of samples N: the paper's 10 N.
        tolerance: ends when no column of W is correlated with the residual by more than this part of |W_k| |y|.
        activation: f of s = alpha f(u / theta): tanh, or the straight line up to +-1, bounded there, whose slope does not fade
            towards the ends.
    """

    eta: float | None = None
    range: float = 1.5
    theta: float = 5.0
    passes: int = 10
    tolerance: float = 1e-9
    activation: Literal["tanh", "clipped"] = "tanh"

    name: ClassVar[str] = "htrnn"
    needs: ClassVar[frozenset[Need]] = MEASURED | {Need.PRIOR}
    capabilities: ClassVar[frozenset[Capability]] = frozenset()

    def __post_init__(self) -> None:
        if self.range <= 1.0:
            raise InputError(f"htrnn: the range has to hold the start values, so it is above 1, not {self.range:g}")
        if (self.eta is not None and self.eta <= 0.0) or self.theta <= 0.0 or self.tolerance <= 0.0 or self.passes < 1:
            raise InputError("htrnn: eta, theta and tolerance are numbers above zero, and there is at least one pass")

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        from inertica.estimators.neural.loops import relax  # its compiler takes long to import

        goal, begun = Goal.of(self, problem, self.tolerance), problem.prior_beta
        alpha = self.range * (1.0 + EPSILON) * float(np.abs(begun).max())
        if alpha == 0.0:
            raise InputError("htrnn: all start values are zero, from which the range of its neurons cannot be told")
        stable = 2.0 * self.theta / (alpha * goal.steepest)
        eta = 0.5 * stable if self.eta is None else self.eta
        clipped, share = self.activation == "clipped", begun / alpha
        u, beta, steps, met = self.theta * (share if clipped else np.arctanh(share)), begun, 0, False
        goal.look(steps, beta)
        most = self.passes * goal.samples
        while not met and steps < most:
            allowed = min(goal.piece, most - steps)
            steps += relax(u, *goal.normal_equations, goal.small, alpha, self.theta, eta, allowed, clipped)
            beta = alpha * (u / self.theta if clipped else np.tanh(u / self.theta))
            goal.look(steps, beta)
            met = goal.reached(beta)
        settings = {"eta": eta, "alpha": alpha, "stable": stable}
        return goal.estimate(self.name, beta, met, settings, self._warnings(problem.base.names, beta, settings))

    @staticmethod
    def _warnings(names: Sequence[str], beta: Array, settled_at: Mapping[str, float]) -> tuple[str, ...]:
        eta, alpha, stable = settled_at["eta"], settled_at["alpha"], settled_at["stable"]
        out: tuple[str, ...] = ()
        if eta > stable:
            out += (f"the step eta {eta:.2g} is above {stable:.2g}, beyond which these data make the network oscillate",)
        held = ", ".join(name for name, s in zip(names, beta, strict=True) if abs(s) > SATURATED * alpha)
        if held:
            out += (f"{held}: held by the range {alpha:.3g} of the network; state a larger `range`, or better start values",)
        return out
