"""Clocks in two columns, whole seconds and nanoseconds, as the stamps of ROS messages are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inertica.logs.names import tokens
from inertica.logs.readers.table import Table, Values

SECONDS = {"sec", "secs", "seconds"}
NANOSECONDS = {"nsec", "nsecs", "nanosec", "nanosecs", "nanoseconds"}


def with_whole_stamps(table: Table) -> Table:
    """The table with one clock in ns in place of a pair such as `header.stamp.sec`, `header.stamp.nanosec`; itself without one."""
    words = {name: tokens(name) for name in table.columns}
    for name, (*head, last) in ((name, parts_of) for name, parts_of in words.items() if parts_of):
        if last not in SECONDS:
            continue
        rest = [other for other, parts_of in words.items() if parts_of[:-1] == head and parts_of[-1] in NANOSECONDS]
        if len(rest) != 1 or not (_whole(table.columns[name]) and _whole(table.columns[rest[0]])):
            continue
        stamp = table.columns[name].astype(np.int64) * 1_000_000_000 + table.columns[rest[0]].astype(np.int64)
        clock = "_".join([*(word for word in head if word != "stamp"), "stamp"])
        if clock in table.columns:
            continue
        columns = {clock: stamp, **{other: values for other, values in table.columns.items() if other not in (name, rest[0])}}
        return replace(table, columns=columns, notes=(*table.notes, f"the clock is '{name}' and '{rest[0]}' together, in ns"))
    return table


def _whole(values: Values) -> bool:
    return bool(np.all(np.isfinite(values)) and np.all(values == np.rint(values)))
