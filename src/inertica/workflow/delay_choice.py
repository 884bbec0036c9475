"""Delay between recorded torque and motion: of either sign, common or one joint's own, or known from the control loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inertica.estimators.structure.delay_search import search_delays
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.workflow.choice import Choice, Say


def choose_delay(
    description: Description, base: BaseModel, logs: Sequence[Log], recipe: Recipe, say: Say, held: bool = False
) -> tuple[Recipe, Choice]:
    """The recipe with the delays to take out, and why (`inertica.estimators.structure.delay_search`).

    Args:
        description: robot with friction as assumed for now.
        base: its base parameters.
        logs: to fit.
        recipe: whose delay is chosen; the search has bands of its own.
        say: progress.
        held: the fit to come simulates the held torque, so its lead is not to be taken out.
    """
    say("delay: shifting torque against motion")
    found = search_delays(description, base, logs)
    taken, sentence = found.taken, found.sentence
    if held:
        taken = taken - found.expected
        if found.expected:
            sentence += "; the lead of the held torque stays in the log, since the method simulates it"
    several = len(np.unique(np.round(1e3 * taken, 3))) > 1
    value = ", ".join(f"{1e3 * d:.3g}" for d in (taken if several else taken[:1])) + " ms" if taken.any() else "none"
    return replace(recipe, delay=tuple(taken.tolist())), Choice("delay", value, f"{value}: {sentence}")
