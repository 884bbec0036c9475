"""The logs behind a saved result, read again where they are, for what is drawn of them."""

from __future__ import annotations

from pathlib import Path

from inertica.workflow.identify.logs_again import UNKNOWN, logs_again
from inertica.workflow.identify.result import Motions, Result


def motions_again(result: Result, folder: str | Path | None = None) -> tuple[Motions, tuple[str, ...]]:
    """Motions of a result that was read, and a sentence for every log that is gone.

    Without a log of the identification nothing is drawn; a validation log that is gone is left out.

    Args:
        result: with the places of its logs.
        folder: where to look for files of the same names; where they were by default.

    Examples:
        >>> motions, missing = ia.motions_again(ia.Result.load("result"))
        >>> list(motions), missing
        (['identification'], ())
    """
    again = logs_again(result, folder)
    gone = tuple(f"the report is without {name}: {why}" for name, why in again.missing.items())
    return again.motions, gone if again.motions or gone else (UNKNOWN,)
