"""Trust labels: what may be believed of every standard parameter after a fit.

`determined`      its own value is known: the 95 % interval reaches less than 30 % of the value to either side, and zero is excluded
                  even when all parameters that stand alone are allowed for (Holm)
`weak`            its own value is estimated, but less well than that, or less well than it was known before
`combined`        only sums with others are known; the value shown is the one nearest the prior
`unidentifiable`  no torque of this robot, or none in these data, depends on it
`fixed`           given, by value or by an equation, not estimated

The interval is the one that data alone give, bias and disagreement between parts of the data included: what constraints cut off does
not make a parameter known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from inertica.identifiability.base import BaseModel

DETERMINED, WEAK, COMBINED, UNIDENTIFIABLE, FIXED = "determined", "weak", "combined", "unidentifiable", "fixed"
LABELS = (DETERMINED, WEAK, COMBINED, UNIDENTIFIABLE, FIXED)

LABEL_WORDS = {
    DETERMINED: "its own value is known to 30 % or better (95 % interval by the data alone)",
    WEAK: "its own value is estimated, but less well than to 30 %, or less well than it was known before",
    COMBINED: "only sums with others are known; the value shown is the one nearest the prior",
    UNIDENTIFIABLE: "no torque in these data depends on it; prior and constraints decide its value",
    FIXED: "given, not estimated",
}
"""What a label means, for people."""

INTERVAL = 1.96
"""Half width of a 95 % interval in standard deviations."""

RELATIVE_WIDTH = 0.30
"""Half width of the 95 % interval in parts of the value, below which a parameter is determined."""

FAMILY = 0.05
"""Probability that any parameter which is zero passes for one that is not."""


def trust_labels(
    base: BaseModel, beta: ArrayLike, std: ArrayLike, prior_std: ArrayLike | None = None, intervals: ArrayLike | None = None
) -> dict[str, str]:
    """Label of every standard parameter.

    Args:
        base: which parameters stand alone and which are grouped.
        beta: (b,) estimated base parameters.
        std: (b,) their standard deviations, infinite where the data do not determine them.
        prior_std: (P,) what was known before, infinite for nothing.
        intervals: (P, 2) 95 % intervals of the standard parameters with constraints; those without width are fixed by an equation.
    """
    value, spread = np.asarray(beta, float), np.asarray(std, float)
    before = np.full(base.layout.size, np.inf) if prior_std is None else np.asarray(prior_std, float)
    ends = None if intervals is None else np.asarray(intervals, float)
    resolved = np.isfinite(spread)
    kinds = base.classes()
    fixed_names = {name for k, name in enumerate(kinds) if ends is not None and ends[k, 0] == ends[k, 1]}
    alone = np.array(
        [kinds[name] == "alone" and name not in fixed_names for name in (base.layout.names[k] for k in base.retained)], bool
    )
    sure = np.zeros(len(value), bool)
    sure[alone & resolved] = well_determined(value[alone & resolved], spread[alone & resolved])
    out: dict[str, str] = {}
    position = {int(k): i for i, k in enumerate(base.retained)}
    grouped = {int(k): base.K[:, i] != 0.0 for i, k in enumerate(base.eliminated)}
    for k, (name, kind) in enumerate(kinds.items()):
        if kind == "fixed" or name in fixed_names:
            out[name] = FIXED
        elif kind == "none":
            out[name] = UNIDENTIFIABLE
        elif kind == "alone":
            i = position[k]
            if not resolved[i]:
                out[name] = UNIDENTIFIABLE
            else:
                out[name] = DETERMINED if sure[i] and spread[i] <= before[k] else WEAK
        else:
            members = [position[k]] if k in position else np.flatnonzero(grouped[k])
            out[name] = COMBINED if resolved[members].any() else UNIDENTIFIABLE
    return out


def well_determined(value: ArrayLike, std: ArrayLike) -> NDArray[np.bool_]:
    """(k,) whether values with these standard deviations are known: narrow enough, and not zero though there are k of them.

    Holm's procedure: from the least probable on, the i-th must have an error probability below FAMILY / (k - i).  At a relative
    width of 30 % a value lies 6.5 standard deviations from zero, so that the number of parameters decides only for wider limits.
    """
    size, spread = np.abs(np.asarray(value, float)), np.asarray(std, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = 2.0 * ndtr(-np.where(size > 0.0, size / spread, 0.0))
    order = np.argsort(error, kind="stable")
    passed = error[order] <= FAMILY / (len(size) - np.arange(len(size)))
    out = np.zeros(len(size), bool)
    out[order] = np.logical_and.accumulate(passed)
    return np.asarray(out & (INTERVAL * spread < RELATIVE_WIDTH * size))
