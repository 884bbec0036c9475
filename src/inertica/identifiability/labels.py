"""Trust labels: what may be believed of every standard parameter after a fit.

`determined`      its own value is known, and its interval excludes zero
`weak`            its own value is estimated, but the interval includes zero or is wider than what was known before
`combined`        only sums with others are known; the value shown is the one nearest the prior
`unidentifiable`  no torque of this robot, or none in these data, depends on it
`fixed`           given, by value or by an equation, not estimated
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.identifiability.base import BaseModel

Array = NDArray[np.float64]

DETERMINED, WEAK, COMBINED, UNIDENTIFIABLE, FIXED = "determined", "weak", "combined", "unidentifiable", "fixed"
LABELS = (DETERMINED, WEAK, COMBINED, UNIDENTIFIABLE, FIXED)

INTERVAL = 1.96
"""Half width of a 95 % interval in standard deviations."""


def trust_labels(
    base: BaseModel, beta: ArrayLike, std: ArrayLike, prior_std: ArrayLike | None = None, intervals: ArrayLike | None = None
) -> dict[str, str]:
    """Label of every standard parameter.

    Args:
        base: which parameters stand alone and which are grouped.
        beta: (b,) estimated base parameters.
        std: (b,) their standard deviations, infinite where the data do not determine them.
        prior_std: (P,) what was known before, infinite for nothing.
        intervals: (P, 2) 95 % intervals of the standard parameters, where these are not beta +- 1.96 std: constraints cut them.
    """
    value, spread = np.asarray(beta, float), np.asarray(std, float)
    before = np.full(base.layout.size, np.inf) if prior_std is None else np.asarray(prior_std, float)
    ends = None if intervals is None else np.asarray(intervals, float)
    resolved = np.isfinite(spread)
    sure = resolved & (np.abs(value) > INTERVAL * spread)
    out: dict[str, str] = {}
    position = {int(k): i for i, k in enumerate(base.kept)}
    grouped = {int(k): base.K[:, i] != 0.0 for i, k in enumerate(base.eliminated)}
    for k, (name, kind) in enumerate(base.classes().items()):
        if kind == "fixed" or (ends is not None and ends[k, 0] == ends[k, 1]):
            out[name] = FIXED
        elif kind == "none":
            out[name] = UNIDENTIFIABLE
        elif kind == "alone":
            i = position[k]
            if not resolved[i]:
                out[name] = UNIDENTIFIABLE
            else:
                excluded = sure[i] if ends is None else bool(ends[k, 0] > 0.0 or ends[k, 1] < 0.0)
                out[name] = DETERMINED if excluded and spread[i] <= before[k] else WEAK
        else:
            members = [position[k]] if k in position else np.flatnonzero(grouped[k])
            out[name] = COMBINED if resolved[members].any() else UNIDENTIFIABLE
    return out
