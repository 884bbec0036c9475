"""MJCF against MuJoCo itself, and values written back into the file they came from."""

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from lxml import etree

from inertica.errors import FileError, InputError, ModelWarning
from inertica.robot import inertia
from inertica.robot.drives import Armature
from inertica.robot.formats.mjcf_file import read_mjcf, write_mjcf
from inertica.robot.formats.mjcf_write import mjcf_text
from inertica.robot.friction import Coulomb, Viscous
from inertica.robot.layout import Layout, Parameters
from inertica.robot.load import load
from inertica.robot.terms import Spring
from inertica.robot.tree import reduce
from referee import inverse_dynamics

pytestmark = pytest.mark.filterwarnings("error")

INERTIAL = '<inertial pos="0.1 0.02 -0.03" quat="1 0.2 0.3 -0.4" mass="2.5" diaginertia="0.03 0.02 0.04"/>'

ARM = """<?xml version="1.0"?>
<mujoco model='arm'>  <!-- before -->
  <compiler angle="radian" autolimits="true"/>
  <option gravity="0.1 -0.2 -9.5"/>
  <default>
    <joint armature="0.05" damping="0.4"/>
    <geom density="500"/>
    <default class="small"><joint armature="0.01" frictionloss="0.2" axis="0 1 0"/></default>
  </default>
  <worldbody>
    <light pos="0 0 3"/>
    <body name="pedestal" pos="0 0 0.2"><geom type="mesh" mesh="no_matter"/>
      <body name="upper" pos="0 0 0.3" euler="0.1 0.2 0.3">
        <inertial pos="0.1 0.02 -0.03" quat="1 0.2 0.3 -0.4"  mass="2.50" diaginertia="0.03 0.02 0.04"/>
        <joint name="shoulder" pos="0.05 0.1 0" axis="0 0 1" range="-1 2"/> <!-- kept -->
        <geom type="mesh" mesh="no_matter"/>
        <body name="fore" pos="0.4 0 0" childclass="small">
          <joint name="elbow" actuatorfrcrange="-20 30" ref="0.4"/>
          <geom type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.04"/>
          <geom type="box" size="0.1 0.05 0.02" pos="0.1 0 0" axisangle="0 0 1 0.5" mass="0.3"/>
          <body name="hand" pos="0.3 0.1 0">
            <inertial pos="0 0 0.01" mass="0.2" fullinertia="2e-3 3e-3 2.5e-3 1e-4 -2e-4 3e-4"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <keyframe/>
</mujoco>
"""
MESH = '<asset><mesh name="no_matter" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'

CHAINS = {
    "degrees_and_euler": """<mujoco><worldbody><body euler="30 20 10" pos="1 2 3"><joint axis="1 1 0"/>{i}
        <body euler="90 0 45"><joint type="slide" axis="0 1 0"/>{i}</body></body></worldbody></mujoco>""",
    "euler_sequence": """<mujoco><compiler eulerseq="ZyX"/><worldbody><body euler="30 20 10"><joint/>{i}
        <body euler="-50 70 45" pos="0 1 0"><joint axis="0 1 1"/>{i}</body></body></worldbody></mujoco>""",
    "orientations": """<mujoco><worldbody><body axisangle="1 2 3 40"><joint/>{i}<body xyaxes="1 1 0 0 1 1">
        <joint axis="1 0 0"/>{i}
        <body zaxis="1 -2 3"><joint/>{i}<body quat="0.5 0.1 0.2 3" pos="0 0 1"><joint axis="0 1 0"/>{i}</body></body>
        </body></body>
        </worldbody></mujoco>""",
    "joint_offset": """<mujoco><compiler angle="radian"/><worldbody><body pos="0 0 1">
        <joint pos="0.1 0.2 0.3" axis="1 2 0"/>{i}
        <body pos="0.3 0 0" quat="1 1 0 0"><joint pos="-0.2 0 0.1" ref="0.6"/>{i}
        <body pos="0 0.3 0"><joint type="slide" pos="1 1 1" axis="0 1 0" ref="-0.3"/>{i}</body></body></body></worldbody>
        </mujoco>""",
    "several_joints": """<mujoco><worldbody><body name="wrist" pos="0 0 1" euler="10 20 30">
        <joint name="x" axis="1 0 0" pos="0.1 0 0"/>
        <joint name="y" axis="0 1 0" pos="0 0.2 0.1" armature="0.3"/><joint name="z" type="slide" axis="0 1 1" ref="0.1"/>{i}
        <body pos="0.2 0.1 0"><joint name="w" ref="20"/>{i}</body></body></worldbody></mujoco>""",
    "default_classes": """<mujoco><default><joint axis="0 1 0" armature="0.1"/><geom type="box" size="0.1 0.2 0.3"/>
        <default class="a"><joint armature="0.2"/><geom density="300" euler="10 20 30"/>
        <default class="b"><joint type="slide"/><geom type="cylinder" size="0.1 0.2" pos="0.1 0 0"/></default></default>
        </default>
        <worldbody><body childclass="a"><joint pos="0.1 0 0"/><geom/><geom class="main"/>
        <body pos="0.3 0 0"><joint class="b"/><geom class="b" quat="1 1 0 0"/>
        <body childclass="b"><joint class="main"/><geom class="a" mass="3"/></body></body></body></worldbody></mujoco>""",
    "geoms": """<mujoco><worldbody><body><joint axis="1 0 1"/><geom size="0.2" pos="0.1 0 0"/>
        <geom type="ellipsoid" size="0.1 0.2 0.3" euler="20 30 40"/>
        <geom type="capsule" size="0.1 0.2" mass="2" pos="0 0.3 0"/>
        <geom type="cylinder" fromto="0 0 0 0.1 0.2 -0.3" size="0.05" density="800"/>
        <geom type="box" fromto="0 0 0 1 1 0" size="0.1"/>
        <geom type="ellipsoid" fromto="1 0 0 1 0 -1" size="0.1"/><geom size="9" group="6"/><geom size="9" mass="0"/>
        <geom type="box" size="0.1 0.2 0.3" zaxis="1 1 1"/></body></worldbody></mujoco>""",
    "inertia_from_geoms": """<mujoco><compiler inertiafromgeom="true" inertiagrouprange="1 2"/><worldbody><body>
        <joint axis="1 0 0"/>{i}
        <geom size="0.1" pos="0 0 1" group="1"/><geom size="0.5"/><body pos="0 0 1"><joint axis="0 1 0"/>{i}</body></body>
        </worldbody></mujoco>""",
    "frames": """<mujoco><worldbody><frame pos="0 0 1" euler="0 30 0"><body pos="1 0 0" euler="0 0 20">
        <frame pos="0.1 0.2 0.3" euler="50 0 0">
        <joint axis="0 1 1" pos="0 0.1 0"/>{i}<frame euler="0 20 0"><body pos="0 0 1"><frame pos="0 1 0">
        <geom type="box" size="0.1 0.2 0.3"/>
        </frame><joint axis="1 0 0"/></body></frame></frame></body></frame></worldbody></mujoco>""",
    "fixed_bodies": """<mujoco><worldbody><body pos="0 0 1"><geom type="plane" size="1 1 1"/><body pos="0 1 0">
        <joint axis="1 0 0"/>{i}
        <body euler="20 30 0" pos="0.2 0 0">{i}<body pos="0 0.4 0.1"><joint axis="0 1 0"/>{i}</body></body></body></body>
        </worldbody>
        </mujoco>""",
}  # fmt: skip


def write(tmp_path, content, name="model.xml"):
    path = tmp_path / name
    path.write_text(content)
    return path


def mujoco_model(path):
    """MuJoCo's own reading, without what is not inverse dynamics of rigid bodies and armatures."""
    model = mujoco.MjModel.from_xml_string(path.read_text().replace("<worldbody>", MESH + "<worldbody>", 1))
    model.dof_damping[:] = 0
    model.dof_frictionloss[:] = 0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    return model


def assert_same_torques(path, reduced, seed=0, rtol=1e-9):
    model = mujoco_model(path)
    data = mujoco.MjData(model)
    assert model.nv == reduced.robot.n
    rng = np.random.default_rng(seed)
    for _ in range(3):
        data.qpos[:], data.qvel[:], data.qacc[:] = rng.normal(size=(3, model.nv))
        mujoco.mj_inverse(model, data)
        ours = inverse_dynamics(reduced.robot, reduced.tens, data.qpos, data.qvel, data.qacc, reduced.armature)
        np.testing.assert_allclose(ours, data.qfrc_inverse, rtol=rtol, atol=rtol * np.abs(data.qfrc_inverse).max())


def parameters(reduced, tens=None, **drives):
    """The file's values on a layout with drives, or others."""
    n = reduced.robot.n
    layout = Layout(reduced.robot, tuple(term(j) for j in range(n) for term in (Armature, Viscous, Coulomb)))
    values = np.zeros(layout.size)
    for j in range(n):
        values[layout.link(j)] = (reduced.tens if tens is None else tens)[j]
    fields = {"Ia": "armature", "Fv": "damping", "Fc": "friction"}
    stated = {symbol: drives.get(what, getattr(reduced, what)) for symbol, what in fields.items()}
    return Parameters(layout, values).replaced({f"{s}{j + 1}": float(v[j]) for s, v in stated.items() for j in range(n)})


def random_tens(n, rng):
    L = rng.normal(size=(n, 4, 4))
    return np.array([inertia.from_pseudo_inertia(5.0 * (x @ x.T + np.eye(4))) for x in L])


@pytest.mark.parametrize("name", CHAINS)
def test_small_models_move_as_in_mujoco(tmp_path, name):
    path = write(tmp_path, CHAINS[name].replace("{i}", INERTIAL))
    assert_same_torques(path, reduce(read_mjcf(path)))


@pytest.mark.parametrize("name", CHAINS)
def test_models_saved_by_mujoco_move_as_in_mujoco(tmp_path, name):
    path, saved = write(tmp_path, CHAINS[name].replace("{i}", INERTIAL)), tmp_path / "saved.xml"
    model = mujoco.MjModel.from_xml_path(str(path))
    mujoco.mj_saveLastXML(str(saved), model)
    assert_same_torques(saved, reduce(read_mjcf(saved)))


def test_what_the_arm_says(tmp_path):
    path = write(tmp_path, ARM)
    reduced = reduce(read_mjcf(path))
    robot = reduced.robot
    assert robot.name == "arm" and robot.base == "world" and robot.gravity == (0.1, -0.2, -9.5)
    assert robot.joint_names == ("shoulder", "elbow")
    assert [j.link for j in robot.joints] == ["upper", "fore"]
    assert robot.joints[0].arm == (-0.05, -0.1, 0.0)
    assert robot.limits.lower == (-1.0, -math.inf) and robot.limits.torque == (math.inf, 30.0)
    assert reduced.armature.tolist() == [0.05, 0.01]
    assert reduced.damping.tolist() == [0.4, 0.4]
    assert reduced.friction.tolist() == [0.0, 0.2]
    assert_same_torques(path, reduced)
    body = mujoco_model(path)
    assert reduced.tens[0, 9] == pytest.approx(body.body("upper").mass[0])
    assert reduced.tens[1, 9] == pytest.approx(body.body("fore").mass[0] + body.body("hand").mass[0], rel=1e-12)


def test_degrees_are_the_default(tmp_path):
    content = '<mujoco><worldbody><body><joint range="-90 180" type="{}"/>{}</body></worldbody></mujoco>'
    hinge = reduce(read_mjcf(write(tmp_path, content.format("hinge", INERTIAL)))).robot.limits
    assert hinge.lower == pytest.approx((-math.pi / 2,)) and hinge.upper == pytest.approx((math.pi,))
    assert reduce(read_mjcf(write(tmp_path, content.format("slide", INERTIAL)))).robot.limits.upper == (180.0,)


def test_joints_of_one_body_get_links_of_their_own(tmp_path):
    path = write(tmp_path, CHAINS["several_joints"].replace("{i}", INERTIAL))
    reduced = reduce(read_mjcf(path))  # no warning for links without mass: warnings are errors here
    assert [j.link for j in reduced.robot.joints] == ["wrist__x", "wrist__y", "wrist", "body2"]
    assert not np.any(reduced.tens[:2])
    with pytest.raises(InputError, match="link 'wrist__x' only stands between joint 'x' and the next in body 'wrist'"):
        write_mjcf(path, tmp_path / "out.xml", parameters(reduced, reduced.tens + random_tens(4, np.random.default_rng(0))))


def test_unchanged_values_leave_every_byte(tmp_path):
    path, target = write(tmp_path, ARM), tmp_path / "same.xml"
    write_mjcf(path, target, parameters(reduce(read_mjcf(path))))
    assert target.read_bytes() == path.read_bytes()


def test_changed_values_come_back_and_the_rest_stays(tmp_path):
    path, target = write(tmp_path, ARM), tmp_path / "new.xml"
    reduced = reduce(read_mjcf(path))
    tens = random_tens(2, np.random.default_rng(1))
    drives = {"armature": [0.05, 0.7], "damping": [0.0, 0.4], "friction": [1 / 3, 0.2]}
    write_mjcf(path, target, parameters(reduced, tens, **drives))
    again = reduce(read_mjcf(target))
    np.testing.assert_allclose(again.tens, tens, rtol=1e-12, atol=1e-12)
    assert {k: getattr(again, k).tolist() for k in drives} == drives
    assert_same_torques(target, again)
    assert stripped(target) == stripped(path)
    text = target.read_text()
    assert "<!-- before -->" in text and "<!-- kept -->" in text and "<mujoco model='arm'>" in text
    assert (
        '<joint name="shoulder" pos="0.05 0.1 0" axis="0 0 1" range="-1 2" damping="0.0" frictionloss="0.3333333333333333"/>'
        in text
    )
    assert '<joint name="elbow" actuatorfrcrange="-20 30" ref="0.4" armature="0.7"/>' in text


def stripped(path):
    """The document without what the writer may change."""
    root = etree.parse(str(path)).getroot()
    for element in list(root.iter("inertial")):
        element.getparent().remove(element)
    for element in root.iter("joint"):
        for name in ("armature", "damping", "frictionloss"):
            element.attrib.pop(name, None)
    return b"".join(etree.tostring(root, method="c14n").split())


def test_inertial_inside_a_frame_is_written_in_that_frame(tmp_path):
    path, target = write(tmp_path, CHAINS["frames"].replace("{i}", INERTIAL)), tmp_path / "out.xml"
    tens = random_tens(2, np.random.default_rng(2))
    write_mjcf(path, target, parameters(reduce(read_mjcf(path)), tens))
    again = reduce(read_mjcf(target))
    np.testing.assert_allclose(again.tens, tens, rtol=1e-12, atol=1e-12)
    assert_same_torques(target, again)


def test_labels_and_selection(tmp_path):
    path, target = write(tmp_path, ARM), tmp_path / "out.xml"
    reduced = reduce(read_mjcf(path), joints=["shoulder"])
    tens = random_tens(1, np.random.default_rng(3))
    write_mjcf(path, target, parameters(reduced, tens), joints=["shoulder"], labels={"M1": "trusted"})
    assert "<!-- inertica: M1 trusted -->" in target.read_text()
    np.testing.assert_allclose(reduce(read_mjcf(target), joints=["shoulder"]).tens, tens, rtol=1e-12, atol=1e-12)


def test_files_whose_inertia_comes_from_geoms_cannot_take_values(tmp_path):
    path = write(tmp_path, CHAINS["inertia_from_geoms"].replace("{i}", INERTIAL))
    reduced = reduce(read_mjcf(path))
    with pytest.raises(InputError, match="set that to 'auto' first"):
        write_mjcf(path, tmp_path / "out.xml", parameters(reduced, reduced.tens * 2))


def test_higher_coefficients_of_damping_and_springs_are_noted_and_kept(tmp_path):
    joint = '<joint name="j" damping="1 2" stiffness="3 4" springdamper="0.1 1"/>'
    path = write(tmp_path, f"<mujoco><worldbody><body>{joint}{INERTIAL}</body></worldbody></mujoco>")
    reduced = reduce(read_mjcf(path))
    assert reduced.damping.tolist() == [1.0] and reduced.stiffness.tolist() == [3.0]
    said = [note.split(" of joint 'j'")[0] for note in reduced.notes]
    assert said == ["Nonlinear damping", "The nonlinear part of the spring (stiffness)", "springdamper"]
    write_mjcf(path, path, parameters(reduced, damping=[5.0]))
    assert 'damping="5.0 2"' in path.read_text() and 'stiffness="3 4"' in path.read_text()


@pytest.mark.parametrize(("angle", "rest"), [("radian", 0.5), ("degree", math.radians(0.5))])
def test_springs_are_read_and_written_in_the_unit_of_the_file(tmp_path, angle, rest):
    joints = (
        '<joint name="turn" stiffness="3" springref="0.5"/>',
        '<joint name="slide" type="slide" stiffness="7" springref="0.5"/>',
    )
    hinge, slide = (f'<body name="{k}">{joint}{INERTIAL}' for k, joint in enumerate(joints))
    body = f'<compiler angle="{angle}"/><worldbody>{hinge}{slide}</body></body></worldbody>'
    path = write(tmp_path, f"<mujoco>{body}</mujoco>")
    described = load(path)
    springs = [t for t in described.layout.terms if isinstance(t, Spring)]
    assert springs == [Spring(0, rest), Spring(1, 0.5)] and [described.prior[f"Ks{j}"] for j in (1, 2)] == [3.0, 7.0]
    other = described.with_terms(
        tuple(replace(t, rest=0.25) if isinstance(t, Spring) else t for t in described.layout.terms)
    ).prior.replaced({"Ks1": 4.0})
    write_mjcf(path, path, other)
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.jnt_stiffness.tolist() == [4.0, 7.0] and model.qpos_spring == pytest.approx([0.25, 0.25], rel=1e-12)


FREE = f"""<mujoco><worldbody><body name="torso" euler="0 90 0"><freejoint/>{INERTIAL}
<body name="leg" pos="0 0 1"><joint name="hip" axis="1 0 0"/>{INERTIAL}</body></body></worldbody></mujoco>"""


def test_a_free_joint_is_a_floating_base(tmp_path):
    """The body with the free joint is the last link, its ten parameters come first; gravity is that of the world."""
    path = write(tmp_path, FREE)
    found = load(str(path))
    robot = found.robot
    assert robot.floating and robot.driven == 1 and robot.joints[-1].link == "torso" and robot.gravity == (0.0, 0.0, -9.81)
    assert found.layout.names[:10] == ("XX0", "XY0", "XZ0", "YY0", "YZ0", "ZZ0", "MX0", "MY0", "MZ0", "M0")
    assert found.prior["M0"] > 0.0
    changed = found.prior.replaced({"M0": 1.25 * found.prior["M0"], "MX0": 0.01})
    write_mjcf(path, tmp_path / "again.xml", changed, **found.source.selection)
    again = load(str(tmp_path / "again.xml"))
    np.testing.assert_allclose(again.prior.values, changed.values, rtol=1e-12, atol=1e-15)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml"))
    assert model.body("torso").mass == pytest.approx(changed["M0"], rel=1e-12)


def test_a_new_file_of_a_floating_robot_has_a_free_joint(tmp_path):
    """MuJoCo and the reader find the values and the free base again."""
    found = load(str(write(tmp_path, FREE)))
    (tmp_path / "new.xml").write_text(mjcf_text(found.prior))
    again = load(str(tmp_path / "new.xml"))
    np.testing.assert_allclose(again.prior.values, found.prior.values, rtol=1e-12, atol=1e-15)
    assert again.robot.floating and mujoco.MjModel.from_xml_path(str(tmp_path / "new.xml")).nv == 7


def test_free_bodies_beside_the_robot_are_refused(tmp_path):
    """Which of two free bodies would be the robot is not guessed."""
    path = write(tmp_path, FREE.replace("</worldbody>", f"<body name='box'><freejoint/>{INERTIAL}</body></worldbody>"))
    with pytest.raises(FileError, match=r"body 'torso' has the free joint .* write `root: torso` into a robot card"):
        reduce(read_mjcf(path))


def test_floating_bodies_can_be_held(tmp_path):
    path = write(tmp_path, FREE)
    held = reduce(read_mjcf(path), floating=False).robot
    assert held.joint_names == ("hip",) and not held.floating
    robot = reduce(read_mjcf(path), root="torso").robot
    assert robot.joint_names == ("hip",)
    assert robot.gravity == (9.81, 0.0, 0.0)


ONE = "<mujoco>{}<worldbody><body name='b'>{}</body></worldbody>{}</mujoco>"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (ONE.format("", "<joint type='ball'/>" + INERTIAL, ""), "body 'b' has the ball joint"),
        (ONE.format("", "<joint type='rail'/>" + INERTIAL, ""), "unknown type 'rail'"),
        (ONE.format("", "<joint/><geom type='mesh' mesh='m'/>", ""), "come from its mesh; add an <inertial>"),
        (ONE.format("", "<joint/><geom type='sdf'/>", ""), "come from its sdf; add an <inertial>"),
        (ONE.format("", "<joint/><geom size='1' shellinertia='true'/>", ""), "shellinertia"),
        (ONE.format("", "<joint/><geom type='box' size='1'/>", ""), "a box and needs 3 positive sizes"),
        (ONE.format("<include file='x.xml'/>", INERTIAL, ""), "<include> is not supported; save the compiled model"),
        (ONE.format("<compiler settotalmass='3'/>", INERTIAL, ""), "settotalmass"),
        (ONE.format("<compiler eulerseq='xya'/>", INERTIAL, ""), "eulerseq='xya'"),
        (ONE.format("", "<joint class='k'/>", ""), "class 'k', which no <default> defines"),
        (ONE.format("", "<joint damping=''/>", ""), "damping of <joint> is empty"),
        (ONE.format("", "<joint axis='0 0 0'/>", ""), "axis of joint 'b__joint1' is zero"),
        (ONE.format("", "<joint/><inertial mass='1'/>", ""), "<inertial> lacks the attribute pos"),
        (ONE.format("", "<joint/>" + INERTIAL.replace("quat", "fullinertia='1 1 1 0 0 0' quat"), ""), "fullinertia and also"),
        (ONE.format("", "<joint/>" + INERTIAL + "<body name='b'/>", ""), "two bodies are called 'b'"),
        (
            ONE.format("", "<joint/>" + INERTIAL, "<equality><connect body1='b' anchor='0 1 0'/></equality>"),
            "leave nothing that can move",
        ),
        (
            ONE.format("", "<joint name='j'/>" + INERTIAL, "<equality><joint joint1='j'/></equality>"),
            "leave nothing that can move",
        ),
        ("<robot/>", "starts with <mujoco>"),
        ("<mujoco/>", "no <body>"),
        (ONE.format("", INERTIAL.replace("quat", "euler='0 0 1' quat"), "").replace("'b'>", "'b'><joint/>"), "orientation twice"),
    ],
)
def test_files_that_cannot_be_followed_get_one_sentence(tmp_path, content, sentence):
    with pytest.raises(FileError, match=sentence) as caught:
        reduce(read_mjcf(write(tmp_path, content)))
    assert "\n" not in str(caught.value)


def test_masses_that_are_doubtful_are_warned_of(tmp_path):
    with pytest.warns(ModelWarning, match="link 'b', moved by joint 'b__joint1', has mass 0"):
        reduce(read_mjcf(write(tmp_path, ONE.format("", "<joint/>", ""))))


def test_statements_not_followed_are_noted(tmp_path):
    content = ONE.format("<compiler balanceinertia='true' boundmass='1'/>", "<joint/>" + INERTIAL, "")
    assert len(reduce(read_mjcf(write(tmp_path, content))).notes) == 2


def test_moments_without_mass_cannot_be_written(tmp_path):
    path = write(tmp_path, ARM)
    with pytest.raises(InputError, match="link 'upper' has no mass but first moments"):
        write_mjcf(path, tmp_path / "out.xml", parameters(reduce(read_mjcf(path))).replaced({"M1": 0.0}))
