"""Samples as CSV: t, q1..qn, dq1..dqn, ddq1..ddqn in SI units."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from inertica.errors import FileError
from inertica.excitation.sampled import Sampled
from inertica.excitation.trajectory import Array, Trajectory
from inertica.numbers import whole
from inertica.robot.yamlfile import read_text
from inertica.writing import write_whole

_NAME = re.compile(r"(ddq|dq|q)_?(\d+)$")


def write_samples(trajectory: Trajectory, path: str | Path, rate: float) -> None:
    """Samples for a controller at a rate in Hz, from 0 to the period, both included.

    Examples:
        >>> ia.write_samples(ia.load_trajectory("traj.yaml"), "traj.csv", rate=500)
    """
    t = sample_times(trajectory, rate)
    write_table(path, t, *trajectory(t))


def sample_times(trajectory: Trajectory, rate: float) -> Array:
    """Instants from 0 on, a period apart from the last one at most; the end of the motion is included."""
    count = int(np.floor(trajectory.period * rate * (1.0 + 1e-12)))
    t = np.arange(count + 1) / rate
    return t if t[-1] >= trajectory.period * (1.0 - 1e-12) else np.append(t, trajectory.period)


def write_table(path: str | Path, t: Array, *signals: Array | None) -> None:
    """A header and one row per sample; numbers are written so that they are read back exactly."""
    names, columns = ["t"], [np.asarray(t, float)[:, None]]
    for name, values in zip(("q", "dq", "ddq"), signals, strict=False):
        if values is not None:
            names += [f"{name}{j + 1}" for j in range(values.shape[1])]
            columns.append(values)
    rows = np.hstack(columns)
    write_whole(path, ",".join(names) + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()))


def read_samples(path: str | Path, interpolation: str = "makima") -> Sampled:
    """A motion from a CSV with the header t, q1..qn and optionally dq1..dqn, ddq1..ddqn; SI units."""
    rows = list(csv.reader(read_text(path).splitlines()))
    while rows and not any(cell.strip() for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise FileError(path, "the file is empty; expected the header t,q1,..,qn and samples")
    places = _columns(path, [name.strip() for name in rows[0]])
    values = _numbers(path, rows)
    signals: dict[str, Array | None] = {name: values[:, at] if at else None for name, at in places.items()}
    t, q = signals["t"], signals["q"]
    assert t is not None and q is not None
    ascending(path, t[:, 0], first_line=2)
    return Sampled(t[:, 0], q, signals["dq"], signals["ddq"], interpolation)


def ascending(path: str | Path, t: ArrayLike, first_line: int) -> None:
    """Times that ascend, at least two, or an error that names the line."""
    times = np.asarray(t, float)
    if len(times) < 2:
        raise FileError(path, "a motion needs at least two samples", first_line)
    bad = np.flatnonzero(~(np.diff(times) > 0.0))
    if bad.size:
        k = int(bad[0]) + 1
        raise FileError(path, f"times should ascend; {times[k]:g} follows {times[k - 1]:g}", first_line + k)


def _columns(path: str | Path, names: list[str]) -> dict[str, list[int]]:
    """Where t, q, dq and ddq stand; those of velocities and accelerations may be missing as a whole."""
    columns: dict[str, dict[int, int]] = {"q": {}, "dq": {}, "ddq": {}}
    place_of_t = None
    for at, name in enumerate(names):
        match = _NAME.match(name)
        if name == "t" and place_of_t is None:
            place_of_t = at
        elif match and (number := whole(match[2])) is not None and number not in columns[match[1]]:
            columns[match[1]][number] = at
        else:
            problem = f"column '{name}' is not one of t, q1..qn, dq1..dqn, ddq1..ddqn, or stands there twice"
            raise FileError(path, problem, 1, at + 1)
    if place_of_t is None or not columns["q"]:
        raise FileError(path, "the header should name the columns t, q1, .., qn", 1)
    n = len(columns["q"])
    for name, places in columns.items():
        if places and sorted(places) != list(range(1, n + 1)):
            raise FileError(path, f"the columns of {name} should be {name}1 to {name}{n}", 1)
    return {"t": [place_of_t]} | {name: [places[j] for j in sorted(places)] for name, places in columns.items()}


def _numbers(path: str | Path, rows: list[list[str]]) -> Array:
    width = len(rows[0])
    out = np.empty((len(rows) - 1, width))
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != width:
            raise FileError(path, f"the row has {len(row)} values, the header {width}", line)
        for at, cell in enumerate(row):
            try:
                out[line - 2, at] = float(cell)
            except ValueError:
                raise FileError(path, f"'{cell[:40]}' is not a number", line, at + 1) from None
            if not np.isfinite(out[line - 2, at]):
                raise FileError(path, f"'{cell[:40]}' is not a finite number", line, at + 1)
    return out
