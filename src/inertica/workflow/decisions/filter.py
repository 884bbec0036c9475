"""Two filters: one for the fit, as wide as noise and data left out allow, and one for predictions, by cross-validation on raw torque.

They differ because they answer different questions.  Noise of the position inside the control loop becomes torque, so that a wide
filter predicts raw torque well whatever it does to the parameters; the fit must not follow it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

from inertica.errors import TooFewSamplesError
from inertica.estimators.base import Problem
from inertica.estimators.structure.bandwidth import STEP, BandwidthSearch, SearchStart, search_bandwidth
from inertica.guard import Comparison, ShortAndLong, compare
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.bandwidth import widest_position_band
from inertica.preprocessing.edge import lowest_edge, unfiltered, widest_band
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.prepare import noise_on_clock, prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.validation.blocks import SMALLEST_FOLD, Blocks
from inertica.workflow.identify.choice import Alternative, Choice, Say, candidates
from inertica.workflow.identify.reasons import BandwidthOfFit, StatedCutoff

Velocity = Literal["differences", "recorded"]

HIGHEST = 0.25
"""Of the sampling rate: highest cut-off, which leaves the filter room below half the rate."""

WIDER = 3.0
"""Positions keep this many times the bandwidth of the fit; decimation then low-passes torque and columns, and so both alike."""

WIDEST = 0.35
"""Most of the sampling rate that the cut-off of the positions may be."""

BANDS = 3.0
"""Bands of the motion that a fit may hold although the noise floor of the position says less."""

REVERSAL = 0.25
"""Periods of the fit's bandwidth around a reversal in which a joint's rows are left out."""

FEWEST_USED = 2 * SMALLEST_FOLD
"""Rows of every joint that must be left, away from rest and reversals, for the search to begin; at the rate of the log if need be."""

PARTS = 10
"""Parts of the data that are left out in turn when bandwidths are compared; thirds are made of them."""


@dataclass(frozen=True)
class Bandwidth:
    """How far a fit uses the data.

    Args:
        chosen: Hz.
        start: the band of the position, and where the search began.
        search: what the gain of measured on predicted torque says.
        scores: Hz -> relative residual of left-out torque below the narrowest candidate.
        comparison: the widest bandwidth of the search against the one that predicts best; None where there was one candidate.
    """

    chosen: float
    start: SearchStart
    search: BandwidthSearch
    scores: dict[float, float]
    comparison: Comparison | None

    @property
    def disagreement(self) -> bool:
        """Whether data left out speak against what the gain allows."""
        return self.chosen < self.search.widest


def choose_bandwidth(description: Description, base: BaseModel, logs: Sequence[Log], recipe: Recipe) -> Bandwidth:
    """Bandwidth of the fit by the gain of measured on predicted torque, guarded by data left out.

    Args:
        description: robot with the friction that is assumed for now.
        base: its base parameters.
        logs: to fit.
        recipe: everything that is not chosen here.
    """
    rate = min(log.rate for log in logs)
    start = search_start(logs, base)
    widest = position_edge(logs)

    @cache
    def prepared(bandwidth: float) -> Problem:
        candidate = recipe_for(bandwidth, rate, replace(recipe, velocity="differences"))
        return Problem.of_logs(base, logs, candidate, description.prior)

    least = min(start.narrowest, HIGHEST * rate)
    # rest and reversals may leave nearly nothing of a narrow band
    while least * STEP <= HIGHEST * rate and _fewest_rows(prepared(least)) < FEWEST_USED:
        least *= STEP
    start = start.at_least(least)
    search = search_bandwidth(prepared, start.first, HIGHEST * rate, widest)
    candidates = [*(f for f in start.below if f < search.start), *search.candidates]
    if len(candidates) == 1:
        return Bandwidth(search.start, start, search, {}, None)
    return _guarded(search, start, candidates, [Blocks(prepared(f), PARTS) for f in candidates])


def position_edge(logs: Sequence[Log]) -> float:
    """Hz beyond which positions hold noise only, or motion that drowns in it."""
    return max(lowest_edge(tuple(logs)), BANDS * widest_band(tuple(logs)))


def _fewest_rows(problem: Problem) -> float:
    """Of all joints whose torque was measured."""
    system = problem.observations
    return float(np.min(system.counts[system.measured]))


def search_start(logs: Sequence[Log], base: BaseModel) -> SearchStart:
    """Hz: the band of the positions, and the bandwidths at which the search for that of a fit begins."""
    motions = [unfiltered(log) for log in logs]
    band = max(widest_position_band(m.q, m.dt, noise_on_clock(log)) for log, m in zip(logs, motions, strict=True))
    return SearchStart.of(band, sum(m.dt * len(m) for m in motions), base.rank)


def _guarded(search: BandwidthSearch, start: SearchStart, candidates: Sequence[float], blocks: Sequence[Blocks]) -> Bandwidth:
    """The widest candidate that does not predict left-out torque clearly worse than the best one, all in the band of the first."""
    weights = blocks[0].weights ** 2
    fits = [part.scored_by(blocks[0].fit) for part in blocks]
    short, long = [fit.evaluate() for fit in fits], [fit.evaluate(folds=fit.thirds) for fit in fits]
    best = int(np.argmin([score.squares.sum(axis=0) @ weights for score in short]))
    compared = [
        ShortAndLong(
            *(compare(s[k].squares @ weights, s[best].squares @ weights, s[best].sizes @ weights) for s in (short, long))
        )
        for k in range(len(candidates))
    ]
    chosen = max(k for k, both in enumerate(compared) if k == best or not both.harmful)
    scores = {f: both.short.score for f, both in zip(candidates, compared, strict=True)}
    return Bandwidth(candidates[chosen], start, search, scores, compared[-1].short)


def prediction_cutoffs(fit: float, band: float, rate: float) -> list[float]:
    """Cut-offs of the filter of predictions, Hz: steps up and down from the bandwidth of the fit, from the band of the motion on."""
    below = int(np.floor(np.log(max(fit / max(band, 1e-9 * fit), 1.0)) / np.log(STEP)))
    above = int(np.floor(np.log(max(HIGHEST * rate / fit, 1.0)) / np.log(STEP)))
    return [fit * STEP**k for k in range(-below, above + 1)]


def recipe_for(bandwidth: float, rate: float, recipe: Recipe) -> Recipe:
    """How a fit at some bandwidth sees a log: wide position filter, torque and columns decimated alike, no rows at reversals."""
    decimate = bandwidth if 0.4 * rate / bandwidth >= 1.5 else None
    wide = min(WIDER * bandwidth, WIDEST * rate) if decimate else bandwidth
    return replace(
        recipe, filter=Butterworth(cutoff=wide), decimate=decimate, ratio=None, reversal=REVERSAL / bandwidth,
        prediction=Butterworth(cutoff=bandwidth),
    )  # fmt: skip


def choose_filter(
    description: Description,
    base: BaseModel,
    logs: Sequence[Log],
    recipe: Recipe,
    say: Say,
    velocities: Sequence[Velocity] | None = None,
) -> tuple[Recipe, Choice]:
    """Bandwidth of the fit by the motion's noise; source of velocity and filter of predictions by cross-validation.

    Args:
        description: robot with the friction that is assumed for now.
        base: its base parameters.
        logs: to fit.
        recipe: everything that is not chosen here.
        say: progress.
        velocities: sources of velocity to compare; those the logs offer by default.
    """
    sources = velocities or velocity_sources(logs)
    say("filter: up to which frequency torque follows from the motion")
    rate = min(log.rate for log in logs)
    bandwidth = choose_bandwidth(description, base, logs, recipe)
    fit = bandwidth.chosen
    cutoffs = prediction_cutoffs(fit, bandwidth.start.band, rate)
    tried: dict[tuple[float, Velocity], float] = {}
    for source in sources:
        candidate = recipe_for(fit, rate, replace(recipe, velocity=source))
        problem = Problem.of_logs(base, logs, candidate, description.prior)
        try:
            scores = _descent(problem, candidate, logs, cutoffs, fit, say)
        except TooFewSamplesError:  # by a record that is no velocity every row may lie at a reversal
            if source == sources[-1] and not tried:
                raise
            continue
        tried |= {(cutoff, source): score for cutoff, score in scores.items()}
    cutoff, velocity = min(tried, key=lambda key: tried[key])
    origin = "its own record" if velocity == "recorded" else "differences"
    value = f"fit up to {fit:.3g} Hz, predictions from positions below {cutoff:.3g} Hz, velocity from {origin}"
    chosen = replace(recipe_for(fit, rate, replace(recipe, velocity=velocity)), prediction=Butterworth(cutoff=cutoff))
    compared = cutoff_candidates(tried, (cutoff, velocity))
    guarded = bandwidth.scores.get(fit), min(bandwidth.scores.items(), default=(0.0, None))[1]  # without: the narrowest
    search, worse = bandwidth.search, bandwidth.comparison if bandwidth.disagreement else None
    why = BandwidthOfFit(
        bandwidth.start.band, search.start, search.widest, search.gains[-1] if search.gains else None, worse, REVERSAL / fit,
        tried[cutoff, velocity], len(tried),
    )  # fmt: skip
    return chosen, Choice("filter", value, why, True, compared, *guarded, bandwidth.disagreement)


def cutoff_candidates(scores: Mapping[tuple[float, Velocity], float], chosen: tuple[float, Velocity]) -> tuple[Alternative, ...]:
    """Cut-offs in Hz with sources of velocity as candidates, and which of them was taken."""
    return tuple(
        Alternative(f"{c:.3g} Hz, {v}", score, (c, v) == chosen, number=c, unit="Hz", series=v)
        for (c, v), score in sorted(scores.items())
    )


def stated_cutoff(
    description: Description, base: BaseModel, logs: Sequence[Log], cutoff: float, recipe: Recipe, sources: Sequence[Velocity]
) -> tuple[Recipe, Choice]:
    """A bandwidth that the user stated; where velocity comes from is still chosen by raw torque left out."""
    recipes = [recipe_for(cutoff, min(log.rate for log in logs), replace(recipe, velocity=source)) for source in sources]
    value = f"fit and predictions up to {cutoff:g} Hz, velocity: "
    if len(recipes) == 1:
        return recipes[0], Choice.given("filter", value + recipes[0].velocity)
    scores: dict[str, float] = {}
    for candidate in recipes:
        problem = Problem.of_logs(base, logs, candidate, description.prior)
        with suppress(TooFewSamplesError):  # nothing to leave out
            scores[candidate.velocity] = Blocks(problem).evaluate().all
    if not scores:  # the record is taken at its word
        return recipes[0], Choice.given("filter", value + recipes[0].velocity)
    recipes = [candidate for candidate in recipes if candidate.velocity in scores]
    chosen = min(recipes, key=lambda candidate: scores[candidate.velocity])
    value += chosen.velocity
    return chosen, Choice(
        "filter", value, StatedCutoff(), True, candidates(scores, chosen.velocity), scores[chosen.velocity], max(scores.values())
    )


def velocity_sources(logs: Sequence[Log]) -> Sequence[Velocity]:
    """Where velocities can come from."""
    return ["recorded", "differences"] if all(log.dq is not None for log in logs) else ["differences"]


def _descent(
    problem: Problem, recipe: Recipe, logs: Sequence[Log], cutoffs: Sequence[float], fit: float, say: Say
) -> dict[float, float]:
    """Cut-off of predictions -> score, downhill from the bandwidth of the fit: along the cut-offs the score falls, then rises."""
    fits, scores = Blocks(problem), dict[float, float]()

    def score(k: int) -> float:
        cutoff = cutoffs[k]
        if cutoff not in scores:
            say(f"filter: predicting with {cutoff:.3g} Hz, velocity from {recipe.velocity}")
            narrow = replace(recipe, filter=Butterworth(cutoff=cutoff))
            scores[cutoff] = fits.scored_on([prepare(log, narrow) for log in logs]).evaluate().all
        return scores[cutoff]

    i = min(range(len(cutoffs)), key=lambda k: abs(cutoffs[k] - fit))
    while (best := min([k for k in (i, i - 1, i + 1) if 0 <= k < len(cutoffs)], key=score)) != i:
        i = best
    return scores
