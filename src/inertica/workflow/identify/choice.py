"""`Choice`: one decision with its candidates and reason; `Notes`: what the stages of a job leave for the user besides their values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from inertica.documents import KIND, Derived, plain
from inertica.workflow.identify.reasons import Alternative, Reason, Stated, Words

Say = Callable[[str], None]
"""Where progress goes."""

WORTH = 0.005
"""A richer model must lower the squared prediction error by this share, and by one standard error over the folds."""


def candidates(scores: Mapping[str, float], *taken: str) -> tuple[Alternative, ...]:
    """Candidates by name and score."""
    return tuple(Alternative(name, score, name in taken) for name, score in scores.items())


@dataclass(frozen=True)
class Choice(Derived):
    """One decision.

    Args:
        subject: filter, delay, friction, method.
        value: what was chosen, in words.
        reason: why.
        automatic: False when the user fixed it.
        candidates: what was compared.
        score, score_without: relative prediction error on data left out, of what was chosen and of the plainer model without it;
            None when it was not measured.
        disagreement: whether data left out spoke against what theory or a test had asked for.
    """

    subject: str
    value: str
    reason: Reason
    automatic: bool = True
    candidates: tuple[Alternative, ...] = ()
    score: float | None = None
    score_without: float | None = None
    disagreement: bool = False

    DERIVED: ClassVar[Mapping[str, str]] = {"scores": "scores", "sentence": "sentence"}

    @property
    def sentence(self) -> str:
        """What was decided and why, in words."""
        return self.reason.words(self)

    @property
    def scores(self) -> dict[str, float]:
        """Alternative -> score."""
        return {candidate.full_name: candidate.score for candidate in self.candidates}

    @classmethod
    def given(cls, subject: str, value: str) -> Choice:
        """What the user fixed."""
        return cls(subject, value, Stated(), automatic=False)

    def decision(self) -> dict[str, object]:
        """As an entry of `decisions` in JSON: the numbers behind it, without prose."""
        return {
            "subject": self.subject, "chosen": self.value, "candidates": self.scores, "score": self.score,
            "score_without": self.score_without, "disagreement": self.disagreement,
        }  # fmt: skip


def readable(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A choice's document as this version reads it: earlier ones wrote the sentence alone, later ones may have other reasons."""
    kind = (document.get("reason") or {}).get(KIND)
    if any(reason.__name__ == kind for reason in Reason.__subclasses__()):
        return document
    return {**document, "reason": plain(Words(document.get("sentence", "")))}


@dataclass(frozen=True)
class Notes:
    """What was decided, what must be said of it, and how long it took; every stage hands on those before it with its own.

    Args:
        choices: in the order in which they were made.
        warnings: one sentence each.
        time: stage -> seconds.
    """

    choices: tuple[Choice, ...] = ()
    warnings: tuple[str, ...] = ()
    time: Mapping[str, float] = field(default_factory=dict)

    def chose(self, *choices: Choice) -> Notes:
        return replace(self, choices=(*self.choices, *choices))

    def warned(self, sentences: Iterable[str]) -> Notes:
        return replace(self, warnings=(*self.warnings, *sentences))

    def took(self, stage: str, start: float) -> Notes:
        """With the seconds of a stage since a reading of `time.perf_counter`."""
        return replace(self, time={**self.time, stage: self.time.get(stage, 0.0) + time.perf_counter() - start})
