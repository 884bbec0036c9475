"""`Choice`: one automatic decision with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Say = Callable[[str], None]
"""Where progress goes."""

WORTH = 0.005
"""A richer model must lower the squared prediction error by this share, and by one standard error over the folds."""


@dataclass(frozen=True)
class Choice:
    """One decision.

    Args:
        subject: filter, delay, friction, method.
        value: what was chosen, in words.
        sentence: why.
        automatic: False when the user fixed it.
        scores: candidate -> relative prediction error in cross-validation.
    """

    subject: str
    value: str
    sentence: str
    automatic: bool = True
    scores: Mapping[str, float] = field(default_factory=dict)
