"""The table of standard parameters: the one list of columns that CSV, JSON, HTML, terminal, notebook, frames and studio show.

A new column is one line of `COLUMNS`.  Its kind says how each of them writes a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from inertica.display import html_table
from inertica.escape import csv_text
from inertica.identifiability.labels import LABEL_WORDS, LABELS
from inertica.numbers import number, span, tidy
from inertica.robot.inertia import NAMES
from inertica.robot.model import Joint
from inertica.robot.terms import Parameter

LINK_WORDS = dict(
    zip(
        NAMES,
        (
            "moment of inertia about x", "product of inertia, x and y", "product of inertia, x and z", "moment of inertia about y",
            "product of inertia, y and z", "moment of inertia about z", "first moment of mass along x", "first moment of mass along y",
            "first moment of mass along z", "mass",
        ),
        strict=True,
    )
)  # fmt: skip
"""The ten parameters of a link, about the origin of the link frame."""

KIND_WORDS = {
    "armature": "inertia of the drive", "viscous": "viscous friction", "coulomb": "Coulomb friction", "offset": "torque offset",
    "stribeck": "friction at low speed beyond Coulomb friction", "saturating": "friction that grows with speed and levels off",
    "load": "friction per torque of gravity",
}  # fmt: skip
"""Parameters of drives and friction by their kind; other kinds are called by it."""


class Kind(StrEnum):
    """What a column holds, and so how it is written, aligned and sorted."""

    TEXT = "text"
    NUMBER = "number"
    INTERVAL = "interval"
    UNIT = "unit"
    LABEL = "label"

    @property
    def numeric(self) -> bool:
        """Whether cells are aligned to the right."""
        return self in (Kind.NUMBER, Kind.INTERVAL)


@dataclass(frozen=True)
class Entry:
    """What is known of one standard parameter; values in its unit.

    Args:
        parameter: its name, kind and unit.
        joint: whose it is; None when it belongs to several.
        value, prior: after the fit and before it.
        std: infinite where only sums with others are known, or nothing.
        interval: 95 % interval, infinite where nothing sets a limit.
        label: trust label.
    """

    parameter: Parameter
    joint: Joint | None
    value: float
    std: float
    interval: tuple[float, float]
    prior: float
    label: str

    @property
    def quantity(self) -> str:
        """What the symbol stands for."""
        symbol = self.parameter.name.removesuffix(str((self.parameter.joint or 0) + 1))
        what = LINK_WORDS.get(symbol) if self._inertial else KIND_WORDS.get(self.parameter.kind)
        return what or self.parameter.kind.replace("_", " ")

    @property
    def explanation(self) -> str:
        """What the parameter is and how far to trust it, for somebody who knows neither symbols nor labels."""
        whose = "" if self.joint is None else f" of {self.joint.link if self._inertial else self.joint.name}"
        return f"{self.quantity}{whose}: {LABEL_WORDS[self.label]}"

    @property
    def _inertial(self) -> bool:
        return self.parameter.kind in ("inertia", "first_moment", "mass")


def symbol_words(entries: Iterable[Entry]) -> str:
    """What the symbols in the names of parameters stand for, as one sentence; names are a symbol and the number of a joint."""
    symbols = dict.fromkeys((e.parameter.name.removesuffix(str((e.parameter.joint or 0) + 1)), e.quantity) for e in entries)
    words = "; ".join(f"{symbol} {quantity}" for symbol, quantity in symbols)
    return f"a number behind a symbol is that of the joint, the origin that of the link frame: {words}"


@dataclass(frozen=True)
class Column:
    """A column.

    Args:
        name: key in JSON, head of the column in CSV and frames.
        kind: of its cells.
        cell: takes an entry.
        heading: for people; empty for what only programs read.
        ends: names of the two columns that an interval takes in CSV and frames.
        wide: whether it is left out where there is little room, in terminals and notebooks.
    """

    name: str
    kind: Kind
    cell: Callable[[Entry], Any]
    heading: str = ""
    ends: tuple[str, str] = ("lower", "upper")
    wide: bool = False

    def text(self, entry: Entry) -> str:
        """A cell as people read it."""
        value = self.cell(entry)
        match self.kind:
            case Kind.NUMBER:
                return number(tidy(value))
            case Kind.INTERVAL:
                return span(*value)
            case _:
                return str(value)

    def sort_key(self, entry: Entry) -> float | None:
        """What a cell sorts by: numbers by themselves, intervals by their width, labels by their order; None for its text."""
        value = self.cell(entry)
        match self.kind:
            case Kind.NUMBER:
                return float(value)
            case Kind.INTERVAL:
                return float(value[1] - value[0])
            case Kind.LABEL:
                return float(LABELS.index(value))
            case _:
                return None


COLUMNS: tuple[Column, ...] = (
    Column("name", Kind.TEXT, lambda e: e.parameter.name, "name"),
    Column("value", Kind.NUMBER, lambda e: e.value, "value"),
    Column("std", Kind.NUMBER, lambda e: e.std),
    Column("interval", Kind.INTERVAL, lambda e: e.interval, "95 % interval"),
    Column("prior", Kind.NUMBER, lambda e: e.prior, "prior"),
    Column("label", Kind.LABEL, lambda e: e.label, "trust"),
    Column("unit", Kind.UNIT, lambda e: e.parameter.unit, "unit"),
    Column("joint", Kind.TEXT, lambda e: e.joint.name if e.joint else ""),
    Column("link", Kind.TEXT, lambda e: e.joint.link if e.joint else "", "link"),
    Column("explanation", Kind.TEXT, lambda e: e.explanation, "in words", wide=True),
)


def shown(wide: bool = False) -> tuple[Column, ...]:
    """The columns for people; `wide` where there is room for long ones."""
    return tuple(column for column in COLUMNS if column.heading and (wide or not column.wide))


def documents(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Rows as JSON has them."""
    return [{column.name: column.cell(entry) for column in COLUMNS} for entry in entries]


def frame(entries: Sequence[Entry]) -> dict[str, Any]:
    """Columns as frames have them: numbers as arrays, intervals as two."""
    out: dict[str, Any] = {}
    for column in COLUMNS:
        cells = [column.cell(entry) for entry in entries]
        if column.kind is Kind.INTERVAL:
            out |= dict(zip(column.ends, np.reshape(cells, (-1, 2)).T, strict=True))
        else:
            out[column.name] = np.array(cells, float) if column.kind is Kind.NUMBER else cells
    return out


def csv_rows(entries: Sequence[Entry]) -> str:
    """The table as CSV; empty where a number is not known."""
    columns = frame(entries)
    cells = [[_csv_cell(x) for x in column] for column in columns.values()]
    return csv_text([list(columns), *zip(*cells, strict=True)])


def notebook_table(entries: Sequence[Entry]) -> str:
    """The table as HTML for notebooks."""
    columns = shown()
    return html_table([c.heading for c in columns], [[c.text(entry) for c in columns] for entry in entries])


def _csv_cell(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return repr(float(value) + 0.0) if np.isfinite(value) else ""
