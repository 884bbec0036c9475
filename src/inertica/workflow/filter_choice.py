"""Two filters: one for the fit, by what the motion holds above its noise, and one for predictions, by cross-validation on raw torque.

They differ because they answer different questions.  Noise of the position inside the control loop becomes torque, so that a wide
filter predicts raw torque well whatever it does to the parameters; the fit must not follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from inertica.estimators.base import Problem
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.edge import ABOVE, lowest_edge, widest_band
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.validation.blocks import Blocks
from inertica.workflow.choice import Choice, Say

Velocity = Literal["differences", "recorded"]

CUTOFFS = (2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0, 90.0, 130.0)
"""Hz; those that a log's rate allows are candidates."""

WIDER = 3.0
"""Positions keep this many times the bandwidth of the fit; decimation then low-passes torque and columns, and so both alike."""

WIDEST = 0.35
"""Most of the sampling rate that the cut-off of the positions may be."""

BANDS = 3.0
"""Bands of the motion that the fit holds at least: torque has harmonics of a motion that is itself narrow."""

REVERSAL = 0.25
"""Periods of the fit's bandwidth around a reversal in which a joint's rows are left out."""


def candidate_cutoffs(rate: float) -> list[float]:
    """Cut-offs that leave the filter room below half the sampling rate."""
    fitting = [f for f in CUTOFFS if f <= 0.25 * rate]
    return fitting or [0.2 * rate]


def fit_bandwidth(edge: float, band: float, rate: float) -> float:
    """Hz up to which a fit holds a motion: the highest candidate below its edge, but so many bands of it at least.

    Args:
        edge: Hz, where the motion drowns in its noise.
        band: Hz, below which nearly all of its energy lies.
        rate: Hz, of the log.
    """
    cutoffs = candidate_cutoffs(rate)
    wide = min((f for f in cutoffs if f >= BANDS * band), default=cutoffs[-1])
    return max([f for f in cutoffs if f <= edge] + [wide])


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
    recorded = all(log.dq is not None for log in logs)
    sources: Sequence[Velocity] = velocities or (["recorded", "differences"] if recorded else ["differences"])
    say("filter: where the motion drowns in noise")
    rate = min(log.rate for log in logs)
    cutoffs = candidate_cutoffs(rate)
    edge = lowest_edge(tuple(logs))
    band = widest_band(tuple(logs))
    fit = fit_bandwidth(edge, band, rate)
    tried: dict[tuple[float, Velocity], float] = {}
    for source in sources:
        own = recipe_for(fit, rate, replace(recipe, velocity=source))
        problem = Problem(base, tuple(prepare(log, own) for log in logs), description.prior)
        scores = _descent(problem, own, logs, cutoffs, fit, say)
        tried |= {(cutoff, source): score for cutoff, score in scores.items()}
    cutoff, velocity = min(tried, key=lambda key: tried[key])
    said = "its own record" if velocity == "recorded" else "differences"
    value = f"fit up to {fit:g} Hz, predictions from positions below {cutoff:g} Hz, velocity from {said}"
    why = f"{edge:.3g} Hz is where the spectrum of the position falls to {ABOVE:g} times its noise"
    if fit > edge:
        why += f", but the motion reaches up to {band:.3g} Hz and its torque to harmonics of that"
    sentence = (
        f"{value}: {why}; rows within {1e3 * REVERSAL / fit:.2g} ms of a joint's reversals are left out; the filter of predictions "
        f"leaves {100 * tried[cutoff, velocity]:.2f} % of the raw torque of data left out, the least of {len(tried)} settings"
    )
    chosen = replace(recipe_for(fit, rate, replace(recipe, velocity=velocity)), prediction=Butterworth(cutoff=cutoff))
    return chosen, Choice("filter", value, sentence, True, {f"{c:g} Hz, {v}": s for (c, v), s in sorted(tried.items())})


def _descent(
    problem: Problem, recipe: Recipe, logs: Sequence[Log], cutoffs: Sequence[float], fit: float, say: Say
) -> dict[float, float]:
    """Cut-off of predictions -> score, downhill from the bandwidth of the fit: along the cut-offs the score falls, then rises."""
    fits, scores = Blocks(problem), dict[float, float]()

    def score(k: int) -> float:
        cutoff = cutoffs[k]
        if cutoff not in scores:
            say(f"filter: predicting with {cutoff:g} Hz, velocity from {recipe.velocity}")
            narrow = replace(recipe, filter=Butterworth(cutoff=cutoff))
            scores[cutoff] = fits.scored_on([prepare(log, narrow) for log in logs]).evaluate().all
        return scores[cutoff]

    i = min(range(len(cutoffs)), key=lambda k: abs(cutoffs[k] - fit))
    while (best := min([k for k in (i, i - 1, i + 1) if 0 <= k < len(cutoffs)], key=score)) != i:
        i = best
    return scores
