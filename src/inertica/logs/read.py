"""`read_log`: any supported file becomes a `Log`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.errors import FileError, Fix, InputError
from inertica.escape import one_line
from inertica.logs.channels import ChannelSelection, select
from inertica.logs.clock import Clock, read_clock
from inertica.logs.clock_unit import unit_by_velocity
from inertica.logs.closed import closed_signals, limits_of, select_recorded
from inertica.logs.convert import converted, si_factor
from inertica.logs.elsewhere import elsewhere
from inertica.logs.even import evened
from inertica.logs.floating import read_base
from inertica.logs.joined import joined, split_files
from inertica.logs.log import Channel, Log, Origin
from inertica.logs.names import take_apart
from inertica.logs.noise import extremes
from inertica.logs.readers.formats import find_format
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import SIMULATED, Table, Values, renamed
from inertica.logs.slices import split_slice
from inertica.logs.stamps import with_whole_stamps
from inertica.logs.units import SIGNALS
from inertica.robot.description import Description
from inertica.robot.settings import is_of_base

_NEEDED = ("q", "dq", "theta", "dtheta", "tau", "taum", "i")
"""Signals whose missing values mask a sample; references and accelerations are extras."""

_FAR = 4.0 * np.pi
"""No joint of an arm turns further than two revolutions either way; beyond, the unit is probably degrees."""


def read_log(spec: str | Path, description: Description | None = None, options: ReadOptions | None = None, **stated: Any) -> Log:
    """Read a log.

    Args:
        spec: the file or folder, with `@t0:t1` behind it for a slice of time; `positions.csv+torques.csv` joins files on their clocks.
        description: the robot; without it the log decides how many joints there are.
        options: how to read it.
        stated: single options by name, such as rate=500.0 or units={"q": "deg"}: the fields of `ReadOptions`.

    Examples:
        >>> log = ia.read_log("run1.csv.gz@2:4", ia.load("card.yaml"))
        >>> round(float(log.t[0]), 3), round(float(log.t[-1]), 3)
        (2.0, 4.0)
    """
    path, interval = split_slice(spec)
    options = replace(options or ReadOptions(), **stated).completed(description)
    tables = [table for part in split_files(path) for table in _tables(part, options)]
    log = log_of(joined(path, tables, options) if len(tables) > 1 else tables[0], description, options)
    return log.sliced(*interval) if interval else log


def _tables(path: Path, options: ReadOptions) -> tuple[Table, ...]:
    """The columns of a file, and what it holds on other clocks; a text table without a header has its stated names already."""
    table = find_format(path).read(path, options)
    return (table if table.format == "csv" else renamed(table, options.header), *table.beside)


def log_of(table: Table, description: Description | None, options: ReadOptions) -> Log:
    """The log of a table, with the options completed by the description."""
    if table.rows < 2:
        raise FileError(table.path, f"holds {table.rows or 'no'} sample{'s' * (table.rows != 1)}; a log needs two or more")
    log = _assemble(table if "t" in options.column_map else with_whole_stamps(table), description, options)
    if np.count_nonzero(~log.mask) < 2:
        raise FileError(table.path, f"fewer than two of {len(log)} samples are usable: {one_line('; '.join(log.warnings))}")
    return evened(log)


def _assemble(table: Table, description: Description | None, options: ReadOptions) -> Log:
    """The log of a table."""
    stated_joints = {symbol: name for symbol, name in options.column_map.items() if not is_of_base(symbol)}
    if description is None:
        selection = select(table, options.joints, stated_joints)
        joints = tuple(range(len(selection.joints)))
    else:
        selection, joints = select_recorded(table, options.joints or (), stated_joints, description)
    units = options.units or {}
    driven = description.robot.driven if description else len(joints)
    prismatic = [description.robot.joints[j].prismatic if description else False for j in joints]
    names = description.robot.joint_names[:driven] if description else selection.joints
    recorded, channels = _signals(table, selection, prismatic, units)
    clock = _clock(table, selection, recorded, units.get("t", ""), options.rate)
    side = "joint" if options.side is None and _simulated(table) else options.side
    card, limits = (description.log, description.robot.limits) if description else ({}, None)
    robot = description.robot if description else None
    of_joints = recorded
    if robot is not None and robot.loops is not None:
        limits = limits_of(robot, robot.independent)
        of_joints = {s: x[:, [joints.index(j) for j in robot.independent]] for s, x in recorded.items()}
    signals, notes, warnings = converted(of_joints, card, options.offset, selection.efforts, side, limits)
    if robot is not None and robot.loops is not None:
        whole = recorded if len(joints) == driven else {}
        signals, closing = closed_signals(table, robot, clock.t, signals, whole)
        notes, prismatic = [*notes, *closing], [joint.prismatic for joint in robot.joints[:driven]]
    missing, faults = _missing_values(table, selection, recorded)
    far = _far(signals, names, prismatic)
    used = {h.text for row in selection.signals.values() for h in row if h}
    others = elsewhere(table, used, description) if description else []
    masks = {**table.masks, **clock.masks, **missing}
    if description is not None and description.robot.floating:
        stated = {symbol: str(name) for symbol, name in options.column_map.items() if is_of_base(symbol)}
        base = read_base(table, description, stated, clock.t, signals.get("q", np.zeros((table.rows, driven))))
        signals, names = base.joined(signals), description.robot.joint_names
        masks, notes = {**masks, **base.masks}, [*notes, *base.notes]
    return Log(
        t=clock.t,
        signals=signals,
        joints=tuple(names),
        channels=channels,
        masks=masks,
        origin=Origin(
            path=table.path,
            format=table.format,
            columns={symbol: tuple(h.text if h else "" for h in row) for symbol, row in selection.signals.items()},
            start=clock.start,
            seconds_assumed=clock.assumed,
        ),
        warnings=(*table.warnings, *selection.warnings, *clock.warnings, *warnings, *faults, *far, *others),
        notes=(*table.notes, *selection.notes, *clock.notes, *notes),
        truth=table.truth,
        linkage=robot if robot is not None and robot.loops is not None else None,
    )


def _simulated(table: Table) -> bool:
    """Whether `simulate` wrote the file: what it writes is on the joint side."""
    return any(note.startswith(SIMULATED) for note in table.notes)


def _clock(
    table: Table, selection: ChannelSelection, signals: Mapping[str, NDArray[np.float64]], unit: str, rate: float | None
) -> Clock:
    """The clock of a table; where neither its header nor the user states its unit, recorded velocities may tell it."""
    header = selection.clock
    if header is None:
        return _counted(table, rate)
    known = header.unit or unit
    likely = None if known else _told_unit(table.columns[header.text].astype(np.float64), signals)
    clock = read_clock(table, header.text, known or likely or "")
    notes = (
        () if rate is None else (f"the file has a clock, '{header.text}', so that the stated rate of {rate:g} Hz is not used",)
    )
    sentence = (
        f"the clock '{header.text}' is taken to be in {likely}: only then are the recorded velocities those of the positions; "
        f"--unit t={likely}, units: {{t: {likely}}} in the card, or '{header.text} [{likely}]' in the header states it",
    )
    return replace(clock, notes=(*clock.notes, *notes), warnings=(*(sentence if likely else ()), *clock.warnings))


def _told_unit(t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]]) -> str | None:
    pairs = [(signals[x], signals[dx]) for x, dx in (("q", "dq"), ("theta", "dtheta")) if x in signals and dx in signals]
    return unit_by_velocity(t, *pairs[0]) if pairs else None


def _counted(table: Table, rate: float | None) -> Clock:
    """A clock that counts samples."""
    if rate is None:
        raise FileError(
            table.path,
            f"no column is recognised as the clock; the file has: {table.shown()}",
            fix=Fix(
                "rate",
                "name it in the card (columns: {t: NAME}) or, if the file has none, state the sampling rate: --rate 1000 on the "
                "command line, rate: 1000 in the card",
            ),
        )
    if not 0.0 < rate < np.inf:
        raise InputError(f"the rate should be a number of Hz greater than zero, not {rate:g}")
    return Clock(np.arange(table.rows) / rate, None, {}, (), (f"the file has no clock; t counts samples at {rate:g} Hz",))


def _signals(
    table: Table, selection: ChannelSelection, prismatic: Sequence[bool], units: Mapping[str, str]
) -> tuple[dict[str, NDArray[np.float64]], tuple[Channel, ...]]:
    """Signals in SI units, and every column as recorded."""
    signals: dict[str, NDArray[np.float64]] = {}
    used: dict[str, Channel] = {}
    for symbol, row in selection.signals.items():
        columns: list[Values | None] = [None] * len(row)
        factors = [1.0] * len(row)
        for j, header in enumerate(row):
            if header is None:
                continue
            si = SIGNALS[symbol].linear if prismatic[j] else SIGNALS[symbol].unit
            unit = header.unit or units.get(symbol, "") or si
            columns[j] = raw = table.columns[header.text]
            factors[j] = si_factor(symbol, unit, prismatic[j], f"{table.path}: the column '{header.text}'")
            used[header.text] = Channel(header.text, symbol, j, unit, raw)
        signals[symbol] = _in_si(columns, factors, table.rows)
    rest = (Channel(name, "", None, take_apart(name).unit, raw) for name, raw in table.columns.items() if name not in used)
    return signals, (*used.values(), *rest)


def _in_si(columns: Sequence[Values | None], factors: Sequence[float], rows: int) -> NDArray[np.float64]:
    """(N, n) columns times their factors, NaN for those that are not there; the recorded matrix itself where nothing is to be done."""
    if all(factor == 1.0 for factor in factors) and (whole := _matrix(columns)) is not None:
        return whole
    values = np.full((rows, len(columns)), np.nan)
    for j, (column, factor) in enumerate(zip(columns, factors, strict=True)):
        if column is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                np.multiply(column, factor, out=values[:, j])
    return values


def _matrix(columns: Sequence[Values | None]) -> NDArray[np.float64] | None:
    """The matrix of float64 whose columns these are, all of them and in this order; None where they are not."""
    first, size = columns[0], 8 * len(columns)
    if first is None or first.base is None:
        return None
    start = first.__array_interface__["data"][0]
    for j, column in enumerate(columns):
        if column is None or column.base is not first.base or column.dtype != np.float64 or column.strides != (size,):
            return None
        if column.__array_interface__["data"][0] != start + 8 * j:
            return None
    return np.lib.stride_tricks.as_strided(first.astype(np.float64, copy=False), (len(first), len(columns)), (size, 8))


def _missing_values(
    table: Table, selection: ChannelSelection, signals: Mapping[str, NDArray[np.float64]]
) -> tuple[dict[str, NDArray[np.bool_]], list[str]]:
    """Mask samples in which a signal has no finite value; a channel without any value at all is said, not masked."""
    masks: dict[str, NDArray[np.bool_]] = {}
    warnings: list[str] = []
    whole = np.zeros(table.rows, bool)
    for symbol, values in signals.items():
        headers = [] if np.isfinite(values).all() else selection.signals[symbol]
        for j, header in enumerate(headers):
            if header is None:
                continue
            bad = ~np.isfinite(values[:, j])
            if not bad.any():
                continue
            if bad.all():
                warnings.append(f"the column '{header.text}' has no value at all")
                continue
            first = int(np.flatnonzero(bad)[0])
            masked = symbol in _NEEDED
            what = "they are masked" if masked else "it is not used there"
            count = int(np.count_nonzero(bad))
            warnings.append(
                f"{count} values of '{header.text}' are missing or not finite (the first at {table.place(first)}); {what}"
            )
            if masked:
                whole |= bad
    if whole.any():
        masks["missing value"] = whole
    return masks, warnings


def _far(signals: Mapping[str, NDArray[np.float64]], names: Sequence[str], prismatic: Sequence[bool]) -> list[str]:
    """A warning for angles that are too large to be radians."""
    q = signals.get("q")
    if q is None:
        return []
    low, high = extremes(q if np.isfinite(q).all() else np.where(np.isfinite(q), q, 0.0))
    reach = np.maximum(high, -low)
    far = [f"{name} ({x:.4g})" for name, x, p in zip(names, reach, prismatic, strict=True) if x > _FAR and not p]
    if not far:
        return []
    what = "all joints" if len(far) == len(names) else f"{', '.join(far)} but not of the other joints"
    return [
        f"the angles of {what} exceed two revolutions; if they are degrees, state the unit in the header, such as 'q1 [deg]', "
        'on the command line (--unit q=deg), or as units={"q": "deg"}'
    ]
