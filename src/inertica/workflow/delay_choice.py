"""Delay between recorded torque and motion: of either sign, common or one joint's own, or known from the control loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.structure.delay_search import search_delays
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.workflow.choice import Choice, Say

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Delay:
    """Delays of the torque.

    Args:
        recipe: that takes them out.
        choice: why.
        left: (n,) each, standard deviations in s of what may be left of them.
    """

    recipe: Recipe
    choice: Choice
    left: Sequence[Array] = ()


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
    found = search_delays(description, base, logs, recipe.decimate or np.inf)
    taken, sentence = found.taken, found.sentence
    if held:
        taken = taken - found.expected
        if found.expected:
            sentence += "; the lead of the held torque stays in the log, since the method simulates it"
    several = len(np.unique(np.round(1e3 * taken, 3))) > 1
    value = ", ".join(f"{1e3 * d:.3g}" for d in (taken if several else taken[:1])) + " ms" if taken.any() else "none"
    return Delay(replace(recipe, delay=tuple(taken.tolist())), Choice("delay", value, f"{value}: {sentence}"), found.left)
