"""Joints that count the other way round, found by turning one joint's position about and fitting again.

Gravity of the prior and the sign of friction catch a torque of the wrong sign.  A position of the wrong sign upsets the torques of
all joints around it; then a fit with that joint turned about is much better, whatever the masses.
"""

from __future__ import annotations

import numpy as np

from inertica.dynamics.engine import Engine
from inertica.identifiability.base import BaseModel
from inertica.logs.findings import Finding
from inertica.logs.log import Log
from inertica.logs.plainfit import observed, plain_fit
from inertica.robot.layout import Parameters

SUSPICIOUS = 0.12
"""Overall residual of a plain fit above which flips are tried."""

MOVES = 0.05
"""Range of a joint below which turning it about would tell nothing, rad or m."""

MUCH_BETTER = 0.6
"""A flip counts when it leaves this part of the residual or less."""


def flipped_joint(engine: Engine, base: BaseModel, prior: Parameters, log: Log, cutoff: float) -> Finding | None:
    """A finding about the joint whose turning about explains a poor fit; None when the fit is good or no flip helps."""

    def residual(tried: Log) -> float:
        return plain_fit([observed(engine, tried, base, prior, cutoff)], base).overall

    before = residual(log)
    if before < SUSPICIOUS:
        return None
    moving = [j for j in range(log.n) if np.nanmax(log.need("q")[:, j]) - np.nanmin(log.need("q")[:, j]) > MOVES]
    trials = [(j, both) for j in moving for both in (False, True)]
    if not trials:
        return None
    after = [residual(_flipped(log, j, both)) for j, both in trials]
    best = int(np.argmin(after))
    if after[best] > MUCH_BETTER * before:
        return None
    joint, both = trials[best]
    what = "position and torque" if both else "position"
    left = f"{100 * after[best]:.2g} instead of {100 * before:.2g} %"
    text = f"joint {joint + 1}: with its {what} turned about a plain fit leaves {left}"
    advice = f"the {what} of joint {joint + 1} count the other way round than in the model (or its zero is off)"
    numbers = {"joints": [joint + 1], "residual": before, "residual_flipped": after[best], "flipped": what}
    return Finding("joint signs", "problem", text, advice, numbers=numbers)


def _flipped(log: Log, joint: int, both: bool) -> Log:
    sign = np.ones(log.n)
    sign[joint] = -1.0
    tau = log.need("tau") * sign if both else log.need("tau")
    turned = Log.from_arrays(log.t, {"q": log.need("q") * sign, "tau": tau}, log.joints, log.origin)
    for reason, mask in log.masks.items():
        turned = turned.with_mask(mask, reason)
    return turned
