"""Everything `identify` leaves behind, in one folder that appears whole or not at all."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from inertica.errors import InerticaError
from inertica.report.logs import motions_again
from inertica.report.report import write_report
from inertica.robot.formats.table import format_of
from inertica.workflow.export.exported import ExportedModel
from inertica.workflow.export.model import export_model, write_parameters
from inertica.workflow.friction.bristles import Bristles, write_bristles
from inertica.workflow.identify.result import REFERENCE, RESULT, Identification
from inertica.writing import whole_folder

MODEL, TABLE, REPORT = "identified", "parameters.csv", "report.html"


@dataclass(frozen=True)
class Bundle:
    """What was written.

    Args:
        result: with the warnings and times that writing added.
        folder: where.
        files: names in the folder, result.json first.
    """

    result: Identification
    folder: Path
    files: tuple[str, ...]


def write_bundle(result: Identification, folder: str | Path, *, approximate: bool = True, force: bool = False) -> Bundle:
    """Write `result.json` with its arrays and robot card, the identified model, `parameters.csv` and `report.html`.

    A model that cannot be written, that would not read back as it should or that is not usable is left out, and a warning of the
    result says why.

    Args:
        result: what `identify` found, with the motions that the report draws.
        folder: made when it is not there; files of an earlier result are replaced.
        approximate: see `export_model`.
        force: write the model although the verdict on the result is bad.
    """
    with whole_folder(folder, RESULT, stale=(f"{MODEL}.*", "model.*", f"{REFERENCE}*", REPORT, TABLE)) as temporary:
        complete = _with_model(result, temporary, approximate, force)
        complete.save(temporary)
        write_parameters(complete, temporary / TABLE)
        write_report(complete, complete.motions, temporary / REPORT)
        names = sorted((path.name for path in temporary.iterdir()), key=lambda name: (name != RESULT, name))
    exported = tuple(model.moved(Path(folder)) for model in complete.exported)
    return Bundle(replace(complete, exported=exported), Path(folder), tuple(names))


def _with_model(result: Identification, folder: Path, approximate: bool, force: bool) -> Identification:
    """The result with the model file that was written of it, and what must be said of that: complete, as it is saved."""
    start = time.perf_counter()
    target = folder / f"{MODEL}{format_of(result.description.source).suffix}"
    exported: tuple[ExportedModel, ...] = ()
    try:
        written = export_model(result, target, approximate=approximate, force=force)
        exported, remarks = (written,), (*written.notes, *written.warnings)
    except InerticaError as error:
        remarks = (str(error),)
    seconds = {**result.time, "write": time.perf_counter() - start}
    return replace(result, warnings=(*result.warnings, *remarks), exported=exported, time=seconds)


def add_bristles(folder: str | Path, bristles: Bristles) -> list[Path]:
    """Add friction with memory to the result of a folder, and write its model with the card beside it and its report again.

    Args:
        folder: of the result.
        bristles: see `workflow.friction.bristles`.

    Examples:
        >>> fit = ia.fit_friction("card.yaml", ["run1.csv.gz"], joints=[1])
        >>> files = ia.add_bristles("result", fit.bristles)
    """
    source = Path(folder)
    source = source.parent if source.name == RESULT else source
    before = Identification.load(source)
    write_bristles(source, bristles, before.description.robot.joint_names)
    result = Identification.load(source)
    files = [source / RESULT]
    model = source / f"{MODEL}{format_of(result.description.source).suffix}"
    if model.is_file():  # one that could not be written was left out
        written = export_model(result, model, force=True)  # it was written before
        files += [written.path, *([written.extra] if written.extra else [])]
    if (source / REPORT).is_file():
        files.append(write_report(result, motions_again(result)[0], source / REPORT))
    return files
