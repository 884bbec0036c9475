"""NPZ files, also those of our own with masks, truth and notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.errors import FileError
from inertica.logs.readers.guard import check_archive, reading
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import Table, Values, columns_of

META = "inertica_log"
"""Name of the array in which our own NPZ files keep notes and origin, as JSON text."""


def read(path: Path, options: ReadOptions) -> Table:
    """Arrays of an NPZ file: vectors of N samples, matrices (N, n).  Pickled objects are never loaded."""
    check_archive(path, options.most_unpacked)
    arrays: dict[str, Values] = {}
    skipped: list[str] = []
    with reading(path, "NPZ file"), np.load(path, allow_pickle=False) as archive:
        for name in archive.files:
            with reading(path, f"NPZ file, in its array '{name}'"):
                values = _member(archive, name)
            if values is None:
                skipped.append(name)
            else:
                arrays[name] = values
    meta = arrays.pop(META, None)
    saved = {key: arrays.pop(key) for key in list(arrays) if meta is not None and key.startswith(("mask/", "truth/"))}
    columns, notes = columns_of(path, arrays)
    if skipped:
        notes.append(f"left out, being objects instead of numbers: {', '.join(skipped)}")
    if meta is None:
        return Table(path, "npz", columns, notes=tuple(notes))
    return _own(path, columns, notes, str(meta), saved)


def _member(archive: Any, name: str) -> Values | None:
    """One array; None for pickled objects and for files that are no arrays."""
    try:
        values = archive[name]
    except ValueError as error:
        if "allow_pickle" in str(error):
            return None
        raise
    return values if isinstance(values, np.ndarray) else None


def _own(path: Path, columns: dict[str, Values], notes: list[str], meta: str, saved: dict[str, Values]) -> Table:
    """A file of our own with masks, truth and notes."""
    try:
        words = json.loads(meta)
        joints, saved_notes, warned = (tuple(map(str, words[key])) for key in ("joints", "notes", "warnings"))
        start = None if words["start"] is None else float(words["start"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise FileError(path, f"the array '{META}' does not hold what inertica writes there; remove it from the file") from None
    rows = len(next(iter(columns.values())))
    masks: dict[str, NDArray[np.bool_]] = {}
    truth: dict[str, NDArray[np.float64]] = {}
    for key, values in saved.items():
        kind, _, name = key.partition("/")
        if values.ndim == 0 or len(values) != rows or values.dtype.kind not in "fbiu":
            raise FileError(path, f"the array '{key}' has the shape {values.shape}, expected {rows} samples first")
        if kind == "mask":
            masks[name] = values.astype(bool)
        else:
            truth[name] = values.astype(np.float64)
    return Table(path, "npz", columns, None, joints, masks, warned, (*saved_notes, *notes), truth, start)
