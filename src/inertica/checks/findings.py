"""`Finding` and `Quality`: what a check of logs says, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from inertica.documents import Derived

Verdict = Literal["fine", "not testable", "note", "warning", "problem"]
SEVERITY: Mapping[str, int] = {"fine": 0, "not testable": 0, "note": 1, "warning": 2, "problem": 3}
"""What could not be tested says nothing against a log, and nothing for it."""

INTRODUCTIONS: Mapping[Verdict, str] = {
    "problem": "problem", "warning": "warning", "note": "note", "not testable": "what this motion cannot show"
}  # fmt: skip
"""How findings of a verdict are introduced in a sentence."""

UNTESTED = "this motion cannot show whether these are right:"
"""How a list begins of what a motion cannot tell."""

UNVERIFIED = "unverified"
"""Key of `Finding.numbers`: what a motion cannot tell, as part of a list."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Args:
        name: what, in a word or two.
        verdict: fine; not testable in this log; note (know it); warning (results will be worse for it); problem (the log is not what
            it says, or no fit of it could be trusted: `identify` stops).
        text: one sentence with the numbers that matter.
        advice: what to do; empty when fine.
        log: which log; empty when it is about all of them together.
        numbers: everything measured, for programs.
    """

    name: str
    verdict: Verdict
    text: str
    advice: str = ""
    log: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Quality(Derived):
    """What the logs of a robot are worth.

    Args:
        robot: its name.
        logs: names of the logs, in order.
        findings: signal by signal, then motion and torque, then what all logs determine together.
    """

    robot: str
    logs: tuple[str, ...]
    findings: tuple[Finding, ...]

    DERIVED: ClassVar[Mapping[str, str]] = {"verdict": "verdict", "summary": "sentence"}

    @property
    def verdict(self) -> Verdict:
        """The worst of all findings."""
        return _worst(self.findings)

    @property
    def problems(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.verdict == "problem")

    def of(self, name: str) -> tuple[Finding, ...]:
        """Findings of one name, one per log where it is about single logs."""
        return tuple(f for f in self.findings if f.name == name)

    def worst(self, name: str) -> Verdict:
        return _worst(self.of(name))

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        by = {v: list(dict.fromkeys(f.name for f in self.findings if f.verdict == v)) for v in SEVERITY}
        parts = [f"{INTRODUCTIONS[v]}: {', '.join(by[v])}" for v in INTRODUCTIONS if by[v]]
        if by["problem"]:
            return "; ".join(parts)
        word = "usable" if by["warning"] or by["note"] else "no fault found"
        return "; ".join([word, *parts])


def _worst(findings: Iterable[Finding]) -> Verdict:
    worst: Verdict = max((f.verdict for f in findings), key=lambda v: SEVERITY[v], default="fine")
    return worst if SEVERITY[worst] else "fine"


def joint_list(numbers: list[int]) -> str:
    """`joint 3` or `joints 2, 4 and 5` from 0-based numbers."""
    names = [str(j + 1) for j in sorted(set(numbers))]
    if len(names) == 1:
        return f"joint {names[0]}"
    return f"joints {', '.join(names[:-1])} and {names[-1]}"


def unverified(findings: Iterable[Finding]) -> str:
    """One sentence for everything that a motion cannot tell; empty when it tells all."""
    what = dict.fromkeys(str(f.numbers[UNVERIFIED]) for f in findings if f.verdict == "not testable" and UNVERIFIED in f.numbers)
    return f"{UNTESTED} {'; '.join(what)}" if what else ""
