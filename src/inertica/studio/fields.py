"""Where on the page something is stated: sentences name keys of the card, options and commands; the page has fields and rooms."""

from __future__ import annotations

import re
from collections.abc import Mapping
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


SAID_BY_COMMANDS = (
    (r"give it with --validate LOG", "choose under 'used to', in the room Data, that it is to validate"),
    (r"\((?:card: )?--method ([\w+-]+)\)", r"(\1 under Method in the room Identify)"),
    (r"\(--friction\)", "(under Friction in the room Identify)"),
    (r"the option force", "'fit even if the check finds a problem' in the room Identify"),
    (
        r",? ?:? ?as option, units: \{t: (\w+)\} in the card, or \[\w+\] behind (?:the clock's|its) name",
        r" under 'Unit of the clock' in the room Data",
    ),
    (
        r"--unit t=(\w+), units: \{t: \w+\} in the card, or '[^']*' in the header states it",
        r"\1 under 'Unit of the clock' in the room Data states it",
    ),
    (r"(?:, or|,)? on the command line,? (?:such as )?\(?--unit (\w+)=(\w+)\)?", ""),
    (r" \(--unit t=\w+\)", ", under 'Unit of the clock' in the room Data"),
    (r", or as units=\{[^}]*\}", ""),
    (r" in the card, or --side \w+,", " in card.yaml of the project"),
    (r"--columns 'tau=\.\.\.' takes other columns for the torque", f"{READING} other columns can be named for the torque"),
    (
        r"--columns '[^']*'(?: or --columns '[^']*')* takes them instead \(in a card: [^)]*\)",
        f"{READING} they can be named instead",
    ),
    (r", or on the command line: --columns '[^']*'", f", or choose them {READING}"),
    (
        r"(?:: )?--most-unpacked GIB on the command line, most_unpacked: GIB in the card",
        ", most_unpacked: GIB in card.yaml of the project",
    ),
    (
        r"(?:: )?--feature tau=NAME on the command line, features: \{tau: NAME\} in the card",
        ", features: {tau: NAME} in card.yaml of the project",
    ),
    (r"run `inertica check` on the robot and its logs", "run the check in the room Data"),
    (r"what `inertica check` says of the log", "what the check in the room Data says of the log"),
    (r"`inertica excite` designs one", "the room Motion designs one"),
    (r"`inertica drive-gains` finds", "the room Drive gains finds"),
    (r"`identified\.\*` in the result's folder, or `inertica export`", "write it in the room Export"),
    (r"\(`inertica export`\)", "(in the room Export)"),
)
"""What sentences say of options and commands -> the same on the page."""

SENTENCES = frozenset({"warnings", "notes", "next", "sentence", "advice", "text", "error"})
"""Keys of documents under which sentences are."""


def page_words(text: str) -> str:
    """A sentence that names options and commands, with the fields and rooms of the page in their place."""
    for pattern, words in SAID_BY_COMMANDS:
        text = re.sub(pattern, words, text)
    return text


def in_page_words(document: Any, sentence: bool = False) -> Any:
    """A document for the page, with the sentences in it in the page's words.

    Args:
        document: of mappings, lists and values.
        sentence: whether it stands under one of `SENTENCES`.
    """
    if isinstance(document, str):
        return page_words(document) if sentence else document
    if isinstance(document, Mapping):
        return {key: in_page_words(value, sentence or key in SENTENCES) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [in_page_words(value, sentence) for value in document]
    return document


def error_document(error: InerticaError) -> dict[str, Any]:
    """An error in the page's words, with the field that settles it."""
    field = None if error.fix is None else FIELDS.get(error.fix.key)
    if field is None:
        return {"error": page_words(str(error))}
    return {"error": f"{page_words(error.statement)}; {field.words}", "field": {"room": field.room, "element": field.element}}
