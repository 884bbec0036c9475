"""One robot described twice: the catalog's DH table and a URDF of the same arm."""

from __future__ import annotations

import numpy as np

from inertica.dynamics.engine import Engine
from inertica.robot.kinematics import poses
from inertica.robot.layout import Layout
from inertica.robot.load import load
from inertica.robot.model import Robot


def frames(robot: Robot, q: np.ndarray) -> np.ndarray:
    """(n, 4, 4) poses of the link frames in the base."""
    out: list[np.ndarray] = []
    for pose in poses(robot, list(q)):
        T = np.eye(4)
        T[:3, :3] = np.array([pose.to_parent(unit) for unit in np.eye(3)], float).T
        T[:3, 3] = np.array(pose.point(), float) + T[:3, :3] @ np.array(pose.joint.arm)
        out.append(T if pose.joint.parent < 0 else out[pose.joint.parent] @ T)
    return np.array(out)


def test_dh_table_and_urdf_are_the_same_arm(real_data) -> None:
    """The URDF has its joint zeros elsewhere on joints 2 and 3; behind that shift kinematics and regressors agree."""
    dh, urdf = load("tx40").robot, load(real_data / "tx40" / "tx40.urdf").robot
    shift = np.array([0.0, -np.pi / 2, np.pi / 2, 0.0, 0.0, 0.0])  # the table's theta; joint 6 has its own in the URDF's origin
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 20, 6))
    for x in q[:5]:
        assert np.abs(frames(dh, x) - frames(urdf, x + shift)).max() < 1e-9
    ours, theirs = (Engine(Layout(r), threads=1).regressor(a, dq, ddq) for r, a in ((dh, q), (urdf, q + shift)))
    assert np.abs(ours - theirs).max() < 1e-9 * np.abs(ours).max()
