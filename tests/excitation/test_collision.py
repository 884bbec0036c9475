"""Collisions: distances of simple bodies, their derivative, and a design that keeps clear."""

from __future__ import annotations

import numpy as np
import pytest

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation import (
    Collisions,
    Condition,
    DesignOptions,
    Fourier,
    JointLimits,
    Multisine,
    Obstacle,
    Plane,
    Samples,
    Search,
    design,
)
from inertica.excitation.distance import hull_depth, hull_distance, segment_distance
from inertica.robot.shapes import round_points

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


def test_links_that_pass_each_other_closely_by_construction_do_not_hold_a_motion_back(tmp_path):
    """Within +- 2.85 rad spheres two joints apart come to 16 mm, less than the 20 that are kept free, and no nearer."""
    path = tmp_path / "arm.urdf"
    _urdf(path)
    path.write_text(path.read_text().replace('"-3"', '"-2.85"').replace('"3"', '"2.85"'))
    assert [pair.label for pair in Collisions(ia.load(path), clearance=0.02).pairs] == ["base and l3"]
    path.write_text(path.read_text().replace("2.85", "2.88"))  # to 4 mm: they could touch
    assert len(Collisions(ia.load(path), clearance=0.02).pairs) == 3


def test_obstacles_count(tmp_path):
    c = Collisions(
        _urdf(tmp_path / "arm.urdf"), (Obstacle("sphere", (0.1,), (1.2, 0.5, 0.0), "ball"),), clearance=0.02, rough=0.05
    )
    q = np.array([0.0, 0.0, 0.0])
    distance, first, second = c.closest(q)
    assert distance == pytest.approx(0.5 - 0.15, abs=1e-6) and {"ball"} & {first, second}
    motion = Samples(q[None], q[None], q[None])
    assert c.excess(motion).max() <= -0.6  # far enough not to be looked at more closely
    near = Samples(np.array([[0.35, 0.0, 0.0]]), q[None], q[None])
    gap = np.linalg.norm(1.2 * np.array([np.cos(0.35), np.sin(0.35)]) - [1.2, 0.5]) - 0.15
    assert c.excess(near).max() == pytest.approx((0.02 - gap) / 0.1, abs=1e-6) and gap < 0.1


def test_gradient_agrees_with_differences(tmp_path):
    box, wall = Obstacle("box", (0.2, 0.2, 0.2), (0.5, 0.6, 0.0)), Plane((-1.0, 0.0, 0.0), -1.1, "wall")
    c = Collisions(_urdf(tmp_path / "arm.urdf"), (box,), planes=(wall,))
    weights, sizes = np.linspace(1.0, 2.0, len(c.pairs))[None], []
    for q in np.random.default_rng(1).uniform(-1.5, 1.5, (40, 3)):
        motion = Samples(q[None], 0 * q[None], 0 * q[None])
        gradient = c.gradient(motion, weights).q[0]
        h = 1e-6
        found = [
            np.sum(
                weights * (c.excess(Samples((q + h * e)[None], *motion[1:])) - c.excess(Samples((q - h * e)[None], *motion[1:])))
            )
            / (2 * h)
            for e in np.eye(3)
        ]
        sizes.append(np.abs(gradient).max())
        assert np.allclose(gradient, found, atol=1e-4 * max(1.0, sizes[-1]))
    assert np.count_nonzero(sizes) > 10


def test_design_keeps_clear(tmp_path):
    description = _urdf(tmp_path / "arm.urdf")
    engine, base = Engine(description.layout), ia.base_model(description.layout)
    wall = Obstacle("box", (0.1, 4.0, 1.0), (1.36, 0.0, 0.0), "wall")
    limits = JointLimits(description.robot, description.robot.limits, 0.1)
    clear = Collisions(description, (wall,))
    search = Search(random=20, evaluations=0, rounds=3, iterations=5)
    found = design(
        engine, base, Fourier.still(4.0, [0, 0, 0], 4), Condition(), [limits, clear], DesignOptions(grid=20, search=search)
    )
    assert found.feasible
    t = np.linspace(0, 4, 4001)
    distances = np.array([clear.closest(q)[0] for q in found.trajectory(t).q])
    assert distances.min() >= 0.02 and found.approach.distance >= 0.02
    assert np.ptp(found.trajectory(t).q, axis=0).min() > 0.1


def test_bad_obstacles_are_named():
    with pytest.raises(InputError, match="cannot be a 'cone'"):
        Obstacle("cone", (1.0,), (0.0, 0.0, 0.0))
    with pytest.raises(InputError, match="3 positive sizes"):
        Obstacle("box", (1.0, 2.0), (0.0, 0.0, 0.0))


def _distance(P, Q):
    a, b = np.empty(3), np.empty(3)
    return hull_distance(P, 0, len(P), Q, 0, len(Q), np.inf, np.empty((11, 4)), np.empty((4, 2), np.int64), a, b), a, b


def test_distance_of_hulls_agrees_with_a_least_squares_fit():
    """The nearest point of P - Q is a convex combination of its corners: nonnegative least squares finds the same."""
    from scipy.optimize import nnls

    rng, overlaps = np.random.default_rng(0), 0
    for _ in range(150):
        k, l = rng.integers(1, 15, 2)
        P = rng.normal(size=(k, 3)) * rng.uniform(0.05, 1, 3)
        Q = rng.normal(size=(l, 3)) * rng.uniform(0.05, 1, 3) + 1.5 * rng.normal(size=3)
        D = (P[:, None] - Q[None]).reshape(-1, 3)
        x, _ = nnls(np.vstack([D.T, 1e3 * np.ones(len(D))]), np.r_[0, 0, 0, 1e3])
        expected = np.linalg.norm(D.T @ x / x.sum())
        found, a, b = _distance(P, Q)
        assert found == pytest.approx(expected, abs=1e-7)
        overlaps += found == 0.0
        if found > 0.0:
            assert np.linalg.norm(a - b) == pytest.approx(found, rel=1e-9)
    assert 5 < overlaps < 145


def test_distance_of_segments_is_that_of_their_hulls():
    rng = np.random.default_rng(4)
    a, b = np.empty(3), np.empty(3)
    for k in range(300):
        P, Q = rng.normal(size=(rng.integers(1, 3), 3)), rng.normal(size=(rng.integers(1, 3), 3))
        if k % 3 == 0 and len(P) == len(Q) == 2:
            Q[1] = Q[0] + rng.normal() * (P[1] - P[0])  # parallel
        found = segment_distance(P, 0, len(P), Q, 0, len(Q), a, b)
        assert found == pytest.approx(_distance(P, Q)[0], abs=1e-9) and np.linalg.norm(a - b) == pytest.approx(found)


def test_depth_of_boxes_is_the_least_overlap():
    box = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    a, b, n = np.empty(3), np.empty(3), np.empty(3)
    directions = np.vstack([round_points(42), np.eye(3), -np.eye(3)])
    other = box + np.array([1.7, 0.2, 0.1])
    depth = hull_depth(box, 0, 8, other, 0, 8, directions, a, b, n)
    assert depth == pytest.approx(0.3) and np.allclose(n, [1, 0, 0])
    assert _distance(box, other + (depth + 1e-6) * n)[0] > 0.0


def test_distances_agree_with_coal():
    """Boxes, cylinders, capsules and spheres at random places; a cylinder is a prism here, at most 2 % wider."""
    coal = pytest.importorskip("coal")
    from inertica.robot.shapes import Solid

    rng = np.random.default_rng(3)
    kinds = {"box": (3, coal.Box), "cylinder": (2, coal.Cylinder), "capsule": (2, coal.Capsule), "sphere": (1, coal.Sphere)}
    for _ in range(120):
        made = []
        for kind in rng.choice(list(kinds), 2):
            count, shape = kinds[kind]
            size = tuple(float(x) for x in rng.uniform(0.05, 0.3, count))
            R, p = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3) * 0.5
            R = R * np.sign(np.linalg.det(R))
            made.append((Solid(kind, size, R, p), shape(*size), coal.Transform3s(R, p)))
        (s, first, at), (t, second, there) = made
        expected = coal.distance(first, at, second, there, coal.DistanceRequest(), coal.DistanceResult())
        (P, r), (Q, u) = s.core(), t.core()
        found = _distance(P, Q)[0] - r - u
        if expected > 0.01:
            wider = sum(x.size[0] for x in (s, t) if x.kind == "cylinder") * (1.0 / np.cos(np.pi / 16) - 1.0)
            assert expected - wider - 1e-6 <= found <= expected + 1e-6


def test_pairs_that_count(tmp_path):
    """Neighbours do not; what touches everywhere does not and is listed; a link on the floor does not either."""
    c = Collisions(ia.load("panda7"), planes=(Plane((0.0, 0.0, 1.0), 0.0),))
    counted = {(p.first, p.second) for p in c.pairs if p.second is not None}
    assert not any(b - a == 1 for a, b in counted)
    listed = {p.names for p in c.touching}
    assert ("link1", "link3") in listed and ("link1", "floor") in listed
    q = np.random.default_rng(5).uniform(
        *np.array([c.description.robot.limits.lower, c.description.robot.limits.upper]), (300, 7)
    )
    everything = Collisions(c.description, planes=c.planes, clearance=1e-6, rough=1e-6)
    for pair in c.touching:
        assert everything._measured([pair], q)[0].max() < c.clearance
    assert {p.names for p in c.pairs} | listed == {p.names for p in c._possible()}


def test_what_happens_between_two_instants_is_bounded():
    """Where an interval is not doubtful, no pose inside it is nearer than the clearance."""
    description = ia.load("tx40")
    c = Collisions(description, planes=(Plane((0.0, 0.0, 1.0), 0.0),))
    rng = np.random.default_rng(2)
    motion = Multisine(10.0, np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.0]), *rng.normal(0.0, 0.4, (2, 3, 6)))
    t = np.linspace(0.0, motion.period, 501)
    states = motion(t)
    doubt = c.doubtful(states, t, c.distances(states.q))
    fine = np.linspace(0.0, motion.period, 5001)
    near = (c.distances(motion(fine).q) < c.kept).any(axis=1)
    inside = np.minimum(np.searchsorted(t, fine, side="right") - 1, 499)
    assert near.any() and not np.any(near & ~doubt[inside]) and not doubt.all()
