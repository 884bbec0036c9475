"""The logs behind a saved result, read again where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inertica.errors import InerticaError
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.workflow.identify.inputs import IDENTIFICATION
from inertica.workflow.identify.result import Motions, Result

UNKNOWN = "the result does not say which logs it came from"


@dataclass(frozen=True, eq=False)
class LogsAgain:
    """Motions of a result that was read.

    Args:
        motions: data set -> its motions; empty without a log of the identification.
        missing: data set -> why its logs cannot be read.
    """

    motions: Motions
    missing: Mapping[str, str] = field(default_factory=dict)


def logs_again(result: Result, folder: str | Path | None = None) -> LogsAgain:
    """The logs of a result, as its predictions want them; a validation log that is gone is left out.

    Args:
        result: with the places of its logs.
        folder: where to look for files of the same names; where they were by default.
    """
    logs: dict[str, tuple[Log, ...]] = {}
    missing: dict[str, str] = {}
    for k, (name, several) in enumerate(result.logs.items()):
        try:
            logs[name] = tuple(read_log(_elsewhere(place, folder), result.description) for place in several)
        except InerticaError as error:
            missing[name] = str(error)
            if k == 0:
                return LogsAgain({}, missing)
    try:
        return LogsAgain(result.motions_of(logs) if logs else {}, missing)
    except InerticaError as error:  # read, but not what they were
        return LogsAgain({}, missing | {IDENTIFICATION: str(error)})


def _elsewhere(place: str, folder: str | Path | None) -> str:
    if folder is None:
        return place
    file, at, interval = place.rpartition("@") if "@" in Path(place).name else (place, "", "")
    return f"{Path(folder) / Path(file).name}{at}{interval}"
