"""Records of real robots as data, and their rows: what benchmarks/real.py and its parts share.

The records are not part of the repository: INERTICA_REAL_DATA, or shared/data beside it.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from plain_pipeline import PlainSettings, Recorded

DATA = Path(os.environ.get("INERTICA_REAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))

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

    def path(self, folder: str) -> str:
        """As inertica reads it."""
        return f"{DATA / folder / self.file}@{self.start:.6g}:{self.end:.6g}"


@dataclass(frozen=True)
class Record:
    """What is known of a robot and its logs.

    Args:
        name: of the record.
        folder, model: where its files are.
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
    """

    name: str
    folder: str
    model: str
    windows: tuple[Window, ...]
    positions: float
    columns: float
    motor_side: bool = False
    gains: tuple[float, ...] = ()
    coupling: tuple[int, int, int] | None = None
    transmission: tuple[tuple[float, ...], ...] = ()
    springs: tuple[int, ...] = ()
    real_masses: bool = True
    limit: float = LIMIT
    quick: bool = False
    defects: tuple[str, ...] = ()

    def card(self, folder: Path, *more: str) -> Path:
        """A card that states what the model file cannot, and `more`; the model file itself where there is nothing to state."""
        lines = list(more)
        if self.gains:
            lines.append(f"torque: {{from: current, gain: {list(self.gains)}}}")
        if self.coupling:
            lines.append(f"coupling: [{{motor: {self.coupling[0]}, joints: {list(self.coupling[1:])}}}]")
        if self.transmission:
            lines.append(f"transmission: {[list(row) for row in self.transmission]}")
        model = DATA / self.folder / self.model
        if not lines:
            return model
        card = folder / f"{self.name}.yaml"
        card.write_text("\n".join([f"model: {model}", *lines, ""]), encoding="utf-8")
        return card

    @property
    def plain(self) -> PlainSettings:
        """What the plain pipeline is told."""
        model = DATA / self.folder / self.model
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


UR10E_GAINS = (11.976, 11.976, 9.839, 10.763, 10.763, 10.763)
MTM_TRANSMISSION = (
    (1, 0, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0, 0), (0, 1, 1, 0, 0, 0, 0), (0, 0, 0.6697, 1, 0, 0, 0),
    (0, 0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 0, 1, 0), (0, 0, 0, 0, 0, 0, 1),
)  # fmt: skip
MX106 = (("sine", 42.5), ("step", 19.4), ("triangle", 93.0))

RECORDS = (
    Record("panda", "panda", "panda.urdf", (Window("excitation.csv.gz", 0.5, 12.5),), 5, 5),
    Record(
        "kr300", "kr300", "kr300_r2500.urdf", tuple(Window(f"traj_{k}.csv.gz", 0.6, 5.9) for k in "abc"), 8, 8,
        motor_side=True, springs=(2,), limit=0.9,
    ),
    Record("xmate3pro", "xmate3pro", "xmate3pro.urdf", (Window("excitation.csv.gz", 0.5, 12.0),), 4, 4),
    Record("lbr_med7", "lbr_med7", "lbr_med7.urdf", (Window("slow_fourier.csv.gz", 0.5, 60.0),), 3, 3),
    Record(
        "dvrk_mtm", "dvrk_mtm", "mtm.urdf", (Window("one_motor.csv.gz", 0.5, 29.5),), 5, 3,
        motor_side=True, transmission=MTM_TRANSMISSION, real_masses=False,
    ),
    Record(
        "tx40", "tx40", "tx40.urdf", (Window("tx40_joint_public.csv.gz", 0.05, 5.2),), 50, 10,
        motor_side=True, coupling=(6, 5, 6),
    ),
    Record(
        "ur10e", "ur10e", "ur10e.urdf",
        (
            Window("ident_unloaded_a.csv.gz", 6.8, 37.4), Window("ident_unloaded_b.csv.gz", 2.0, 52.1),
            Window("valid_ptp.csv.gz", 7.5, 44.9),
        ),
        10, 5, motor_side=True, gains=UR10E_GAINS,
    ),
    Record(  # the model lacks the load: 2.8 kg on a link of 0.2 kg
        "ur10e_loaded", "ur10e", "ur10e.urdf", (Window("ident_loaded.csv.gz", 3.2, 53.3),), 10, 5,
        motor_side=True, gains=UR10E_GAINS, real_masses=False,
    ),
    Record(
        "kuka_lwr4", "kuka_lwr4", "kuka_lwr4.urdf", tuple(Window(f"ident_slow_{k}.csv.gz", 3.0, 25.0) for k in (1, 2)), 3, 3,
        quick=True,
    ),
    Record(  # torque constant unknown, so that torque is in amperes here; the recorded velocity lags by about 47 ms
        "mx106", "mx106", "mx106.urdf", tuple(Window(f"id_0_{motion}_{k}.csv.gz", 0.0, end) for motion, end in MX106 for k in (1, 3)),
        10, 10, motor_side=True, gains=(1.0,), real_masses=False, defects=("velocity",),
    ),
)  # fmt: skip

STATED = {
    ("panda", "excitation, 70 %"): (0.0412, 0.0280),
    ("kr300", "all but traj_c"): (0.229, 0.212),
    ("kr300", "all but traj_b"): (0.240, 0.203),
    ("kr300", "all but traj_a"): (0.227, 0.202),
    ("xmate3pro", "excitation, 70 %"): (0.0540, 0.0349),
    ("lbr_med7", "slow_fourier, 70 %"): (0.0532, 0.0517),
    ("dvrk_mtm", "one_motor, 70 %"): (0.174, 0.128),
    ("kuka_lwr4", "ident_slow_1, 70 %"): (0.0184, 0.0179),
    ("kuka_lwr4", "all but ident_slow_2"): (0.0170, 0.0168),
    ("ur10e", "all but valid_ptp"): (0.0611, 0.0478),
    ("ur10e", "ident_unloaded_a, 70 %"): (0.0799, 0.0521),
}
"""(record, split) -> raw and low-passed residual that the page of the records states for a plain pipeline like the one in real.py."""


def read_window(record: Record, window: Window) -> Recorded:
    """Positions and torques of the joints, by gains or transmission where the log is of currents or of motors."""
    with gzip.open(DATA / record.folder / window.file, "rt", encoding="utf-8") as file:
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
