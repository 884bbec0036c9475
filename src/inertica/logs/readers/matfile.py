"""MATLAB files: version 5 to 7 through scipy, version 7.3 (HDF5) through h5py."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from inertica.errors import FileError
from inertica.logs.readers.guard import package, read_bytes, reading
from inertica.logs.readers.matcheck import contents
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import Table, Values, columns_of

_HDF5 = b"\x89HDF\r\n\x1a\n"
_PACKED = 1100
"""No compression of HDF5 makes numbers smaller than by this factor; a file that announces more is damaged."""
_DEPTH = 6
"""Structs nested deeper than this hold no log."""


def read(path: Path, options: ReadOptions) -> Table:
    """Vectors and matrices of a MAT file, also inside structs; a name is prefixed by its struct's only where two would be alike."""
    raw = read_bytes(path)
    if not raw:
        raise FileError(path, "is empty")
    named: dict[str, Values] = {}
    left: list[str] = []
    if raw.startswith(_HDF5) or raw[512:520] == _HDF5:
        _read_hdf5(path, raw, named)
    else:
        left = _read_v5(path, raw, named)
    columns, notes = columns_of(path, _short_names(named))
    return Table(path, "mat", columns, notes=(*notes, *left))


def _read_v5(path: Path, raw: bytes, named: dict[str, Values]) -> list[str]:
    """Arrays of a file of version 4 to 7; notes on variables that hold something else."""
    import scipy.io
    from scipy.io.matlab import MatReadError

    with reading(path, "MAT file", MatReadError):
        # files of version 4 have a zero among their first bytes; scipy reads them with numpy alone
        checked = None if 0 in raw[:4] else contents(raw)
        names = None if checked is None else list(checked.readable)
        content = scipy.io.loadmat(io.BytesIO(raw), struct_as_record=False, squeeze_me=False, variable_names=names)
        for name, value in content.items():
            if not name.startswith("__"):
                _collect(name, value, named, 0)
    others = [name or "unnamed" for name in checked.others] if checked is not None else []
    return [f"left out, being no numbers: {', '.join(others)}"] if others else []


def _collect(name: str, value: Any, named: dict[str, Values], depth: int) -> None:
    """Arrays of a value of scipy: numbers, structs, or 1 x 1 arrays of structs."""
    if depth > _DEPTH:
        return
    if hasattr(value, "_fieldnames"):
        for key in value._fieldnames:
            _collect(f"{name}.{key}", getattr(value, key), named, depth + 1)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        if value.size == 1:
            _collect(name, value.flat[0], named, depth + 1)
    elif isinstance(value, np.ndarray):
        named[name] = _vector(value)


def _read_hdf5(path: Path, raw: bytes, named: dict[str, Values]) -> None:
    h5py = package("h5py", "reading MAT files of version 7.3", "mat73")
    with reading(path, "MAT file of version 7.3"), h5py.File(io.BytesIO(raw), "r") as file:
        _walk(h5py, file, "", named, 0, _PACKED * len(raw))


def _walk(h5py: Any, group: Any, prefix: str, named: dict[str, Values], depth: int, limit: int) -> None:
    for key in group:
        item = group.get(key)
        if key.startswith("#") or depth > _DEPTH:  # #refs#: cells and objects
            continue
        if isinstance(item, h5py.Group):
            _walk(h5py, item, f"{prefix}{key}.", named, depth + 1, limit)
        elif isinstance(item, h5py.Dataset) and item.dtype.kind in "fiub" and not item.attrs.get("MATLAB_empty", 0):
            if item.nbytes > limit:
                raise MemoryError
            # MATLAB writes columns first, HDF5 reads rows first
            named[prefix + key] = _vector(np.asarray(item[()]).T)


def _vector(values: Values) -> Values:
    """1 x N and N x 1 matrices as vectors: MATLAB knows no others."""
    return values.reshape(-1) if values.ndim == 2 and 1 in values.shape and values.size > 1 else values


def _short_names(named: dict[str, Values]) -> dict[str, Values]:
    ends = [name.rpartition(".")[2] for name in named]
    return {end if ends.count(end) == 1 else name: values for end, (name, values) in zip(ends, named.items(), strict=True)}
