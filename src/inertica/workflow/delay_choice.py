"""Delay between recorded torque and motion: of either sign, common or one joint's own, or known from the control loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inertica.estimators.structure.delay_search import search_delays
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.workflow.choice import Choice, Say


class DelaySearch:
    """The delays to take out, and why (`inertica.estimators.structure.delay_search`).

    Args:
        description: robot with friction as assumed for now.
        logs: to fit.
        recipe: whose delay is chosen; the search has bands of its own.
        say: progress.
        base: of the description, when it is known already.
        held: the fit to come simulates the held torque, so its lead is not to be taken out.
    """

    def __init__(
        self,
        description: Description,
        logs: Sequence[Log],
        recipe: Recipe,
        say: Say,
        base: BaseModel | None = None,
        held: bool = False,
    ) -> None:
        self.description, self.logs, self.recipe, self.say = description, logs, recipe, say
        self.base, self.held = base or base_model(description.layout), held

    def run(self) -> tuple[Recipe, Choice]:
        self.say("delay: shifting torque against motion")
        found = search_delays(self.description, self.base, self.logs)
        taken, sentence = found.taken, found.sentence
        if self.held:
            taken = taken - found.expected
            if found.expected:
                sentence += "; the lead of the held torque stays in the log, since the method simulates it"
        values = np.unique(np.round(1e3 * taken, 3))
        value = (
            "none" if not taken.any() else ", ".join(f"{1e3 * d:.3g}" for d in (taken if len(values) > 1 else taken[:1])) + " ms"
        )
        return replace(self.recipe, delay=tuple(taken.tolist())), Choice("delay", value, f"{value}: {sentence}")
