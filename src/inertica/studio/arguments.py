"""What a page asks for: values of a JSON object, each checked before anybody uses it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from inertica.studio.confined import Refused

LONGEST = 4000
"""Characters of a word."""


@dataclass(frozen=True)
class Arguments:
    """Values by name; a wrong type is refused with status 400."""

    values: Mapping[str, Any] = field(default_factory=dict)

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def text(self, key: str, otherwise: str | None = None) -> str:
        value = self.values.get(key)
        if value is None and otherwise is not None:
            return otherwise
        if not isinstance(value, str) or not value or len(value) > LONGEST:
            raise Refused(f"'{key}' should be a word", 400)
        return value

    def word(self, key: str, among: Iterable[str], otherwise: str | None = None) -> str:
        """One of several words."""
        value, words = self.text(key, otherwise), list(among)
        if value not in words:
            raise Refused(f"'{key}' should be one of {', '.join(words)}", 400)
        return value

    def number(self, key: str, otherwise: float | None = None, least: float = -math.inf, most: float = math.inf) -> float:
        value = self.values.get(key)
        if value is None and otherwise is not None:
            return otherwise
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
            limits = f" from {least:g} to {most:g}" if math.isfinite(least) or math.isfinite(most) else ""
            raise Refused(f"'{key}' should be a number{limits}", 400)
        return float(value)

    def perhaps(self, key: str, least: float = -math.inf, most: float = math.inf) -> float | None:
        """A number, or None where there is none."""
        return self.number(key, None, least, most) if key in self else None

    def numbers(self, key: str, count: int) -> list[float]:
        """So many finite numbers."""
        value = self.values.get(key)
        right_length = isinstance(value, (list, tuple)) and len(value) == count
        if not right_length or not all(
            isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x) for x in value or ()
        ):
            raise Refused(f"'{key}' should be {count} number{'s' if count > 1 else ''}", 400)
        return [float(x) for x in value or ()]

    def flag(self, key: str, otherwise: bool = False) -> bool:
        value = self.values.get(key)
        if value is None:
            return otherwise
        if not isinstance(value, bool):
            raise Refused(f"'{key}' should be true or false", 400)
        return value

    def words(self, key: str) -> list[str]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or len(value) > 1000 or not all(isinstance(x, str) and len(x) <= LONGEST for x in value):
            raise Refused(f"'{key}' should be a list of words", 400)
        return list(value)

    def object(self, key: str) -> dict[str, Any]:
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise Refused(f"'{key}' should be an object", 400)
        return dict(value)
