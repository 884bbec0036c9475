"""Collisions: distances of simple bodies, their derivative, and a design that keeps clear."""

from __future__ import annotations

import numpy as np
import pytest

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.errors import FileError, InputError
from inertica.excitation import Collisions, Condition, Fourier, JointLimits, Obstacle, Samples, Search, design

pytest.importorskip("coal")

LINK = """
  <link name="{name}"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="{at} 0 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>"""
JOINT = """
  <joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="{at} 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="4" effort="100"/></joint>"""


def _urdf(path, kind="revolute", collision=True):
    """Three links of 0.4 m in the plane with a sphere at the end of each, and one at the base."""
    text = '<robot name="arm">' + LINK.format(name="base", at=0)
    for k in range(3):
        text += LINK.format(name=f"l{k + 1}", at=0.4)
        text += JOINT.format(name=f"j{k + 1}", kind=kind, parent=f"l{k}" if k else "base", child=f"l{k + 1}", at=0.4 if k else 0)
    text += "</robot>"
    if not collision:
        start, end = "<collision>", "</collision>"
        while start in text:
            text = text[: text.index(start)] + text[text.index(end) + len(end) :]
    path.write_text(text)
    return ia.load(path)


def _ends(q):
    """Positions of the ends of the links."""
    angle = np.cumsum(q)
    return np.cumsum(0.4 * np.stack([np.cos(angle), np.sin(angle)], axis=1), axis=0)


@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_distance_of_spheres(tmp_path, kind):
    c = Collisions(_urdf(tmp_path / "arm.urdf", kind))
    for q in np.random.default_rng(0).uniform(-2.5, 2.5, (20, 3)):
        ends = _ends(q)
        between = min(np.linalg.norm(ends[1]), np.linalg.norm(ends[2]), np.linalg.norm(ends[2] - ends[0]))
        assert c.closest(q)[0] == pytest.approx(between - 0.1, abs=1e-6)


def test_obstacles_count(tmp_path):
    c = Collisions(_urdf(tmp_path / "arm.urdf"), (Obstacle("sphere", (0.1,), (1.2, 0.5, 0.0), "ball"),), clearance=0.02)
    q = np.array([0.0, 0.0, 0.0])
    distance, first, second = c.closest(q)
    assert distance == pytest.approx(0.5 - 0.15, abs=1e-6) and {"ball"} & {first, second}
    motion = Samples(q[None], q[None], q[None])
    assert c.excess(motion)[0, 0] == pytest.approx((0.02 - 0.35) / 0.1, abs=1e-5)


def test_gradient_agrees_with_differences(tmp_path):
    c = Collisions(_urdf(tmp_path / "arm.urdf"), (Obstacle("box", (0.2, 0.2, 0.2), (0.5, 0.6, 0.0)),))
    for q in np.random.default_rng(1).uniform(-1.5, 1.5, (10, 3)):
        motion = Samples(q[None], 0 * q[None], 0 * q[None])
        gradient = c.gradient(motion, np.ones((1, 1))).q[0]
        h = 1e-5
        found = [
            (c.excess(Samples((q + h * e)[None], *motion[1:])) - c.excess(Samples((q - h * e)[None], *motion[1:])))[0, 0]
            / (2 * h)
            for e in np.eye(3)
        ]
        assert np.allclose(gradient, found, atol=2e-3 * max(1.0, np.abs(gradient).max()))


def test_design_keeps_clear(tmp_path):
    description = _urdf(tmp_path / "arm.urdf")
    engine, base = Engine(description.layout), ia.base_model(description.layout)
    wall = Obstacle("box", (0.1, 4.0, 1.0), (1.36, 0.0, 0.0), "wall")
    limits = JointLimits(description.robot, description.robot.limits, 0.1)
    clear = Collisions(description, (wall,))
    search = Search(random=20, evaluations=0, rounds=3, iterations=5)
    found = design(engine, base, Fourier.still(4.0, [0, 0, 0], 4), Condition(), [limits, clear], grid=20, search=search)
    assert found.feasible
    t = np.linspace(0, 4, 201)
    distances = np.array([clear.closest(q)[0] for q in found.trajectory(t).q])
    assert distances.min() >= 0.01 - 1e-3  # between the points of the fine grid
    assert np.ptp(found.trajectory(t).q, axis=0).min() > 0.1


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(FileError, match="no collision elements"):
        Collisions(_urdf(tmp_path / "bare.urdf", collision=False)).closest(np.zeros(3))
    with pytest.raises(InputError, match="need a URDF"):
        Collisions(ia.load("tx40")).closest(np.zeros(6))
    with pytest.raises(InputError, match="cannot be a 'cone'"):
        Collisions(_urdf(tmp_path / "arm.urdf"), (Obstacle("cone", (1.0,), (0.0, 0.0, 0.0)),)).closest(np.zeros(3))
