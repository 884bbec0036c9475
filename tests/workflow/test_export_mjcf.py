"""URDF and DH results as new MJCF files: MuJoCo's own inverse dynamics gives our torques."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import pair
from inertica.cli.main import main
from inertica.dynamics.engine import Engine
from inertica.robot.formats.mjcf_file import read_mjcf
from inertica.robot.friction import law
from inertica.robot.layout import Layout
from inertica.robot.load import load
from inertica.robot.tree import reduce
from inertica.workflow.export.model import export_model
from inertica.workflow.export.plain_friction import FrictionStates, plain_friction
from inertica.workflow.export.torques import ModelTorques


def mujoco_torques(path, q, dq, ddq):
    """mj_inverse, and the joint friction that MuJoCo treats as a constraint: frictionloss sign(dq), damping and armature included."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS | mujoco.mjtDisableBit.mjDSBL_LIMIT
    data = mujoco.MjData(model)
    out = np.empty_like(q)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        out[k] = data.qfrc_inverse + model.dof_frictionloss * np.sign(dq[k])
    return out


def possible(description, seed=0):
    """Values that could exist, every drive and friction parameter there."""
    rng = np.random.default_rng(seed)
    names = [p.name for p in description.layout.parameters if p.kind in ("armature", "viscous", "coulomb")]
    return description.prior.replaced({n: float(rng.uniform(0.1, 1.0)) for n in names})


ARM = """<robot name="arm"><link name="base"/>
  <link name="a"><inertial><origin xyz="0.1 0.02 0.03" rpy="0.3 0 1"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="b"><inertial><origin xyz="0.15 0.01 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="tip"><inertial><mass value="0.3"/><inertia ixx="0.001" iyy="0.001" izz="0.001"/></inertial></link>
  <link name="c"><inertial><origin xyz="0 0.01 0.1"/><mass value="0.5"/>
    <inertia ixx="0.004" iyy="0.003" izz="0.002"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0.1 0.2" rpy="0.2 -0.4 0.9"/>
    <axis xyz="0.6 0 0.8"/><limit lower="-2" upper="1.5" velocity="3" effort="30"/></joint>
  <joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0.3 0 0" rpy="1.5707963267948966 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-0.2" upper="0.3" velocity="1" effort="0"/></joint>
  <joint name="weld" type="fixed"><parent link="b"/><child link="tip"/><origin xyz="0 0 0.2" rpy="0 0.5 0"/></joint>
  <joint name="j3" type="continuous"><parent link="a"/><child link="c"/><origin xyz="0 0.3 0.1" rpy="0 0 3.1"/><axis xyz="0 0 1"/>
  </joint></robot>"""


def test_a_urdf_becomes_an_mjcf_with_the_same_torques(tmp_path):
    """Oblique axes, a sliding joint, a branch, a fixed tip, sideways gravity."""
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "card.yaml").write_text("model: arm.urdf\ngravity: [0, 6, -7]\n")
    described = load(tmp_path / "card.yaml")
    values = possible(described)
    written = export_model(pair.result_on(described, values), tmp_path / "out.xml", "mjcf")
    assert written.notes == () and written.extra is None and written.difference < 1e-12
    rng = np.random.default_rng(1)
    q, dq, ddq = rng.uniform(-1.5, 1.5, (3, 40, 3))
    wanted = Engine(values.layout).inverse_dynamics(q, dq, ddq, values.values)
    assert np.abs(mujoco_torques(tmp_path / "out.xml", q, dq, ddq) - wanted).max() < 1e-9 * np.abs(wanted).max()
    robot = reduce(read_mjcf(tmp_path / "out.xml")).robot
    assert robot.limits.lower == pytest.approx(described.robot.limits.lower) and robot.limits.torque[0] == 30.0
    assert robot.joint_names == ("j1", "j2", "j3") and robot.gravity == (0.0, 6.0, -7.0)


def with_springs(tmp_path, kind="urdf"):
    """The arm with springs on two joints, offsets beside one of them and beside none."""
    (tmp_path / "arm.urdf").write_text(ARM)
    springs = "[{spring: j1, rest: 0.4}, {spring: j2, rest: -0.1}, {counterbalance: j3}]"
    (tmp_path / "card.yaml").write_text(
        f"model: arm.urdf\ngravity: [0, 6, -7]\nfriction: [viscous, coulomb, offset]\nterms: {springs}\n"
    )
    described = load(tmp_path / "card.yaml")
    drawn = possible(described).replaced({"Ks1": 30.0, "Ks2": 400.0, "off1": 2.0, "off3": 0.5, "Kbs3": 1.5})
    return described, drawn


def test_springs_and_the_offsets_beside_them_are_held_by_mjcf(tmp_path):
    """MuJoCo's own spring is ours; an offset beside it is another rest, one without a spring and a counterbalance are said."""
    described, values = with_springs(tmp_path)
    written = export_model(pair.result_on(described, values), tmp_path / "out.xml", "mjcf")
    assert written.notes == (
        "springs of out.xml (joint 1, 2) are stiffness and springref, which MuJoCo reads and Pinocchio does not",
        "MJCF has no place for off3, Kbs3; they are in out.extra.yaml, a card that adds them",
    )
    assert [(lost.what, lost.joint) for lost in written.lost] == [("offset", 2), ("counterbalance", 2)]
    rng = np.random.default_rng(1)
    q, dq, ddq = rng.uniform(-1.5, 1.5, (3, 40, 3))
    wanted = Engine(values.layout).inverse_dynamics(q, dq, ddq, values.values)
    wanted[:, 2] -= 0.5 + 1.5 * np.sin(q[:, 2])
    assert np.abs(mujoco_torques(tmp_path / "out.xml", q, dq, ddq) - wanted).max() < 1e-9 * np.abs(wanted).max()
    for again in (load(tmp_path / "out.xml"), load(tmp_path / "out.extra.yaml")):
        torque = Engine(again.layout).inverse_dynamics(q, dq, ddq, again.prior.values)
        whole = again.source.card is not None
        assert (
            np.abs(torque - wanted - whole * np.outer(0.5 + 1.5 * np.sin(q[:, 2]), [0, 0, 1])).max() < 1e-9 * np.abs(wanted).max()
        )


def test_springs_have_no_place_in_urdf(tmp_path):
    described, values = with_springs(tmp_path)
    written = export_model(pair.result_on(described, values), tmp_path / "out.urdf", "urdf")
    assert {(lost.what, lost.joint) for lost in written.lost} >= {
        ("spring", 0),
        ("spring", 1),
        ("offset", 0),
        ("counterbalance", 2),
    }


def test_a_copied_mjcf_takes_the_spring_that_was_found(tmp_path):
    """In the place of the file's own; without stiffness it is taken out."""
    described, values = with_springs(tmp_path)
    export_model(pair.result_on(described, values), tmp_path / "first.xml", "mjcf")
    copied = load(tmp_path / "first.xml")
    found = copied.prior.replaced({"Ks1": 12.0, "Ks2": 0.0})
    export_model(pair.result_on(copied, found), tmp_path / "second.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "second.xml"))
    assert model.jnt_stiffness.tolist() == [12.0, 0.0, 0.0] and model.qpos_spring[0] == pytest.approx(0.4 - 2.0 / 30.0)


@pytest.mark.parametrize("name", ["planar2", "panda7", "tx40"])
def test_dh_tables_too(tmp_path, name):
    described = load(name)
    laws = tuple(law(word, j) for j in range(described.robot.n) for word in ("viscous", "coulomb"))
    drives = tuple(t for t in described.layout.terms if type(t).__name__ == "Armature")
    plain = replace(described, layout=Layout(described.robot, (*drives, *laws)))
    plain = replace(plain, prior=described.prior.on(plain.layout))
    values = possible(plain)
    if values.inconsistent_links():  # some published sets are no bodies; the test is of geometry
        ten = np.array([0.1, 0.0, 0.01, 0.1, 0.0, 0.1, 0.05, 0.02, 0.03, 1.0])
        bodies = {n: v for j in range(plain.robot.n) for n, v in zip(plain.layout.names[plain.layout.link(j)], ten, strict=True)}
        values = values.replaced(bodies)
    export_model(pair.result_on(plain, values), tmp_path / "out.xml", "mjcf")
    rng = np.random.default_rng(1)
    q, dq, ddq = rng.uniform(-1.0, 1.0, (3, 20, plain.robot.n))
    wanted = Engine(values.layout).inverse_dynamics(q, dq, ddq, values.values)
    assert np.abs(mujoco_torques(tmp_path / "out.xml", q, dq, ddq) - wanted).max() < 1e-9 * np.abs(wanted).max()


def with_stribeck():
    plain = load(pair.folder() / "pair.urdf")
    laws = tuple(law(name, j) for j in range(2) for name in ("viscous", "stribeck"))
    drives = tuple(t for t in plain.layout.terms if type(t).__name__ == "Armature")
    described = plain.with_terms((*drives, *laws))
    values = described.prior.replaced({"Ia1": 0.1, "Ia2": 0.2, "dFs1": 0.4, "dFs2": 0.0})
    return replace(pair.result_on(described, values), speeds=(2.0, 1.0))


def test_friction_that_mujoco_lacks_is_approximated_and_the_card_has_the_law(tmp_path):
    result = with_stribeck()
    written = export_model(result, tmp_path / "out.xml", "mjcf", approximate=False)
    assert written.notes == ("MJCF has no place for dFs1; they are in out.extra.yaml, a card that adds them",)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert model.dof_frictionloss == pytest.approx([0.8, 0.3]) and model.dof_armature == pytest.approx([0.1, 0.2])
    close = export_model(result, tmp_path / "out.xml", "mjcf", speed=2.0)
    assert "shoulder misses" in close.notes[0] and "up to 2 rad/s" in close.notes[0]
    again = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert again.dof_frictionloss[0] > 0.8 and again.dof_frictionloss[1] == pytest.approx(0.3)
    assert again.dof_damping[1] == pytest.approx(result.parameters["Fv2"])
    assert load(tmp_path / "out.extra.yaml").prior["dFs1"] == 0.4  # the law itself is not lost


def test_the_error_of_the_approximation_is_that_of_the_best_fit():
    result = with_stribeck()
    found = plain_friction(ModelTorques.of(result), FrictionStates.up_to(result.parameters.layout, np.array([2.0, 1.0])))
    v = np.linspace(2.0, 0.0, 4000, endpoint=False)
    p = result.parameters
    true = p["Fv1"] * v + p["Fc1"] + p["dFs1"] * np.exp(-((v / 0.05) ** 2))
    best, rest = np.linalg.lstsq(np.column_stack([v, np.ones_like(v)]), true, rcond=None)[:2]
    assert found.parameters["Fv1"] == pytest.approx(best[0], rel=0.02) and found.parameters["Fc1"] == pytest.approx(
        best[1], rel=0.01
    )
    assert found.error[0] == pytest.approx(np.sqrt(rest[0]) / np.linalg.norm(true), rel=0.1)
    assert found.error[1] < 1e-9 and found.joints == (0, 1)


def test_the_command_line_writes_it(tmp_path, capsys):
    prior = load(pair.folder() / "pair.urdf").prior
    result = replace(pair.identified(), parameters=prior.on(pair.identified().parameters.layout))
    result = replace(result, estimate=replace(result.estimate, beta=result.estimate.base.beta(result.parameters.values)))
    result.save(tmp_path / "saved")
    assert main(["export", str(tmp_path / "saved"), "--mjcf", str(tmp_path / "out.xml")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "every link in it could exist" in said and "drive inertia" in said
    mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
