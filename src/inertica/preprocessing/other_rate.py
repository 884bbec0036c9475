"""A recipe that was settled on logs of one rate, for logs of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inertica.logs.log import Log
from inertica.preprocessing.decimate import EDGE
from inertica.preprocessing.filters import Butterworth, Filter, FirDifferentiator, Fourier, SmoothingSpline
from inertica.preprocessing.recipe import Recipe

SAME = 0.05
"""Part by which rates may differ and count as the same: clocks drift, and samples get lost."""

HIGHEST = 0.4
"""Part of the rate that a cut-off comes down to where the log is too slow for it; there is hardly anything above."""


def for_logs(recipe: Recipe, logs: Sequence[Log]) -> Recipe:
    """The same choices for logs on their own clocks.

    What counts samples (decimation, border) follows the rate of each log; a cut-off that the slowest of them cannot hold comes down.

    Args:
        recipe: chosen on other logs.
        logs: that may be recorded at other rates.
    """
    without_rate = replace(recipe, rate=None)
    rate = recipe.rate
    if rate is not None and all(abs(log.rate / rate - 1.0) < SAME for log in logs):
        return without_rate
    slowest = min(log.rate for log in logs)
    prediction = None if recipe.prediction is None else _held(recipe.prediction, slowest)
    without_rate = replace(without_rate, filter=_held(recipe.filter, slowest), prediction=prediction)
    if rate is None or recipe.ratio is None:
        return without_rate
    # a ratio counts samples: the frequency that it stands for does not (`Recipe.decimate`)
    return replace(without_rate, decimate=EDGE * 0.5 * rate / recipe.ratio, ratio=None, border=None)


def _held(chosen: Filter, rate: float) -> Filter:
    """The filter with a cut-off that a log of this rate can hold."""
    if isinstance(chosen, FirDifferentiator) and chosen.passes is not None and chosen.passes >= 0.5 * rate:
        return replace(chosen, passes=None, stops=None)  # follows the rate
    if isinstance(chosen, (Butterworth, Fourier, SmoothingSpline)) and chosen.cutoff is not None and chosen.cutoff >= 0.5 * rate:
        return replace(chosen, cutoff=HIGHEST * rate)
    return chosen
