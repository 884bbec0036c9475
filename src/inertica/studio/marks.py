"""Findings of a check at their place: which log, which joints, and when."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inertica.checks.findings import Finding
from inertica.documents import plain

Document = dict[str, Any]

JOINT_LIST = re.compile(r"\bjoints? (\d+(?:, \d+)*(?: and \d+)?)")
"""How findings name joints, see `joint_list`."""

CHANNEL = re.compile(r"\b(?:q|dq|tau)(\d+)\b")
FINE = ("fine", "not testable")


def placed(findings: Sequence[Finding], logs: Mapping[str, str], joints: Sequence[str]) -> list[Document]:
    """Findings as documents that name the project's log, the joints they are about and the stretches of time they are known to lie in.

    Args:
        findings: of a check.
        logs: names as the check has them -> names in the project.
        joints: of the robot.
    """
    out = []
    for finding in findings:
        document: Any = plain(finding)
        known = document["numbers"].pop("stretches", [])
        when = [] if finding.verdict in FINE else known
        on_joints = sorted({s["joint"] for s in when if s["joint"] is not None}) or named(finding)
        out.append(
            document | {
                "entry": logs.get(finding.log, ""),
                "joints": [joints[j - 1] for j in on_joints if 0 < j <= len(joints)],
                "stretches": [[None if s["joint"] is None else s["joint"] - 1, s["start"], s["end"]] for s in when],
            }
        )  # fmt: skip
    return out


def named(finding: Finding) -> list[int]:
    """Numbers, from 1, of the joints that a finding speaks of; none for one that is fine."""
    if finding.verdict in FINE:
        return []
    numbers = [int(n) for group in JOINT_LIST.findall(finding.text) for n in re.findall(r"\d+", group)]
    return sorted({*numbers, *(int(n) for n in CHANNEL.findall(finding.text))})
