"""Manifest of recorded logs: where they are published and under which licence, what their users know, and how they are split.

The logs themselves are not part of inertica; users point to a folder that has them.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.benchmark.plain import PlainSettings, Recorded
from inertica.documents import typed, unknown_keys
from inertica.errors import FileError, InputError, is_there, nearest
from inertica.robot.yamlfile import read_yaml
from inertica.writing import write_whole

MANIFEST = Path(__file__).with_name("logs.yaml")
"""The one that is used unless another is named."""

FIT_SHARE = 0.7
"""Share of a motion that is fitted where its rest is predicted."""

LIMIT = 1.02
"""Residual over the plain pipeline's up to which ours holds, where a record states no other."""


@dataclass(frozen=True)
class Window:
    """A log and the stretch of it in which the robot does what it should, in s of the log's own clock."""

    file: str
    start: float
    end: float

    @property
    def name(self) -> str:
        return self.file.removesuffix(".csv.gz")

    def slice(self, start: float, end: float) -> Window:
        return Window(self.file, start, end)

    def path(self, folder: Path) -> str:
        """As inertica reads it."""
        return f"{folder / self.file}@{self.start:.6g}:{self.end:.6g}"


@dataclass(frozen=True)
class Record:
    """What is known of a robot and its logs.

    Args:
        name: of the record.
        folder, model: where its files are; the folder in that of all logs.
        published, licence: where the logs come from, and what is stated about their use; empty where nothing is known.
        windows: of its motions; with several, each is left out in turn.
        positions, columns: cut-offs of the plain pipeline in Hz, the second also that of the low-passed score.
        motor_side: torque holds drive inertia.
        gains: N m/A where currents were recorded.
        coupling: (motor, joint, joint), 1-based: that motor turns with the sum of both joints.
        transmission: N of theta = N q, tau = N' tau_motor, of logs of the motors.
        springs: 1-based joints that the plain pipeline gives a spring; inertica is not told.
        real_masses: the model's masses are those of the robot as recorded, at least roughly.
        limit: residual over the plain pipeline's that must be reached.
        quick: in the short form.
        defects: findings of `inertica check` that are right about this record.
        truth: model file or card in the folder that has the true values, of logs that were simulated; empty where nobody knows them.
    """

    name: str
    folder: Path
    model: str
    windows: tuple[Window, ...]
    positions: float
    columns: float
    published: str = ""
    licence: str = ""
    motor_side: bool = False
    gains: tuple[float, ...] = ()
    coupling: tuple[int, int, int] | None = None
    transmission: tuple[tuple[float, ...], ...] = ()
    springs: tuple[int, ...] = ()
    real_masses: bool = True
    limit: float = LIMIT
    quick: bool = False
    defects: tuple[str, ...] = ()
    truth: str = ""

    def card(self, folder: Path, *more: str) -> Path:
        """A card that states what the model file cannot, and `more`; the model file itself where there is nothing to state."""
        lines = list(more)
        if self.gains:
            lines.append(f"torque: {{from: current, gain: {list(self.gains)}}}")
        if self.coupling:
            lines.append(f"coupling: [{{motor: {self.coupling[0]}, joints: {list(self.coupling[1:])}}}]")
        if self.transmission:
            lines.append(f"transmission: {[list(row) for row in self.transmission]}")
        model = self.folder / self.model
        if not lines:
            return model
        card = folder / f"{self.name}.yaml"
        write_whole(card, "\n".join([f"model: {model}", *lines, ""]))
        return card

    @property
    def plain(self) -> PlainSettings:
        """What the plain pipeline is told."""
        model = self.folder / self.model
        return PlainSettings(model, self.positions, self.columns, self.motor_side, self.springs, self.coupling)

    def splits(self) -> Iterator[Split]:
        """First 70 % and the rest of every motion, and each motion left out in turn."""
        for w in self.windows:
            middle = w.start + FIT_SHARE * (w.end - w.start)
            yield Split(f"{w.name}, 70 %", (w.slice(w.start, middle),), w.slice(middle, w.end))
        if len(self.windows) > 1:
            for w in self.windows:
                others = tuple(o for o in self.windows if o is not w)
                yield Split(f"all but {w.name}", others, w)


@dataclass(frozen=True)
class Split:
    """What is fitted and what is predicted."""

    name: str
    fit: tuple[Window, ...]
    test: Window


def read_window(record: Record, window: Window) -> Recorded:
    """Positions and torques of the joints, by gains or transmission where the log is of currents or of motors."""
    with gzip.open(record.folder / window.file, "rt", encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        values = np.loadtxt(file, delimiter=",", ndmin=2)
    t = values[:, names.index("t")]
    inside = (t >= window.start) & (t <= window.end)

    def signal(symbol: str) -> NDArray[np.float64]:
        n = sum(name.startswith(symbol) and name[len(symbol) :].isdigit() for name in names)
        return np.asarray(values[inside][:, [names.index(f"{symbol}{j + 1}") for j in range(n)]])

    if record.transmission:
        N = np.array(record.transmission)
        return Recorded(t[inside], np.linalg.solve(N, signal("theta").T).T, signal("taum") @ N)
    tau = signal("i") * np.array(record.gains) if record.gains else signal("tau")
    return Recorded(t[inside], signal("q"), tau)


def records(data: Path, manifest: Path = MANIFEST) -> tuple[Record, ...]:
    """Records of a manifest, with folders in that of the logs.

    Args:
        data: folder of all logs.
        manifest: YAML file, a list of entries with the fields of `Record`.
    """
    entries = read_yaml(manifest).plain()
    if not isinstance(entries, list):
        raise FileError(manifest, "this is no manifest of logs; expected a list of entries with name, folder, model and windows")
    return tuple(_record(entry, data, manifest) for entry in entries)


def _record(entry: Any, data: Path, manifest: Path) -> Record:
    if not isinstance(entry, dict):
        raise FileError(manifest, f"{entry!r} is no entry of a manifest; expected name, folder, model and windows")
    name = str(entry.get("name", "an entry without name"))
    if unknown := unknown_keys(Record, entry):
        raise FileError(manifest, f"{name}: there is no key '{unknown[0]}'; {nearest(unknown[0], Record.__dataclass_fields__)}")
    try:
        record: Record = typed(Record, entry)
    except (InputError, TypeError, ValueError) as error:
        raise FileError(manifest, f"{name}: {error}") from None
    return replace(record, folder=data / record.folder)


def available(record: Record) -> bool:
    """Whether the files of a record are there."""
    paths = [record.folder / file for file in (record.model, *(w.file for w in record.windows))]
    return all(is_there(path) and path.is_file() for path in paths)
