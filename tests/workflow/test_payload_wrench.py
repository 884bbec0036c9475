"""`payload` by a wrist force-torque sensor: what Pinocchio says of a load, with the sensor's bias and noise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.cli.main import main
from inertica.errors import InputError
from inertica.logs.wrench import wrench_columns
from logs.test_surroundings import Messages
from wrist import BIAS, LOAD, write


def test_load_and_bias_while_the_robot_moves(tmp_path: Path) -> None:
    write(tmp_path / "log.csv", seed=1)
    load = ia.payload("panda7", loaded=[str(tmp_path / "log.csv")], sensor="wrench")
    low, high = load.intervals.T
    assert np.count_nonzero((low <= LOAD) & (high >= LOAD)) >= 9
    assert load["M"] == pytest.approx(LOAD[9], rel=0.01) and np.abs(load.body.com - LOAD[6:9] / LOAD[9]).max() < 2e-3
    assert load.labels[9] == "determined" and load.bias is not None
    ends = load.bias.intervals
    assert np.count_nonzero((ends[:, 0] <= BIAS) & (ends[:, 1] >= BIAS)) >= 5 and np.ptp(ends, axis=1).max() < 0.5


def test_the_sign_of_the_sensor_is_that_of_a_positive_mass(tmp_path: Path) -> None:
    """Most sensors read what the load does to them."""
    write(tmp_path / "log.csv", seed=2, sign=-1.0)
    load = ia.payload("panda7", loaded=[str(tmp_path / "log.csv")], sensor="wrench")
    assert load["M"] == pytest.approx(LOAD[9], rel=0.01)
    assert np.abs(load.bias.values - BIAS).max() < 0.1
    assert any("reaction" in choice.sentence for choice in load.choices)


def test_poses_at_rest_tell_mass_centre_and_bias_but_no_inertia(tmp_path: Path) -> None:
    write(tmp_path / "log.csv", seed=3, poses=12)
    load = ia.payload("panda7", loaded=[str(tmp_path / "log.csv")], sensor="wrench-static")
    assert load["M"] == pytest.approx(LOAD[9], rel=0.01) and np.abs(load.body.com - LOAD[6:9] / LOAD[9]).max() < 2e-3
    assert set(load.labels[:6]) == {"unidentifiable"} and set(load.labels[6:]) <= {"determined", "weak"}


def test_the_command_writes_statements_and_a_ros_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "log.csv", seed=4)
    arguments = ["payload", "panda7", "--sensor", "wrench", "--loaded", str(tmp_path / "log.csv"), "-o", str(tmp_path / "load")]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bias"]["value"] == pytest.approx(BIAS, abs=0.1) and len(document["bias"]["interval"]) == 6
    text = (tmp_path / "load" / "controllers.txt").read_text()
    assert "geometry_msgs/Inertia" in text and "set_target_payload(" in text
    assert main(arguments) == 0
    assert "bias of the sensor" in capsys.readouterr().out


def test_a_bag_with_joint_states_and_the_sensor_on_a_topic_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rosbag2 = pytest.importorskip("rosbags.rosbag2")
    from rosbags.typesys import Stores, get_typestore

    write(tmp_path / "log.csv", seed=6)
    names = (tmp_path / "log.csv").read_text().partition("\n")[0].split(",")
    columns = dict(zip(names, np.loadtxt(tmp_path / "log.csv", delimiter=",", skiprows=1).T, strict=True))
    joints = ia.load("panda7").robot.joint_names
    q = np.column_stack([columns[f"q{j + 1}"] for j in range(len(joints))])
    reading = np.column_stack([columns[f"wrench_{part}"] for part in ("fx", "fy", "fz", "tx", "ty", "tz")])
    store = get_typestore(Stores.ROS2_HUMBLE)
    messages = Messages(store, ros1=False)
    topics = {"/joint_states": "sensor_msgs/msg/JointState", "/ft": "geometry_msgs/msg/WrenchStamped"}
    with rosbag2.Writer(tmp_path / "run", version=9) as writer:
        to = {topic: writer.add_connection(topic, kind, typestore=store) for topic, kind in topics.items()}
        for t, at, felt in zip(columns["t"], q, reading, strict=True):
            ns = 1_700_000_000 * 10**9 + round(1e9 * t)
            both = {"/joint_states": messages.state(ns, list(joints), at), "/ft": messages.wrench(ns, felt[:3], felt[3:])}
            for topic, message in both.items():
                writer.write(to[topic], ns, bytes(store.serialize_cdr(message, topics[topic])))
    assert main(["payload", "panda7", "--sensor", "wrench", "--loaded", str(tmp_path / "run"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bias"]["value"] == pytest.approx(BIAS, abs=0.1)
    one = ia.payload("panda7", loaded=[str(tmp_path / "log.csv")], sensor="wrench")
    two = ia.payload("panda7", loaded=[str(tmp_path / "run")], sensor="wrench")
    np.testing.assert_allclose(two.values, one.values, atol=0.05 * np.ptp(one.intervals, axis=1).max())


def test_what_is_missing_ends_in_a_sentence(tmp_path: Path) -> None:
    write(tmp_path / "log.csv", seed=5, columns=("fx", "fy", "fz"))
    with pytest.raises(InputError, match="has no tx, ty, tz of a force-torque sensor"):
        ia.payload("panda7", loaded=[str(tmp_path / "log.csv")], sensor="wrench")
    with pytest.raises(InputError, match="needs no logs without the load"):
        ia.payload("panda7", loaded=["a.csv"], unloaded=["b.csv"], sensor="wrench")
    with pytest.raises(InputError, match="no sensor 'scale'"):
        ia.payload("panda7", loaded=["a.csv"], sensor="scale")


@pytest.mark.parametrize(
    ("names", "sensor", "found"),
    [
        (["wrench_fx", "wrench_fy", "wrench_fz", "wrench_tx"], None, 4),
        (["/ft/wrench/force/x", "/ft/wrench/force/y", "/ft/wrench/force/z", "/ft/wrench/torque/z"], None, 4),
        (["Fx [N]", "Fy [N]", "Fz [N]"], None, 3),
        (["wrench_left_foot_fx", "wrench_left_foot_fy", "wrench_left_foot_fz"], "left_foot", 3),
        (["wrench_left_foot_fx", "wrench_left_foot_fy", "wrench_left_foot_fz"], "foot", 0),
        (["q1", "tau1", "fl_knee_effort"], None, 0),
    ],
)
def test_columns_of_sensors(names: list[str], sensor: str | None, found: int) -> None:
    assert len(wrench_columns(names, sensor)) == found


def test_columns_of_several_sensors_need_a_name() -> None:
    both = [f"wrench_{side}_f{axis}" for side in ("left", "right") for axis in "xyz"]
    with pytest.raises(InputError, match="2 force-torque sensors"):
        wrench_columns(both)
    assert wrench_columns(both, "left")["fx"] == "wrench_left_fx"
    with pytest.raises(InputError, match="but no fy"):
        wrench_columns(["wrench_fx", "wrench_fz"])
