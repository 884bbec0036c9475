"""The ROS 2 package: its core without ROS, and a lint of its files; the nodes run where ROS is."""

from __future__ import annotations

import ast
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

import inertica as ia
from documents import ROOT

PACKAGE = ROOT / "ros" / "inertica_ros"
sys.path.insert(0, str(PACKAGE))
from inertica_ros import core  # noqa: E402

DATA = ROOT / "examples" / "data"
NODES = ("play", "record", "identify")


JOINTS = ("pan", "lift", "elbow")


@pytest.fixture
def trajectory(tmp_path: Path) -> Path:
    from inertica.excitation.fourier import Fourier

    A, B = np.random.default_rng(0).normal(size=(2, 3, 3)) * 0.1
    ia.save_trajectory(Fourier.at_rest(2.0, [0.0, 0.2, 0.3], A, B), tmp_path / "traj.yaml", robot="arm", joints=JOINTS)
    return tmp_path / "traj.yaml"


def test_points_are_those_of_the_motion(trajectory: Path) -> None:
    motion, points = ia.load_trajectory(trajectory), core.motion_points(trajectory, JOINTS, rate=50.0, lead=5.0)
    assert len(points) == 101 and points[0].time == 5.0 and points[-1].stamp == (7, 0)
    q, dq, ddq = motion(np.array([p.time - 5.0 for p in points]))
    assert np.allclose([p.positions for p in points], q) and np.allclose([p.velocities for p in points], dq)
    assert np.allclose([p.accelerations for p in points], ddq)
    assert all(a.stamp < b.stamp for a, b in pairwise(points))


def test_no_point_lies_at_time_zero(trajectory: Path) -> None:
    assert core.motion_points(trajectory, JOINTS, rate=10.0)[0].time == pytest.approx(0.1)
    with pytest.raises(ia.InputError, match="rate of the points"):
        core.motion_points(trajectory, JOINTS, rate=0.0)


def test_the_end_of_a_motion_is_a_point_and_its_joints_are_the_robots(trajectory: Path) -> None:
    assert core.motion_points(trajectory, JOINTS, rate=7.3)[-1].stamp == (2, 0)  # 2 s are no whole number of intervals
    with pytest.raises(ia.InputError, match="2 joint names for a motion of 3 joints"):
        core.motion_points(trajectory, JOINTS[:2], rate=7.3)


def test_states_in_any_order_become_a_log_that_is_identified(tmp_path: Path) -> None:
    """From messages to an identified model, with the result that the log itself gives."""
    source = ia.read_log(DATA / "run1.csv.gz", ia.load(DATA / "arm.urdf"))
    recorder = core.Recorder(core.joint_names(DATA / "arm.urdf"))
    names = ("elbow", "gripper", "pan", "lift")
    for t, q, tau in zip(source.t, source.need("q"), source.need("tau"), strict=True):
        ns = 1_700_000_000 * core.NANO + round(t * core.NANO)
        values = {"position": [q[2], 9.0, q[0], q[1]], "effort": [tau[2], 9.0, tau[0], tau[1]], "velocity": []}
        assert recorder.add(ns // core.NANO, ns % core.NANO, names, values)
    log = recorder.save(tmp_path / "run.csv.gz")
    assert np.array_equal(log.need("q"), source.need("q")) and np.array_equal(log.need("tau"), source.need("tau"))
    assert log.t == pytest.approx(source.t - source.t[0], abs=1e-9) and "dq" not in log.signals
    sentence = core.identify(DATA / "arm.urdf", [tmp_path / "run.csv.gz"], tmp_path / "result", [DATA / "run2.csv.gz"])
    assert "misses" in sentence and (tmp_path / "result" / "identified.urdf").is_file()


def test_what_is_no_state_of_the_robot_is_left_out() -> None:
    recorder = core.Recorder(("pan", "lift"), current=True)
    whole = {"position": [1.0, 2.0], "velocity": [3.0, 4.0], "effort": [5.0, 6.0]}
    assert recorder.add(10, 0, ("lift", "pan"), whole)
    assert not recorder.add(10, 0, ("lift", "pan"), whole)  # the same stamp again
    assert not recorder.add(11, 0, ("pan", "finger"), whole)
    assert not recorder.add(11, 0, ("pan", "lift"), {**whole, "effort": []})
    with pytest.raises(ia.InputError, match="1 usable joint states came"):
        recorder.log()
    assert recorder.add(12, 500_000_000, ("pan", "lift"), whole)
    log = recorder.log()
    assert log.t.tolist() == [0.0, 2.5] and log.need("i").tolist() == [[6.0, 5.0], [5.0, 6.0]]
    assert log.need("dq").tolist() == [[4.0, 3.0], [3.0, 4.0]]


def test_package_files_agree() -> None:
    manifest = etree.parse(str(PACKAGE / "package.xml")).getroot()
    assert manifest.get("format") == "3" and manifest.findtext("export/build_type") == "ament_python"
    assert manifest.findtext("name") == "inertica_ros" and manifest.findtext("version") == ia.__version__
    (call,) = [n for n in ast.walk(ast.parse((PACKAGE / "setup.py").read_text())) if isinstance(n, ast.Call)]
    setup = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    assert setup["name"] == "inertica_ros" and setup["version"] == ia.__version__
    assert setup["entry_points"]["console_scripts"] == [f"{node} = inertica_ros.{node}:main" for node in NODES]
    for _, files in setup["data_files"]:
        assert all((PACKAGE / file).is_file() for file in files)
    assert (PACKAGE / "resource" / "inertica_ros").read_bytes() == b""


@pytest.mark.parametrize("node", NODES)
def test_nodes_are_modules_whose_packages_the_manifest_names(node: str) -> None:
    tree = ast.parse((PACKAGE / "inertica_ros" / f"{node}.py").read_text())
    assert "main" in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)} and ast.get_docstring(tree)
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    roots = {name.partition(".")[0] for name in imported} - {"__future__", "inertica_ros"}
    needs = {e.text for e in etree.parse(str(PACKAGE / "package.xml")).getroot().iterfind("exec_depend")}
    assert roots and roots <= needs
    used = {n.name for s in ast.walk(tree) if isinstance(s, ast.ImportFrom) and s.module == "inertica_ros.core" for n in s.names}
    assert used and all(hasattr(core, name) for name in used)


def test_the_core_needs_no_ros() -> None:
    tree = ast.parse((PACKAGE / "inertica_ros" / "core.py").read_text())
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert imported == {"numpy", "inertica"}


@pytest.mark.parametrize("node", NODES)
def test_nodes_import_where_ros_is(node: str) -> None:
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    __import__(f"inertica_ros.{node}")


def test_what_is_refused_is_one_sentence() -> None:
    recorder = core.Recorder(["pan"])

    def run() -> int:
        recorder.save("nowhere.csv")
        return 0

    assert core.in_one_sentence(lambda: 0) == 0
    with pytest.raises(SystemExit, match="inertica: 0 usable joint states came"):  # Python writes it to stderr, exit code 1
        core.in_one_sentence(run)
    assert not Path("nowhere.csv").exists()
