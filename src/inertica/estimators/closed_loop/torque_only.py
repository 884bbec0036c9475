"""Logs without a position: torque and reference are enough for methods that simulate the loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inertica.errors import InputError
from inertica.excitation.trajectory import Trajectory
from inertica.logs.log import Log
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe

WORDS = "no position was recorded; the reference stands in its place, for methods that put a simulated motion there"


def torque_only(log: Log, recipe: Recipe | None = None, reference: Trajectory | None = None) -> Motion:
    """The motion of a log that lacks the position: clock, torque, masks and decimation as ever, positions those of the reference.

    Its `log` stays without position, which is how methods that need a measured motion know that there is none.

    Args:
        log: with torque, and with reference columns when no trajectory is given.
        recipe: of the clock, border and decimation; its filter is not used.
        reference: what the controller followed, on the clock of the log.
    """
    if "qr" not in log.signals and reference is None:
        raise InputError(
            f"{log.origin} has neither position (q) nor reference (qr); state the reference trajectory (option reference)"
        )
    usable = np.where(np.isfinite(log.t), log.t, 0.0)
    followed = log.signals["qr"] if reference is None else np.asarray(reference(usable).q)
    chosen = replace(recipe or Recipe(), filter=Unfiltered(), velocity="differences")
    motion = prepare(replace(log, signals={**log.signals, "q": followed}), chosen)
    return replace(motion, log=log, done={**motion.done, "position": WORDS})
