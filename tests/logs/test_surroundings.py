"""Bags with topics beside joint states: how the base moves, and forces on links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inertica.errors import FileError
from inertica.logs.read import read_log
from inertica.logs.readers.options import ReadOptions
from inertica.robot.load import load
from logs.test_floating import LEGS, RATE, N, motion, quaternions
from mujoco_walker import model_text

pytest.importorskip("rosbags.highlevel")

FEET = "[fl_foot, fr_foot]"
MESSAGES = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/odom": "nav_msgs/msg/Odometry",
    "/xsens/data": "sensor_msgs/msg/Imu",
    "/foot_sensor": "geometry_msgs/msg/WrenchStamped",
}


class Messages:
    """Makes messages of a store's types."""

    def __init__(self, store: Any, ros1: bool) -> None:
        self.kinds, self.ros1 = store.types, ros1

    def make(self, kind: str, **fields: Any) -> Any:
        return self.kinds[kind](**fields)

    def header(self, ns: int) -> Any:
        stamp = self.make("builtin_interfaces/msg/Time", sec=ns // 10**9, nanosec=ns % 10**9)
        return self.make("std_msgs/msg/Header", stamp=stamp, frame_id="", **({"seq": 0} if self.ros1 else {}))

    def vector(self, values: Any, kind: str = "Vector3") -> Any:
        return self.make(f"geometry_msgs/msg/{kind}", **dict(zip("xyz", map(float, values), strict=True)))

    def quaternion(self, wxyz: Any) -> Any:
        return self.make("geometry_msgs/msg/Quaternion", **dict(zip("wxyz", map(float, wxyz), strict=True)))

    def odometry(self, ns: int, place: Any, wxyz: Any) -> Any:
        pose = self.make("geometry_msgs/msg/Pose", position=self.vector(place, "Point"), orientation=self.quaternion(wxyz))
        twist = self.make("geometry_msgs/msg/Twist", linear=self.vector(np.zeros(3)), angular=self.vector(np.full(3, np.nan)))
        unknown = np.zeros(36)
        return self.make(
            "nav_msgs/msg/Odometry", header=self.header(ns), child_frame_id="",
            pose=self.make("geometry_msgs/msg/PoseWithCovariance", pose=pose, covariance=unknown),
            twist=self.make("geometry_msgs/msg/TwistWithCovariance", twist=twist, covariance=unknown),
        )  # fmt: skip

    def imu(self, ns: int, wxyz: Any, w: Any, force: Any, oriented: bool) -> Any:
        said = np.zeros(9) if oriented else np.array([-1.0, *np.zeros(8)])
        return self.make(
            "sensor_msgs/msg/Imu", header=self.header(ns), orientation=self.quaternion(wxyz), orientation_covariance=said,
            angular_velocity=self.vector(w), angular_velocity_covariance=np.zeros(9),
            linear_acceleration=self.vector(force), linear_acceleration_covariance=np.zeros(9),
        )  # fmt: skip

    def wrench(self, ns: int, force: Any, torque: Any = (0.0, 0.0, 0.0)) -> Any:
        both = self.make("geometry_msgs/msg/Wrench", force=self.vector(force), torque=self.vector(torque))
        return self.make("geometry_msgs/msg/WrenchStamped", header=self.header(ns), wrench=both)

    def state(self, ns: int, names: list[str], q: Any, dq: Any = (), tau: Any = ()) -> Any:
        values = {key: np.array(x, float) for key, x in (("position", q), ("velocity", dq), ("effort", tau))}
        return self.make("sensor_msgs/msg/JointState", header=self.header(ns), name=names, **values)

    def joints(self, ns: int, t: float) -> Any:
        phase = t + np.arange(len(LEGS))
        return self.state(ns, LEGS, 0.2 * np.sin(phase), 0.2 * np.cos(phase), np.cos(phase))


def write_bag(path: Path, storage: str, topics: tuple[str, ...], oriented: bool = True) -> None:
    """Joint states at 200 Hz, odometry at 100 Hz, everything else at 200 Hz; the orientation of the IMU is nonsense."""
    from rosbags.typesys import Stores, get_typestore

    ros1 = storage == "ros1"
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    made = Messages(store, ros1)
    t, place, angles, w, force = motion()
    turned = quaternions(angles)
    if ros1:
        from rosbags.rosbag1 import Writer

        writer, serialize = Writer(path), store.serialize_ros1
    else:
        from rosbags.rosbag2 import StoragePlugin
        from rosbags.rosbag2 import Writer as Writer2

        plugin = StoragePlugin.MCAP if storage == "mcap" else StoragePlugin.SQLITE3
        writer, serialize = Writer2(path, version=9, storage_plugin=plugin), store.serialize_cdr
    with writer:
        connections = {name: writer.add_connection(name, MESSAGES[name], typestore=store) for name in topics}
        for k in range(N):
            ns = 1_700_000_000 * 10**9 + round(1e9 * k / RATE)
            sent = {
                "/joint_states": made.joints(ns, t[k]),
                "/odom": made.odometry(ns, place[k], turned[k]) if k % 2 == 0 else None,
                "/xsens/data": made.imu(ns, [1.0, 0, 0, 0] if "/odom" in topics else turned[k], w[k], force[k], oriented),
                "/foot_sensor": made.wrench(ns, [0.0, 0.0, 50.0]),
            }
            for name, connection in connections.items():
                if (message := sent[name]) is not None:
                    writer.write(connection, ns + 5_000_000, bytes(serialize(message, MESSAGES[name])))


def walker(folder: Path, contacts: str = "[trunk]") -> Path:
    (folder / "walker.xml").write_text(model_text(""))
    (folder / "card.yaml").write_text(f"model: walker.xml\ncontacts: {contacts}\n")
    return folder / "card.yaml"


@pytest.mark.parametrize("storage", ["sqlite3", "mcap", "ros1"])
def test_a_bag_says_how_the_base_moves(tmp_path: Path, storage: str) -> None:
    bag = tmp_path / ("run.bag" if storage == "ros1" else "run")
    write_bag(bag, storage, ("/joint_states", "/odom", "/xsens/data"))
    file = next(bag.glob("*.mcap")) if storage == "mcap" else bag
    log = read_log(file, load(str(walker(tmp_path))))
    t, place, angles, _, _ = motion()
    assert log.joints[-6:] == ("base_x", "base_y", "base_z", "base_yaw", "base_pitch", "base_roll")
    for k, truth in enumerate(np.column_stack([place, angles]).T, start=12):
        between = np.interp(log.t - log.t[0], t, truth)  # at 100 Hz: straight lines between samples
        np.testing.assert_allclose(log.signals["q"][:, k], between, atol=1e-4)
    assert any("/odom was brought to the clock" in note for note in log.notes)


def test_an_imu_alone_states_the_orientation_unless_it_says_it_has_none(tmp_path: Path) -> None:
    card = walker(tmp_path)
    write_bag(tmp_path / "run", "sqlite3", ("/joint_states", "/xsens/data"))
    log = read_log(tmp_path / "run", load(str(card)))
    np.testing.assert_allclose(log.signals["q"][:, 15:18], motion()[2], atol=1e-4)
    write_bag(tmp_path / "bare", "sqlite3", ("/joint_states", "/xsens/data"), oriented=False)
    with pytest.raises(FileError, match="says nothing of the orientation of the base"):
        read_log(tmp_path / "bare", load(str(card)))


def test_a_robot_that_stands_still_needs_no_other_topics(tmp_path: Path) -> None:
    """Unless they are asked for: a force sensor's rows would be thrown away with those it does not cover."""
    write_bag(tmp_path / "run", "sqlite3", ("/joint_states", "/foot_sensor"))
    assert not any("foot_sensor" in channel.name for channel in read_log(tmp_path / "run").channels)
    log = read_log(tmp_path / "run", options=ReadOptions(surroundings=True))
    (pressed,) = (channel.samples for channel in log.channels if channel.name == "/foot_sensor/wrench/force/z")
    assert np.all(pressed == 50.0)
