"""Joints of the model that the robot in question leaves out, and that a log shows all the same: do they stay where the model has them?

A card that lists some `joints` freezes the others at zero.  Where they move, or stand elsewhere, inertia and gravity that the listed
joints feel are not those of the model.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from inertica.errors import InputError
from inertica.logs.convert import si_factor
from inertica.logs.names import Header, meaning, take_apart, tokens, word_meaning
from inertica.logs.readers.table import Table
from inertica.robot.description import Description
from inertica.robot.natural import STILL, longest_link

AWAY = 0.05
"""rad, or lengths of the longest link on sliding joints, by which a frozen joint may stand from zero before it is worth a word."""


def elsewhere(table: Table, used: Collection[str], description: Description) -> list[str]:
    """One sentence for joints that move, one for joints that stand elsewhere.

    Args:
        table: the file.
        used: columns that are signals of the robot.
        description: the robot.
    """
    left_out = [name for name in description.source.movable if name not in description.robot.joint_names]
    if not left_out:
        return []
    moving, away = [], []
    length = longest_link(description.robot) or 1.0
    for text in table.columns:
        header = take_apart(text)
        joint = None if text in used else _position_of(header, left_out, description.source.movable)
        if joint is None:
            continue
        slides = joint in description.source.sliding
        values, size = _values(table, text, header, slides), length if slides else 1.0
        if not len(values):
            continue
        if np.ptp(values) > STILL * size:
            moving.append(f"{joint} (by {np.ptp(values):.3g})")
        elif abs(float(np.median(values))) > AWAY * size:
            away.append(f"{joint} (at {float(np.median(values)):.3g})")
    out = []
    if moving:
        out.append(
            f"{', '.join(moving)} move in this log, but {description.name} leaves them out and takes them as fixed at zero, so that "
            "what they do to the others is taken for something else; add them to `joints:`, or record with them at rest at zero"
        )
    if away:
        out.append(
            f"{', '.join(away)} do not move in this log, but do not stand at zero either, where {description.name} takes them as "
            "fixed; the links beyond them are in another place than in the model"
        )
    return out


def _position_of(header: Header, left_out: Collection[str], every: Collection[str]) -> str | None:
    """The joint whose position a column is, by its name or by its number among all joints of the model."""
    words = tokens(header.name)
    for name in sorted(left_out, key=len, reverse=True):
        name_tokens = tokens(name)
        k = len(name_tokens)
        rest = words[k:] if words[:k] == name_tokens else words[:-k] if words[-k:] == name_tokens else []
        header_meaning = word_meaning("_".join(rest)) if rest else None
        if header_meaning is not None and header_meaning.symbol == "q":
            return name
    header_meaning = meaning(header.name)
    if (
        header_meaning is None
        or header_meaning.symbol != "q"
        or header_meaning.number is None
        or not 1 <= header_meaning.number <= len(every)
    ):
        return None
    name = list(every)[header_meaning.number - 1]
    return name if name in left_out else None


def _values(table: Table, text: str, header: Header, slides: bool) -> np.ndarray:
    try:
        scale = si_factor("q", header.unit or ("m" if slides else "rad"), slides, f"{table.path}: the column '{text}'")
    except InputError:  # no unit of such a position: nothing can be said
        scale = 1.0
    values = scale * table.columns[text].astype(float)
    return np.asarray(values[np.isfinite(values)])
