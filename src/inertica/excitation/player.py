"""A script that plays a motion on a robot with ROS 2: through ros2_control, or through MoveIt, which plans the way to its start."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from inertica.excitation.files import joint_trajectory
from inertica.excitation.trajectory import Trajectory
from inertica.writing import write_whole


def write_player(trajectory: Trajectory, path: str | Path, joints: Sequence[str], rate: float) -> None:
    """A Python script, complete in one file, that sends a motion as an action and waits for its end.

    Args:
        trajectory: the motion.
        path: of the script.
        joints: names as the controller has them.
        rate: of the points, Hz.

    Examples:
        >>> ia.write_player(ia.load_trajectory("traj.yaml"), "play.py", joints=("pan", "lift", "elbow"), rate=50)
    """
    points = joint_trajectory(trajectory, joints, rate)["points"]
    rows = [
        [p["time_from_start"]["sec"], p["time_from_start"]["nanosec"], p["positions"], p["velocities"], p["accelerations"]]
        for p in points
    ]
    data = "".join(f"    {json.dumps(row)},\n" for row in rows)
    script = resources.files(__package__).joinpath("player.txt").read_text(encoding="utf-8")
    write_whole(path, script.replace("@JOINTS@", json.dumps(list(joints))).replace("@POINTS@", f"[\n{data}]"))
