"""The clock of a log: its unit, its start, and the samples at which it does not advance."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.errors import FileError
from inertica.logs.readers.table import Table
from inertica.logs.units import factor

YEAR_2000, YEAR_2100 = 946_684_800.0, 4_102_444_800.0
_SCALES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_FEW = 0.02
"""Up to this share of samples is taken for single faults of a clock; more are a clock that restarts."""


@dataclass(frozen=True)
class Clock:
    """Time in s, and what was found.

    Args:
        t: (N,) seconds.
        start: seconds since 1970 that were taken off.
        masks: reason -> (N,) samples at which the clock cannot be trusted.
        warnings, notes: sentences.
        assumed: neither header nor user states a unit, and nothing but habit speaks for seconds.
    """

    t: NDArray[np.float64]
    start: float | None
    masks: dict[str, NDArray[np.bool_]]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    assumed: bool = False


def read_clock(table: Table, column: str, unit: str = "") -> Clock:
    """Seconds of a clock column; its unit is the stated one, else recognised where the numbers leave no doubt."""
    raw = np.asarray(table.columns[column])
    values = raw.astype(np.float64)
    finite = np.isfinite(values)
    if np.count_nonzero(finite) < 2:
        raise FileError(table.path, f"the clock '{column}' has fewer than two values; a log needs two samples or more")
    typical = float(np.median(values[finite]))
    first = int(np.flatnonzero(finite)[0])
    notes: list[str] = []
    warnings: list[str] = []
    scale = (
        factor(unit, "s", f"{table.path}: the clock '{column}'")
        if unit
        else _recognised(table, column, values[finite], notes, warnings)
    )
    assumed = not unit and scale == 1.0
    start: float | None = table.start
    if YEAR_2000 <= typical * scale <= YEAR_2100:
        # a clock that was set after the computer had started does not begin with such a time
        first = int(np.flatnonzero(finite & (values * scale >= YEAR_2000))[0])
        start = float(values[first] * scale)
        t, assumed = _scaled(_since(raw, values, first), scale), False
        notes.append(f"'{column}' counts from 1970; t is 0 at its first value, {start:.3f} s")
    else:
        t = _scaled(values, scale)
    masks = _faults(table, column, t, warnings)
    return Clock(t, start, masks, tuple(warnings), tuple(notes), assumed)


def _scaled(values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """values * scale; parts of a second are divided by, which rounds once where the product of a rounded 1e-9 rounds twice."""
    return values * scale if scale >= 1.0 else values / round(1.0 / scale)


def _since(raw: NDArray[np.generic], values: NDArray[np.float64], first: int) -> NDArray[np.float64]:
    """Differences to the first value; integers are subtracted as such: nanoseconds since 1970 exceed the digits of a float."""
    rough = values - values[first]
    if raw.dtype.kind != "i":
        return rough
    exact = raw.astype(np.int64) - np.int64(raw[first])
    return np.where(np.abs(rough) < 2.0**62, exact, rough)


def _recognised(table: Table, column: str, values: NDArray[np.float64], notes: list[str], warnings: list[str]) -> float:
    """Seconds per unit of a clock that does not state its unit."""
    typical = float(np.median(values))
    for unit, scale in _SCALES.items():
        # one decade around today suffices to tell s, ms, us and ns since 1970 apart: they differ by 1000
        if YEAR_2000 <= typical * scale <= YEAR_2100:
            if unit != "s":
                notes.append(f"'{column}' is in {unit} since 1970, as its size shows")
            return scale
    steps = np.abs(np.diff(values))
    steps = steps[steps > 0.0]
    step = float(np.median(steps)) if len(steps) else 0.0
    whole = bool(np.all(values == np.rint(values)))
    if whole and 1e6 <= step < 1e9:
        notes.append(f"'{column}' is in ns: whole numbers with steps of {step:g}")
        return 1e-9
    how = f"state the unit in the header, such as '{column} [ms]', or on the command line, such as --unit t=ms"
    if step >= 1e3:
        raise FileError(table.path, f"the clock '{column}' advances by {step:g} per sample, which cannot be seconds; {how}")
    if step > 1.0:
        warnings.append(f"the clock '{column}' advances by {step:g} per sample and was taken for seconds; if it is not, {how}")
    return 1.0


def _faults(table: Table, column: str, t: NDArray[np.float64], warnings: list[str]) -> dict[str, NDArray[np.bool_]]:
    """Masks for samples without time and for those that do not advance."""
    masks: dict[str, NDArray[np.bool_]] = {}
    finite = np.isfinite(t)
    if not finite.all():
        masks["no time"] = ~finite
        _warn(table, warnings, ~finite, f"have no time in '{column}'")
    rows = np.flatnonzero(finite)
    times = t[rows]
    if np.all(np.diff(times) > 0.0):
        return masks
    repeated = np.concatenate([[False], np.diff(times) == 0.0])
    backward = np.zeros(len(times), bool)
    backward[~repeated] = ~_longest_increasing(times[~repeated])
    if np.count_nonzero(backward) > max(5, _FEW * len(times)):
        backward = ~_longest_stretch(times, ~repeated) & ~repeated
        reason, words = (
            "clock restarts",
            "lie outside the longest stretch in which the clock advances; split the file there or sort it",
        )
    else:
        reason, words = "clock goes back", "are out of order in time"
    for name, mask, text in (("time repeated", repeated, "repeat the time before them"), (reason, backward, words)):
        if mask.any():
            whole = np.zeros(len(t), bool)
            whole[rows[mask]] = True
            masks[name] = whole
            _warn(table, warnings, whole, text)
    return masks


def _warn(table: Table, warnings: list[str], mask: NDArray[np.bool_], words: str) -> None:
    first = int(np.flatnonzero(mask)[0])
    warnings.append(
        f"{int(np.count_nonzero(mask))} of {len(mask)} samples {words} (the first at {table.place(first)}); they are masked"
    )


def _longest_increasing(t: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The most samples that can stay so that time increases (longest increasing subsequence by patience sorting).

    It runs from the end, so that of two ways to drop equally many samples the one that keeps the earlier ones is taken.
    """
    ends: list[float] = []
    at: list[int] = []
    before = np.full(len(t), -1)
    for k, value in enumerate((-t[::-1]).tolist()):
        pile = bisect_left(ends, value)
        if pile == len(ends):
            ends.append(value)
            at.append(k)
        else:
            ends[pile], at[pile] = value, k
        before[k] = at[pile - 1] if pile else -1
    increasing = np.zeros(len(t), bool)
    k = at[-1]
    while k >= 0:
        increasing[k] = True
        k = int(before[k])
    return increasing[::-1]


def _longest_stretch(t: NDArray[np.float64], use: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The longest run of samples in use over which time increases."""
    rows = np.flatnonzero(use)
    breaks = np.flatnonzero(np.diff(t[rows]) <= 0.0) + 1
    edges = np.concatenate([[0], breaks, [len(rows)]])
    longest = int(np.argmax(np.diff(edges)))
    stretch = np.zeros(len(t), bool)
    stretch[rows[edges[longest] : edges[longest + 1]]] = True
    return stretch
