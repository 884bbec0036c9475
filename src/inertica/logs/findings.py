"""`Finding` and `Quality`: what a check of logs says, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["fine", "note", "problem"]
SEVERITY: Mapping[str, int] = {"fine": 0, "note": 1, "problem": 2}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Args:
        name: what, in a word or two.
        verdict: fine, note (know it) or problem (act on it).
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

    def document(self) -> dict[str, object]:
        return {
            "name": self.name, "verdict": self.verdict, "log": self.log, "text": self.text, "advice": self.advice,
            "numbers": dict(self.numbers),
        }  # fmt: skip


@dataclass(frozen=True)
class Quality:
    """What the logs of a robot are worth.

    Args:
        robot: its name.
        logs: names of the logs, in order.
        findings: signal by signal, then motion and torque, then what all logs determine together.
    """

    robot: str
    logs: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of all findings."""
        return max((f.verdict for f in self.findings), key=lambda v: SEVERITY[v], default="fine")

    def of(self, name: str) -> tuple[Finding, ...]:
        """Findings of one name, one per log where it is about single logs."""
        return tuple(f for f in self.findings if f.name == name)

    def worst(self, name: str) -> Verdict:
        return max((f.verdict for f in self.of(name)), key=lambda v: SEVERITY[v], default="fine")

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        by = {v: sorted({f.name for f in self.findings if f.verdict == v}) for v in ("problem", "note")}
        if by["problem"]:
            return f"problem: {', '.join(by['problem'])}" + (f"; note: {', '.join(by['note'])}" if by["note"] else "")
        return f"usable; note: {', '.join(by['note'])}" if by["note"] else "fine"

    def document(self) -> dict[str, object]:
        """For JSON."""
        return {
            "robot": self.robot, "logs": list(self.logs), "verdict": self.verdict, "summary": self.sentence,
            "findings": [f.document() for f in self.findings],
        }  # fmt: skip


def joint_list(numbers: list[int]) -> str:
    """`joint 3` or `joints 2, 4 and 5` from 0-based numbers."""
    names = [str(j + 1) for j in sorted(set(numbers))]
    if len(names) == 1:
        return f"joint {names[0]}"
    return f"joints {', '.join(names[:-1])} and {names[-1]}"
