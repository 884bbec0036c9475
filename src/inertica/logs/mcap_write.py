"""Joint states as MCAP, for Foxglove, PlotJuggler, rerun and ROS 2: every signal a topic of `sensor_msgs/msg/JointState`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.logs.readers.guard import package
from inertica.writing import whole_file

JOINT_STATE = """std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""

FIELDS = ("position", "velocity", "effort")


def write_joint_states(path: str | Path, joints: Sequence[str], t: Array, topics: Mapping[str, Mapping[str, Array]]) -> None:
    """Writes topics with one message per sample.

    Args:
        path: of the file.
        joints: names.
        t: (N,) s; times before zero are shifted so that the first is zero, samples without a time are left out.
        topics: name -> field of the message (position, velocity, effort) -> (N, n).
    """
    writer_module = package("mcap_ros2.writer", "writing MCAP", "ros")
    usable = np.flatnonzero(np.isfinite(t))
    stamps = np.round(1e9 * (t[usable] - min(0.0, float(np.min(t[usable], initial=0.0))))).astype(np.int64)
    with whole_file(path) as temporary, temporary.open("wb") as file:
        writer = writer_module.Writer(file)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        for k, ns in zip(usable.tolist(), stamps.tolist(), strict=True):
            header = {"stamp": {"sec": ns // 10**9, "nanosec": ns % 10**9}, "frame_id": ""}
            for topic, fields in topics.items():
                values = {key: fields[key][k].tolist() if key in fields else [] for key in FIELDS}
                writer.write_message(
                    topic, schema, {"header": header, "name": list(joints), **values}, log_time=ns, publish_time=ns
                )
        writer.finish()
