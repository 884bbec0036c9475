"""Friction that changes with temperature or time, in words."""

from __future__ import annotations

from collections.abc import Sequence

from inertica.report import html
from inertica.workflow.identify.drift import By, FrictionChange
from inertica.workflow.identify.result import Result

UNITS = {By.TEMPERATURE: "°C", By.TIME: "s"}


def drift_sentences(result: Result) -> list[str]:
    """One for every friction that changes."""
    return [_sentence(change) for change in result.drift.changes]


def drift_line(result: Result) -> str:
    """All of them in one line; empty where none changes."""
    changes = result.drift.changes
    if not changes:
        return ""
    each = ", ".join(f"joint {c.number} {c.friction} {100.0 * c.change:+.0f} %" for c in changes)
    by = " and ".join(dict.fromkeys(c.by.value for c in changes))
    return f"Friction drifts with {by}: {each} from the lowest to the highest."


def drift_section(result: Result) -> Sequence[str]:
    """Paragraphs for the part on friction; nothing where none changes."""
    return [html.paragraph(html.prose(f"{s}.")) for s in drift_sentences(result)]


def _sentence(c: FrictionChange) -> str:
    unit, (low, high) = UNITS[c.by], c.interval
    bent = "" if c.curvature is None else f", with a curvature of {100.0 * c.curvature:+.0f} %"
    channel = "" if c.by is By.TEMPERATURE else "; record the temperature (temp1..) to tell what it follows"
    return (
        f"{c.friction} friction of joint {c.number} ({c.joint}) changes by {100.0 * c.change:+.1f} % ({100.0 * low:+.1f} to "
        f"{100.0 * high:+.1f}) between {c.low:.4g} and {c.high:.4g} {unit} of {c.by.value}{bent}; the value stated is that at "
        f"{c.mean:.4g} {unit}; {c.compared.sentence}{channel}"
    )
