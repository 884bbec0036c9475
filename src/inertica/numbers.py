"""Numbers as people read and write them."""

from __future__ import annotations

import math

LONGEST = 9
"""Digits of a number that counts something; Python itself refuses to read thousands."""

NONE = "–"
"""Where there is no number."""


def number(value: float, digits: int = 4) -> str:
    """A short number; a dash where there is none."""
    if not math.isfinite(value):
        return NONE
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e6 else f"{value + 0.0:.{digits}g}"


def whole(text: str) -> int | None:
    """The number that plain digits write, such as that of a joint; None for anything else, digits without end included."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= LONGEST else None


def tidy(value: float) -> float:
    """Rounding of a zero is shown as zero."""
    return 0.0 if abs(value) < 1e-12 else float(value)


def span(lower: float, upper: float, digits: int = 3) -> str:
    """An interval; an end next to zero as zero, a dash where there are no limits."""
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return NONE
    ends = (0.0 if abs(x) < 1e-3 * (upper - lower) else x for x in (lower, upper))
    return " to ".join(number(x, digits) for x in ends)


def percent(value: float | None) -> str:
    """A ratio in percent, with the same digits wherever it is shown."""
    return f"{100.0 * value:.2f} %" if value is not None and math.isfinite(value) else NONE
