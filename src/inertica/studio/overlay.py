"""What the room Trust draws of a result, worked out once beside the result: torques, friction, bodies, the verdict."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.errors import FileError, InputError
from inertica.logs.readers.guard import check_archive, reading
from inertica.report.data import friction_curves, records
from inertica.report.figures import thinned
from inertica.report.names import short_names
from inertica.report.verdict_words import verdict_document
from inertica.studio.scene import bodies
from inertica.workflow.identify.result import Motions, Result
from inertica.workflow.identify.saved import is_stamped, read_stamped, stamped_text
from inertica.writing import whole_file, write_whole

SUMMARY, SIGNALS = "studio.json", "studio.npz"
POINTS = 3000
"""Of a friction plot."""


def write_overlay(result: Result, motions: Motions, folder: Path) -> None:
    """Write `studio.json` and `studio.npz` into the folder of a result.

    Args:
        result: what was found.
        motions: of its logs, as for `write_report`; without them there is nothing to draw, and the summary says so.
        folder: of the result.
    """
    drawn = records(result, motions) if motions else []
    names = short_names([r.source for r in drawn])
    arrays: dict[str, NDArray[np.floating]] = {}
    for k, record in enumerate(drawn):
        stack = [record.motion.tau_raw, record.predicted, record.smooth, record.smooth_predicted, record.motion.q]
        arrays |= {f"t{k}": record.motion.stamps, f"signals{k}": np.stack(stack).astype(np.float32)}
    document: dict[str, Any] = {
        "verdict": verdict_document(result),
        "before": bodies(result.description.prior),
        "after": bodies(result.parameters),
        "possible": result.physically_consistent,
        "logs": [{"name": n, "set": r.name, "source": r.source} for n, r in zip(names, drawn, strict=True)],
        "friction": _friction(result, drawn),
    }
    with whole_file(folder / SIGNALS) as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)
    write_whole(folder / SUMMARY, stamped_text(document))


def _friction(result: Result, drawn: list[Any]) -> list[dict[str, Any]]:
    """Per joint the law, and friction with what the rest of the model leaves, against velocity."""
    fitted = [r for r in drawn if r.name == drawn[0].name] if drawn else []
    if not fitted:
        return []
    reach = np.max([np.abs(r.dq).max(axis=0, initial=0.0) for r in fitted], axis=0)
    curves = friction_curves(result, reach, np.concatenate([r.q for r in fitted]))
    speed = np.concatenate([r.dq for r in fitted])
    torque = np.concatenate([r.friction + r.residual for r in fitted])
    take = thinned(len(speed), POINTS)
    return [
        {"dq": curves.dq[:, j], "law": curves.law[:, j], "speed": speed[take, j], "torque": torque[take, j]}
        | ({"low": curves.low[:, j], "high": curves.high[:, j]} if curves.varies(j) else {})
        for j in range(result.description.robot.n)
    ]


def summary(folder: Path) -> dict[str, Any] | None:
    """What `write_overlay` wrote; None when it was not called, or the file was damaged: it is worked out again then."""
    path = folder / SUMMARY
    try:
        return read_document(path, path.stat().st_mtime_ns) if path.is_file() and is_stamped(path) else None
    except FileError:
        return None


@lru_cache(maxsize=64)
def read_document(path: Path, stamp: int) -> dict[str, Any]:
    """A document, read once per change of the file; the same object for all who ask, so that nobody may change it."""
    return read_stamped(path)


def torques(folder: Path, number: int) -> tuple[Array, NDArray[np.float32]]:
    """Times, and measured, predicted, low-passed measured, low-passed predicted torque and position (5, N, n) of one log."""
    check_archive(folder / SIGNALS)
    with reading(folder / SIGNALS, "file of torques"), np.load(folder / SIGNALS, allow_pickle=False) as file:
        if f"t{number}" not in file.files:
            raise InputError(f"the result has no log number {number}")
        return file[f"t{number}"], file[f"signals{number}"]
