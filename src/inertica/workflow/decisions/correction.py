"""Whether predictions add to physically consistent links what those cannot explain (`estimators.consistent.correction`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inertica.estimators.base import Estimate, Problem
from inertica.estimators.consistent.correction import STRENGTHS, Extended, Part, errors_left_out
from inertica.estimators.consistent.strategy import PreparedStrategy
from inertica.guard import ShortAndLong, compare
from inertica.robot.layout import Layout, Parameters
from inertica.robot.plain import with_plain_friction
from inertica.workflow.identify.choice import Choice, candidates
from inertica.workflow.identify.reasons import CorrectedPredictions

SUBJECT = "correction"

BLOCKS = 10
"""Blocks of every motion of which one is left out at a time; tenfold cross-validation, as everywhere."""

THIRDS = (slice(0, 3), slice(3, 7), slice(7, 10))
"""Blocks that are left out together: motion like theirs is scarce in the rest."""


@dataclass(frozen=True)
class Correction:
    """A correction of predictions that was found to pay.

    Args:
        strength: of its pull towards zero.
        layout: whose base parameters it changes.
    """

    strength: float
    layout: Layout

    def of(self, problem: Problem, parameters: Parameters) -> Parameters:
        """Changes of standard parameters, on the correction's layout, for links that were fitted to a problem."""
        return Extended.of(problem, self.layout).correction(parameters.values, self.strength)


def choose_correction(problem: Problem, estimate: Estimate, friction_chosen: bool) -> tuple[Correction | None, Choice | None]:
    """The correction that predicts blocks and thirds left out best, if that pays (`ShortAndLong`) and whole motions are no worse.

    Args:
        problem: the data that choices are made on.
        estimate: the consistent fit of them; fits of other kinds get no correction, and no choice is stated.
        friction_chosen: whether the program chose the laws of friction; viscous and Coulomb friction and offsets that it left out
            are part of the correction then, of either sign as long as they brake at `FASTER` speeds.
    """
    strategy = None if estimate.evidence is None else estimate.evidence.strategy
    if not isinstance(strategy, PreparedStrategy) or strategy.mildness is None:
        return None, None
    strengths = STRENGTHS
    layout = problem.base.layout
    data = Extended.of(problem, with_plain_friction(layout) if friction_chosen else layout)
    blocks, motions = data.blocks_and_motions(BLOCKS)
    thirds = [Part.joined(blocks[k]) for k in THIRDS]
    errors = [errors_left_out(strategy, data, parts, strengths) for parts in (blocks, thirds)]
    totals = np.sum([e.corrected.sum(axis=1) / e.consistent.sum() for e in errors], axis=0)
    if len(motions) > 1:
        whole = errors_left_out(strategy, data, motions, strengths)
        # of each motion its share: a slow motion, whose torque is small, asks as much as a fast one
        shares = (whole.corrected / whole.sizes).sum(axis=1), (whole.consistent / whole.sizes).sum()
        totals = np.where(shares[0] <= shares[1], totals, np.inf)
    best = int(np.argmin(totals))
    both = ShortAndLong(*(compare(e.corrected[best], e.consistent, e.sizes) for e in errors))
    compared = both.short
    scores = {"consistent links": compared.score_without, "with a correction": compared.score}
    if not (np.isfinite(totals[best]) and both.pays):
        without = candidates(scores, "consistent links")
        why = CorrectedPredictions(False, compared)
        return None, Choice(SUBJECT, "none", why, True, without, compared.score_without, compared.score_without)
    value = f"base parameters, strength {strengths[best]:.2g}"
    with_it, why = candidates(scores, "with a correction"), CorrectedPredictions(True, compared)
    choice = Choice(SUBJECT, value, why, True, with_it, compared.score, compared.score_without)
    return Correction(strengths[best], data.wider.base.layout), choice
