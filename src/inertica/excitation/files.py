"""Trajectory files: every family as YAML, and samples for controllers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from inertica.errors import InputError
from inertica.excitation.chirps import Chirps
from inertica.excitation.fourier import Fourier, FourierBlend
from inertica.excitation.multisine import Multisine
from inertica.excitation.sampled import INTERPOLATIONS, Sampled
from inertica.excitation.splines import QuinticPoints, Spline
from inertica.excitation.tables import read_samples, sample_times, write_table
from inertica.excitation.trajectory import Trajectory
from inertica.excitation.trapezoid import Trapezoid
from inertica.robot.yamlfile import Item, read_yaml, yaml
from inertica.writing import write_whole

FAMILIES: Mapping[str, type[Any]] = {
    "fourier": Fourier,
    "fourier_blend": FourierBlend,
    "multisine": Multisine,
    "spline": Spline,
    "quintic_points": QuinticPoints,
    "trapezoid": Trapezoid,
    "chirps": Chirps,
    "samples": Sampled,
}
EMBEDDED = 100_000
"""Numbers of a sampled motion up to which its YAML holds them; longer ones go to a CSV beside it."""

_CATALOG = Path(__file__).parent / "catalog"
_COMMON = ("family", "robot", "joints", "about")


@dataclass(frozen=True, eq=False)
class TrajectoryFile:
    """What a trajectory file says.

    Args:
        trajectory: the motion.
        robot: what it was made for, when stated.
        joints: their names, when stated.
        about: criterion, value, seed, ...; free form.
    """

    trajectory: Trajectory
    robot: str | None = None
    joints: tuple[str, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


def save_trajectory(
    trajectory: Trajectory, path: str | Path, *, robot: str | None = None, joints: Sequence[str] = (),
    about: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Writes a trajectory as YAML; loading gives the same numbers to the last bit.

    Examples:
        >>> trajectory = ia.load_trajectory("traj.yaml")
        >>> ia.save_trajectory(trajectory, "copy.yaml", robot="arm", joints=("pan", "lift", "elbow"))
        >>> ia.load_trajectory("copy.yaml").period
        10.0
    """
    name = next((name for name, kind in FAMILIES.items() if type(trajectory) is kind), None)
    if name is None:
        raise InputError(f"{type(trajectory).__name__} cannot be saved; families are {', '.join(FAMILIES)}")
    document: dict[str, Any] = {"family": name}
    document |= {"robot": robot} if robot else {}
    document |= {"joints": list(joints)} if joints else {}
    document |= {"about": _plain(dict(about))} if about else {}
    if isinstance(trajectory, Sampled) and trajectory.q.size > EMBEDDED:
        table = Path(path).with_suffix(".csv")
        write_table(table, trajectory.times, trajectory.q, trajectory.dq, trajectory.ddq)
        document |= {"file": table.name, "interpolation": trajectory.interpolation}
    else:
        values = {f.name: getattr(trajectory, f.name) for f in fields(trajectory)}  # type: ignore[arg-type]
        document |= {_key(k): _plain(v) for k, v in values.items() if v is not None}
    write_whole(path, yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=130))


def load_trajectory(path: str | Path, interpolation: str | None = None) -> Trajectory:
    """A trajectory from a YAML written by `save_trajectory`, or from a CSV of samples.

    Args:
        path: the file.
        interpolation: for samples; what the file says, or makima.

    Examples:
        >>> ia.load_trajectory("traj.yaml").period
        10.0
    """
    return read_trajectory(path, interpolation).trajectory


def read_trajectory(path: str | Path, interpolation: str | None = None) -> TrajectoryFile:
    """Like `load_trajectory`, with what else the file says."""
    if Path(path).suffix.lower() in (".csv", ".txt"):
        return TrajectoryFile(read_samples(path, interpolation or "makima"))
    root = read_yaml(path)
    kind = root.mapping(required=("family",))["family"].text(FAMILIES)
    coefficient_keys = tuple(_key(f.name) for f in fields(FAMILIES[kind]))
    keys = root.mapping((*_COMMON, *coefficient_keys, *(("file",) if kind == "samples" else ())))
    with root.located():
        trajectory = _samples(root, keys, interpolation) if kind == "samples" else _family(root, keys, kind)
    joints = keys["joints"].texts() if "joints" in keys else ()
    if joints and len(joints) != trajectory.n:
        raise keys["joints"].fail(f"joints names {len(joints)} joints, the motion has {trajectory.n}")
    return TrajectoryFile(
        trajectory,
        keys["robot"].text() if "robot" in keys else None,
        joints,
        keys["about"].plain() if "about" in keys else {},
    )


def catalog_trajectory(robot: str, kind: str = "identification") -> TrajectoryFile:
    """The motion shipped for a catalog robot: `identification`, `validation`, or one of its own such as `survey` or `torque`.

    Examples:
        >>> ia.catalog_trajectory("tx40").trajectory.n
        6
    """
    if not has_trajectory(robot, kind):
        names = sorted(p.stem for p in _CATALOG.glob("*.yaml"))
        raise InputError(f"there is no {kind} trajectory for '{robot}'; shipped are {', '.join(names)}")
    return read_trajectory(_CATALOG / f"{robot}_{kind}.yaml")


def shipped_or_file(robot: str, word: str | Path) -> Trajectory:
    """A trajectory from its file, or one that is shipped for a robot by its name."""
    if not Path(word).suffix and not Path(word).exists() and has_trajectory(robot, str(word)):
        return catalog_trajectory(robot, str(word)).trajectory
    return load_trajectory(word)


def has_trajectory(robot: str, kind: str) -> bool:
    """Whether a motion is shipped for a robot."""
    return f"{robot}_{kind}" in {path.stem for path in _CATALOG.glob("*.yaml")}


def write_ros2(trajectory: Trajectory, path: str | Path, joints: Sequence[str], rate: float) -> None:
    """Samples as a ROS 2 `trajectory_msgs/msg/JointTrajectory` in YAML.

    Examples:
        >>> ia.write_ros2(ia.load_trajectory("traj.yaml"), "points.yaml", joints=("pan", "lift", "elbow"), rate=50)
    """
    document = joint_trajectory(trajectory, joints, rate)
    write_whole(path, yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=10_000))


def joint_trajectory(trajectory: Trajectory, joints: Sequence[str], rate: float) -> dict[str, Any]:
    """Samples as the fields of a `trajectory_msgs/msg/JointTrajectory`."""
    if len(joints) != trajectory.n:
        raise InputError(f"{len(joints)} joint names for a motion of {trajectory.n} joints")
    t = sample_times(trajectory, rate)
    points = [
        {"positions": q, "velocities": dq, "accelerations": ddq, "effort": [], "time_from_start": _stamp(x)}
        for x, q, dq, ddq in zip(t.tolist(), *(s.tolist() for s in trajectory(t)), strict=True)
    ]
    header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
    return {"header": header, "joint_names": list(joints), "points": points}


def _stamp(seconds: float) -> dict[str, int]:
    nanoseconds = round(seconds * 1e9)
    return {"sec": nanoseconds // 10**9, "nanosec": nanoseconds % 10**9}


def _family(root: Item, keys: Mapping[str, Item], kind: str) -> Trajectory:
    values = {}
    for f in fields(FAMILIES[kind]):
        key = _key(f.name)
        if key in keys:
            values[f.name] = _READERS[f.name](keys[key])
        elif f.name in _REQUIRED:
            raise root.fail(f"a {kind} trajectory needs the key '{key}'")
    made: Trajectory = FAMILIES[kind](**values)
    return made


def _samples(root: Item, keys: Mapping[str, Item], interpolation: str | None) -> Sampled:
    stated = keys["interpolation"].text(INTERPOLATIONS) if "interpolation" in keys else "makima"
    rule = interpolation or stated
    if "file" in keys:
        return read_samples(root.path.parent / keys["file"].text(), rule)
    for key in ("times", "q"):
        if key not in keys:
            raise root.fail(f"sampled motion needs the key '{key}', or 'file' with the name of a CSV")
    tables = {k: _table(keys[k]) for k in ("q", "dq", "ddq") if k in keys}
    return Sampled(_row(keys["times"]), **tables, interpolation=rule)


def _row(item: Item) -> np.ndarray:
    return np.array([x.number() for x in item.items()])


def _table(item: Item) -> np.ndarray:
    rows = [[x.number() for x in r.items()] for r in item.items()]
    if not rows or len({len(r) for r in rows}) != 1 or not rows[0]:
        raise item.fail(f"{item.key} should be a list of rows with one number per joint")
    return np.array(rows)


_READERS: Mapping[str, Callable[[Item], Any]] = {
    "duration": Item.positive,
    "free_start": Item.boolean,
    "rest": Item.boolean,
    "degree": Item.whole,
    "ramp": Item.number,
    "cruise": Item.number,
    **dict.fromkeys(("start", "end", "mean", "times"), _row),
    **dict.fromkeys(("A", "B", "sine", "cosine", "points", "q", "dq", "ddq", "amplitude"), _table),
}
_REQUIRED = frozenset(
    ("duration", "start", "end", "mean", "times", "A", "B", "sine", "cosine", "points", "q", "dq", "ddq", "amplitude")
)


def _key(name: str) -> str:
    return "period" if name == "duration" else name


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
