"""The logs behind a saved result, read again where they are."""

from __future__ import annotations

from pathlib import Path

from inertica.errors import InerticaError
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.report.advice import log_names
from inertica.workflow.judge import Motions
from inertica.workflow.result import Result


def motions_again(result: Result, folder: str | Path | None = None) -> tuple[Motions, tuple[str, ...]]:
    """Motions of a result that was read, and a sentence for every log that is gone.

    Without a log of the identification nothing is drawn; a validation log that is gone is left out.

    Args:
        result: with the places of its logs.
        folder: where to look for files of the same names; where they were by default.
    """
    logs: dict[str, tuple[Log, ...]] = {}
    gone: list[str] = []
    for k, (name, several) in enumerate(log_names(result.logs).items()):
        try:
            logs[name] = tuple(read_log(_moved(place, folder), result.description) for place in several)
        except InerticaError as error:
            gone.append(f"the report is without {name}: {error}")
            if k == 0:
                return {}, tuple(gone)
    return (result.motions(logs), tuple(gone)) if logs else ({}, ("the result does not say which logs it came from",))


def _moved(place: str, folder: str | Path | None) -> str:
    if folder is None:
        return place
    file, at, interval = place.rpartition("@") if "@" in Path(place).name else (place, "", "")
    return f"{Path(folder) / Path(file).name}{at}{interval}"
