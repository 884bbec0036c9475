"""DH files: geometry against the product of DH matrices, options, bad input, writing back."""

import math
import stat
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inertica.errors import FileError, ModelWarning
from inertica.robot import friction
from inertica.robot.drives import Armature, Coupling, ToolboxCoupling
from inertica.robot.formats.dh_read import Table, joints_of, read_dh
from inertica.robot.formats.dh_write import write_dh
from inertica.robot.model import Robot
from inertica.robot.terms import Counterbalance, Spring

ANGLES = st.one_of(st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi]), st.floats(-3, 3).map(lambda x: round(x, 3)))
LENGTHS = st.one_of(st.just(0.0), st.floats(-1, 1).map(lambda x: round(x, 3)))


@st.composite
def tables(draw):
    n = draw(st.integers(1, 5))
    column = lambda values: tuple(draw(st.lists(values, min_size=n, max_size=n)))  # noqa: E731
    distal = draw(st.booleans())
    near = draw(st.booleans()) and distal
    return Table(column(ANGLES), column(LENGTHS), column(LENGTHS), column(ANGLES), column(st.booleans()), distal, near)


def rot(axis, angle):
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def pose(R=None, p=(0, 0, 0)):
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if R is None else R
    T[:3, 3] = p
    return T


def dh_frames(table, q):
    """Frames by the textbook product of four elementary transforms."""
    T, out = np.eye(4), []
    for j in range(table.n):
        theta = table.theta[j] + (0 if table.prismatic[j] else q[j])
        d = table.d[j] + (q[j] if table.prismatic[j] else 0)
        x = pose(rot((1, 0, 0), table.alpha[j])) @ pose(p=(table.a[j], 0, 0))
        z = pose(rot((0, 0, 1), theta)) @ pose(p=(0, 0, d))
        T = T @ (z @ x if table.distal else x @ z)
        out.append(T)
    return out


def link_frames(robot, q):
    """Link frames as the tree of joints places them."""
    out = []
    for j, joint in enumerate(robot.joints):
        parent = out[joint.parent] if joint.parent >= 0 else np.eye(4)
        move = pose(p=q[j] * np.array(joint.axis)) if joint.prismatic else pose(rot(joint.axis, q[j]))
        out.append(parent @ pose(np.array(joint.rotation), joint.position) @ move @ pose(p=joint.arm))
    return out


def robot_of(table):
    names = [f"joint{j + 1}" for j in range(table.n)]
    return Robot("r", joints_of(table, names, names))


@given(tables(), st.integers(0, 1000))
def test_links_sit_where_the_dh_matrices_put_them(table, seed):
    q = np.random.default_rng(seed).normal(size=table.n)
    expected = dh_frames(table, q)
    for j, ours in enumerate(link_frames(robot_of(table), q)):
        assert np.allclose(ours[:3, :3], expected[j][:3, :3], atol=1e-9)
        origin = expected[j][:3, 3]
        if table.near:  # the link's origin is its joint's end: the previous frame's origin, carried along by a slide
            before = expected[j - 1] if j else np.eye(4)
            origin = before[:3, 3] + (q[j] * before[:3, 2] if table.prismatic[j] else 0)
        assert np.allclose(ours[:3, 3], origin, atol=1e-9)


@given(tables(), st.integers(0, 1000))
@settings(max_examples=30)
def test_named_lengths_move_what_the_table_says(table, seed):
    rng = np.random.default_rng(seed)
    changes = {f"{c}{j + 1}": float(rng.normal()) for j in range(table.n) for c in "ad" if getattr(table, c)[j]}
    a = tuple(changes.get(f"a{j + 1}", v) for j, v in enumerate(table.a))
    d = tuple(changes.get(f"d{j + 1}", v) for j, v in enumerate(table.d))
    other = Table(table.alpha, a, d, table.theta, table.prismatic, table.distal, table.near)
    q = rng.normal(size=table.n)
    for ours, expected in zip(
        link_frames(robot_of(table).with_lengths(changes), q), link_frames(robot_of(other), q), strict=True
    ):
        assert np.allclose(ours, expected, atol=1e-9)


MINIMAL = """\
# an arm
name: arm
angles: deg
types: [R, P]
dh: {convention: modified, alpha: [0, -90], a: [0, 0.4], d: [0.1, 0]}   # metres
limits: {lower: [-90, 0], upper: [90, 0.5], velocity: [180, 1]}
home: [45, 0.2]
links:
  - {XX: 1, YY: 1, ZZ: 1, M: 3, Fc: 0.5}   # shoulder
  - name: slider
    XX: 0.1   # about x
    YY: 0.1
    ZZ: 0.1

    M: 2
    Fv: 1e-1
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="arm.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_degrees_apply_to_angles_only(file):
    d = read_dh(file(MINIMAL))
    assert d.home == (math.pi / 4, 0.2)
    assert d.robot.limits.lower == (-math.pi / 2, 0.0) and d.robot.limits.upper == (math.pi / 2, 0.5)
    assert d.robot.limits.velocity == (math.pi, 1.0) and d.robot.limits.torque == (math.inf, math.inf)
    assert d.robot.joints[1].prismatic and d.robot.joints[1].link == "slider"
    assert d.prior["Fv2"] == 0.1 and d.prior["Fc1"] == 0.5 and d.prior["M2"] == 2.0
    assert not d.friction_stated and d.layout.names[10:13] == ("Ia1", "Fv1", "Fc1")


def test_the_base_turns_the_first_joint_in_the_world(file):
    text = MINIMAL.replace("home:", "base: {translation: [1, 2, 3], rpy: [90, 0, 0]}\nhome:")
    plain, placed = read_dh(file(MINIMAL)), read_dh(file(text, "b.yaml"))
    q, T = (0.3, 0.1), pose(rot((1, 0, 0), math.pi / 2), (1, 2, 3))
    for a, b in zip(link_frames(plain.robot, q), link_frames(placed.robot, q), strict=True):
        assert np.allclose(T @ a, b)
    moved = link_frames(placed.robot.with_lengths({"d1": 0.7}), q)[0]
    assert np.allclose(moved, T @ link_frames(plain.robot.with_lengths({"d1": 0.7}), q)[0])
    assert placed.robot.gravity == (0.0, 0.0, -9.81)


def terms_of(file, extra):
    d = read_dh(file(MINIMAL.replace(", Fc: 0.5", "").replace("    Fv: 1e-1\n", "") + extra))
    return set(d.layout.terms), d


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("friction: none\narmature: false", set()),
        ("friction: []\narmature: [true, false]", {Armature(0)}),
        ("friction: viscous\narmature: false", {friction.Viscous(0), friction.Viscous(1)}),
        ("friction: [{coulomb: {width: 0.01}}]\narmature: no", {friction.Coulomb(0, 0.01), friction.Coulomb(1, 0.01)}),
        (
            "friction: {stribeck: {vs: [0.1, 0.2], es: 1}}\narmature: false",
            {friction.Stribeck(0, 0.1, 1), friction.Stribeck(1, 0.2, 1)},
        ),
        ("friction: {2: [viscous, offset], joint1: none}\narmature: false", {friction.Viscous(1), friction.Offset(1)}),
        ("friction: none\ncoupling: [{motor: 2, joints: [1, 2]}]", {Armature(0), Armature(1), Coupling(1, (0, 1))}),
        (
            "friction: none\ncoupling: {motor: 2, joints: [1, 2], form: toolbox}",
            {Armature(0), Armature(1, 0), ToolboxCoupling(1, 0)},
        ),
        (
            "friction: none\ncoupling: {motor: 2, joints: [1, 2], form: rotor}",
            {Armature(0), Armature(1, 0), ToolboxCoupling(1, 0, rotor=True)},
        ),
        (
            "friction: none\narmature: false\nterms: [{spring: 2, rest: 0.1}, {counterbalance: joint1}]",
            {Spring(1, 0.1), Counterbalance(0)},
        ),
        ("friction: none\narmature: false\nspring: [1, {joint: 2, rest: 0.3}]", {Spring(0), Spring(1, 0.3)}),
    ],
)
def test_options_become_terms(file, text, expected):
    terms, d = terms_of(file, text + "\n")
    assert terms == expected
    assert d.friction_stated


def test_payload_formula_and_fixed(file):
    text = """\
terms: [{name: spring2, joint: 2, formula: "sin(q2)", unit: N m, lower: 0}]
payload: {link: slider, position: [0, 0, 0.1], rpy: [0, 0, pi/2]}
fixed: {M1: 3.5, spring2: 2}
extra: {Mp: 0.7, Ia1: 0.2}
"""
    _, d = terms_of(file, text)
    assert d.layout.payloads[0].link == 1 and d.layout.payloads[0].rotation[0] == (0.0, -1.0, 0.0)
    assert (d.prior["M1"], d.prior["spring2"], d.prior["Mp"], d.prior["Ia1"]) == (3.5, 2.0, 0.7, 0.2)
    assert d.layout.fixed == {"M1", "spring2"}


def test_a_link_without_mass_is_warned_about_by_name(file):
    for mass in ("M: 0", "M: -1"):
        with pytest.warns(ModelWarning, match="slider has a mass of"):
            read_dh(file(MINIMAL.replace("M: 2", mass)))
    with pytest.warns(ModelWarning, match="slider has no mass"):
        read_dh(file(MINIMAL.replace("    M: 2\n", "")))


def test_a_file_without_values_says_so(file):
    d = read_dh(file("dh: {convention: standard, a: [1]}\n", "bare.yaml"))
    assert d.name == "bare" and "no inertial values" in d.notes[0] and not d.prior.values.any()


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("name: arm", "nam: arm", 2, "unknown key 'nam'; did you mean 'name'"),
        ("types: [R, P]", "types: [R, P, R]", 5, "dh.alpha has 2 values for 3 joints"),
        ("types: [R, P]", "types: [R, X]", 4, "cannot be 'X'"),
        ("angles: deg", "angles: grad", 3, "cannot be 'grad'"),
        ("modified", "modfied", 5, "did you mean 'modified'"),
        ("convention: modified, ", "", 5, "lacks the key 'convention'"),
        ("alpha: [0, -90]", "alpha: [0]", 5, "dh.alpha has 1 values for 2 joints"),
        ("types: [R, P]", "types: []", 5, "at least one joint"),
        ("a: [0, 0.4]", "a: [0, x]", 5, r"dh\.a\[2\] should be a number"),
        ("a: [0, 0.4]", "a: 3", 5, "dh.a should be a list"),
        ("d: [0.1, 0]}", "theta: [0, 0], theta_offset: [0, 0]}", 5, "mean the same"),
        ("lower: [-90, 0]", "lower: [90, 0]", 6, "lower limit of joint1 is not below"),
        ("velocity: [180, 1]", "velocity: [180, -1]", 6, "greater than zero"),
        ("velocity", "speed", 6, "unknown key 'speed' in limits"),
        ("home: [45, 0.2]", "home: [45]", 7, "home has 1 values"),
        ("home:", "joints: [a, a]\nhome:", 7, "names 'a' twice"),
        ("home:", "joints: [a]\nhome:", 7, "1 names for 2 joints"),
        ("home:", "gravity: [0, 1]\nhome:", 7, "2 values for 3 coordinates"),
        ("home:", "base: {rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 2]]}\nhome:", 7, "not a rotation matrix"),
        ("home:", "parameter_frame: {origin: j-1}\nhome:", 7, "for distal tables"),
        ("home:", "friction: [viscos]\nhome:", 7, "did you mean 'viscous'"),
        ("home:", "friction: {3: [viscous]}\nhome:", 7, "no joint 3"),
        ("home:", "friction: {elbow: [viscous]}\nhome:", 7, "no joint 'elbow'"),
        ("home:", "friction: [viscous, viscous]\nhome:", None, "Fv1 is defined by two terms"),
        ("home:", "friction: [{stribeck: {vs: 0}}]\nhome:", 7, "greater than zero"),
        ("home:", "friction: [{stribeck: {vz: 1}}]\nhome:", 7, "no option 'vz'"),
        ("home:", "friction: [{stribeck: {vs: [1, 2, 3]}}]\nhome:", 7, "3 values for 2 joints"),
        ("home:", "friction:\nhome:", 7, "should be a word"),
        ("home:", "armature: [true]\nhome:", 7, "1 values for 2 joints"),
        ("home:", "armature: maybe\nhome:", 7, "true or false"),
        ("home:", "coupling: [{motor: 7, joints: [1, 2]}]\nhome:", 7, "no joint 7"),
        ("home:", "coupling: [{motor: 2, joints: [1]}]\nhome:", 7, "two or more different joints"),
        ("home:", "coupling: [{motor: 2, joints: [1, 2], ratios: [1]}]\nhome:", 7, "1 values for 2 coupled joints"),
        ("home:", "coupling: [{motor: 2, joints: [1, 1], form: toolbox}]\nhome:", 7, "toolbox form"),
        ("home:", "terms: [{name: x, joint: 1, formula: os.system}]\nhome:", 7, "os.system"),
        ("home:", "terms: [{name: x, formula: q1}]\nhome:", 7, "lacks the key 'joint'"),
        ("home:", "terms: [{nam: x}]\nhome:", 7, "unknown key 'nam'"),
        ("home:", "terms: [{name: x}]\nhome:", 7, "needs one of the keys"),
        ("home:", "terms: [{name: x, torque: {1: q1, joint1: q2}}]\nhome:", 7, "two formulas for one joint"),
        ("home:", "terms: [{name: XX1, joint: 1, formula: q1}]\nhome:", None, "XX1 is defined by two terms"),
        ("home:", "fixed: [M9]\nhome:", 7, "cannot fix unknown parameter 'M9'"),
        ("home:", "payload: {link: hand}\nhome:", 7, "no joint 'hand'"),
        ("home:", "extra: {Fc1: 2}\nhome:", 7, "links gives too"),
        ("home:", "extra: {Fx1: 2}\nhome:", 7, "unknown key 'Fx1'"),
        ("home:", "loop: {kp: [1, 2]}\nhome:", 7, "lacks the key 'law'"),
        ("home:", "loop: {law: pd, kp: [1, 2, 3]}\nhome:", 7, "loop.kp has 3 values"),
        ("home:", "loop: {law: pd, kpp: 3}\nhome:", 7, "unknown key 'kpp'"),
        ("home:", "noise: {low: {q: -1}}\nhome:", 7, "should not be negative"),
        ("XX: 1, YY", "XX: one, YY", 9, "should be a number"),
        ("Fc: 0.5", "Fq: 0.5", 9, r"unknown key 'Fq' in links\[1\]"),
        ("Fc: 0.5", "XX2: 0.5", 9, "unknown key 'XX2'"),
        ("  - {XX: 1, YY: 1, ZZ: 1, M: 3, Fc: 0.5}   # shoulder\n", "", 9, "links has 1 entries for 2 joints"),
    ],
)
def test_mistakes_are_named_with_their_line(file, old, new, line, problem):
    assert old in MINIMAL
    with pytest.raises(FileError, match=problem) as caught:
        read_dh(file(MINIMAL.replace(old, new, 1)))
    assert line is None or caught.value.line == line


# --- writing back ---------------------------------------------------------------------------------------------------------------


def test_values_go_back_and_the_rest_of_the_text_stays(file, tmp_path):
    source = file(MINIMAL)
    prior = read_dh(source).prior
    rng = np.random.default_rng(1)
    values = prior.with_values(rng.normal(size=prior.values.size))
    target = tmp_path / "out.yaml"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_dh(source, target, values)
    with pytest.warns(ModelWarning) if min(values["M1"], values["M2"]) <= 0 else warnings.catch_warnings():
        back = read_dh(target)
    assert np.array_equal(back.prior.values, values.values)
    text = target.read_text()
    for remark in ("# an arm", "# metres", "# shoulder", "# about x", "convention: modified", "name: slider"):
        assert remark in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["arm.yaml", "out.yaml"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_unchanged_values_leave_the_file_byte_for_byte(file, tmp_path):
    source = file(MINIMAL)
    write_dh(source, tmp_path / "same.yaml", read_dh(source).prior)
    assert (tmp_path / "same.yaml").read_text() == MINIMAL


def test_a_file_can_be_written_onto_itself(file):
    source = file(MINIMAL)
    write_dh(source, source, read_dh(source).prior.replaced({"M1": 4.25}))
    assert source.read_text() == MINIMAL.replace("M: 3", "M: 4.25")


@pytest.mark.parametrize(
    "text",
    [
        "dh: {convention: standard, a: [1, 1]}\n",
        "dh: {convention: standard, a: [1, 1]}\nlinks: [{}, {XX: 1}]\nextra: {}\n",
        '{"dh": {"convention": "standard", "a": [1, 1]}, "links": [{"XX": 1}, {"YY": 2}]}',
        "dh: {convention: standard, a: [1, 1]}\r\nlinks:\r\n  - XX: 1  # é\r\n  - {M: 1}\r\n",
        "dh: {convention: standard, a: [1, 1]}\nfixed: {M1: 2, K: 3}\nextra: {Ia1: 3}\nterms: [{name: K, torque: {1: q1}}]\n",
    ],
)
@pytest.mark.filterwarnings("ignore::inertica.errors.ModelWarning")
def test_values_are_added_where_the_file_has_none(tmp_path, text):
    source = tmp_path / "a.yaml"
    source.write_bytes(text.encode())
    prior = read_dh(source).prior
    values = prior.with_values(np.arange(1.0, prior.values.size + 1) / 7)
    write_dh(source, tmp_path / "b.yaml", values)
    assert np.array_equal(read_dh(tmp_path / "b.yaml").prior.values, values.values)


def test_other_friction_laws_and_shapes_are_written_too(file, tmp_path):
    source = file(MINIMAL)
    d = read_dh(source)
    terms = (Armature(0), friction.Stribeck(0), friction.Viscous(0), friction.DirectionalCoulomb(1, 0.01), friction.Offset(1))
    changed = d.with_terms(terms).prior
    values = changed.replaced({"dFs1": 0.3, "Fcp2": 0.4, "off2": -0.1, "Fc1": 0.7})
    values = type(values)(values.layout, values.values, np.array([0.08, 1.5]))
    write_dh(source, tmp_path / "b.yaml", values)
    back = read_dh(tmp_path / "b.yaml")
    assert back.friction_stated and np.array_equal(back.prior.on(values.layout).values, values.values)
    assert set(back.prior.layout.names) == set(values.layout.names) and list(back.prior.shapes) == [0.08, 1.5]
    assert "# shoulder" in (tmp_path / "b.yaml").read_text()


def test_terms_the_file_cannot_hold_are_named(file, tmp_path):
    source = file(MINIMAL)
    d = read_dh(source)
    with pytest.raises(FileError, match="no term for parameter Iam2"):
        write_dh(source, tmp_path / "b.yaml", d.with_terms((*d.layout.terms, Coupling(1, (0, 1)))).prior)
    assert not (tmp_path / "b.yaml").exists()


def test_shared_anchors_and_bad_targets_are_refused(file, tmp_path):
    text = "dh: {convention: standard, a: [1, 1]}\nlinks:\n  - &one {XX: 1, M: 2}\n  - *one\n"
    source = file(text)
    values = read_dh(source).prior.replaced({"XX1": 3.0})
    with pytest.raises(FileError):
        write_dh(source, tmp_path / "b.yaml", values)
    with pytest.raises(FileError, match="cannot be written"):
        write_dh(source, tmp_path / "nowhere" / "b.yaml", read_dh(source).prior)
    with pytest.raises(FileError):
        write_dh(source, tmp_path / "b.yaml", values.replaced({"XX1": math.nan, "XX2": math.nan}))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["arm.yaml"]
