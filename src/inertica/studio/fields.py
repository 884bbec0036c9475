"""Where on the page something is stated: errors name a key of the robot card, the page has a field for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inertica.errors import InerticaError


@dataclass(frozen=True)
class Field:
    """A field of the page.

    Args:
        room: in which it is.
        element: of the page, by its id.
        words: what to do there.
    """

    room: str
    element: str
    words: str


READING = "under 'How this log is read'"

FIELDS = {
    "columns": Field("data", "columns", f"say {READING} which column holds what"),
    "header": Field("data", "reading-header", f"type the names {READING}"),
    "rate": Field(
        "data", "reading-rate", f"name its column {READING}, or state the sampling rate there if the file has no clock"
    ),
    "log_joints": Field("data", "columns", f"type {READING}, beside each joint, what the log calls it"),
    "topic": Field("data", "reading-topic", f"name one {READING}"),
    "episode": Field("data", "reading-episode", f"name one {READING}"),
    "torque": Field(
        "robot",
        "gain-1",
        "type what an ampere is worth in the room Robot, in the column N m per A; the room Drive gains finds it",
    ),
}
"""Key of the card -> field.  What has none here is told as a card states it."""


def error_document(error: InerticaError) -> dict[str, Any]:
    """An error in the page's words, with the field that settles it."""
    field = None if error.fix is None else FIELDS.get(error.fix.key)
    if field is None:
        return {"error": str(error)}
    return {"error": f"{error.statement}; {field.words}", "field": {"room": field.room, "element": field.element}}
