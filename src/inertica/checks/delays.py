"""Delays of torque, as `identify` will find them: the same search on the same friction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.checks.findings import Finding
from inertica.estimators.structure.delay_search import search_delays
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.robot.plain import assumed_friction


def delays(description: Description, logs: Sequence[Log], base: BaseModel | None = None) -> Finding:
    """Whether torque is recorded later or earlier than motion.

    Args:
        description: the robot.
        logs: all that are to be fitted; they count together.
        base: base parameters of the description's layout, when they are there.
    """
    assumed = assumed_friction(description)
    known = base if base is not None and base.layout == assumed.layout else base_model(assumed.layout)
    search = search_delays(assumed, known, logs)
    unknown = np.full(assumed.robot.n, np.nan)
    numbers = {
        "delay": unknown if search.each is None else search.each.values, "sd": unknown if search.each is None else search.each.sd,
        "taken": search.taken, "joints": (np.flatnonzero(search.stated) + 1).tolist(),
    }  # fmt: skip
    if search.stated.any() or search.mixed.any():
        advice = "identify takes out what it calls a delay; the option delay states it"
        return Finding("delay", "note", search.sentence, advice, numbers=numbers)
    if not search.level_known:
        return Finding(
            "delay", "not testable", search.sentence, "if the delay is known, the option delay states it", numbers=numbers
        )
    return Finding("delay", "fine", search.sentence, numbers=numbers)
