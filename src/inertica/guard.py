"""The one guard of automatic choices: does a richer choice predict data that it was not fitted to, and how surely.

Every automatic choice (bandwidth, friction piece, lean, delay, torque of position, robust weights) has its own reasons to be taken.
Whatever they are, two fits with and without it are scored on the same parts of the data that neither has seen, and the paired
differences of their squared errors say whether the choice helps there, harms there, or makes no difference that could be told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

SURE = 0.95
"""Probability of the one-sided t test beyond which a difference is called clear."""

MATTERS = 1.1
"""Ratio of two residuals from which a difference matters; precise data tell far smaller ones apart."""


@dataclass(frozen=True)
class Comparison:
    """Squared errors on the same left-out parts with a choice and without it.

    Args:
        score: relative residual with the choice, over all parts.
        score_without: the same without it.
        t: mean of the paired differences over its standard error; positive where the choice predicts worse.
        parts: how many parts were left out.
    """

    score: float
    score_without: float
    t: float
    parts: int

    @property
    def limit(self) -> float:
        """|t| beyond which a difference is clear; infinite where a single part was left out."""
        return float(stdtrit(self.parts - 1, SURE)) if self.parts > 1 else float("inf")

    @property
    def significantly_better(self) -> bool:
        """Better beyond doubt, by however little."""
        return self.t < -self.limit

    @property
    def significantly_worse(self) -> bool:
        """Worse beyond doubt, by however little."""
        return self.t > self.limit

    @property
    def clearly_worse(self) -> bool:
        """Worse beyond doubt, and by an amount that matters."""
        return self.significantly_worse and self.score > MATTERS * self.score_without

    @property
    def clearly_better(self) -> bool:
        """Better beyond doubt, and by an amount that matters."""
        return self.significantly_better and MATTERS * self.score < self.score_without

    @property
    def better(self) -> bool:
        return self.score < self.score_without

    @property
    def sentence(self) -> str:
        """The two scores in words."""
        word = "clearly " if self.clearly_worse or self.clearly_better else ""
        side = "better" if self.better else "worse"
        return f"on data left out {100 * self.score:.3g} % with it, {100 * self.score_without:.3g} % without ({word}{side})"


@dataclass(frozen=True)
class ShortAndLong:
    """The same comparison on short parts left out and on long ones.

    Short parts are many, so that a difference shows, but beside each of them the fitted data hold much of the same motion; long ones
    ask for motion that the rest may lack, as a user's next motion does, and are three.

    Args:
        short: on single blocks.
        long: on thirds of the data.
    """

    short: Comparison
    long: Comparison

    @property
    def harmful(self) -> bool:
        """Whether the choice predicts short parts clearly worse, and long ones do not contradict."""
        return self.short.clearly_worse and not self.long.better

    @property
    def pays(self) -> bool:
        """Whether the choice predicts both better, or short parts beyond doubt and long ones not clearly worse."""
        surely = self.short.significantly_better and not self.long.clearly_worse
        return surely or (self.short.better and self.long.better)


def compare(errors: ArrayLike, errors_without: ArrayLike, sizes: ArrayLike) -> Comparison:
    """Compare two choices on parts that were left out.

    Args:
        errors, errors_without: (K,) squared errors of each part.
        sizes: (K,) squares of what was to be predicted, in the same units.
    """
    with_it, without, size = (np.asarray(x, float) for x in (errors, errors_without, sizes))
    total = max(float(size.sum()), 1e-300)
    difference = with_it - without
    error = float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else np.inf
    mean = float(difference.mean()) if len(difference) else 0.0
    t = mean / error if error > 0.0 else float(np.sign(mean)) * np.inf if mean else 0.0
    return Comparison(float(np.sqrt(with_it.sum() / total)), float(np.sqrt(without.sum() / total)), t, len(difference))
