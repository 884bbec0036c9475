"""Which estimator: weighted least squares, unless outliers make a robust one predict better; links that could exist in either case."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inertica.estimators.base import Estimator, Problem
from inertica.estimators.consistent.strategy import MILD, Consistent
from inertica.estimators.evidence import ScaledSvd
from inertica.estimators.linear.irls import Irls
from inertica.estimators.linear.least_squares import Wls
from inertica.workflow.identify.choice import Choice, candidates
from inertica.workflow.identify.hold_out import left_out
from inertica.workflow.identify.reasons import Outliers

PLAIN, ROBUST = Wls.kind, Irls.kind

OUTLIER = 5.0
"""Robust standard deviations beyond which a residual counts as an outlier."""

MANY = 2e-3
"""Share of outliers above which the robust method is tried at all; normal residuals have 6e-7."""


def choose_method(problem: Problem, quick: bool = False) -> tuple[Estimator, Choice]:
    """Compares methods by the raw torque they predict on blocks left out, when the residuals of a plain fit have outliers."""
    share, solve = outliers(problem), Consistent.towards(MILD)
    if quick:
        solve = replace(solve, strength="mildest")
    if share <= MANY:
        plain = Wls(solve=solve)
        return plain, Choice("method", plain.name, Outliers(share, OUTLIER, {}))
    scores = {kind.kind: left_out(problem, kind()) for kind in (Wls, Irls)}
    compared = scores[ROBUST].against(scores[PLAIN])
    chosen = (Irls if compared.better else Wls)(solve=solve)
    residuals = {PLAIN: compared.score_without, ROBUST: compared.score}
    return chosen, Choice(
        "method", chosen.name, Outliers(share, OUTLIER, residuals), True, candidates(residuals, chosen.kind), residuals[chosen.kind],
        residuals[PLAIN],
    )  # fmt: skip


def outliers(problem: Problem) -> float:
    """Share of outliers in the residuals of a plain fit, largest over the joints."""
    system = problem.observations
    stacked = system.stacked(1.0 / system.sigmas)
    beta = ScaledSvd.of(stacked.R).solve(stacked.z)
    residual, use = (np.concatenate(x) for x in zip(*system.records(beta), strict=True))
    worst = 0.0
    for r in (residual[use[:, j], j] for j in range(system.n)):
        scale = 1.4826 * np.median(np.abs(r - np.median(r))) if len(r) else 0.0
        worst = max(worst, float(np.mean(np.abs(r) > OUTLIER * scale))) if scale > 0.0 else worst
    return worst
