"""Folders of one motion in which state, commands and names of joints are text files of their own, with lists in their cells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.errors import FileError
from inertica.logs.names import clock_word
from inertica.logs.readers import csvfile
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.table import Table

STATE, CONTROL = "state_motor.csv", "control.csv"


def read(path: Path, options: ReadOptions) -> Table:
    """The measured state, and as references the commands that were in force at its samples."""
    if not (path / STATE).is_file():
        raise FileError(path, f"has a list of joints but no {STATE} with what was measured")
    state = replace(csvfile.read(path / STATE, options), path=path)
    if not (path / CONTROL).is_file():
        return state
    control = csvfile.read(path / CONTROL, replace(options, columns=None))
    clocks = [next((name for name in table.columns if clock_word(name)), None) for table in (state, control)]
    if clocks[0] is None or clocks[1] is None:
        note = f"{CONTROL} was left out: there is no clock to hold it against {STATE}"
        return replace(state, notes=(*state.notes, note))
    at = _in_force(control.columns[clocks[1]], state.columns[clocks[0]])
    commands = {}
    for name, values in control.columns.items():
        if name != clocks[1]:
            commands[f"reference_{name}"] = np.where(at >= 0, values.astype(float)[at], np.nan)
    note = f"references are the commands of {CONTROL} that were in force at each sample"
    return replace(state, columns={**state.columns, **commands}, notes=(*state.notes, note))


def _in_force(commanded: NDArray[np.generic], measured: NDArray[np.generic]) -> NDArray[np.intp]:
    """(N,) number of the last command at or before each measured sample; -1 before the first."""
    return np.searchsorted(commanded.astype(float), measured.astype(float), "right") - 1
