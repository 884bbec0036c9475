"""Whether predictions add to physically consistent links what those cannot explain (`estimators.consistent.correction`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.base import Estimate, Problem
from inertica.estimators.consistent.correction import STRENGTHS, blocks_and_motions, correction, errors_left_out
from inertica.estimators.consistent.strategy import Settled
from inertica.validation.guard import compare
from inertica.workflow.choice import Choice

Array = NDArray[np.float64]

SUBJECT = "correction"

BLOCKS = 10
"""Blocks of every motion of which one is left out at a time; tenfold cross-validation, as everywhere."""


@dataclass(frozen=True)
class Correction:
    """A correction of predictions that was found to pay.

    Args:
        strength: of its pull towards zero.
    """

    strength: float

    def of(self, problem: Problem, estimate: Estimate) -> Array:
        """(b,) for an estimate of a problem; zero where the estimate is not one of consistent links."""
        system = problem.observations
        return np.asarray(correction(system.stacked(1.0 / system.sigmas), estimate.beta, [self.strength])[0])


def choose_correction(problem: Problem, estimate: Estimate) -> tuple[Correction | None, Choice | None]:
    """The correction that predicts blocks left out best, if it does so beyond doubt and no whole motion is predicted worse.

    Args:
        problem: the data that choices are made on.
        estimate: the consistent fit of them; fits of other kinds get no correction, and no choice is stated.
    """
    strategy = None if estimate.evidence is None else estimate.evidence.strategy
    if not isinstance(strategy, Settled) or strategy.mildness is None:
        return None, None
    strengths = [strategy.mildness.kappa * s for s in STRENGTHS]
    blocks, motions = blocks_and_motions(problem, BLOCKS)
    errors = errors_left_out(strategy, blocks, strengths)
    totals = errors.corrected.sum(axis=1)
    if len(motions) > 1:
        whole = errors_left_out(strategy, motions, strengths)
        totals = np.where(whole.corrected.sum(axis=1) <= whole.consistent.sum(), totals, np.inf)
    best = int(np.argmin(totals))
    compared = compare(errors.corrected[best], errors.consistent, errors.sizes)
    taken = np.isfinite(totals[best]) and compared.significantly_better
    scores = {"consistent links": compared.score_without, "with a correction": compared.score}
    if not taken:
        sentence = f"none: predictions are those of the identified links; {compared.sentence}"
        return None, Choice(SUBJECT, "none", sentence, True, scores, compared.score_without, compared.score_without)
    value = f"base parameters, strength {strengths[best]:.2g}"
    sentence = (
        f"predictions add to the base parameters what no physically consistent links explain ({value}): {compared.sentence}; "
        f"parameters, intervals and model files are without it"
    )
    return Correction(strengths[best]), Choice(SUBJECT, value, sentence, True, scores, compared.score, compared.score_without)
