"""`write_folder`: a result beside its logs, as `identify -o DIR` leaves it, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.preprocessing.motion import Motion
from inertica.report.bundle import Bundle, write_bundle
from inertica.workflow.identify.inputs import IDENTIFICATION, LogLike
from inertica.workflow.identify.replay import own_reference
from inertica.workflow.identify.result import Result


def write_folder(
    result: Result, folder: str | Path, logs: Sequence[LogLike], validate: Sequence[LogLike] = (), *, force: bool = False
) -> Bundle:
    """Write `result.json`, the identified model, `parameters.csv` and `report.html` into a folder.

    Args:
        result: what `identify` found.
        folder: made when it is not there; files of an earlier result are replaced.
        logs: those it was identified from; the report draws them.
        validate: those it was judged on, in the same order.
        force: write the model although the verdict on the result is bad.

    Examples:
        >>> made = ia.write_folder(ia.Result.load("result"), "copy", ["run1.csv.gz"])
        >>> made.files[0]
        'result.json'
    """

    def motion(source: LogLike, k: int) -> Motion:
        log = source if isinstance(source, Log) else read_log(source, result.description)
        return result.motion(log, own_reference(result.references, k, log if k >= len(logs) else None))

    names = [name for name in result.residuals if name != IDENTIFICATION]
    motions = {IDENTIFICATION: [motion(log, k) for k, log in enumerate(logs)]}
    motions |= {name: [motion(log, len(logs) + k)] for k, (name, log) in enumerate(zip(names, validate, strict=False))}
    return write_bundle(replace(result, motions=motions), folder, force=force)
