"""What a result is worth, in one sentence: what a reader must know before any table."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inertica.validation.residuals import Residual
from inertica.workflow.result import Result

GOOD, DOUBTFUL, BAD = "good", "doubtful", "bad"

NOISE_ONLY = 0.2
"""Filtered residual on data not used in the fit up to which a model counts as good."""

WORSE = 2.0
"""Ratio of validation to identification residual from which a model is said not to carry over."""

NOTHING = 0.8
"""Raw residual from which a model predicts next to nothing."""


@dataclass(frozen=True)
class Verdict:
    """A judgement.

    Args:
        level: good, doubtful or bad.
        headline: a few words.
        sentence: with the numbers it rests on.
    """

    level: str
    headline: str
    sentence: str


def verdict(result: Result) -> Verdict:
    """Judges by the worst data set that was not used in the fit."""
    others = {name: r for name, r in result.residuals.items() if name != "identification"}
    name, worst = max(others.items(), key=lambda pair: _size(pair[1])) if others else next(iter(result.residuals.items()))
    if not others:
        return Verdict(DOUBTFUL, "Not validated", "The residuals are those of the data that were fitted.")
    own = result.residuals["identification"].raw.all
    where = "the last part of the log, which was left out of a second fit" if name == "hold-out" else name
    numbers = f"On {where}, the predicted torque misses the measured one by {100 * worst.raw.all:.1f} %"
    if worst.filtered.all != worst.raw.all:
        numbers += f" ({100 * worst.filtered.all:.1f} % after the low-pass that fits use)"
    if not worst.raw.all < NOTHING:
        return Verdict(BAD, "Not usable", f"{numbers}: the model predicts next to nothing there. Is it a log of the same robot?")
    if worst.raw.all > WORSE * own:
        level, headline = DOUBTFUL, "Does not carry over"
        why = f"much worse than on the data that were fitted ({100 * own:.1f} %): these do not show what that motion needs"
    elif worst.filtered.all > NOISE_ONLY:
        level, headline, why = (
            DOUBTFUL,
            "Doubtful",
            "more than noise of the torque explains: the motion is noisy, or something in the robot is not in the model",
        )
    else:
        level, headline, why = GOOD, "Predicts torque well", f"the data that were fitted: {100 * own:.1f} %"
    return Verdict(level, headline, f"{numbers}; {why}.{_joints(worst)}{_consistency(result)}")


def _size(residual: Residual) -> float:
    return residual.raw.all if math.isfinite(residual.raw.all) else math.inf


def _joints(residual: Residual) -> str:
    """Joints whose own torque is missed, which a sum over all joints hides behind the strong ones."""
    bad = [f"joint {j + 1} {100 * x:.0f} %" for j, x in enumerate(residual.filtered.per_joint) if x > NOISE_ONLY]
    return f" Missed by much of their own torque, after the low-pass: {', '.join(bad)}." if bad else ""


def _consistency(result: Result) -> str:
    if result.physically_consistent:
        barely = any("held back by" in said and "a body that can exist" in said for said in result.warnings)
        return f" Every link could exist{', some of them barely; a prior (+entropic) keeps them off the edge' if barely else ''}."
    return " Not every link could exist: right for torques, not for simulators that insist on real bodies."
