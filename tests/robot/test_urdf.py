"""URDF against Pinocchio's reader, and values written back into the file they came from."""

import math

import numpy as np
import pinocchio as pin
import pytest
from lxml import etree

from inertica.errors import FileError, InputError, ModelWarning
from inertica.robot import inertia
from inertica.robot.drives import Armature
from inertica.robot.formats.urdf_file import read_urdf, write_urdf
from inertica.robot.friction import Coulomb, Offset, Viscous
from inertica.robot.layout import Layout, Parameters
from inertica.robot.tree import reduce
from referee import inverse_dynamics

ARM = """<?xml version='1.0' encoding="utf-8"?>
<!-- before -->
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"/>
  <joint name='shoulder' type="revolute">
    <origin xyz="0 0 0.3" rpy="0 0 0" /> <!-- kept -->
    <parent link="base"/><child link="upper"/>
    <axis xyz="0 0 1"/>
    <limit effort="10" velocity="2" lower="-1" upper="1.5"/>
    <dynamics   damping = "0.50"  />
  </joint>
  <link name="upper">
    <visual><geometry><mesh filename="package://x/upper.stl"/></geometry></visual>
    <inertial>
      <!-- from CAD -->
      <origin rpy="0.3 -0.2 0.1" xyz="0.1 0.0 0.05"/>
      <mass value="2.50"/>
      <inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.0005" izz="0.025"/>
    </inertial>
  </link>
  <joint name="elbow" type="continuous">
    <origin xyz="0.4 0 0" rpy="1.5708 0 0"/>
    <parent link="upper"/>
    <child link="fore"/>
    <axis xyz="0 1 0"/>
  </joint>
  <link name="fore"/>
  <joint name="flange" type="fixed">
    <origin xyz="0.1 0.2 0.3" rpy="0 0 0.7"/>
    <parent link="fore"/>
    <child link="hand"/>
  </joint>
  <link name="hand">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="lift" type="prismatic">
    <parent link="hand"/>
    <child link="finger"/>
    <axis xyz="0 0 2"/>
    <limit effort="0" velocity="0.5" lower="0" upper="0.1"/>
  </joint>
  <link name="finger" xacro:extra="1">
    <inertial>
      <mass value="0.1"/>
      <origin xyz="0 0 0.02"/>
      <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="2e-4"/>
    </inertial>
  </link>
  <unknown tag="x"><inner/></unknown>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


def parameters(reduced, tens=None, damping=None, friction=None, armature=None):
    """The file's values on a layout with drives, or others."""
    n = reduced.robot.n
    layout = Layout(reduced.robot, tuple(term(j) for j in range(n) for term in (Armature, Viscous, Coulomb, Offset)))
    values = np.zeros(layout.size)
    for j in range(n):
        values[layout.link(j)] = (reduced.tens if tens is None else tens)[j]
    out = Parameters(layout, values)
    chosen = {"Fv": reduced.damping if damping is None else damping, "Fc": reduced.friction if friction is None else friction}
    if armature is not None:
        chosen["Ia"] = armature
    return out.replaced({f"{symbol}{j + 1}": float(v[j]) for symbol, v in chosen.items() for j in range(n)})


def random_tens(n, rng):
    """Bodies that can exist, heavy enough that what is merged into them can be taken off again."""
    tens = []
    for _ in range(n):
        L = rng.normal(size=(4, 4))
        tens.append(inertia.from_pseudo_inertia(5.0 * (L @ L.T + np.eye(4))))
    return np.array(tens)


def pinocchio_torque(path, names, q, dq, ddq):
    """Torques by Pinocchio's own reading of the file, in our order of joints."""
    model = pin.buildModelFromUrdf(str(path))
    full = pin.neutral(model)
    where = []
    for i, name in enumerate(names):
        joint = model.joints[model.getJointId(name)]
        full[joint.idx_q : joint.idx_q + joint.nq] = q[i] if joint.nq == 1 else (math.cos(q[i]), math.sin(q[i]))
        where.append(joint.idx_v)
    v, a = np.zeros((2, model.nv))
    v[where], a[where] = dq, ddq
    return pin.rnea(model, model.createData(), full, v, a)[where]


def random_urdf(seed, n=9):
    """A random tree with fixed joints, branches, right and other angles, missing inertials."""
    rng = np.random.default_rng(seed)
    parts = []
    for i in range(n):
        kind = rng.choice(["revolute", "prismatic", "continuous", "fixed", "fixed"])
        rpy = np.where(rng.random(3) < 0.5, rng.integers(-2, 3, 3) * np.pi / 2, rng.normal(size=3))
        axis = np.eye(3)[rng.integers(3)] * rng.choice([-1, 1]) if rng.random() < 0.5 else rng.normal(size=3)
        axis = axis / np.linalg.norm(axis)
        parts.append(
            f'<joint name="j{i}" type="{kind}"><origin xyz="{words(rng.normal(size=3))}" rpy="{words(rpy)}"/>'
            f'<parent link="l{rng.integers(-1, i)}"/><child link="l{i}"/><axis xyz="{words(axis)}"/>'
            '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        )
        parts.append(f'<link name="l{i}">{random_inertial(rng) if kind != "fixed" or rng.random() < 0.7 else ""}</link>')
    order = rng.permutation(len(parts))
    return '<robot name="r"><link name="l-1"/>' + "".join(parts[k] for k in order) + "</robot>"


def random_inertial(rng):
    body = inertia.to_com(random_tens(1, rng)[0])
    six = dict(zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertia.ten(body.inertia, np.zeros(3), 0)[:6], strict=True))
    entries = " ".join(f'{k}="{v!r}"' for k, v in ((k, float(v)) for k, v in six.items()))
    return (
        f'<inertial><origin xyz="{words(body.com)}" rpy="{words(rng.normal(size=3))}"/><mass value="{body.mass!r}"/>'
        f"<inertia {entries}/></inertial>"
    )


def words(values):
    return " ".join(repr(float(v)) for v in values)


def assert_same_torques(path, reduced, seed=0, rtol=1e-9):
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q, dq, ddq = rng.normal(size=(3, reduced.robot.n))
        ours = inverse_dynamics(reduced.robot, reduced.tens, q, dq, ddq)
        theirs = pinocchio_torque(path, reduced.robot.joint_names, q, dq, ddq)
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * np.abs(theirs).max())


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_move_as_pinocchio_reads_them(tmp_path, seed):
    path = tmp_path / "random.urdf"
    path.write_text(random_urdf(seed))
    assert_same_torques(path, reduce(read_urdf(path)))


@pytest.mark.parametrize("name", ["tx40", "ur10e", "kuka_lwr4"])
def test_real_robots_move_as_pinocchio_reads_them(real_data, name):
    path = real_data / name / f"{name}.urdf"
    reduced = reduce(read_urdf(path))
    model = pin.buildModelFromUrdf(str(path))
    assert reduced.robot.joint_names == tuple(model.names)[1:]
    np.testing.assert_allclose(reduced.tens[:, 9], [i.mass for i in model.inertias][1:])
    np.testing.assert_allclose(
        [j.position for j in reduced.robot.joints], [p.translation for p in model.jointPlacements][1:], atol=1e-12
    )
    np.testing.assert_allclose(
        [j.rotation for j in reduced.robot.joints], [p.rotation for p in model.jointPlacements][1:], atol=1e-10
    )
    assert_same_torques(path, reduced)


def test_what_the_arm_says(arm):
    tree = read_urdf(arm)
    reduced = reduce(tree)
    robot = reduced.robot
    assert robot.name == "arm" and robot.base == "base" and robot.gravity == (0, 0, -9.81)
    assert robot.joint_names == ("shoulder", "elbow", "lift")
    assert robot.limits.lower == (-1.0, -math.inf, 0.0)
    assert robot.limits.velocity == (2.0, math.inf, 0.5)
    assert robot.limits.torque == (10.0, math.inf, math.inf)
    assert reduced.damping.tolist() == [0.5, 0, 0]
    assert robot.joints[1].rotation == ((1, 0, 0), (0, 0, -1), (0, 1, 0))  # 1.5708 means pi/2
    assert len(reduced.notes) == 1 and "1.5708" in reduced.notes[0] and "elbow" in reduced.notes[0]
    assert robot.joints[2].axis == (0, 0, 1)
    assert [place.link for place in reduced.merged[1]] == ["fore", "hand"]


def test_unchanged_values_leave_every_byte(arm, tmp_path):
    reduced = reduce(read_urdf(arm))
    target = tmp_path / "same.urdf"
    assert write_urdf(arm, target, parameters(reduced)) == ()
    assert target.read_bytes() == arm.read_bytes()


def test_changed_values_come_back_and_the_rest_stays(arm, tmp_path):
    reduced = reduce(read_urdf(arm))
    rng = np.random.default_rng(3)
    tens, damping, friction = random_tens(3, rng), np.array([0.1, 0.2, 0.0]), np.array([0.0, 1 / 3, 0.0])
    target = tmp_path / "new.urdf"
    notes = write_urdf(arm, target, parameters(reduced, tens, damping, friction, armature=[0.0, 0.5, 0.0]))
    assert notes == ("URDF has no place for Ia2; they are not in the file",)
    again = reduce(read_urdf(target))
    np.testing.assert_allclose(again.tens, tens, rtol=1e-12, atol=1e-12)
    assert again.damping.tolist() == damping.tolist() and again.friction.tolist() == friction.tolist()
    assert_same_torques(target, again, rtol=1e-4)  # Pinocchio takes 1.5708 at its word
    q, dq, ddq = rng.normal(size=(3, 3))
    expected = inverse_dynamics(reduced.robot, tens, q, dq, ddq)
    np.testing.assert_allclose(inverse_dynamics(again.robot, again.tens, q, dq, ddq), expected, rtol=1e-12)
    assert stripped(target) == stripped(arm)
    kept = (
        "<!-- before -->",
        "<!-- kept -->",
        "<!-- from CAD -->",
        'rpy="0.3 -0.2 0.1"',
        "<dynamics   damping = ",
        "<joint name='shoulder'",
    )
    assert all(piece in target.read_text() for piece in kept)
    assert 'xacro:extra="1"' in target.read_text()


def stripped(path):
    """The document without what the writer may change."""
    root = etree.parse(str(path)).getroot()
    for tag in ("inertial", "dynamics"):
        for element in list(root.iter(tag)):
            element.getparent().remove(element)
    return b"".join(etree.tostring(root, method="c14n").split())


def test_one_changed_link_touches_only_that_link(arm, tmp_path):
    reduced = reduce(read_urdf(arm))
    changed = parameters(reduced)
    changed = changed.replaced(
        {"M3": 0.2, "MZ3": 0.2 * 0.02, "XX3": changed["XX3"] + 0.1 * 0.02**2, "YY3": changed["YY3"] + 0.1 * 0.02**2}
    )
    target = tmp_path / "one.urdf"
    write_urdf(arm, target, changed)
    before, after = ARM.splitlines(), target.read_text().splitlines()
    different = [a for a, b in zip(after, before, strict=True) if a != b]
    assert '      <mass value="0.2"/>' in different and len(different) <= 3


def test_massless_frames_leave_the_change_to_the_body_behind_them(arm, tmp_path):
    """`fore` is a bare frame and `hand` has the mass: writing 0.9 kg must not give `fore` a mass of -0.1 kg."""
    reduced = reduce(read_urdf(arm))
    target = tmp_path / "hand.urdf"
    tens = reduced.tens * np.array([1.0, 0.9, 1.0])[:, None]
    write_urdf(arm, target, parameters(reduced, tens))
    tree = read_urdf(target)
    assert tree.ten("hand")[9] == pytest.approx(0.9) and not np.any(tree.ten("fore"))
    np.testing.assert_allclose(reduce(tree).tens, tens, rtol=1e-12, atol=1e-15)


def test_a_selection_is_written_back_under_the_same_selection(arm, tmp_path):
    selection = {"root": "upper", "tip": "hand"}
    reduced = reduce(read_urdf(arm), **selection)
    tens = random_tens(1, np.random.default_rng(0))
    target = tmp_path / "part.urdf"
    write_urdf(arm, target, parameters(reduced, tens), **selection)
    np.testing.assert_allclose(reduce(read_urdf(target), **selection).tens, tens, rtol=1e-12, atol=1e-12)
    assert np.array_equal(read_urdf(target).ten("upper"), read_urdf(arm).ten("upper"))
    with pytest.raises(InputError, match=r"the parameters are for joints elbow, but arm\.urdf gives shoulder, elbow, lift"):
        write_urdf(arm, target, parameters(reduced, tens))


def test_labels_become_one_comment_per_link(arm, tmp_path):
    reduced = reduce(read_urdf(arm))
    target = tmp_path / "labelled.urdf"
    for label in ("prior", "trusted -- yes"):
        write_urdf(
            arm if label == "prior" else target, target, parameters(reduced), labels={"M1": label, "Fv1": label, "XX3": label}
        )
    text = target.read_text()
    assert text.count("<!-- inertica:") == 2
    assert "<!-- inertica: M1 trusted - - yes, Fv1 trusted - - yes -->" in text
    assert reduce(read_urdf(target)).tens.tolist() == reduced.tens.tolist()


def test_what_cannot_be_written_leaves_the_target_alone(arm, tmp_path):
    reduced = reduce(read_urdf(arm))
    target = tmp_path / "target.urdf"
    target.write_text("precious")
    weightless = parameters(reduced).replaced({"M1": 0.0})
    with pytest.raises(InputError, match="link 'upper' has no mass but first moments"):
        write_urdf(arm, target, weightless)
    with pytest.raises(FileError, match="cannot be written"):
        write_urdf(arm, tmp_path / "no" / "folder.urdf", parameters(reduced))
    assert target.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["arm.urdf", "target.urdf"]


def test_bodies_that_cannot_exist_are_warned_of(arm, tmp_path):
    reduced = reduce(read_urdf(arm))
    with pytest.warns(ModelWarning, match="link 'upper' is not that of a real body"):
        write_urdf(arm, tmp_path / "odd.urdf", parameters(reduced).replaced({"XX1": -1.0}))


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_keep_random_values(tmp_path, seed):
    path, target = tmp_path / "random.urdf", tmp_path / "written.urdf"
    path.write_text(random_urdf(seed + 50))
    reduced = reduce(read_urdf(path))
    tens = reduced.tens + random_tens(reduced.robot.n, np.random.default_rng(seed))
    write_urdf(path, target, parameters(reduced, tens))
    again = reduce(read_urdf(target))
    np.testing.assert_allclose(again.tens, tens, rtol=1e-11, atol=1e-11)
    assert_same_torques(target, again)


@pytest.mark.parametrize("name", ["tx40", "ur10e", "kuka_lwr4"])
def test_real_files_survive(real_data, tmp_path, name):
    path, target = real_data / name / f"{name}.urdf", tmp_path / "out.urdf"
    reduced = reduce(read_urdf(path))
    write_urdf(path, target, parameters(reduced))
    assert target.read_bytes() == path.read_bytes()
    tens = random_tens(reduced.robot.n, np.random.default_rng(0))
    write_urdf(path, target, parameters(reduced, tens))
    np.testing.assert_allclose(reduce(read_urdf(target)).tens, tens, rtol=1e-12, atol=1e-12)
    assert stripped(target) == stripped(path)


MINIMAL = '<robot name="r">\n<link name="a"/>\n<link name="b">{link}</link>\n{joint}\n</robot>'
JOINT = '<joint name="j" type="{}"><parent link="{}"/><child link="{}"/>{}</joint>'


def minimal(tmp_path, kind="revolute", parent="a", child="b", more="", link=""):
    path = tmp_path / "minimal.urdf"
    path.write_text(MINIMAL.format(link=link, joint=JOINT.format(kind, parent, child, more)))
    return path


@pytest.mark.filterwarnings("ignore::inertica.errors.ModelWarning")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "floating"}, ":4: joint 'j' is floating"),
        ({"kind": "planar"}, ":4: joint 'j' is planar"),
        ({"kind": "wobbly"}, ":4: joint 'j' has the unknown type 'wobbly'"),
        ({"more": '<mimic joint="k"/>'}, ":4: joint 'j' follows 'k', which is not among the joints that move"),
        ({"parent": "c"}, ":4: joint 'j' names the parent link 'c'"),
        ({"parent": "b", "child": "b"}, "2 links that no joint carries|closed loop"),
        ({"child": "a"}, "closed loop|no joint carries"),
        ({"more": '<axis xyz="0 0 0"/>'}, "axis of joint 'j' is zero"),
        ({"more": '<axis xyz="0 0 z"/>'}, "'z', which is not a number"),
        ({"more": '<limit lower="2" upper="1"/>'}, "lower limit above"),
        ({"link": '<inertial><mass value="1"/></inertial>'}, "link 'b' lacks <inertia>"),
        ({"link": "<inertial/>"}, "lacks <mass>"),
        ({"link": '</link><link name="b">'}, "two links are called 'b'"),
        ({"link": '</link><link name="c">'}, "2 links that no joint carries"),
    ],
)
def test_files_that_say_nonsense_get_one_sentence(tmp_path, change, sentence):
    with pytest.raises(FileError, match=sentence) as caught:
        reduce(read_urdf(minimal(tmp_path, **change)))
    assert "\n" not in str(caught.value)


def test_other_documents_are_told_apart(tmp_path):
    path = tmp_path / "x.urdf"
    path.write_text("<mujoco/>")
    with pytest.raises(FileError, match="a URDF starts with <robot>"):
        read_urdf(path)
    path.write_text('<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="y"/></robot>')
    with pytest.raises(FileError, match=r"xacro file; expand the file first.*pip install xacro"):
        read_urdf(path)


GRIPPER = """
<robot name="arm">
  <link name="base"/>
  {links}
  {joints}
</robot>"""


def hand(path, joints):
    """A URDF of joints (name, parent, child, joint that it follows)."""
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = "".join(f'<link name="{child}">{body}</link>' for _, _, child, _ in joints)
    listed = "".join(
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/>'
        + (f'<mimic joint="{follows}"/>' if follows else "")
        + "</joint>"
        for name, parent, child, follows in joints
    )
    path.write_text(GRIPPER.format(links=links, joints=listed))
    return read_urdf(path)


def test_fingers_that_move_together_are_a_gripper_at_rest(tmp_path):
    arm = [("j1", "base", "a", ""), ("j2", "a", "b", "")]
    fingers = [("left", "b", "l", ""), ("right", "b", "r", "left")]
    with pytest.warns(ModelWarning, match="'left', 'right' move together .* gripper that rests at zero"):
        found = reduce(hand(tmp_path / "arm.urdf", arm + fingers))
    assert [joint.name for joint in found.robot.joints] == ["j1", "j2"]
    assert found.tens[1, 9] == 3.0  # the fingers are part of the hand
    parallel = reduce(hand(tmp_path / "arm.urdf", [*arm, ("parallel", "b", "l", "j1"), ("j3", "l", "r", "")]))  # carries a joint
    assert parallel.robot.dependent == (2,)
    assert parallel.robot.loops.closures[0].words == "q3 = 1.0*q1"


def test_many_links_without_mass_are_one_warning(tmp_path):
    path = tmp_path / "arm.urdf"
    hand(path, [("j1", "base", "a", ""), ("j2", "a", "b", "")])
    path.write_text(path.read_text().replace('mass value="1"', 'mass value="0"'))
    with pytest.warns(ModelWarning) as told:
        reduce(read_urdf(path))
    assert [str(w.message) for w in told] == ["arm.urdf: every link that moves has mass 0"]


def test_what_keeps_a_file_from_being_read_is_said_in_its_terms(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text('\n<?xml version="1.0"?><robot name="x"><link name="a"/></robot>')
    with pytest.raises(FileError, match="delete the empty lines"):
        read_urdf(path)
    path.write_text('<robot name="x"><link name="a"><inertial><mass value="${m}"/></inertial></link></robot>')
    with pytest.raises(FileError, match=r"is xacro; expand the file first"):
        read_urdf(path)


def test_masses_that_are_doubtful_are_warned_of(tmp_path):
    with pytest.warns(ModelWarning, match="link 'b', moved by joint 'j', has mass 0"):
        reduce(read_urdf(minimal(tmp_path)))
    negative = '<inertial><mass value="-2"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    with pytest.warns(ModelWarning, match="link 'b' has the negative mass -2"):
        read_urdf(minimal(tmp_path, kind="fixed", link=negative))
