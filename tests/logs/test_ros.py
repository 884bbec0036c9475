"""ROS 1 bags, ROS 2 bags and MCAP: files written by rosbags and mcap are read back exactly."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from inertica.errors import FileError, InerticaError, InputError
from inertica.logs import Log, read_log
from logfiles import JOINTS, motion, outcome, ros_messages, write_mcap, write_mcap_json, write_mcap_ros1, write_ros1, write_ros2

pytest.importorskip("rosbags.highlevel")
pytest.importorskip("mcap_ros2")

WRITERS: dict[str, Callable[[Path], None]] = {
    "a.bag": write_ros1,
    "sqlite": lambda path: write_ros2(path, "sqlite3"),
    "folder_mcap": lambda path: write_ros2(path, "mcap"),
    "a.mcap": write_mcap,
    "json.mcap": write_mcap_json,
    "ros1.mcap": write_mcap_ros1,
}


def assert_is_motion(log: Log, joints: tuple[str, ...] = JOINTS) -> None:
    t, x = motion()
    order = [JOINTS.index(j) for j in joints]
    np.testing.assert_array_equal(log.t, t)
    for symbol, values in x.items():
        np.testing.assert_array_equal(log.signals[symbol], values[:, order])
    assert log.origin.start == 1_700_000_000
    assert not log.mask.any()


@pytest.mark.parametrize("name", WRITERS)
def test_read_back_exactly(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    log = read_log(tmp_path / name, joints=JOINTS)
    assert log.joints == JOINTS
    assert log.warnings == ()
    assert_is_motion(log)


def test_without_a_robot_the_order_of_the_messages_counts(tmp_path: Path) -> None:
    write_ros1(tmp_path / "a.bag")
    log = read_log(tmp_path / "a.bag")
    assert log.joints == ("wrist_1", "shoulder", "elbow")
    assert_is_motion(log, log.joints)


def test_storage_file_alone(tmp_path: Path) -> None:
    write_ros2(tmp_path / "bag", "sqlite3")
    assert_is_motion(read_log(next((tmp_path / "bag").glob("*.db3")), joints=JOINTS))


def test_subset_of_joints_is_a_note(tmp_path: Path) -> None:
    write_mcap(tmp_path / "a.mcap")
    log = read_log(tmp_path / "a.mcap", joints=("elbow", "shoulder"))
    assert_is_motion(log, ("elbow", "shoulder"))
    assert any("wrist_1" in note for note in log.notes)


def test_slice_by_time(tmp_path: Path) -> None:
    write_mcap(tmp_path / "a.mcap")
    log = read_log(f"{tmp_path / 'a.mcap'}@0.0625:0.125")
    np.testing.assert_array_equal(log.t, np.arange(8, 17) / 128.0)


@pytest.mark.parametrize("name", ["a.bag", "bag"])
def test_topics_are_selectable(tmp_path: Path, name: str) -> None:
    topics = ("/arm/joint_states", "/hand/joint_states")
    if name == "bag":
        write_ros2(tmp_path / name, "sqlite3", topics)
    else:
        write_ros1(tmp_path / name, topics)
    with pytest.raises(InputError, match=r"2 topics: /arm/joint_states, /hand/joint_states; name one: --topic NAME"):
        read_log(tmp_path / name)
    with pytest.raises(InputError, match="has no topic 'leg'"):
        read_log(tmp_path / name, topic="leg")
    assert_is_motion(read_log(tmp_path / name, joints=JOINTS, topic="arm/joint_states"))


def test_joints_that_are_not_there(tmp_path: Path) -> None:
    write_ros1(tmp_path / "a.bag")
    with pytest.raises(InputError, match=r"does not name the joint knee; it names wrist_1, shoulder, elbow"):
        read_log(tmp_path / "a.bag", joints=("shoulder", "knee"))


def test_receive_times(tmp_path: Path) -> None:
    write_ros1(tmp_path / "a.bag")
    log = read_log(tmp_path / "a.bag", stamps="receive")
    assert log.origin.start == pytest.approx(1_700_000_000.005, abs=1e-6)
    np.testing.assert_array_equal(log.t, motion()[0])
    with pytest.raises(InputError, match="stamps cannot be"):
        read_log(tmp_path / "a.bag", stamps="wrong")


def test_recording_that_was_cut_off_is_read_with_a_warning(tmp_path: Path) -> None:
    write_mcap(tmp_path / "a.mcap")
    raw = (tmp_path / "a.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(raw[: len(raw) // 3])
    log = read_log(tmp_path / "cut.mcap", joints=JOINTS)
    assert any("breaks off" in warning for warning in log.warnings)
    np.testing.assert_array_equal(log.q, motion()[1]["q"][: len(log)])
    assert 2 <= len(log) < 40


def test_recording_that_was_never_closed(tmp_path: Path) -> None:
    write_mcap(tmp_path / "a.mcap", finish=False)
    log = read_log(tmp_path / "a.mcap", joints=JOINTS)
    assert any(f"breaks off after {len(log)} messages" in warning for warning in log.warnings)
    np.testing.assert_array_equal(log.tau, motion()[1]["tau"][: len(log)])


def test_messages_lost_from_a_folder_are_counted(tmp_path: Path) -> None:
    write_ros2(tmp_path / "bag", "sqlite3")
    with closing(sqlite3.connect(next((tmp_path / "bag").glob("*.db3")))) as database:
        database.execute("DELETE FROM messages WHERE id % 2 = 0")
        database.commit()
    log = read_log(tmp_path / "bag")
    assert len(log) == 20
    assert any("should have 40 messages, 20 could be read" in warning for warning in log.warnings)


def test_messages_that_do_not_fit_their_joints(tmp_path: Path) -> None:
    """Other joints in between are left out and counted; a message with too few values is masked."""
    from rosbags.rosbag1 import Writer

    kind = "sensor_msgs/msg/JointState"
    store, messages = ros_messages(ros1=True)
    messages[3][1].position = np.zeros(2)
    for k in (5, 6):
        messages[k][1].name = ["left", "right", "thumb"]
    with Writer(tmp_path / "a.bag") as writer:
        connection = writer.add_connection("/joint_states", kind, typestore=store)
        for ns, message in messages:
            writer.write(connection, ns, store.serialize_ros1(message, kind))
    log = read_log(tmp_path / "a.bag", joints=JOINTS)
    assert len(log) == 38
    np.testing.assert_array_equal(np.flatnonzero(log.mask), [3])
    assert any("1 messages on /joint_states have not one value per joint" in warning for warning in log.warnings)
    assert any("2 messages on /joint_states hold none of the robot's joints" in note for note in log.notes)


@pytest.mark.parametrize("name", ["a.bag", "a.mcap", "bag"])
def test_damaged_recordings_give_a_sentence(tmp_path: Path, name: str) -> None:
    """Truncations everywhere, and bytes changed at random: an error of ours, or a log that is shorter."""
    target = tmp_path / name
    WRITERS["sqlite" if name == "bag" else name](target)
    file = next(target.glob("*.db3")) if name == "bag" else target
    raw = file.read_bytes()
    rng = np.random.default_rng(3)
    cases = [raw[:k] for k in np.linspace(0, len(raw) - 1, 25).astype(int)]
    for _ in range(40):
        changed = bytearray(raw)
        for at in rng.integers(0, len(raw), 8):
            changed[at] = rng.integers(256)
        cases.append(bytes(changed))
    errors = 0
    for case in cases:
        file.write_bytes(case)
        found = outcome(target)
        if isinstance(found, InerticaError):
            errors += 1
            assert name in str(found)
    assert errors > 0


def test_folder_that_is_no_bag(tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text("rosbag2_bagfile_information: {version: 5}\n")
    with pytest.raises(FileError, match="no readable ROS 2 bag"):
        read_log(tmp_path)
