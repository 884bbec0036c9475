"""The tables and figures of a paper, and what a study has for each: rows, a drawing, or the reason why there is neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from inertica.errors import InputError
from inertica.reproduce.rows import Row, Sheet

FOLDER = Path(__file__).parent / "printed"


@dataclass(frozen=True)
class Item:
    """One table or figure.

    Args:
        name: as the paper calls it; the cases of its rows begin with it.
        about: what it shows.
        drawing: the figure that `--figures` writes for it.
        reason: why a study has neither rows nor drawing, or has them only with an option.
    """

    name: str
    about: str
    drawing: str | None = None
    reason: str | None = None

    def covers(self, row: Row) -> bool:
        """Whether a row compares a number of it."""
        rest = row.case.removeprefix(self.name)
        return rest != row.case and not rest[:1].isalnum()


@dataclass(frozen=True)
class Walked:
    """What a run has for a table or figure.

    Args:
        item: which.
        rows: comparisons of its numbers.
    """

    item: Item
    rows: int

    @property
    def answered(self) -> bool:
        """Whether there is a row, a drawing, or a reason."""
        return bool(self.rows or self.item.drawing or self.item.reason)

    def document(self) -> dict[str, object]:
        return {**asdict(self.item), "rows": self.rows}


def items(study: str) -> tuple[Item, ...]:
    """Tables and figures of the paper behind a study, in its order."""
    path = FOLDER / f"{study}.yaml"
    if not path.exists():
        raise InputError(f"the study '{study}' has no list of tables and figures; expected {path.name} in {FOLDER}")
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(Item(name, **entry) for name, entry in document.items())


def walk(study: str, rows: Sequence[Row]) -> tuple[Walked, ...]:
    """Every table and figure of the paper beside what a run has for it."""
    return tuple(Walked(item, sum(item.covers(row) for row in rows)) for item in items(study))


def sheet(walked: Sequence[Walked]) -> Sheet:
    """The same as a table."""
    lines = []
    for one in walked:
        parts = [f"{one.rows} comparisons"] if one.rows else []
        parts += [f"drawn by --figures: {one.item.drawing}"] if one.item.drawing else []
        parts += [one.item.reason] if one.item.reason and not one.rows else []
        lines.append((one.item.name, one.item.about, "; ".join(parts)))
    return Sheet("Tables and figures of the paper", ("item", "about", "here"), tuple(lines))
