"""Parquet and NPZ."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.errors import FileError
from inertica.logs.guard import package, read_bytes, reading
from inertica.logs.table import Table, Values, columns_of, numeric

META = "inertica_log"
"""Name of the array in which our own NPZ files keep notes and origin, as JSON text."""


def read_parquet(path: Path) -> Table:
    """Columns of a Parquet file; lists of equal length count as several columns."""
    pa = package("pyarrow", "reading Parquet files", "parquet")
    pq = package("pyarrow.parquet", "reading Parquet files", "parquet")
    with reading(path, "Parquet file", pa.ArrowException):
        table = pq.ParquetFile(path).read()
        arrays, skipped = arrow_arrays(path, table)
    if table.num_rows == 0:
        raise FileError(path, "holds no rows")
    columns, notes = columns_of(path, arrays)
    if skipped:
        notes.append(f"left out, being no numbers: {', '.join(skipped)}")
    return Table(path, "parquet", columns, notes=tuple(notes))


def arrow_arrays(path: Path, table: Any) -> tuple[dict[str, Values], list[str]]:
    """Numeric columns of an Arrow table as numpy arrays, missing values NaN; the names of the others."""
    arrays: dict[str, Values] = {}
    skipped: list[str] = []
    for name in table.column_names:
        if name in arrays or name in skipped:
            raise FileError(path, f"has two columns '{name}'")
        column = table.column(name).combine_chunks()
        values = _arrow_values(path, name, column)
        if values is None:
            skipped.append(name)
        else:
            arrays[name] = values
    return arrays, skipped


def _arrow_values(path: Path, name: str, column: Any) -> Values | None:
    pa = package("pyarrow", "reading Parquet files", "parquet")
    pc = package("pyarrow.compute", "reading Parquet files", "parquet")
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lengths = set(pc.list_value_length(column).to_pylist())
        if len(lengths) != 1 or None in lengths:
            raise FileError(path, f"the lists in the column '{name}' have different lengths: {sorted(map(str, lengths))[:5]}")
        flat = _arrow_values(path, name, pc.list_flatten(column))
        return None if flat is None or flat.ndim != 1 else flat.reshape(len(column), -1)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.timestamp("ns") if pa.types.is_timestamp(kind) else pa.duration("ns")).cast(pa.int64())
        kind = column.type
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return None
    if column.null_count:
        column = column.cast(pa.float64(), safe=False)
    return numeric(column.to_numpy(zero_copy_only=False))


def read_npz(path: Path) -> Table:
    """Arrays of an NPZ file: vectors of N samples, matrices (N, n).  Pickled objects are never loaded."""
    raw = read_bytes(path)
    if not zipfile.is_zipfile(io.BytesIO(raw)):
        raise FileError(path, "this is no NPZ file (a zip archive of arrays); it may be cut off or empty")
    arrays: dict[str, Values] = {}
    skipped: list[str] = []
    with reading(path, "NPZ file"), np.load(io.BytesIO(raw), allow_pickle=False) as archive:
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
        joints, told, warned = (tuple(map(str, words[key])) for key in ("joints", "notes", "warnings"))
        start = None if words["start"] is None else float(words["start"])
    except (ValueError, TypeError, KeyError):
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
    return Table(path, "npz", columns, None, joints, masks, warned, (*told, *notes), truth, start)
