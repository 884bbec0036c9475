"""Scores of a choice as they are drawn: a curve over a number such as a cut-off, bars over names, the chosen ones marked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Document = dict[str, Any]

NUMBERED = re.compile(r"^([-+]?[\d.]+(?:e[-+]?\d+)?)(?: ([^\s,]+))?(?:, (.+))?$", re.IGNORECASE)
"""A candidate that is a number: `12.5 Hz, recorded`."""

OF_JOINTS = re.compile(r"^joints? ([\d, ]+): (.*)$")
ERROR, EXPLAINED = "error on data left out", "share of the joint's error that it explains"


def drawn(choice: Mapping[str, Any]) -> Document | None:
    """How the scores of a choice (as in `result.json`) are drawn; None for fewer than two.

    Returns:
        kind `curve`: unit, lines (name, x, y) and the chosen point (line, x, y), the least; kind `bars`: rows (name, score, chosen).
        Both with what the scores mean.
    """
    scores = {name: float(score) for name, score in (choice.get("scores") or {}).items() if score is not None}
    if len(scores) < 2:
        return None
    meaning = EXPLAINED if choice["subject"] == "friction" else ERROR
    found = [NUMBERED.match(name) for name in scores]
    known = [m for m in found if m is not None]
    if len(known) == len(scores) and len({m[2] for m in known}) == 1:
        return _curve(known, list(scores.values()), meaning)
    taken = _taken(choice["subject"], choice["value"])
    rows = [{"name": name, "score": score, "chosen": name in taken} for name, score in scores.items()]
    return {"kind": "bars", "meaning": meaning, "rows": rows}


def _curve(found: list[re.Match[str]], scores: list[float], meaning: str) -> Document:
    lines: dict[str, list[tuple[float, float]]] = {}
    for m, score in zip(found, scores, strict=True):
        lines.setdefault(m[3] or "", []).append((float(m[1]), score))
    y, x, line = min((y, x, name) for name, points in lines.items() for x, y in points)
    listed = [{"name": n, "x": [p[0] for p in sorted(ps)], "y": [p[1] for p in sorted(ps)]} for n, ps in lines.items()]
    return {"kind": "curve", "meaning": meaning, "unit": found[0][2] or "", "lines": listed,
            "chosen": {"line": line, "x": x, "y": y}}  # fmt: skip


def _taken(subject: str, value: str) -> set[str]:
    """Candidates that a choice's value names: of a method its kind, of friction the laws joint by joint."""
    if subject != "friction":
        return set(re.split(r"[-+]", value))
    out = set()
    for group in value.split("; "):
        if m := OF_JOINTS.match(group):
            out |= {f"joint {j}: {law}" for j in m[1].split(", ") for law in m[2].split(", ")}
    return out
