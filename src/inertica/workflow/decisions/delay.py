"""Delay between recorded torque and motion: of either sign, common or one joint's own, or known from the control loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Problem
from inertica.estimators.structure.delay_search import search_delays
from inertica.guard import Comparison, compare
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.validation.blocks import Blocks
from inertica.workflow.decisions.filter import PARTS
from inertica.workflow.identify.choice import Choice, Say
from inertica.workflow.identify.reasons import SearchedDelay


@dataclass(frozen=True, eq=False)
class Delay:
    """Delays of the torque.

    Args:
        recipe: that takes them out.
        choice: why.
        left: (n,) each, standard deviations in s of what may be left of them.
        detected: whether the data show one that is taken out, besides the lead that a held torque is expected to have.
    """

    recipe: Recipe
    choice: Choice
    left: Sequence[Array] = ()
    detected: bool = False


def choose_delay(
    description: Description, base: BaseModel, logs: Sequence[Log], recipe: Recipe, say: Say, held: bool = False
) -> Delay:
    """Delays to take out, and why (`inertica.estimators.structure.delay_search`).

    Args:
        description: robot with friction as assumed for now.
        base: its base parameters.
        logs: to fit.
        recipe: whose delay is chosen; the search goes no further than the bandwidth of its fit.
        say: progress.
        held: the fit to come simulates the held torque, so its lead is not to be taken out.
    """
    say("delay: shifting torque against motion")
    search = search_delays(description, base, logs, recipe.decimate or np.inf)
    taken = search.taken
    compared = _compared(description, base, logs, recipe, taken, search.expected) if search.stated.any() else None
    if compared is not None and not compared.better:
        taken = np.full(len(taken), search.expected)
    if held:
        taken = taken - search.expected
    several = len(np.unique(np.round(1e3 * taken, 3))) > 1
    value = ", ".join(f"{1e3 * d:.3g}" for d in (taken if several else taken[:1])) + " ms" if taken.any() else "none"
    choice = Choice("delay", value, SearchedDelay(search.sentence, compared, held and bool(search.expected)))
    if compared is not None:
        score = min(compared.score, compared.score_without)
        choice = replace(choice, score=score, score_without=compared.score_without, disagreement=not compared.better)
    return Delay(replace(recipe, delay=tuple(taken.tolist())), choice, search.left, compared is not None and compared.better)


def _compared(
    description: Description, base: BaseModel, logs: Sequence[Log], recipe: Recipe, taken: Array, expected: float
) -> Comparison:
    """Data left out with the delays taken out and with what is expected without looking."""
    blocks = []
    for delay in (np.full(len(taken), expected), taken):
        delayed = replace(recipe, delay=tuple(delay.tolist()))
        blocks.append(Blocks(Problem.of_logs(base, logs, delayed, description.prior), PARTS))
    weights = blocks[0].weights ** 2
    without, with_it = (one.scored_by(one.fit).evaluate() for one in blocks)
    return compare(with_it.squares @ weights, without.squares @ weights, without.sizes @ weights)
