"""A log from a frame of pandas or polars, or from plain columns, by the same rules as from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from inertica.errors import InputError
from inertica.logs.log import Log
from inertica.logs.read import log_of
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import Table, Values, numeric
from inertica.robot.description import Description


def from_frame(frame: Any, description: Description | None = None, options: ReadOptions | None = None, **stated: Any) -> Log:
    """The log of a frame; names, units and clock of its columns mean what they mean in a CSV file.

    Args:
        frame: of pandas or polars, or a mapping from names to values.  A named index of pandas counts as a column; columns of dates
            are clocks; what holds no numbers is passed over, and a note says so.
        description: the robot; without it the columns decide how many joints there are.
        options, stated: as for `read_log`.

    Examples:
        >>> frame = {"t": np.arange(5) / 100, "q1": np.zeros(5), "q2": np.ones(5), "tau1": np.zeros(5), "tau2": np.zeros(5)}
        >>> ia.from_frame(frame, ia.load("scara2")).need("q").shape
        (5, 2)
    """
    if not isinstance(frame, Mapping) and not hasattr(frame, "columns"):
        raise InputError(
            f"a log is made from a frame of pandas or polars or from a mapping of columns, not from {type(frame).__name__}"
        )
    columns: dict[str, Values] = {}
    passed = []
    for name, series in _columns(frame):
        values = _numbers(np.asarray(series))
        if values is None:
            passed.append(name)
        else:
            columns[f"{name} [ns]" if np.asarray(series).dtype.kind in "mM" else name] = values
    notes = (f"columns without numbers were passed over: {', '.join(passed)}",) if passed else ()
    table = Table(Path("frame"), "frame", columns, notes=notes)
    return log_of(table, description, replace(options or ReadOptions(), **stated).completed(description))


def _columns(frame: Any) -> list[tuple[str, Any]]:
    if isinstance(frame, Mapping):
        return [(str(name), values) for name, values in frame.items()]
    index = getattr(frame, "index", None)
    name = getattr(index, "name", None)
    index_column = [] if name is None else [(str(name), index)]
    return index_column + [(str(name), frame[name]) for name in frame.columns]


def _numbers(values: np.ndarray) -> Values | None:
    """Numbers of a column."""
    if values.ndim != 1:
        return None
    if values.dtype.kind == "O":  # None among numbers
        try:
            return np.array([np.nan if x is None else float(x) for x in values])
        except (TypeError, ValueError):
            return None
    return numeric(values)
