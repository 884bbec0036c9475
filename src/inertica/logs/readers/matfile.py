"""MATLAB files: version 5 to 7 through scipy, version 7.3 (HDF5) through h5py."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
_NUMBERS = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
"""Classes of MATLAB that are numbers; HDF5 keeps text and objects as whole numbers, too."""


def read(path: Path, options: ReadOptions) -> Table:
    """Vectors and matrices of a MAT file, also in structs and cells; a name is prefixed by its struct's only where two are alike."""
    raw = read_bytes(path)
    if not raw:
        raise FileError(path, "is empty")
    variables = _Found({}, [], {})
    if raw.startswith(_HDF5) or raw[512:520] == _HDF5:
        _read_hdf5(path, raw, variables)
    else:
        _read_v5(path, raw, variables)
    objects = _about_objects(variables.objects)
    if objects and not variables.named:
        raise FileError(path, objects)
    columns, notes = columns_of(path, _short_names(variables.named))
    others = [f"left out, being no numbers: {', '.join(variables.others)}"] if variables.others else []
    return Table(path, "mat", columns, notes=(*notes, *others), warnings=(objects,) if objects else ())


@dataclass(frozen=True)
class _Found:
    """Arrays by name, names of what holds none, and objects with their classes."""

    named: dict[str, Values]
    others: list[str]
    objects: dict[str, str]


def _about_objects(objects: Mapping[str, str]) -> str:
    """What to do with tables and other objects, of which MAT files keep the contents in a form that only MATLAB reads."""
    if not objects:
        return ""
    names = ", ".join(f"'{name}' ({kind})" for name, kind in objects.items())
    name, kind = next(iter(objects.items()))
    plain = f"writetable({name}, 'log.csv')" if kind != "timetable" else f"writetimetable({name}, 'log.csv')"
    return (
        f"{names} cannot be read: MATLAB keeps objects in a form of its own; in MATLAB write {plain}, or save a struct instead: "
        f"s = table2struct({name}, 'ToScalar', true); save('log.mat', '-struct', 's')"
    )


def _read_v5(path: Path, raw: bytes, variables: _Found) -> None:
    """Arrays of a file of version 4 to 7."""
    import scipy.io
    from scipy.io.matlab import MatReadError

    with reading(path, "MAT file", MatReadError):
        # files of version 4 have a zero among their first bytes; scipy reads them with numpy alone
        checked = None if 0 in raw[:4] else contents(raw)
        names = None if checked is None else list(checked.readable)
        content = scipy.io.loadmat(io.BytesIO(raw), struct_as_record=False, squeeze_me=False, variable_names=names)
        for name, value in content.items():
            if not name.startswith("__"):
                _collect(name, value, variables.named, 0)
    if checked is not None:
        variables.objects.update({name: kind for name, kind in checked.objects.items() if name})
        # the unnamed variable at the end holds the contents of the objects
        variables.others.extend(name or "unnamed" for name in checked.others if name not in variables.objects)


def _collect(name: str, value: Any, named: dict[str, Values], depth: int) -> None:
    """Arrays of a value of scipy: numbers, structs, arrays of structs, and cells."""
    if depth > _DEPTH:
        return
    if hasattr(value, "_fieldnames"):
        for key in value._fieldnames:
            _collect(f"{name}.{key}", getattr(value, key), named, depth + 1)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        parts = list(value.flat)
        if len(parts) == 1:
            _collect(name, parts[0], named, depth + 1)
        elif parts and all(hasattr(part, "_fieldnames") for part in parts):  # one struct per sample
            for key in parts[0]._fieldnames:
                _stack(f"{name}.{key}", [getattr(part, key, None) for part in parts], (len(parts), 1), named)
        else:
            _stack(name, parts, value.shape, named)
    elif isinstance(value, np.ndarray):
        named[name] = _vector(value)


def _stack(name: str, parts: Sequence[Any], shape: tuple[int, ...], named: dict[str, Values]) -> None:
    """Cells as columns: numbers in rows and columns, one vector per joint, or one per sample; the first row may name columns.

    Args:
        name: of the variable.
        parts: contents of the cells, row by row.
        shape: how the cells lie.
        named: where columns are entered.
    """
    width = shape[-1]
    titles = [_text(part) for part in parts[:width]] if len(shape) == 2 and shape[0] > 1 else []
    if titles and all(titles):
        below = parts[width:]
        for k, title in enumerate(titles):
            _stack(f"{name}.{title}", below[k::width], (len(below) // width, 1), named)
        return
    arrays = [np.asarray(part) for part in parts]
    if any(a.dtype.kind not in "fiub" or a.size == 0 for a in arrays) or len({a.size for a in arrays}) != 1:
        return
    flat = np.array([a.ravel() for a in arrays])
    if flat.shape[1] == 1:
        named[name] = _vector(flat.reshape(shape))
    elif flat.shape[0] < flat.shape[1]:  # few long vectors: one per joint
        named[name] = flat.T
    else:
        named[name] = flat


def _text(part: Any) -> str:
    """The text in a cell; empty when it holds something else."""
    values = np.asarray(part)
    return str(values.flat[0]).strip() if values.dtype.kind == "U" and values.size == 1 else ""


def _read_hdf5(path: Path, raw: bytes, variables: _Found) -> None:
    h5py = package("h5py", "reading MAT files of version 7.3", "mat73")
    with reading(path, "MAT file of version 7.3"), h5py.File(io.BytesIO(raw), "r") as file:
        _Walk(h5py, file, variables, _PACKED * len(raw)).group(file, "", 0)


@dataclass(frozen=True)
class _Walk:
    """Through the groups of an HDF5 file."""

    h5py: Any
    file: Any
    variables: _Found
    limit: int

    def group(self, group: Any, prefix: str, depth: int) -> None:
        for key in group:
            item = group.get(key)
            if key.startswith("#") or depth > _DEPTH:  # #refs#: what cells and objects point to
                continue
            if isinstance(item, self.h5py.Group):
                self.group(item, f"{prefix}{key}.", depth + 1)
            elif isinstance(item, self.h5py.Dataset):
                self.dataset(item, prefix + key)

    def dataset(self, item: Any, name: str) -> None:
        kind = _matlab_class(item)
        if "MATLAB_object_decode" in item.attrs:
            self.variables.objects[name] = kind
        elif item.attrs.get("MATLAB_empty", 0) or kind == "char":
            return
        elif self.h5py.check_ref_dtype(item.dtype) is not None:  # a cell, or a field of an array of structs
            # MATLAB writes columns first, HDF5 reads rows first
            references = np.asarray(item[()]).T
            parts = [self.part(reference) for reference in references.flat]
            _stack(name, parts, references.shape if kind == "cell" else (len(parts), 1), self.variables.named)
        elif item.dtype.kind in "fiub" and (kind in _NUMBERS or not kind):
            self.variables.named[name] = _vector(self.values(item))

    def part(self, reference: Any) -> Any:
        """What a cell holds: numbers or text; None for anything else."""
        item = self.file[reference] if reference else None
        if not isinstance(item, self.h5py.Dataset) or item.dtype.kind not in "fiub":
            return None
        if _matlab_class(item) == "char":
            return "".join(map(chr, self.values(item).ravel(order="F").astype(int)))
        return np.empty(0) if item.attrs.get("MATLAB_empty", 0) else self.values(item)

    def values(self, item: Any) -> Values:
        if item.nbytes > self.limit:
            raise MemoryError
        return np.asarray(item[()]).T


def _matlab_class(item: Any) -> str:
    kind = item.attrs.get("MATLAB_class", b"")
    return kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)


def _vector(values: Values) -> Values:
    """1 x N and N x 1 matrices as vectors: MATLAB knows no others."""
    return values.reshape(-1) if values.ndim == 2 and 1 in values.shape and values.size > 1 else values


def _short_names(named: dict[str, Values]) -> dict[str, Values]:
    ends = [name.rpartition(".")[2] for name in named]
    return {end if ends.count(end) == 1 else name: values for end, (name, values) in zip(ends, named.items(), strict=True)}
