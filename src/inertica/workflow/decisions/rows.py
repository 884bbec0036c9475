"""Whether a fit takes every row, or leaves out those near reversals and at rest as it usually does.

Filtered motion and recorded torque disagree near a reversal about the moment friction changes its sign, so fits leave such rows out
(`preprocessing.reversals`).  A drive that sticks and slips, or creeps by single counts of its encoder, is always near one: nearly
all of its torque lies in the rows that were left out, or above the band in which its position moves, and what remains is noise.
Then every row takes part, positions are filtered as
narrowly as torque, and the bandwidth is the one that predicts raw torque left out best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertica.errors import TooFewSamplesError
from inertica.estimators.base import Problem
from inertica.estimators.structure.bandwidth import STEP
from inertica.guard import MATTERS, Comparison, compare
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.natural import levers
from inertica.validation.blocks import Blocks
from inertica.workflow.decisions.filter import (
    HIGHEST,
    PARTS,
    Velocity,
    choose_filter,
    cutoff_candidates,
    position_edge,
    recipe_for,
    search_start,
    velocity_sources,
)
from inertica.workflow.identify import reasons
from inertica.workflow.identify.choice import Alternative, Choice, Say

MOST = 0.5
"""Share of the squared torque that rows of a fit must hold: less is the smaller part of what the fit is asked to predict."""

MOVING = 0.9
"""Share of a joint's squared velocity in the rows by which bandwidths are compared; the others say what it does while it sticks."""

FEWEST_MOVING = 50
"""Samples that must show motion for the logs to tell anything."""


@dataclass(frozen=True)
class EveryRow:
    """Fits to every row.

    Args:
        chosen: how logs are prepared for them.
        best: the same at the bandwidth that predicts best by however little.
        tried: all bandwidths and sources of velocity.
    """

    chosen: Recipe
    best: Recipe
    tried: tuple[Alternative, ...]


def choose_filter_and_rows(
    description: Description,
    base: BaseModel,
    logs: Sequence[Log],
    recipe: Recipe,
    say: Say,
    velocities: Sequence[Velocity] | None = None,
) -> tuple[Recipe, Choice]:
    """`choose_filter`, and where the rows that it keeps hold the smaller part of the torque, every row unless that predicts worse.

    Args:
        description: robot with the friction that is assumed for now.
        base: its base parameters.
        logs: to fit.
        recipe: everything that is not chosen here.
        say: progress.
        velocities: sources of velocity to compare; those the logs offer by default.
    """
    rate = min(log.rate for log in logs)
    start = min(search_start(logs, base).narrowest, HIGHEST * rate)
    highest = min(max(position_edge(logs), start), HIGHEST * rate)
    usual: tuple[Recipe, Choice] | None = None
    try:
        usual = choose_filter(description, base, logs, recipe, say, velocities)
        share = torque_share(Problem.of_logs(base, logs, usual[0], description.prior), highest)
        if share >= MOST:
            return usual
    except TooFewSamplesError:
        narrow = recipe_for(start, rate, replace(recipe, velocity="differences"))
        share = torque_share(Problem.of_logs(base, logs, narrow, description.prior), highest)
        if share >= MOST:
            raise
    say("filter: a fit to every row, since most of the torque lies near reversals")
    widest = every_row_recipe(highest, rate, recipe, "differences")
    moving = [_moving(prepare(log, widest)) for log in logs]
    every_row = _every_row(description, base, logs, recipe, (start / STEP, highest), velocities, moving)
    every, tried = every_row.chosen, every_row.tried
    value = f"every row, up to {every.filter.cutoff:.3g} Hz, velocity from {_origin(every.velocity)}"  # type: ignore[attr-defined]
    if usual is None:
        score = next(each.score for each in tried if each.taken)
        return every, Choice("filter", value, reasons.EveryRow(share, highest, None), True, tried, score)
    compared = _compared(description, base, logs, every_row.best, usual[0], moving)
    if compared.significantly_worse:
        choice = usual[1]
        return usual[0], replace(choice, reason=reasons.EveryRow(share, highest, compared, choice.reason), disagreement=True)
    why = reasons.EveryRow(share, highest, compared)
    return every, Choice("filter", value, why, True, tried, compared.score, compared.score_without)


def torque_share(problem: Problem, highest: float) -> float:
    """Share of the squared torque that the rows of a fit hold, over all joints; 1 where too few samples move to tell.

    Rows are masked and low-passed to the bandwidth of the fit; both leave out torque that predictions are asked for.  Of torque above
    the noise of the positions (`highest`, Hz) no fit knows anything: there may be nothing but what a controller makes of that noise.
    """
    if sum(motion.used for motion in problem.motions) < FEWEST_MOVING:
        return 1.0
    n = problem.base.layout.robot.n
    used, recorded = np.zeros(n), np.zeros(n)
    for rows in problem.observations.rows():
        samples = problem.motions[rows.motion].decimator.ratio
        used += samples * np.sum(np.where(rows.use, rows.y, 0.0) ** 2, axis=0)
    for motion in problem.motions:
        low = Butterworth(cutoff=highest).smoothed(np.nan_to_num(motion.tau_raw), motion.dt)
        recorded += np.sum(low[~motion.spoiled] ** 2, axis=0)
    weights = levers(problem.base.layout.robot) ** 2
    return float(used @ weights) / max(float(recorded @ weights), 1e-300)


def every_row_recipe(bandwidth: float, rate: float, recipe: Recipe, velocity: Velocity) -> Recipe:
    """Every row, positions and torque filtered alike: a wide filter of positions lets their noise turn the sign of velocities."""
    narrow = recipe_for(bandwidth, rate, replace(recipe, velocity=velocity))
    return replace(narrow, filter=Butterworth(cutoff=bandwidth), reversal=None, standstill=None, prediction=None)


def _every_row(
    description: Description,
    base: BaseModel,
    logs: Sequence[Log],
    recipe: Recipe,
    between: tuple[float, float],
    velocities: Sequence[Velocity] | None,
    moving: Sequence[NDArray[np.bool_]],
) -> EveryRow:
    """Fits to every row, compared by raw torque left out where joints move.

    From a step above the band of the positions, which a filter would cut at its edge, up to their noise.  Neighbouring
    bandwidths often predict alike; a narrow one says less of faster motion, a wide one holds more noise.  Of those from the best one
    upwards whose squared errors hardly differ the middle one is taken.
    """
    rate = min(log.rate for log in logs)
    sources = velocities or velocity_sources(logs)
    start, highest = between
    steps = int(np.floor(np.log(highest / start) / np.log(STEP)))
    cutoffs = [start * STEP**k for k in range(steps + 1)]
    scores = {
        (cutoff, source): _score(
            Problem.of_logs(base, logs, every_row_recipe(cutoff, rate, recipe, source), description.prior), moving
        )
        for source in sources
        for cutoff in cutoffs
    }
    best, source = min(scores, key=lambda key: scores[key])
    alike = float(np.sqrt(MATTERS)) * scores[best, source]  # in the squares of which errors are sums
    widest = max(c for c in cutoffs if c >= best and scores[c, source] <= alike)
    chosen, narrowest = (every_row_recipe(c, rate, recipe, source) for c in (float(np.sqrt(best * widest)), best))
    tried = cutoff_candidates(scores, (best, source))
    return EveryRow(chosen, narrowest, tried)


def _score(problem: Problem, moving: Sequence[NDArray[np.bool_]]) -> float:
    """Relative residual of parts left out in turn, where the joints move."""
    return Blocks(problem, PARTS).scored_on(problem.motions, moving).evaluate().all


def _moving(motion: Motion) -> NDArray[np.bool_]:
    """(N, n) samples that hold most of the squared velocity of each joint."""
    squares = motion.dq**2
    ordered = np.sort(squares, axis=0)
    slow = np.cumsum(ordered, axis=0) < (1.0 - MOVING) * ordered.sum(axis=0)
    least = ordered[np.minimum(slow.sum(axis=0), len(ordered) - 1), np.arange(motion.n)]
    return np.asarray(squares >= least)


def _compared(
    description: Description,
    base: BaseModel,
    logs: Sequence[Log],
    every: Recipe,
    usual: Recipe,
    moving: Sequence[NDArray[np.bool_]],
) -> Comparison:
    """Raw torque left out, as predicted by fits to every row and by the usual ones; each with its own filter of predictions."""
    scores = []
    for recipe in (every, usual):
        fits = Blocks(Problem.of_logs(base, logs, recipe, description.prior), PARTS)
        scores.append(fits.scored_on([prepare(log, recipe.for_prediction) for log in logs], moving).evaluate())
    weights = levers(base.layout.robot) ** 2
    return compare(*(x @ weights for x in (scores[0].squares, scores[1].squares, scores[0].sizes)))


def _origin(velocity: str) -> str:
    return "its own record" if velocity == "recorded" else "differences"
