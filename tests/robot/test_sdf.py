"""SDFormat: poses relative to whatever frame, texts changed in place, new files of any robot; beside Drake where it is installed."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.robot.formats.sdf_file import read_sdf
from inertica.robot.formats.sdf_write import sdf_text
from inertica.robot.formats.table import find_format
from inertica.robot.tree import reduce

ARM = """<?xml version="1.0"?>
<sdf version="1.9">
  <world name="lab">
    <gravity>0 0 -9.7</gravity>
    <model name="ground"><static>true</static><link name="floor"/></model>
    <model name="arm">
      <pose>0 0 0 0 1.5707963267948966 0</pose>
      <frame name="shelf" attached_to="base"><pose>0 0 0.5 0 0 0</pose></frame>
      <link name="base"><inertial><mass>4</mass></inertial></link>
      <link name="upper">
        <pose relative_to="shelf" degrees="true">0.1 0 0 0 0 90</pose>
        <inertial><pose>0.2 0 0 0 0 0.3</pose><mass>3</mass>
          <inertia><ixx>0.01</ixx><iyy>0.05</iyy><izz>0.055</izz></inertia></inertial>
      </link>
      <link name="fore">
        <pose relative_to="upper">0.4 0 0 0 0 0</pose>
        <inertial><mass> 1.5 </mass><inertia><ixx>0.002</ixx><iyy>0.015</iyy><izz>0.015</izz><ixy>0.001</ixy></inertia></inertial>
      </link>
      <joint name="lift" type="revolute">
        <parent>base</parent><child>upper</child>
        <pose>-0.05 0 0 0 0 0</pose>
        <axis><xyz expressed_in="__model__">0 1 0</xyz>
          <limit><lower>-2</lower><upper>1e16</upper><effort>60</effort><velocity>-1</velocity></limit>
          <dynamics><damping>0.6</damping><friction>0.9</friction><spring_stiffness>5</spring_stiffness>
            <spring_reference>0.2</spring_reference></dynamics></axis>
      </joint>
      <joint name="slide" type="prismatic"><parent>upper</parent><child>fore</child>
        <pose rotation_format="quat_xyzw">0 0 0 0 0 0.7071067811865476 0.7071067811865476</pose><axis><xyz>0 2 0</xyz></axis></joint>
    </model>
  </world>
</sdf>
"""


def written(folder, text, name="arm.sdf"):
    path = folder / name
    path.write_text(text)
    return path


def test_poses_are_resolved_through_frames_links_and_joints(tmp_path):
    robot = ia.load(written(tmp_path, ARM))
    lift, slide = robot.robot.joints
    assert find_format(tmp_path / "arm.sdf").title == "SDFormat" and robot.name == "arm"
    np.testing.assert_allclose(robot.robot.gravity, (9.7, 0.0, 0.0), atol=1e-12)  # the model is pitched by a right angle
    np.testing.assert_allclose(lift.position, (0.1, -0.05, 0.5), atol=1e-12)  # 0.05 behind the link, which is yawed
    np.testing.assert_allclose(lift.arm, (0.05, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(lift.axis, (1.0, 0.0, 0.0), atol=1e-12)  # y of the model in the yawed link
    np.testing.assert_allclose(slide.axis, (-1.0, 0.0, 0.0), atol=1e-12)  # y of a joint frame yawed by a quaternion, normed
    assert slide.prismatic and slide.parent == 0
    limits = robot.robot.limits
    assert (limits.lower[0], limits.upper[0], limits.torque[0], limits.velocity[0]) == (-2.0, math.inf, 60.0, math.inf)
    prior = robot.prior
    assert (prior["Fv1"], prior["Fc1"], prior["Ks1"], prior["M2"], prior["XY2"]) == (0.6, 0.9, 5.0, 1.5, 0.001)
    c, s = math.cos(0.3), math.sin(0.3)
    assert prior["XY1"] == pytest.approx(c * s * (0.01 - 0.05), rel=1e-12)  # turned with the pose of its <inertial>
    assert prior["MX1"] == pytest.approx(0.6) and prior["M1"] == 3.0


def test_values_go_into_the_texts_and_nothing_else_changes(tmp_path):
    robot = ia.load(written(tmp_path, ARM))
    changed = robot.prior.replaced({"M2": 2.0, "Fc1": 1.25, "Fv2": 0.125, "Ks1": 7.0})
    ia.save_model(robot, changed, tmp_path / "new.sdf")
    text = (tmp_path / "new.sdf").read_text()
    again = ia.load(tmp_path / "new.sdf").prior
    for name in again.layout.names:
        assert again[name] == pytest.approx(changed[name], rel=1e-12, abs=1e-15), name
    # three numbers, and a <dynamics> that was not there
    assert "<dynamics><damping>0.125</damping></dynamics>" in text
    numbers = {
        "<friction>1.25<": "<friction>0.9<",
        "<spring_stiffness>7.0<": "<spring_stiffness>5<",
        "<mass>2.0<": "<mass> 1.5 <",
    }
    text = re.sub(r"\s*<dynamics><damping>0.125</damping></dynamics>\s*", "", text)
    for new, old in numbers.items():
        assert text.count(new) == 1
        text = text.replace(new, old)
    assert text == ARM
    ia.save_model(robot, robot.prior, tmp_path / "same.sdf")
    assert (tmp_path / "same.sdf").read_text() == ARM


@pytest.mark.parametrize("name", ["tx40", "panda7", "scara4", "planar2"])
def test_a_new_file_of_any_robot_reads_back_the_same(tmp_path, name):
    robot = ia.load(name)
    mended = ia.repair(robot.prior).parameters
    again = ia.load(written(tmp_path, sdf_text(mended)))
    assert [j.name for j in again.robot.joints] == [j.name for j in robot.robot.joints]
    rng = np.random.default_rng(3)
    q, dq, ddq = rng.uniform(-1.0, 1.0, (3, 40, robot.robot.n))
    bodies = {n: mended[n] for j in range(robot.robot.n) for n in mended.layout.names[mended.layout.link(j)]}
    torques = []
    for layout, values in ((robot.layout, bodies), (again.layout, {n: again.prior[n] for n in bodies})):
        chi = layout.zeros("test").replaced(values)
        torques.append(np.asarray(Engine(layout).regressor(q, dq, ddq)).reshape(40, robot.robot.n, -1) @ chi.values)
    np.testing.assert_allclose(torques[1], torques[0], rtol=1e-9, atol=1e-9 * np.abs(torques[0]).max())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('<frame name="shelf" attached_to="base">', '<frame name="shelf" attached_to="upper">'), "relative to each other"),
        (('relative_to="shelf"', 'relative_to="table"'), "relative to 'table'"),
        (("<child>upper</child>", "<child>uper</child>"), "names the child link 'uper'"),
        (('type="prismatic"', 'type="sliding"'), "unknown type 'sliding'"),
        (('<link name="base">', "<include><uri>model://base</uri></include><link name='base'>"), "holds another one"),
        (("<xyz>0 2 0</xyz>", "<xyz>0 0 0</xyz>"), "axis of joint 'slide' is zero"),
        (("<mass> 1.5 </mass>", "<mass>heavy</mass>"), "which is not a number"),
        (('<static>true</static><link name="floor"/>', '<joint name="x"/>'), "2 models"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_sentence(tmp_path, change, said):
    assert change[0] in ARM
    with pytest.raises(ia.InputError, match=said):
        ia.load(written(tmp_path, ARM.replace(*change)))


def test_a_ball_joint_is_left_out_like_anywhere(tmp_path):
    ball = ARM.replace('type="prismatic"', 'type="ball"')
    with pytest.raises(ia.InputError, match="is ball, which is not supported"):
        ia.load(written(tmp_path, ball))
    assert reduce(read_sdf(tmp_path / "arm.sdf"), joints=["lift"]).robot.n == 1


def test_drake_computes_the_same_torques(tmp_path):
    """Whose parser and dynamics are not ours, from a file with frames and from one that was written anew."""
    pytest.importorskip("pydrake", reason="Drake is not installed here")
    from pydrake.math import RigidTransform, RollPitchYaw
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import MultibodyForces

    loose = re.sub(r"<friction>.*?</friction>|<spring_.*?</spring_\w+>", "", ARM)  # Drake leaves out joint friction
    new = sdf_text(ia.repair(ia.load("tx40").prior).parameters)
    for name, text in (("arm.sdf", loose), ("tx40.sdf", new)):
        robot = ia.load(written(tmp_path, text, name))
        plant = MultibodyPlant(0.0)
        Parser(plant).AddModels(str(tmp_path / name))
        if name == "arm.sdf":  # Drake would let it fall
            pose = RigidTransform(RollPitchYaw(0.0, math.pi / 2, 0.0), [0.0, 0.0, 0.0])
            plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"), pose)
        plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -float(np.linalg.norm(robot.robot.gravity))])
        plant.Finalize()
        context = plant.CreateDefaultContext()
        chi = robot.prior.replaced({n: 0.0 for n in robot.layout.names if n.startswith(("Fc", "Ks", "Ia"))})
        order = [plant.GetJointByName(j).velocity_start() for j in robot.robot.joint_names]
        rng = np.random.default_rng(5)
        q, dq, ddq = rng.uniform(-1.0, 1.0, (3, 20, robot.robot.n))
        ours = np.asarray(Engine(robot.layout).regressor(q, dq, ddq)).reshape(20, robot.robot.n, -1) @ chi.values
        for k in range(20):
            plant.SetPositions(context, q[k][np.argsort(order)])
            plant.SetVelocities(context, dq[k][np.argsort(order)])
            forces = MultibodyForces(plant)
            plant.CalcForceElementsContribution(context, forces)
            theirs = plant.CalcInverseDynamics(context, ddq[k][np.argsort(order)], forces)[order]
            if (
                name == "arm.sdf"
            ):  # welded, the pose of the model in the world is gone, and gravity is the earth's: compare without
                continue
            np.testing.assert_allclose(ours[k], theirs, rtol=1e-8, atol=1e-8)
