"""Up to which frequency several sets of records of one robot are fitted together: the guarded rule of `identify` on each of them.

Sets differ in what the robot carries, in motion and in rate.  The gain of measured on predicted torque holds for whatever robot moved
in a set, so each set has a bandwidth of its own, `choose_bandwidth`.  All take the narrowest: errors that filters make then are
alike in all sets and cancel in their difference.  No set is narrowed below where its own search began, which would cut its motion off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.decimate import EDGE
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.other_rate import for_logs
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.workflow.decisions.filter import HIGHEST, choose_bandwidth, recipe_for, search_start
from inertica.workflow.identify import reasons
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.representative import representative
from inertica.workflow.identify.settings import Settings

Sets = Sequence[Sequence[Log]]

SUBJECT = "bandwidth of all records"


@dataclass(frozen=True)
class SharedBandwidth:
    """How sets of records are prepared together.

    Args:
        recipes: of each set.
        choice: how they were found, for the user.
    """

    recipes: tuple[Recipe, ...]
    choice: Choice


def fitted_bandwidth(recipe: Recipe) -> float | None:
    """Hz up to which a recipe fits, None where it has no cut-off."""
    if recipe.ratio is not None and recipe.rate is not None:
        return EDGE * 0.5 * recipe.rate / recipe.ratio
    if recipe.decimate is not None or not isinstance(recipe.filter, Butterworth):
        return recipe.decimate
    return recipe.filter.cutoff


@dataclass(frozen=True)
class _Range:
    """Hz between which the bandwidth of a set lies: where its search began, and where it ended."""

    start: float
    chosen: float
    disagreement: bool = False


def shared_bandwidth(
    description: Description, base: BaseModel, recipe: Recipe, sets: Sets, settings: Settings, *, of_first: bool
) -> SharedBandwidth:
    """Recipes for sets of records that are fitted together.

    Args:
        description: robot with the friction that was chosen.
        base: its base parameters.
        recipe: that was chosen on the first set, or that of a result; delay and source of velocity are taken from it.
        sets: logs with the same load each.
        settings: what the user fixed.
        of_first: whether the recipe is that of the first set; else no set is used further than that recipe goes.
    """
    rate = min(log.rate for logs in sets for log in logs)
    if settings.cutoff is not None or settings.decimate is not None or not isinstance(recipe.filter, Butterworth):
        stated = _stated(recipe, settings, rate)
        value = "the stated filter" if settings.cutoff is None else f"fit up to {settings.cutoff:g} Hz"
        return SharedBandwidth(tuple(_for_set(stated, logs) for logs in sets), Choice.given(SUBJECT, value))
    other = fitted_bandwidth(recipe)
    ranges = [_range_of(description, base, recipe, logs, other if of_first and k == 0 else None) for k, logs in enumerate(sets)]
    narrowest = min([r.chosen for r in ranges] + ([] if other is None else [other]))
    bandwidths = [min(max(narrowest, r.start), r.chosen) for r in ranges]
    recipes = tuple(
        _for_set(_limited(recipe_for(f, rate, recipe), recipe, rate), logs) for f, logs in zip(bandwidths, sets, strict=True)
    )
    return SharedBandwidth(recipes, _choice(ranges, bandwidths, None if of_first else other))


def _range_of(description: Description, base: BaseModel, recipe: Recipe, logs: Sequence[Log], chosen: float | None) -> _Range:
    """Of one set, whose bandwidth may have been chosen before."""
    part = representative(logs).logs
    if chosen is None:
        bandwidth = choose_bandwidth(description, base, part, _for_set(recipe, logs))
        return _Range(min(bandwidth.search.start, bandwidth.chosen), bandwidth.chosen, bandwidth.disagreement)
    return _Range(min(search_start(part, base).first, chosen), chosen)


def _stated(recipe: Recipe, settings: Settings, rate: float) -> Recipe:
    """The recipe with the frequencies that the user fixed."""
    if settings.cutoff is not None and isinstance(recipe.filter, Butterworth):
        recipe = recipe_for(settings.cutoff, rate, recipe)
    return recipe if settings.decimate is None else replace(recipe, decimate=settings.decimate, ratio=None)


def _for_set(recipe: Recipe, logs: Sequence[Log]) -> Recipe:
    """The recipe on the clocks of these logs, with velocities that they have."""
    recorded = all(log.dq is not None for log in logs)
    return replace(for_logs(recipe, logs), velocity=recipe.velocity if recorded else "differences")


def _limited(new: Recipe, chosen: Recipe, rate: float) -> Recipe:
    """The new recipe with the filter of predictions that was chosen, as far as the rate allows it."""
    wanted = chosen.prediction
    if not isinstance(wanted, Butterworth) or wanted.cutoff is None:
        return new
    return replace(new, prediction=replace(wanted, cutoff=min(wanted.cutoff, HIGHEST * rate)))


def _choice(ranges: Sequence[_Range], bandwidths: Sequence[float], result: float | None) -> Choice:
    value = "fit up to " + " and ".join(dict.fromkeys(f"{f:.3g} Hz" for f in bandwidths))
    why = reasons.SharedBandwidth(tuple(r.chosen for r in ranges), result)
    return Choice(SUBJECT, value, why, disagreement=any(r.disagreement for r in ranges))
