"""Trajectory files: exact round trip of every family, exports for controllers, mistakes with their place."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import yaml

import inertica as ia
from excitation.families import KINDS, random_trajectory
from inertica.errors import FileError, InputError
from inertica.excitation import (
    Condition,
    Sampled,
    above,
    catalog_trajectory,
    evaluate,
    load_trajectory,
    read_trajectory,
    save_trajectory,
    violations,
    write_player,
    write_ros2,
)
from inertica.excitation.constraints import robot_constraints
from inertica.excitation.files import EMBEDDED


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip_is_exact(kind, tmp_path):
    trajectory = random_trajectory(kind, 4)
    path = tmp_path / "t.yaml"
    save_trajectory(trajectory, path, robot="arm", joints=("a", "b", "c"), about={"value": np.float64(1.5), "seed": 3})
    read = read_trajectory(path)
    assert type(read.trajectory) is type(trajectory)
    assert read.robot == "arm" and read.joints == ("a", "b", "c") and read.about == {"value": 1.5, "seed": 3}
    for f in fields(trajectory):
        assert np.array_equal(getattr(read.trajectory, f.name), getattr(trajectory, f.name)), f.name
    t = np.linspace(0, trajectory.period, 40)
    assert all(np.array_equal(a, b) for a, b in zip(trajectory(t), load_trajectory(path)(t), strict=True))


@pytest.mark.parametrize("count", [7, EMBEDDED // 2 + 1])
def test_samples_round_trip_is_exact(count, tmp_path):
    rng = np.random.default_rng(0)
    s = Sampled(np.cumsum(rng.uniform(0.1, 1, count)), rng.normal(size=(count, 2)), rng.normal(size=(count, 2)), None, "pchip")
    save_trajectory(s, tmp_path / "s.yaml")
    back = load_trajectory(tmp_path / "s.yaml")
    assert isinstance(back, Sampled) and back.interpolation == "pchip" and back.ddq is None
    assert np.array_equal(back.times, s.times) and np.array_equal(back.q, s.q) and np.array_equal(back.dq, s.dq)
    assert (tmp_path / "s.csv").exists() == (count * 2 > EMBEDDED)
    assert load_trajectory(tmp_path / "s.yaml", "linear").interpolation == "linear"


def test_ros2_message(tmp_path):
    """The fields of trajectory_msgs/msg/JointTrajectory, with times that are exact nanoseconds."""
    trajectory = random_trajectory("fourier", 0)
    write_ros2(trajectory, tmp_path / "r.yaml", ("a", "b", "c"), rate=10.0)
    message = yaml.safe_load((tmp_path / "r.yaml").read_text())
    assert set(message) == {"header", "joint_names", "points"} and message["joint_names"] == ["a", "b", "c"]
    assert len(message["points"]) == 41
    for k, point in enumerate(message["points"]):
        assert set(point) == {"positions", "velocities", "accelerations", "effort", "time_from_start"}
        stamp = point["time_from_start"]
        assert stamp["sec"] * 10**9 + stamp["nanosec"] == k * 10**8
        assert np.allclose(point["velocities"], trajectory([k / 10]).dq[0], atol=1e-13)
    with pytest.raises(InputError, match="2 joint names"):
        write_ros2(trajectory, tmp_path / "r.yaml", ("a", "b"), rate=10.0)


RECORDER = Path(__file__).parent / "ros_recorder.py"


def test_the_player_sends_the_motion_as_actions(tmp_path):
    """Through ros2_control with a lead to the start; through MoveIt with a plan to it; slower where that is asked for."""
    trajectory = random_trajectory("fourier", 0)
    write_player(trajectory, tmp_path / "play.py", ("a", "b", "c"), rate=10.0)

    def played(*words):
        command = [sys.executable, RECORDER, tmp_path / "play.py", *words]
        done = subprocess.run(command, capture_output=True, text=True)
        return done, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    done, (goal,) = played("--lead", "3", "--controller", "arm")
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stderr
    assert (goal["name"], goal["kind"]) == ("/arm/follow_joint_trajectory", "FollowJointTrajectory")
    assert [p[0] * 10**9 + p[1] for p in goal["points"]] == [3 * 10**9 + k * 10**8 for k in range(41)]
    assert np.allclose([p[2] for p in goal["points"]], trajectory(np.arange(41) / 10).q, atol=1e-13)
    done, (plan, motion) = played("--moveit", "manipulator", "--scale", "4")
    assert (plan["name"], motion["name"]) == ("/move_action", "/execute_trajectory")
    assert [name for name, _ in plan["near"]] == ["a", "b", "c"]
    assert np.allclose([q for _, q in plan["near"]], trajectory([0.0]).q[0], atol=1e-13)
    assert len(motion["points"]) == 40 and motion["points"][0][:2] == [0, 4 * 10**8]  # controllers refuse a point at time zero
    assert np.allclose([p[3] for p in motion["points"]], trajectory(np.arange(1, 41) / 10).dq / 4, atol=1e-13)
    done, _ = played("--moveit", "manipulator", "refused")
    assert done.returncode == 2  # an argument too many
    done, _ = played("--controller", "refused")
    assert done.returncode == 1 and "did not reach its goal: it fell" in done.stderr
    assert played("--scale", "0.5")[0].returncode == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("family: fourrier\n", "did you mean 'fourier'"),
        ("period: 3\n", "lacks the key 'family'"),
        ("family: fourier\nperiod: 3\nstart: [0]\nA: [[1]]\n", "needs the key 'B'"),
        ("family: fourier\nperiod: -3\nstart: [0]\nA: [[1]]\nB: [[1]]\n", ":2: period should be greater than zero"),
        ("family: spline\ntimes: [0, 1]\npoints: [[1], [1, 2]]\n", ":3: points should be a list of rows"),
        ("family: spline\ntimes: [0, 1]\npoints: [[1], [a]]\n", ":3: points[2][1] should be a number"),
        ("family: spline\ntimes: [0, 1]\npoints: [[1], [2]]\nknots: 3\n", ":4: unknown key 'knots'"),
        ("family: spline\njoints: [a, b]\ntimes: [0, 1]\npoints: [[1], [2]]\n", ":2: joints names 2 joints"),
        ("family: samples\ntimes: [0, 1]\n", "needs the key 'q'"),
        ("family: samples\nfile: nowhere.csv\n", "there is no such file"),
    ],
)
def test_mistakes_are_placed(tmp_path, text, message):
    path = tmp_path / "t.yaml"
    path.write_text(text)
    with pytest.raises(FileError) as error:
        load_trajectory(path)
    assert message in str(error.value)


@pytest.mark.parametrize("robot", ia.catalog())
@pytest.mark.parametrize("kind", ["identification", "validation"])
def test_shipped_trajectories_keep_every_limit(robot, kind):
    description = ia.load(robot)
    file = catalog_trajectory(robot, kind)
    engine = ia.Engine(description.layout)
    constraints = robot_constraints(description, engine, margin=file.about["margin"], torque_margin=file.about["torque_margin"])
    if file.about.get("floor") is not None:
        constraints.append(above(description.robot, file.about["floor"]))
    assert file.robot == robot and file.joints == description.robot.joint_names
    any_time = np.random.default_rng(0).uniform(0.0, file.trajectory.period, 20_000)
    assert violations(file.trajectory, constraints, any_time) == ()
    base = ia.base_model(description.layout)
    found = evaluate(file.trajectory, engine, base, Condition(), file.about["grid"])
    assert found == pytest.approx(file.about["condition"], rel=1e-5) and found < 70.0


def test_unknown_robot_is_named():
    with pytest.raises(InputError, match="no identification trajectory for 'nothing'"):
        catalog_trajectory("nothing")
