"""What a study gives: `Row`s (one printed number beside ours, with a verdict), `Sheet`s in the layout of the source, figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from inertica.reproduce.verdicts import REPORTED, UNKNOWN, Doubt, Printed, Words, verdict


@dataclass(frozen=True)
class Row:
    """One comparison.

    Args:
        quantity: what is compared; the part before the colon names the case, which begins with the source's table or figure where
            the number stands in one.
        published: as printed; None when the source gives no number.
        ours: the same from the simulation.
        verdict: a word of `verdicts`, and a reason where one is needed.
        published_spread, ours_spread: one standard deviation, where one is known.
    """

    quantity: str
    published: float | str | None
    ours: float | str | None
    verdict: str
    published_spread: float | None = None
    ours_spread: float | None = None

    @property
    def case(self) -> str:
        return self.quantity.split(":", 1)[0]

    def document(self) -> dict[str, object]:
        return asdict(self)


def compared(
    quantity: str,
    published: Printed,
    ours: float | str | None,
    doubt: Doubt = UNKNOWN,
    *,
    truth: float | None = None,
    claim: bool = False,
    why: str = "",
    remark: str = "",
) -> Row:
    """A row with the verdict of its numbers; arguments as those of `verdict`."""
    outcome = verdict(published, ours, doubt, truth=truth, claim=claim, why=why, remark=remark)
    printed = published.text if isinstance(published, Words) else published
    return Row(quantity, printed, ours, outcome, doubt.printed or None, doubt.ours or None)


def answered(quantity: str, published: bool, ours: bool, *, claim: bool = False, why: str = "", remark: str = "") -> Row:
    """The same for a question of yes or no."""
    return compared(quantity, yes(published), yes(ours), claim=claim, why=why, remark=remark)


def reported(quantity: str, ours: float | str | None, remark: str = "") -> Row:
    """A number of ours beside which the source prints nothing."""
    return Row(quantity, None, ours, f"{REPORTED}: {remark}" if remark else REPORTED)


def yes(answer: bool) -> str:
    return "yes" if answer else "no"


def judged(good: bool, remark: str = "") -> str:
    """The verdict on a statement that holds or does not."""
    return verdict("yes", yes(good), why=remark, remark=remark)


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
