"""`Row`: one printed number beside ours, with a verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass

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
