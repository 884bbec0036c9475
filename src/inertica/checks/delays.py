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
    found = search_delays(assumed, known, logs)
    unknown = np.full(assumed.robot.n, np.nan)
    numbers = {
        "delay": unknown if found.each is None else found.each.values, "sd": unknown if found.each is None else found.each.sd,
        "taken": found.taken, "joints": (np.flatnonzero(found.stated) + 1).tolist(),
    }  # fmt: skip
    if found.stated.any() or found.mixed.any():
        advice = "identify takes out what it calls a delay; the option delay states it"
        return Finding("delay", "note", found.sentence, advice, numbers=numbers)
    if not found.level_known:
        return Finding(
            "delay", "not testable", found.sentence, "if the delay is known, the option delay states it", numbers=numbers
        )
    return Finding("delay", "fine", found.sentence, numbers=numbers)
