"""Is the sign of the torque missing, as in a log of absolute currents?

A joint that moves both ways against friction, or swings through the vertical, takes torque of both signs.  Where no column is ever
negative, and there are such joints, torques were recorded without their signs.  Gravity can keep the torque of a joint on one side, so
a joint counts only where the model's own torque has both signs (any joint, for a model without masses) and where the recorded torque
comes back to nearly zero again and again, as an absolute value does whenever its sign changes.
"""

from __future__ import annotations

import numpy as np

from inertica.arrays import Array, Mask
from inertica.checks.findings import Finding, joint_list
from inertica.checks.model_torque import model_torque
from inertica.checks.plainfit import Observed
from inertica.dynamics.engine import Engine
from inertica.robot.layout import Parameters

BOTH_WAYS = 0.1
"""Part of the samples in motion that each direction has at least."""

BOTH_SIGNS = 0.1
"""Part of the model's torque, in the mean, that each sign has at least."""

NEAR_ZERO, OFTEN = 0.05, 0.02
"""Part of the largest torque that is nearly zero, and part of the samples that are so in an absolute value."""


def unsigned(seen: Observed, engine: Engine, prior: Parameters) -> Finding:
    """Whether no torque of the log ever changes its sign although the motion of some joints asks for both.

    Args:
        seen: a log as the plain fit sees it.
        engine: of the layout of `prior`.
        prior: values of the model.
    """
    log = seen.log
    tau = log.need("tau")[~log.mask]
    with np.errstate(invalid="ignore"):
        below, above = np.any(tau < 0.0, axis=0), np.any(tau > 0.0, axis=0)
    one_sided = below != above
    numbers: dict[str, object] = {"one_sided": one_sided}
    fine = Finding("torque sign", "fine", "torques have both signs where the motion asks for them", numbers=numbers)
    if (below.any() and above.any()) or not one_sided.any():
        return fine
    expected = one_sided & _moves_both_ways(seen) & _returns_to_zero(tau) & _needs_both_signs(seen, engine, prior)
    if not expected.any():
        return fine
    side = "positive" if below.any() else "negative"
    bare = np.flatnonzero(one_sided).tolist()
    text = (
        f"the torque of {joint_list(bare)} has no sign (absolute current?): it is never {side}, although "
        f"{joint_list(np.flatnonzero(expected).tolist())} move both ways and the torque comes back to nearly zero in between"
    )
    advice = "record torque or current with its sign; what is lost cannot be found again from absolute values"
    return Finding("torque sign", "problem", text, advice, numbers=numbers | {"expected": expected})


def _moves_both_ways(seen: Observed) -> Mask:
    """(n,) joints of which a fair part of the motion goes either way."""
    m = seen.motion
    moving = ~m.resting & ~m.mask[:, None]
    count = np.maximum(moving.sum(axis=0), 1)
    forward, backward = ((moving & way).sum(axis=0) / count for way in (m.dq > 0.0, m.dq < 0.0))
    return np.asarray(np.minimum(forward, backward) > BOTH_WAYS)


def _returns_to_zero(tau: Array) -> Mask:
    """(n,) joints whose torque is nearly zero in a fair part of the samples."""
    size = np.nanmax(np.abs(tau), axis=0, initial=0.0)
    return np.asarray((np.mean(np.abs(tau) < NEAR_ZERO * size, axis=0) > OFTEN) & (size > 0.0))


def _needs_both_signs(seen: Observed, engine: Engine, prior: Parameters) -> Mask:
    """(n,) joints whose torque changes its sign in the model; all of them where it has no masses."""
    model = model_torque(seen, engine, prior)
    if model is None:
        return np.ones(seen.motion.n, bool)
    whole = (model.gravity + model.inertial)[seen.use]
    size = np.abs(whole).sum(axis=0)
    up = np.maximum(whole, 0.0).sum(axis=0) / np.where(size > 0.0, size, 1.0)
    # a joint on which no link weighs feels friction alone, which has the sign of the velocity
    return np.asarray((np.minimum(up, 1.0 - up) > BOTH_SIGNS) | (size <= 0.0))
