"""What a study gives: `Row`s (one printed number beside ours, with a verdict), `Sheet`s in the layout of the source, figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

AGREES, DIFFERS, REPORTED = "agrees", "differs", "reported"


@dataclass(frozen=True)
class Row:
    """One comparison.

    Args:
        quantity: what is compared; the part before the colon names the case.
        published: as printed; None when the source gives no number.
        ours: the same from the simulation.
        verdict: agrees, differs or reported (no pass mark), and a remark where one is needed.
    """

    quantity: str
    published: float | str | None
    ours: float | str | None
    verdict: str

    @property
    def case(self) -> str:
        return self.quantity.split(":", 1)[0]

    def document(self) -> dict[str, object]:
        return asdict(self)


def judged(good: bool, remark: str = "") -> str:
    word = AGREES if good else DIFFERS
    return f"{word}: {remark}" if remark else word


@dataclass(frozen=True)
class Sheet:
    """A table in the layout of the source.

    Args:
        title: what it repeats.
        columns: their headings; the first names the row.
        rows: cells as text, one per column.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def document(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Options:
    """What a user can ask of a study.

    Args:
        seeds: experiments over which statistics are taken.
        seed: of the first one.
        record: a recorded log of the real robot, or the authors' data, for studies that have one.
        quick: a short form, for studies that have one.
        say: where progress goes.
        coupling: form of the coupled wrist, for the study that has one: toolbox or rotor.
        divisor: what counts as N in the errors of the study that has such: torque values, or samples.
        keep: folder for the rows of campaigns; a study that was ended goes on there.
    """

    seeds: int = 20
    seed: int = 0
    record: str | None = None
    quick: bool = False
    say: Callable[[str], None] = field(default=lambda _: None, repr=False)
    keep: Path | None = None
    coupling: str = "toolbox"
    divisor: str = "values"


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What a study found.

    Args:
        rows: comparisons with a verdict each.
        about: how the experiment was set up, one sentence each.
        sheets: tables in the layout of the source.
        draw: writes figures into a folder and returns their paths.
    """

    rows: tuple[Row, ...]
    about: tuple[str, ...]
    sheets: tuple[Sheet, ...] = ()
    draw: Callable[[Path], tuple[Path, ...]] | None = None
