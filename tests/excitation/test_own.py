"""Motions that `simulate` and `demo` design for robots without a stored one."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.cli.main import main
from inertica.excitation.collision import Collisions
from inertica.excitation.default_motion import default_motion
from inertica.excitation.solids import Plane

LINK = """<link name="{0}"><inertial><origin xyz="0.2 0 0"/><mass value="2"/><inertia ixx="0.02" iyy="0.05" izz="0.05"/></inertial>
<collision><origin xyz="0.2 0 0" rpy="0 1.5707963 0"/><geometry><cylinder radius="0.04" length="0.4"/></geometry></collision></link>"""
JOINT = """<joint name="j{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="{3}"/><axis xyz="{4}"/>
<limit lower="-3" upper="3" velocity="2" effort="90"/></joint>"""


def arm(folder: Path) -> Path:
    """Three links that could reach through each other and through the floor."""
    text = '<link name="base"/>' + "".join(LINK.format(n) for n in "abc")
    text += JOINT.format(1, "base", "a", "0 0 0.3", "0 0 1") + JOINT.format(2, "a", "b", "0.4 0 0", "0 1 0")
    text += JOINT.format(3, "b", "c", "0.4 0 0", "0 1 0")
    path = folder / "arm.urdf"
    path.write_text(f'<robot name="arm">{text}</robot>')
    return path


def apart(robot: ia.Description, trajectory: ia.Trajectory) -> float:
    """m between link c and a, and any link and the floor, by points on the cylinders' axes at 1 kHz; nothing of the package."""
    q = trajectory(np.arange(0.0, trajectory.period, 1e-3))[0]
    ends = [np.tile([0.0, 0.0, 0.3], (len(q), 1))]
    up, low = np.zeros(len(q)), []
    for j in range(3):  # the first joint turns about z, the others lean the arm down
        up = up + (q[:, j] if j else 0.0)
        reach = np.column_stack([np.cos(up) * np.cos(q[:, 0]), np.cos(up) * np.sin(q[:, 0]), -np.sin(up)])
        ends.append(ends[-1] + 0.4 * reach)
        # the rim of a flat end lies below its centre by the radius times the cosine of the axis' slope
        low.append((np.minimum(ends[-1][:, 2], ends[-2][:, 2]) - 0.04 * np.abs(np.cos(up))).min())
    share = np.linspace(0.0, 1.0, 21)[:, None, None]
    points = [a + share * (b - a) for a, b in pairwise(ends)]
    between = min(float(np.linalg.norm(points[2] - p, axis=-1).min()) for p in points[0]) - 0.08
    return min(*map(float, low), between)


def test_a_designed_motion_keeps_links_apart_and_off_the_floor(tmp_path: Path) -> None:
    robot = ia.load(arm(tmp_path))
    found = default_motion(robot)
    assert "no acceleration limit was kept for j1, j2, j3" in found.note
    assert "closest approach" in found.note and "none is stored for arm" in found.note and "no floor" not in found.note
    assert apart(robot, found.trajectory) > 0.02 - 1e-6
    bodies = Collisions(robot, planes=(Plane((0.0, 0.0, 1.0), 0.0, "floor"),))
    assert bodies.free(found.trajectory(np.arange(0.0, 10.0, 1e-3))[0])


def test_a_shipped_motion_is_taken_and_nothing_said() -> None:
    found = default_motion(ia.load("tx40"), "validation")
    assert found.note == "" and found.trajectory.period == ia.catalog_trajectory("tx40", "validation").trajectory.period


def test_simulate_says_what_it_designed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop = "{law: pd, wn: 15, rate: 500}"
    words = ["simulate", str(arm(tmp_path)), "-o", str(tmp_path / "log.npz"), "--loop", loop, "--duration", "1"]
    assert main([*words, "--json"]) == 0
    assert "closest approach" in json.loads(capsys.readouterr().out)["motion"]
