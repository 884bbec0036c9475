"""What the nodes do, without any ROS message: points of a motion, samples to a log, a log to a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import inertica as ia
from inertica.excitation.files import joint_trajectory

NANO = 1_000_000_000


@dataclass(frozen=True)
class Point:
    """A point of a joint trajectory; `time` in s from its start."""

    time: float
    positions: tuple[float, ...]
    velocities: tuple[float, ...]
    accelerations: tuple[float, ...]

    @property
    def stamp(self) -> tuple[int, int]:
        """Seconds and nanoseconds, as `builtin_interfaces/Duration` has them."""
        return divmod(round(self.time * NANO), NANO)


def motion_points(trajectory: str | Path, joints: Sequence[str], rate: float, lead: float = 0.0) -> list[Point]:
    """Samples of a trajectory file that `inertica excite` wrote, its end included.

    Args:
        trajectory: the file.
        joints: names in the order of its columns.
        rate: of the points, Hz.
        lead: s to reach the first pose in; the motion starts after it.
    """
    if not rate > 0.0 or not lead >= 0.0:
        raise ia.InputError(
            f"the rate of the points should be positive and the lead not negative, not {rate:g} Hz and {lead:g} s"
        )
    points = []
    for point in joint_trajectory(ia.load_trajectory(trajectory), joints, rate)["points"]:
        stamp = point["time_from_start"]
        states = (tuple(point[key]) for key in ("positions", "velocities", "accelerations"))
        points.append(Point(lead + stamp["sec"] + stamp["nanosec"] / NANO, *states))
    return points[1:] if points and points[0].time == 0.0 else points  # controllers refuse a point at time zero


@dataclass
class Recorder:
    """Joint states, in whatever order messages name the joints, to a log in the robot's order.

    Args:
        joints: names in the robot's order.
        current: the effort is a motor current in amperes.
    """

    joints: Sequence[str]
    current: bool = False
    stamps: list[int] = field(default_factory=list)
    rows: dict[str, list[list[float]]] = field(default_factory=lambda: {"position": [], "velocity": [], "effort": []})

    def add(self, seconds: int, nanoseconds: int, names: Sequence[str], values: Mapping[str, Sequence[float]]) -> bool:
        """One message; whether it was used. Messages of other joints, and those without position or effort, are left out."""
        index = {name: k for k, name in enumerate(names)}
        if any(name not in index for name in self.joints):
            return False
        if any(len(values.get(key, ())) != len(names) for key in ("position", "effort")):
            return False
        stamp = seconds * NANO + nanoseconds
        if self.stamps and stamp <= self.stamps[-1]:
            return False
        self.stamps.append(stamp)
        for key, rows in self.rows.items():
            given = values.get(key, ())
            whole = len(given) == len(names)
            rows.append([float(given[index[name]]) if whole else float("nan") for name in self.joints])
        return True

    def __len__(self) -> int:
        return len(self.stamps)

    def log(self) -> ia.Log:
        """The log so far, its clock from zero."""
        if len(self) < 2:
            raise ia.InputError(f"{len(self)} usable joint states came; check the topic and the names {', '.join(self.joints)}")
        t = (np.array(self.stamps) - self.stamps[0]) / NANO
        signals = {"q": np.array(self.rows["position"]), "i" if self.current else "tau": np.array(self.rows["effort"])}
        velocity = np.array(self.rows["velocity"])
        if np.isfinite(velocity).all():
            signals["dq"] = velocity
        return ia.Log.from_arrays(t, signals, joints=list(self.joints))

    def save(self, path: str | Path) -> ia.Log:
        """Writes the log as CSV (also .csv.gz)."""
        log = self.log()
        log.save(path)
        return log


def in_one_sentence(run: Callable[[], int]) -> int:
    """Runs a node; what inertica refuses is a sentence on stderr and exit code 1."""
    try:
        return run()
    except ia.InerticaError as error:
        raise SystemExit(f"inertica: {error}") from None


def joint_names(robot: str | Path) -> tuple[str, ...]:
    """Names of the joints of a model file or card, in the order of its logs."""
    return tuple(ia.load(robot).robot.joint_names)


def identify(robot: str | Path, logs: Sequence[str | Path], folder: str | Path, validate: Sequence[str | Path] = ()) -> str:
    """Identifies and writes the result's folder; returns one sentence on how good it is."""
    result = ia.identify(robot, list(logs), validate=list(validate))
    ia.write_folder(result, folder, list(logs), list(validate))
    name, residual = list(result.residuals.items())[-1]
    return f"{result.method}: misses {100 * residual.raw.all:.3g} % of the torque of {name}; written to {folder}"
