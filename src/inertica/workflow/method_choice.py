"""Which estimator: weighted least squares, unless outliers make a robust one predict better; links that could exist in either case."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.base import Estimator, Problem
from inertica.estimators.consistent.strategy import MILD, Consistent
from inertica.estimators.linear.irls import Irls
from inertica.estimators.linear.least_squares import Wls
from inertica.preprocessing.motion import Motion
from inertica.workflow.choice import WORTH, Choice
from inertica.workflow.hold_out import HoldOut, Mask

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


def choose_method(problem: Problem, quick: bool = False) -> tuple[Estimator, Choice]:
    """Compares methods by the raw torque they predict on blocks left out, when the residuals of a plain fit have outliers."""
    share, solve = outliers(problem), Consistent.towards(MILD)
    if quick:
        solve = replace(solve, strength="mildest")
    count = f"{100 * share:.2g} % of the residuals lie beyond {OUTLIER:g} robust standard deviations"
    if share <= MANY:
        plain = Wls(solve=solve)
        return plain, Choice("method", plain.name, f"{plain.name}: {count}, too few to ask for a robust method; {WHY}")
    scores = {kind.kind: _score(problem, kind()) for kind in (Wls, Irls)}
    better = Irls if scores[ROBUST] < scores[PLAIN] * (1.0 - WORTH / 2) else Wls
    chosen = better(solve=solve)
    sentence = (
        f"{chosen.name}: {count}; on data left out {PLAIN} predicts raw torque with {100 * scores[PLAIN]:.2f} % residual, "
        f"{ROBUST} with {100 * scores[ROBUST]:.2f} %; {WHY}"
    )
    return chosen, Choice("method", chosen.name, sentence, True, scores)


def outliers(problem: Problem) -> float:
    """Share of outliers in the residuals of a plain fit, largest over the joints."""
    system = problem.observations
    stacked = system.stacked(1.0 / system.sigmas)
    beta = np.asarray(np.linalg.lstsq(stacked.R, stacked.z, rcond=1e-10)[0], float)
    residual, use = (np.concatenate(x) for x in zip(*system.records(beta), strict=True))
    worst = 0.0
    for r in (residual[use[:, j], j] for j in range(system.n)):
        scale = 1.4826 * np.median(np.abs(r - np.median(r))) if len(r) else 0.0
        worst = max(worst, float(np.mean(np.abs(r) > OUTLIER * scale))) if scale > 0.0 else worst
    return worst


def _score(problem: Problem, estimator: Estimator) -> float:
    """Relative residual of raw torque over blocks that were left out in turn."""
    error = size = 0.0
    for f in range(FOLDS):
        left = HoldOut(tuple(_block(motion, f) for motion in problem.motions))
        estimate = estimator.estimate(problem.masked(left.rest(problem.motions)))
        values = np.array(problem.fixed_values)
        values[problem.base.kept] = estimate.beta
        shapes = None if problem.prior is None else problem.prior.shapes
        for motion, block in zip(problem.motions, left.masks, strict=True):
            state = (motion.q[block], motion.dq[block], motion.ddq[block])
            miss = motion.tau_raw[block] - problem.engine.inverse_dynamics(*state, values, shapes)
            error, size = error + float(np.sum(miss**2)), size + float(np.sum(motion.tau_raw[block] ** 2))
    return float(np.sqrt(error / size))


def _block(motion: Motion, fold: int) -> Mask:
    """A part of a motion in one piece; filters do not carry what is left out over to its neighbours."""
    at = np.arange(len(motion))
    return (at >= len(motion) * fold // FOLDS) & (at < len(motion) * (fold + 1) // FOLDS)
