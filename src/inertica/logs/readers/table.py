"""What every reader delivers: named columns of equal length, with the words that tell users where a value stands in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.errors import FileError
from inertica.logs.names import clock_word
from inertica.logs.units import SIGNALS

Values = NDArray[np.generic]

MAX_COLUMNS = 10_000
"""More than any log has; what is larger is a matrix of something else."""


SIMULATED = "simulated with the links of"
"""How the note begins that says which model made a log; the only one that the plain form keeps, as a comment."""


LEFT_OUT = "-"
"""In a stated list of columns: this one is not needed."""


_NANOSECONDS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 6e10, "h": 3.6e12, "D": 8.64e13, "W": 6.048e14, "M": 2.63e15, "Y": 3.156e16}
"""Of NumPy's units of time that are longer than one."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a file before anybody knows what they mean.

    Args:
        path: the file or folder.
        format: as in `Origin.format`.
        columns: name -> (N,) numbers, integer or float.
        lines: (N,) line of each row for text files.
        joints: joint names the format itself states (JointState, LeRobot), in its order.
        masks: reason -> (N,) True for rows the reader found incomplete.
        warnings, notes: sentences for the log.
        truth: exact signals saved with a simulated log.
        start: seconds since 1970 that the reader took off the clock.
        words: columns that hold something else than numbers, with the error for whoever needs them.
        part: what of the file it is, where that holds several, such as a topic.
        beside: what the same recording holds on clocks of its own, such as topics with the motion of a base.
    """

    path: Path
    format: str
    columns: Mapping[str, Values]
    lines: NDArray[np.intp] | None = None
    joints: tuple[str, ...] = ()
    masks: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    truth: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    start: float | None = None
    words: Mapping[str, FileError] = field(default_factory=dict)
    part: str = ""
    beside: tuple[Table, ...] = ()

    @property
    def name(self) -> str:
        """For sentences that tell tables apart."""
        return self.part or self.path.name

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def place(self, row: int) -> str:
        """`line 17` or `sample 16`: where a row stands in the file."""
        return f"line {self.lines[row]}" if self.lines is not None else f"sample {row + 1}"

    def shown(self, limit: int = 20) -> str:
        """The column names, for messages."""
        names = list(self.columns)
        more = f", ... ({len(names)} in all)" if len(names) > limit else ""
        return ", ".join(names[:limit]) + more if names else "none"


def renamed(table: Table, names: tuple[str, ...] | None) -> Table:
    """The table with all its columns named anew, in order, a `-` for those that are not needed; itself where no names are stated."""
    if names is None:
        return table
    if len(table.columns) != len(names):
        raise FileError(
            table.path,
            f"{len(names)} columns are stated ({', '.join(names[:20])}), but the file has {len(table.columns)}: {table.shown()}",
        )
    needed = [name for name in names if name != LEFT_OUT]
    if len(set(needed)) != len(needed):
        twice = next(name for name in needed if needed.count(name) > 1)
        raise FileError(table.path, f"the stated columns name '{twice}' twice; every column needs a name of its own")
    pairs = zip(names, table.columns.values(), strict=True)
    columns = {name if name != LEFT_OUT else f"column_{k + 1}": values for k, (name, values) in enumerate(pairs)}
    return replace(table, columns=columns, notes=(*table.notes, f"the columns {table.shown()} were named as stated"))


def numeric(values: Values) -> Values | None:
    """Numbers of an array as float64 or int64 (clocks in ns lose digits as floats), None when it holds none."""
    if values.dtype.kind in "iu":
        wide = values.astype(np.float64) if values.dtype == np.uint64 else values.astype(np.int64)
        return np.ascontiguousarray(wide)
    if values.dtype.kind in "fb":
        return np.ascontiguousarray(values, dtype=np.float64)
    if values.dtype.kind in "mM":
        return nanoseconds(values)
    return None


def nanoseconds(values: Values) -> Values:
    """Dates and durations as int64 ns; as float64 with NaN where some are missing or beyond what int64 holds (1679 to 2261)."""
    unit, multiple = np.datetime_data(values.dtype.str)
    # by size, not by trying: a conversion that leaves int64 wraps around before NumPy 2.5 and raises from then on
    size = np.abs(values.view(np.int64).astype(np.float64)) * multiple * _NANOSECONDS.get(unit, 1.0)
    held = ~np.isnat(values) & (size < 9.2e18)
    whole = np.where(held, values, np.zeros((), values.dtype)).astype(f"{values.dtype.kind}8[ns]").view(np.int64)
    return whole if held.all() else np.where(held, whole, np.nan)


def columns_of(path: Path, arrays: Mapping[str, Values]) -> tuple[dict[str, Values], list[str]]:
    """Columns of named arrays: vectors as they are, (N, n) matrices as name1 ... namen, whichever way round they lie.

    N is the length of the clock when one is there, else the longest side.  Returns the columns and notes on what was left out.
    """
    usable, notes = _usable(arrays)
    if not usable:
        raise FileError(path, "holds no array of numbers; a log needs arrays such as t (N), q (N, n) and tau (N, n)")
    rows = _row_count(usable)
    columns: dict[str, Values] = {}
    for name, values in usable.items():
        if values.ndim == 2 and values.shape[0] != rows and values.shape[1] == rows:
            values = values.T
        if values.shape[0] != rows or (values.ndim == 2 and values.shape[1] > MAX_COLUMNS):
            if name in SIGNALS:
                raise FileError(path, f"the array '{name}' has the shape {values.shape}, but the clock has {rows} samples")
            notes.append(f"the array '{name}' of shape {values.shape} was left out: it has not {rows} samples")
            continue
        matrix = values[:, None] if values.ndim == 1 else values
        names = [name] if values.ndim == 1 else [f"{name}{'_' * name[-1:].isdigit()}{k + 1}" for k in range(matrix.shape[1])]
        for k, column in enumerate(names):
            if column in columns:
                raise FileError(path, f"two arrays give the column '{column}'; rename one of them")
            columns[column] = matrix[:, k]
    return columns, notes


def _usable(arrays: Mapping[str, Values]) -> tuple[dict[str, Values], list[str]]:
    usable: dict[str, Values] = {}
    skipped: list[str] = []
    for name, values in arrays.items():
        numbers = numeric(np.asarray(values))
        if numbers is not None and numbers.ndim == 2 and 1 in numbers.shape and clock_word(name):
            numbers = numbers.ravel()
        if numbers is None or numbers.ndim not in (1, 2) or numbers.size == 0:
            skipped.append(name)
        else:
            usable[name] = numbers
    notes = [f"left out, being no vectors or matrices of numbers: {', '.join(skipped)}"] if skipped else []
    return usable, notes


def _row_count(arrays: Mapping[str, Values]) -> int:
    clocks = [values for name, values in arrays.items() if clock_word(name) and values.ndim == 1]
    return len(clocks[0]) if clocks else max(max(values.shape) for values in arrays.values())
