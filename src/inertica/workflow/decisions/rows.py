"""Whether a fit takes every row, or leaves out those near reversals and at rest as it usually does.

Filtered motion and recorded torque disagree near a reversal about the moment friction changes its sign, so fits leave such rows out
(`preprocessing.reversals`).  A drive that sticks and slips, or creeps by single counts of its encoder, is always near one: nearly
all of its torque lies in the rows that were left out, or above the band in which its position moves, and what remains is noise.
Then every row takes part, positions are filtered as
narrowly as torque, and the bandwidth is the one that predicts raw torque left out best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inertica.errors import TooFewSamplesError
from inertica.estimators.base import Problem
from inertica.estimators.structure.bandwidth import STEP
from inertica.guard import ShortAndLong, compare
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.filters import Butterworth
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
    recipe_for,
    search_start,
    velocity_sources,
)
from inertica.workflow.identify.choice import Alternative, Choice, Say

MOST = 0.5
"""Share of the squared torque that rows of a fit must hold: less is the smaller part of what the fit is asked to predict."""

FEWEST_MOVING = 50
"""Samples that must show motion for the logs to tell anything."""


def choose_filter_and_rows(
    description: Description,
    base: BaseModel,
    logs: Sequence[Log],
    recipe: Recipe,
    say: Say,
    velocities: Sequence[Velocity] | None = None,
) -> tuple[Recipe, Choice]:
    """`choose_filter`, and where the rows that it keeps hold the smaller part of the torque, every row if that predicts better.

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
    masked = recipe_for(start, rate, replace(recipe, velocity="differences"))
    share = torque_share(_problem(description, base, logs, masked))
    if share >= MOST:
        return choose_filter(description, base, logs, recipe, say, velocities)
    try:
        usual = choose_filter(description, base, logs, recipe, say, velocities)
    except TooFewSamplesError:
        usual = None
    say("filter: a fit to every row, since most of the torque lies near reversals")
    every, tried = _every_row(description, base, logs, recipe, start, velocities)
    why = f"rows away from reversals and rest hold, below {start:.3g} Hz, only {100 * share:.2g} % of the squared torque"
    value = f"every row, up to {every.filter.cutoff:.3g} Hz, velocity from {_origin(every.velocity)}"  # type: ignore[attr-defined]
    if usual is None:
        best = min(each.score for each in tried)
        sentence = f"{value}: {why}, too few to fit; on data left out {100 * best:.3g} %, the least of {len(tried)} settings"
        return every, Choice("filter", value, sentence, True, tried, best)
    both = _compared(description, base, logs, every, usual[0])
    if not both.pays:
        choice = usual[1]
        sentence = f"{choice.sentence}; {why}, yet a fit to every row pays not: {both.short.sentence}"
        return usual[0], replace(choice, sentence=sentence, disagreement=True)
    sentence = f"{value}: {why}; {both.short.sentence}"
    return every, Choice("filter", value, sentence, True, tried, both.short.score, both.short.score_without)


def torque_share(problem: Problem) -> float:
    """Share of the squared recorded torque that the rows of a fit hold, over all joints; 1 where too few samples move to tell.

    Rows are masked and low-passed to the bandwidth of the fit; both leave out torque that predictions are asked for.
    """
    if sum(motion.used for motion in problem.motions) < FEWEST_MOVING:
        return 1.0
    n = problem.base.layout.robot.n
    used, recorded = np.zeros(n), np.zeros(n)
    for rows in problem.observations.rows():
        samples = problem.motions[rows.motion].decimator.ratio
        used += samples * np.sum(np.where(rows.use, rows.y, 0.0) ** 2, axis=0)
    for motion in problem.motions:
        recorded += np.sum(np.nan_to_num(motion.tau_raw[~motion.spoiled]) ** 2, axis=0)
    weights = levers(problem.base.layout.robot) ** 2
    return float(used @ weights) / max(float(recorded @ weights), 1e-300)


def every_row_recipe(bandwidth: float, rate: float, recipe: Recipe) -> Recipe:
    """Every row, positions and torque filtered alike: a wide filter of positions lets their noise turn the sign of velocities."""
    narrow = recipe_for(bandwidth, rate, recipe)
    return replace(narrow, filter=Butterworth(cutoff=bandwidth), reversal=None, standstill=None, prediction=None)


def _every_row(
    description: Description,
    base: BaseModel,
    logs: Sequence[Log],
    recipe: Recipe,
    start: float,
    velocities: Sequence[Velocity] | None,
) -> tuple[Recipe, tuple[Alternative, ...]]:
    """The recipe that predicts raw torque left out best, and the scores of all that were tried."""
    rate = min(log.rate for log in logs)
    sources = velocities or velocity_sources(logs)
    steps = max(0, int(np.floor(np.log(HIGHEST * rate / start) / np.log(STEP))))
    recipes = [every_row_recipe(start * STEP**k, rate, replace(recipe, velocity=s)) for k in range(steps + 1) for s in sources]
    scores = [Blocks(_problem(description, base, logs, candidate), PARTS).evaluate().all for candidate in recipes]
    tried = {(r.filter.cutoff, r.velocity): s for r, s in zip(recipes, scores, strict=True)}  # type: ignore[attr-defined]
    return recipes[int(np.argmin(scores))], cutoff_candidates(tried)


def _compared(description: Description, base: BaseModel, logs: Sequence[Log], every: Recipe, usual: Recipe) -> ShortAndLong:
    """Raw torque left out, as predicted by fits to every row and by the usual ones; each with its own filter of predictions."""
    scores = []
    for recipe in (every, usual):
        fits = Blocks(_problem(description, base, logs, recipe), PARTS)
        fits = fits.scored_on([prepare(log, recipe.for_prediction) for log in logs])
        scores.append((fits.evaluate(), fits.evaluate(folds=fits.thirds)))
    weights = levers(base.layout.robot) ** 2
    return ShortAndLong(
        *(compare(x.squares @ weights, y.squares @ weights, y.sizes @ weights) for x, y in zip(*scores, strict=True))
    )


def _problem(description: Description, base: BaseModel, logs: Sequence[Log], recipe: Recipe) -> Problem:
    return Problem(base, tuple(prepare(log, recipe) for log in logs), description.prior)


def _origin(velocity: str) -> str:
    return "its own record" if velocity == "recorded" else "differences"
