"""Which estimator: weighted least squares, unless outliers make a robust one predict better; links that could exist in either case."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.base import Estimator, Problem
from inertica.estimators.consistent.strategy import MILD, Consistent
from inertica.estimators.linear.irls import Irls
from inertica.estimators.linear.least_squares import Wls
from inertica.preprocessing.motion import Motion
from inertica.workflow.choice import WORTH, Choice

Array = NDArray[np.float64]

PLAIN, ROBUST = Wls.kind, Irls.kind

WHY = (
    "joints are weighed by their noise, every link is one that could exist, and a mild prior keeps values near the model's where data "
    "do not decide"
)

OUTLIER = 5.0
"""Robust standard deviations beyond which a residual counts as an outlier."""

MANY = 2e-3
"""Share of outliers above which the robust method is tried at all; normal residuals have 6e-7."""

FOLDS = 3


@dataclass(frozen=True)
class MethodSearch:
    """Compares methods by the raw torque they predict on blocks left out, when the residuals of a plain fit have outliers."""

    problem: Problem
    quick: bool = False

    def run(self) -> tuple[Estimator, Choice]:
        share, solve = self.outliers(), Consistent.towards(MILD)
        if self.quick:
            solve = replace(solve, strength="mildest")
        count = f"{100 * share:.2g} % of the residuals lie beyond {OUTLIER:g} robust standard deviations"
        if share <= MANY:
            plain = Wls(solve=solve)
            return plain, Choice("method", plain.name, f"{plain.name}: {count}, too few to ask for a robust method; {WHY}")
        scores = {kind.kind: self.score(kind()) for kind in (Wls, Irls)}
        better = Irls if scores[ROBUST] < scores[PLAIN] * (1.0 - WORTH / 2) else Wls
        chosen = better(solve=solve)
        sentence = (
            f"{chosen.name}: {count}; on data left out {PLAIN} predicts raw torque with {100 * scores[PLAIN]:.2f} % residual, "
            f"{ROBUST} with {100 * scores[ROBUST]:.2f} %; {WHY}"
        )
        return chosen, Choice("method", chosen.name, sentence, True, scores)

    def outliers(self) -> float:
        """Share of outliers in the residuals of a plain fit, largest over the joints."""
        system = self.problem.observations
        stacked = system.stacked(1.0 / system.sigmas)
        beta = np.asarray(np.linalg.lstsq(stacked.R, stacked.z, rcond=1e-10)[0], float)
        residual, use = (np.concatenate(x) for x in zip(*system.records(beta), strict=True))
        worst = 0.0
        for r in (residual[use[:, j], j] for j in range(system.n)):
            scale = 1.4826 * np.median(np.abs(r - np.median(r))) if len(r) else 0.0
            worst = max(worst, float(np.mean(np.abs(r) > OUTLIER * scale))) if scale > 0.0 else worst
        return worst

    def score(self, estimator: Estimator) -> float:
        """Relative residual of raw torque over blocks that were left out in turn."""
        error = size = 0.0
        for f in range(FOLDS):
            left = [_block(motion, f) for motion in self.problem.motions]
            motions = tuple(_without(motion, block) for motion, block in zip(self.problem.motions, left, strict=True))
            estimate = estimator.estimate(self.problem.masked(motions))
            values = np.array(self.problem.fixed_values)
            values[self.problem.base.kept] = estimate.beta
            shapes = None if self.problem.prior is None else self.problem.prior.shapes
            for motion, block in zip(self.problem.motions, left, strict=True):
                state = (motion.q[block], motion.dq[block], motion.ddq[block])
                miss = motion.tau_raw[block] - self.problem.engine.inverse_dynamics(*state, values, shapes)
                error, size = error + float(np.sum(miss**2)), size + float(np.sum(motion.tau_raw[block] ** 2))
        return float(np.sqrt(error / size))


def _block(motion: Motion, fold: int) -> slice:
    return slice(len(motion) * fold // FOLDS, len(motion) * (fold + 1) // FOLDS)


def _without(motion: Motion, block: slice) -> Motion:
    """The motion with a block masked; filters do not carry it over to its neighbours."""
    mask = np.zeros(len(motion), bool)
    mask[block] = True
    return replace(motion, masks={**motion.masks, "left out": mask})
