"""Changes of a recorded log that should change nothing about the robot, and some that should: on the columns of a CSV file.

`HARMLESS` are what recorders, converters and users do to a log without asking; `LATE_VELOCITY` and `LOW_PASSED` are what drives and
slow sensors do to it.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfilt, sosfiltfilt

Array = NDArray[np.float64]
Columns = Mapping[str, Array]
"""Name -> values of a CSV file; `t` in s, then q1, dq1, tau1 or i1 and so on."""

SEED = 26
"""Of every random change, so that a failing test fails again."""

REST = 0.2
"""Resting stretch that is put behind a log, relative to its duration."""

TAIL = 20
"""Rows at the end of a log in which a robot has stopped or has not."""

PERMUTED = 7
"""Seed of the order of permuted columns."""

POSITIONS, VELOCITIES, TORQUES = ("q", "theta", "ql"), ("dq", "dqr", "dtheta"), ("tau", "i", "taum")
"""Symbols of measured signals, of joints and of motors."""


@dataclass(frozen=True)
class Change:
    """What happens to a log between robot and program.

    Args:
        name: for the reports of tests.
        of: columns of a log -> those of the one or more files that are read instead.
        exact: nothing that a fit reads is different, so that its numbers are the same.
        applies: whether it can happen to a log.
        late: it delays the torque.
        stem: name of the files.
    """

    name: str
    of: Callable[[Columns], Sequence[Columns]]
    exact: bool = False
    stem: str = "log"
    applies: Callable[[Columns], bool] = lambda columns: True
    late: bool = False

    def files(self, columns: Columns, folder: Path, comments: Sequence[str] = ()) -> list[Path]:
        """The changed log, written."""
        parts = self.of(columns)
        paths = [folder / f"{self.stem}{k or ''}.csv" for k in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            write(path, part, comments)
        return paths


def read(path: Path, start: float = -np.inf, end: float = np.inf) -> Columns:
    """Columns of a file between two times of its clock."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        values = np.loadtxt(file, delimiter=",", ndmin=2)
    t = values[:, names.index("t")]
    return _rows(dict(zip(names, values.T, strict=True)), (t >= start) & (t <= end))


def write(path: Path, columns: Columns, comments: Sequence[str] = ()) -> None:
    """As CSV; numbers read back exactly."""
    rows = np.column_stack(list(columns.values())).tolist()
    lines = [*(f"# {c}" for c in comments), ",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def of_kind(columns: Columns, *symbols: str) -> list[str]:
    """Names of the columns of some signals: symbol and number."""
    return [name for name in columns if (m := re.fullmatch(r"([a-z]+)\d+", name)) and m[1] in symbols]


def _rows(columns: Columns, at: NDArray[np.bool_] | NDArray[np.intp]) -> Columns:
    return {name: values[at] for name, values in columns.items()}


def _draws(seed: int = SEED) -> np.random.Generator:
    return np.random.default_rng(seed)


def _interval(columns: Columns) -> float:
    return float(np.median(np.diff(columns["t"])))


def unchanged(columns: Columns) -> Sequence[Columns]:
    return [columns]


def repeated_rows(share: float, seed: int = SEED) -> Callable[[Columns], Sequence[Columns]]:
    """The recorder writes its last values again under a new stamp, as when nothing new has arrived."""

    def change(columns: Columns) -> Sequence[Columns]:
        count = len(columns["t"])
        fresh = np.where(_draws(seed).random(count) < share, 0, np.arange(count))
        last = np.maximum.accumulate(fresh)
        return [{name: x if name == "t" else x[last] for name, x in columns.items()}]

    return change


def doubled_rows(share: float) -> Callable[[Columns], Sequence[Columns]]:
    """Some rows stand twice in the file, stamps and all."""

    def change(columns: Columns) -> Sequence[Columns]:
        times = 1 + (_draws().random(len(columns["t"])) < share)
        return [_rows(columns, np.repeat(np.arange(len(times)), times))]

    return change


def jittering_stamps(share: float, seed: int = SEED) -> Callable[[Columns], Sequence[Columns]]:
    """Samples are taken evenly and stamped when they arrive: stamps off by a share of the interval (standard deviation)."""

    def change(columns: Columns) -> Sequence[Columns]:
        dt = _interval(columns)
        late = np.clip(share * _draws(seed).standard_normal(len(columns["t"])), -0.45, 0.45) * dt
        return [{**columns, "t": columns["t"] + late}]

    return change


def dropped_rows(share: float) -> Callable[[Columns], Sequence[Columns]]:
    """Some rows never arrive."""

    def change(columns: Columns) -> Sequence[Columns]:
        return [_rows(columns, _draws().random(len(columns["t"])) >= share)]

    return change


def moved_clock(seconds: float) -> Callable[[Columns], Sequence[Columns]]:
    """The clock counts from another instant."""
    return lambda columns: [{**columns, "t": columns["t"] + seconds}]


def twice_the_rate(columns: Columns) -> Sequence[Columns]:
    """A converter writes twice as many rows, linearly interpolated."""
    t = columns["t"]
    fine = np.interp(np.arange(2 * len(t) - 1) / 2.0, np.arange(len(t)), t)
    return [{name: fine if name == "t" else np.interp(fine, t, x) for name, x in columns.items()}]


def permuted_columns(columns: Columns) -> Sequence[Columns]:
    """The same columns in another order."""
    names = list(columns)
    return [{names[k]: columns[names[k]] for k in np.random.default_rng(PERMUTED).permutation(len(names))}]


def named_joints(names: Sequence[str]) -> Callable[[Columns], Sequence[Columns]]:
    """Columns carry the names of joints instead of numbers, the joints in another order than the model's."""
    words = {"q": "position", "dq": "velocity", "tau": "effort"}

    def change(columns: Columns) -> Sequence[Columns]:
        order = np.random.default_rng(PERMUTED).permutation(len(names))
        assert list(order) != sorted(order)
        signals = [symbol for symbol in words if f"{symbol}1" in columns]
        renamed = {f"{names[j]}_{words[symbol]}": columns[f"{symbol}{j + 1}"] for j in order for symbol in signals}
        return [{"t": columns["t"], **renamed}]

    return change


def cut_in_two(columns: Columns) -> Sequence[Columns]:
    """The first half in one file, the second in another."""
    half = np.arange(len(columns["t"])) < len(columns["t"]) // 2
    return [_rows(columns, half), _rows(columns, ~half)]


def ends_at_rest(columns: Columns) -> bool:
    """Whether every joint has nearly stopped when the log ends, so that rest can follow without a jerk."""
    q = np.column_stack([columns[name] for name in of_kind(columns, *POSITIONS)])
    way = q[TAIL:] - q[:-TAIL]
    return bool(np.all(np.abs(way[-1]) < 0.1 * np.sqrt(np.mean(way**2, axis=0))))


def rest_last(columns: Columns) -> Sequence[Columns]:
    """The robot stands where its motion has ended; torques stay as they are, and the sensors go on as they do.

    Noise is that of each column: fourth differences hold nothing else.
    """
    dt, t = _interval(columns), columns["t"]
    count = int(REST * (t[-1] - t[0]) / dt)
    draws, out = _draws(), dict[str, Array]()
    for name, x in columns.items():
        noise = 1.4826 * float(np.median(np.abs(np.diff(x, 4)))) / np.sqrt(70.0)
        level = 0.0 if name in of_kind(columns, *VELOCITIES) else float(np.mean(x[-TAIL:]))
        after = t[-1] + dt * np.arange(1, count + 1) if name == "t" else level + noise * draws.standard_normal(count)
        out[name] = np.concatenate([x, after])
    return [out]


def quantised(bits: int, *symbols: str) -> Callable[[Columns], Sequence[Columns]]:
    """Positions in steps of a turn, torques and velocities in steps of their range, by converters of so many bits; all or some."""

    def change(columns: Columns) -> Sequence[Columns]:
        out = dict(columns)
        for name in of_kind(columns, *(symbols or (*POSITIONS, *VELOCITIES, *TORQUES))):
            x = columns[name]
            turn = 2.0 * np.pi if name in of_kind(columns, *POSITIONS) else 2.0 * float(np.abs(x).max())
            step = turn / 2.0**bits
            out[name] = step * np.round(x / step)
        return [out]

    return change


def late_velocity(seconds: float) -> Callable[[Columns], Sequence[Columns]]:
    """A recorded velocity that comes late; made from positions where none was recorded."""

    def change(columns: Columns) -> Sequence[Columns]:
        t, out = columns["t"], dict(columns)
        for name in of_kind(columns, *POSITIONS):
            rate = columns.get(f"d{name}")
            out[f"d{name}"] = np.interp(t - seconds, t, np.gradient(columns[name], t) if rate is None else rate)
        return [out]

    return change


def lowpassed_torque(cutoff: float, order: int, zero_phase: bool = False) -> Callable[[Columns], Sequence[Columns]]:
    """A drive that smooths the torque before it sends it, or somebody who did so afterwards without a phase."""

    def change(columns: Columns) -> Sequence[Columns]:
        sos = butter(order, cutoff, fs=1.0 / _interval(columns), output="sos")
        out = dict(columns)
        for name in of_kind(columns, *TORQUES):
            first = columns[name][0]
            out[name] = first + (sosfiltfilt if zero_phase else sosfilt)(sos, columns[name] - first)
        return [out]

    return change


HARMLESS = (
    Change("1 % of rows repeated", repeated_rows(0.01)),
    Change("6 % of rows repeated", repeated_rows(0.06)),
    Change("30 % of rows repeated", repeated_rows(0.30)),
    Change("5 % of rows twice", doubled_rows(0.05)),
    Change("stamps jitter by 5 %", jittering_stamps(0.05)),
    Change("stamps jitter by 14 %", jittering_stamps(0.14)),
    Change("5 % of rows dropped", dropped_rows(0.05)),
    Change("clock moved by an hour", moved_clock(3600.0)),
    Change("clock counts from 1970", moved_clock(1.7e9)),
    Change("twice the rate", twice_the_rate),
    Change("columns permuted", permuted_columns, exact=True),
    Change("another name", unchanged, exact=True, stem="Messung 3 (Kopie)"),
    Change("cut in two files", cut_in_two),
    Change("rest last", rest_last, applies=ends_at_rest),
    Change("12 bits", quantised(12)),
    Change("16 bits", quantised(16)),
    Change("20 bits", quantised(20)),
)

LATE_VELOCITY = Change("velocity 5 ms late", late_velocity(5e-3))

LOW_PASSED = (
    Change("torque low-passed at 30 Hz, order 1", lowpassed_torque(30.0, 1), late=True),
    Change("torque low-passed at 30 Hz, order 2", lowpassed_torque(30.0, 2), late=True),
    Change("torque low-passed at 30 Hz without phase", lowpassed_torque(30.0, 2, zero_phase=True)),
)
