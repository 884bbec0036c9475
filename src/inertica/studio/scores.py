"""Scores of a choice as they are drawn: a curve over a number such as a cut-off, bars over names, the chosen ones marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inertica.workflow.identify.choice import Alternative, Choice

Document = dict[str, Any]

ERROR, EXPLAINED = "error on data left out", "share of the joint's error that it explains"


def drawn(choice: Choice) -> Document | None:
    """How the scores of a choice are drawn; None for fewer than two.

    Returns:
        kind `curve`: unit, lines (name, x, y) and the chosen point (line, x, y), the least; kind `bars`: rows (name, score, chosen).
        Both with what the scores mean.
    """
    if len(choice.candidates) < 2:
        return None
    meaning = EXPLAINED if choice.subject == "friction" else ERROR
    if all(c.number is not None for c in choice.candidates) and len({c.unit for c in choice.candidates}) == 1:
        return _curve(choice.candidates, meaning)
    rows = [{"name": c.full_name, "score": c.score, "chosen": c.taken} for c in choice.candidates]
    return {"kind": "bars", "meaning": meaning, "rows": rows}


def _curve(candidates: Sequence[Alternative], meaning: str) -> Document:
    lines: dict[str, list[tuple[float, float]]] = {}
    for c in candidates:
        lines.setdefault(c.series, []).append((c.number or 0.0, c.score))
    least = min(candidates, key=lambda c: c.score)
    curves = [{"name": n, "x": [p[0] for p in sorted(ps)], "y": [p[1] for p in sorted(ps)]} for n, ps in lines.items()]
    chosen = {"line": least.series, "x": least.number, "y": least.score}
    return {"kind": "curve", "meaning": meaning, "unit": least.unit, "lines": curves, "chosen": chosen}
