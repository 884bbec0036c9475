"""Reduction of a tree: what is frozen, merged, left out, and what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inertica.errors import FileError, InputError, ModelWarning
from inertica.robot import inertia
from inertica.robot.model import matrix, rotation_x, rotation_z, vector
from inertica.robot.tree import Placed, Tree, TreeClosure, TreeJoint, checked, reduce
from referee import inverse_dynamics

pytestmark = pytest.mark.filterwarnings("error")

GRAVITY = (0.5, -0.3, -9.7)


def ten(rng):
    """Ten parameters of a body that can exist."""
    L = rng.normal(size=(4, 4)) * 0.3
    return inertia.from_pseudo_inertia(L @ L.T + 0.05 * np.eye(4))


def rotation(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.linalg.det(Q)


def joint(rng, name, parent, child, kind, **more):
    axis = rng.normal(size=3)
    pose = {
        "rotation": matrix(rotation(rng)),
        "position": vector(rng.normal(size=3)),
        "axis": vector(axis / np.linalg.norm(axis)),
    }
    return TreeJoint(name, parent, child, kind, **(pose | more))


def forked_tree(seed=0):
    """base - a - b - [f] - c - tip, with a second arm on the fixed link f: f - d."""
    rng = np.random.default_rng(seed)
    joints = (
        joint(rng, "jc", "f", "c", "revolute", arm=(0.1, 0.2, -0.3)),  # comes before its parents on purpose
        joint(rng, "ja", "base", "a", "revolute", velocity=2.0, armature=0.3, damping=0.1, friction=0.2),
        joint(rng, "jb", "a", "b", "prismatic", lower=-1.0, upper=2.0, torque=5.0),
        joint(rng, "jf", "b", "f", "fixed"),
        joint(rng, "jd", "f", "d", "revolute"),
        joint(rng, "jt", "c", "tip", "fixed"),
    )
    inertials = {link: ten(rng) for link in ("base", "a", "b", "f", "c", "d", "tip")}
    return Tree("forked", "URDF", Path("forked.urdf"), "base", joints, inertials, GRAVITY)


def torque(reduced, q, dq, ddq):
    return inverse_dynamics(reduced.robot, reduced.tens, q, dq, ddq, reduced.armature)


def motion(n, seed=1):
    return np.random.default_rng(seed).normal(size=(3, n))


def test_order_is_the_files_with_parents_first():
    reduced = reduce(forked_tree())
    assert reduced.robot.joint_names == ("ja", "jb", "jc", "jd")
    assert [j.parent for j in reduced.robot.joints] == [-1, 0, 1, 1]
    assert reduced.robot.limits.velocity == (2.0, np.inf, np.inf, np.inf)
    assert reduced.robot.limits.lower == (-np.inf, -1.0, -np.inf, -np.inf)
    assert [[place.link for place in places] for places in reduced.merged] == [["a"], ["b", "f"], ["c", "tip"], ["d"]]
    assert reduced.armature.tolist() == [0.3, 0, 0, 0]
    assert [length.name for length in reduced.robot.joints[2].lengths] == ["x3", "y3", "z3"]


def test_listed_order_moves_the_same():
    tree = forked_tree()
    plain, other = reduce(tree), reduce(tree, joints=["ja", "jb", "jd", "jc"])
    q, dq, ddq = motion(4)
    swap = [0, 1, 3, 2]
    np.testing.assert_allclose(torque(other, q[swap], dq[swap], ddq[swap]), torque(plain, q, dq, ddq)[swap], rtol=1e-12)


@pytest.mark.parametrize("selection", [{"tip": "tip"}, {"joints": ["ja", "jb", "jc"]}, {"tip": "c", "joints": ["ja", "jc"]}])
def test_frozen_joints_are_joints_at_rest_at_zero(selection):
    tree = forked_tree()
    plain, part = reduce(tree), reduce(tree, **selection)
    kept = [plain.robot.joint_index(name) for name in part.robot.joint_names]
    q, dq, ddq = (np.where(np.isin(np.arange(4), kept), x, 0.0) for x in motion(4))
    np.testing.assert_allclose(torque(part, q[kept], dq[kept], ddq[kept]), torque(plain, q, dq, ddq)[kept], rtol=1e-11)


def test_another_root_keeps_the_direction_of_gravity():
    """With everything below the root at rest, static torques must not depend on where the base was cut."""
    tree = forked_tree()
    plain, cut = reduce(tree), reduce(tree, root="b")
    assert cut.robot.base == "b"
    assert cut.robot.joint_names == ("jc", "jd")
    q = np.array([0.0, 0.0, 0.4, -0.7])
    zero = np.zeros(4)
    np.testing.assert_allclose(torque(cut, q[2:], zero[2:], zero[2:]), torque(plain, q, zero, zero)[2:], rtol=1e-11)
    assert reduce(tree, root="b", gravity=(0, 0, -1)).robot.gravity == (0, 0, -1)


def test_total_mass_is_kept():
    tree = forked_tree()
    everything = sum(tree.ten(link)[9] for link in tree.links if link != "base")
    assert reduce(tree).tens[:, 9].sum() == pytest.approx(everything)
    assert reduce(tree, joints=["ja"]).tens[:, 9].sum() == pytest.approx(everything)


def test_right_angles_stay_exact_through_fixed_joints():
    quarter = matrix(rotation_x(np.pi / 2))
    eighth = matrix(rotation_z(np.pi / 4))
    joints = (
        TreeJoint("f1", "base", "l1", "fixed", eighth, (0.1, 0.2, 0.0)),
        TreeJoint("f2", "l1", "l2", "fixed", eighth, (0.0, 0.0, 0.0)),
        TreeJoint("f3", "l2", "l3", "fixed", quarter, (-0.2, 0.1, 0.0)),
        TreeJoint("j", "l3", "link", "revolute"),
    )
    robot = reduce(Tree("t", "URDF", Path("t"), "base", joints, {"link": ten(np.random.default_rng(0))})).robot
    assert robot.joints[0].rotation == ((0, 0, 1), (1, 0, 0), (0, 1, 0))
    assert robot.joints[0].position == (0, 0, 0)
    assert robot.joints[0].lengths == ()


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        ({"joints": ["ja", "jx"]}, r"^URDF has no joint 'jx'; its joints are jc, ja, jb, jd$"),
        ({"joints": ["jb", "ja"]}, "joint 'jb' is listed before joint 'ja', which carries it"),
        ({"joints": ["ja", "ja"]}, "listed twice"),
        ({"joints": ["ja", "jf"]}, "'jf' of forked.urdf is fixed"),
        ({"joints": ["jd"], "tip": "tip"}, "'jd' of forked.urdf is not on the part"),
        ({"joints": []}, "at least one"),
        ({"root": "nowhere"}, "URDF has no link 'nowhere'"),
        ({"tip": "tp"}, "did you mean 'tip'"),
        ({"root": "c", "tip": "d"}, "'d' is not carried by link 'c'"),
    ],
)
def test_wrong_selections_say_what_is_wrong(selection, sentence):
    with pytest.raises(InputError, match=sentence):
        reduce(forked_tree(), **selection)


def test_trees_that_are_none():
    tree = forked_tree()
    with pytest.raises(FileError, match="link 'tip' has two parents, joints 'jt' and 'jz'"):
        checked(replace(tree, joints=(*tree.joints, TreeJoint("jz", "d", "tip"))))
    with pytest.raises(FileError, match="joint 'j1' is part of a closed loop"):
        checked(replace(tree, joints=(*tree.joints, TreeJoint("j1", "y", "x"), TreeJoint("j2", "x", "y"))))
    with pytest.raises(FileError, match="two joints are called 'ja'"):
        checked(replace(tree, joints=(*tree.joints, TreeJoint("ja", "d", "e"))))


def test_constraints_matter_only_between_bodies_that_move():
    tree = replace(forked_tree(), closures=(TreeClosure(Placed("c"), Placed("d", position=(9.0, 0.0, 0.0)), True, 7),))
    with pytest.raises(FileError, match=r"forked.urdf:7: .*the loop 'connect c d' cannot close"):
        reduce(tree)
    assert reduce(tree, joints=["ja", "jb"]).robot.n == 2


def test_unsupported_joints_matter_only_when_they_move():
    tree = forked_tree()
    ball = TreeJoint("ball", "d", "e", unsupported="joint 'ball' is a ball joint", line=3)
    tree = replace(tree, joints=(*tree.joints, ball))
    with pytest.raises(FileError, match=r"forked.urdf:3: joint 'ball' is a ball joint"):
        reduce(tree)
    assert reduce(tree, tip="c").robot.n == 3


def test_moving_bodies_without_mass_are_warned_of_after_merging():
    tree = forked_tree()
    bare = replace(tree, inertials={k: v for k, v in tree.inertials.items() if k != "b"})
    assert reduce(bare).tens[1, 9] == pytest.approx(tree.ten("f")[9])  # no warning: warnings are errors here
    with pytest.warns(ModelWarning, match="link 'd', moved by joint 'jd', has mass 0"):
        reduce(replace(tree, inertials={k: v for k, v in tree.inertials.items() if k != "d"}))
