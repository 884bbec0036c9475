"""Logs whose signals were recorded into several files, `positions.csv+torques.csv`: joined on their clocks.

The clock of the first file counts.  Columns of the others are brought to it: interpolated between samples where they are slower,
averaged over the interval around each sample where they are faster, which delays nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.logs.channels import find_clock
from inertica.logs.clock import read_clock
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import Table
from inertica.logs.stamps import with_whole_stamps

MARK = "+"

GAP = 3.0
"""Times the usual interval from which a file has a gap that is not interpolated over."""


def split_files(path: Path) -> list[Path]:
    """The files of a name such as `a.csv+b.csv`; later ones may be named without the folder of the first."""
    if MARK not in path.name and MARK not in str(path):
        return [path]
    if path.exists():
        return [path]
    first, *others = (Path(part) for part in str(path).split(MARK))
    if not first.exists():
        return [path]
    return [first, *(other if other.exists() else first.parent / other for other in others)]


@dataclass(frozen=True, eq=False)
class _Timed:
    """A table with its clock in s; rows whose time cannot be trusted are not in use."""

    table: Table
    t: Array
    use: NDArray[np.bool_]
    start: float | None
    clock: str

    @property
    def span(self) -> str:
        return f"{self.table.name} from {self.t[self.use][0]:.6g} to {self.t[self.use][-1]:.6g} s"

    @property
    def interval(self) -> float:
        return float(np.median(np.diff(self.t[self.use])))


def joined(path: Path, tables: Sequence[Table], options: ReadOptions) -> Table:
    """One table with the columns of all, on the rows of the first that all of them cover."""
    if all(find_clock(table, options.column_map) is None for table in tables):
        return _row_by_row(path, tables)
    first, *others = (_timed(table, options) for table in tables)
    columns = dict(first.table.columns)
    inside = first.use.copy()
    notes = list(first.table.notes)
    for other in others:
        other = _on_clock_of(first, other)
        other_times = other.t[other.use]
        inside &= (first.t >= other_times[0]) & (first.t <= other_times[-1])
        if np.count_nonzero(inside) < 2:
            raise InputError(
                f"the clocks of {first.span} and {other.span} do not overlap, so that the files cannot be joined; they need a "
                "common clock: take the same starting time off both, or state the unit if it is not seconds (--unit t=ms)"
            )
        added = {name: _brought(first, other, values) for name, values in other.table.columns.items() if name != other.clock}
        if twice := [name for name in added if name in columns]:
            raise InputError(f"{path}: the column '{twice[0]}' is in more than one of the files; rename it in one of them")
        columns |= added
        notes += [
            *other.table.notes,
            f"{other.table.name} was brought to the clock of {first.table.name} ({_how(first, other)})",
        ]
    words = {name: error for table in tables for name, error in table.words.items() if name not in columns}
    lines = None if first.table.lines is None else first.table.lines[inside]
    masks = {reason: mask[inside] for reason, mask in first.table.masks.items()}
    warnings = tuple(w for table in tables for w in table.warnings)
    joints = next((table.joints for table in tables if table.joints), ())
    return replace(
        first.table, path=path, columns={name: values[inside] for name, values in columns.items()}, lines=lines, masks=masks,
        warnings=warnings, notes=tuple(notes), words=words, joints=joints, beside=(),
    )  # fmt: skip


def _timed(table: Table, options: ReadOptions) -> _Timed:
    table = table if "t" in options.column_map else with_whole_stamps(table)
    header = find_clock(table, options.column_map)
    if header is None:
        raise InputError(
            f"{table.path}: has no column that is recognised as a clock, by which it could be joined; it has: {table.shown()}"
        )
    clock = read_clock(table, header.text, header.unit or (options.units or {}).get("t", ""))
    use = np.isfinite(clock.t)
    for mask in clock.masks.values():
        use &= ~mask
    if np.count_nonzero(use) < 2:
        raise InputError(f"{table.path}: fewer than two samples have a time")
    return _Timed(table, clock.t, use, clock.start, header.text)


def _on_clock_of(first: _Timed, other: _Timed) -> _Timed:
    """The other file's time as the first one counts it; clocks that count from 1970 have had their starts taken off."""
    if first.start is None or other.start is None:
        return other
    return replace(other, t=other.t + (other.start - first.start))


def _brought(first: _Timed, other: _Timed, values: NDArray[np.generic]) -> Array:
    """(N,) a column of the other file at the times of the first."""
    column = values.astype(np.float64)
    use = other.use & np.isfinite(column)
    out = np.full(len(first.t), np.nan)
    at = np.flatnonzero(np.isfinite(first.t))
    t, x = other.t[use], column[use]
    if len(t) < 2:
        return out
    when, half = first.t[at], 0.5 * first.interval
    interpolated = np.interp(when, t, x, left=np.nan, right=np.nan)
    low, high = np.searchsorted(t, when - half, "left"), np.searchsorted(t, when + half, "right")
    several = high - low > 1
    sums = np.concatenate([[0.0], np.cumsum(x - x.mean())])
    interpolated[several] = (sums[high] - sums[low])[several] / (high - low)[several] + x.mean()
    after = np.clip(np.searchsorted(t, when), 1, len(t) - 1)
    interpolated[t[after] - t[after - 1] > GAP * max(other.interval, first.interval)] = np.nan
    out[at] = interpolated
    return out


def _how(first: _Timed, other: _Timed) -> str:
    """What was done to the columns."""
    ratio = first.interval / other.interval
    return f"averaged, {ratio:.3g} samples to one" if ratio > 1.5 else "interpolated"


def _row_by_row(path: Path, tables: Sequence[Table]) -> Table:
    """Files without a clock: sample by sample, if they have as many."""
    counts = [table.rows for table in tables]
    if len(set(counts)) > 1:
        row_counts = ", ".join(f"{table.name} has {table.rows}" for table in tables)
        raise InputError(f"{path}: files without a clock are joined sample by sample, but {row_counts}; give them a clock")
    columns: dict[str, NDArray[np.generic]] = {}
    for table in tables:
        if twice := [name for name in table.columns if name in columns]:
            raise InputError(f"{path}: the column '{twice[0]}' is in more than one of the files; rename it in one of them")
        columns |= table.columns
    first = tables[0]
    notes = tuple(note for table in tables for note in table.notes)
    return replace(first, path=path, columns=columns, notes=notes, words={k: v for t in tables for k, v in t.words.items()})
