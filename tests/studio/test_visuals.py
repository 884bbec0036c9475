"""Shapes of links as the page draws them: in the right frame, and no file that a model has no business with."""

import numpy as np
import pytest

import inertica as ia
import studio_arm as arm
from inertica.excitation.kinematics import frames
from inertica.studio.scene import scene
from inertica.studio.visuals import mesh_path, visuals

MJCF = """<mujoco>
  <compiler angle="radian" meshdir="parts"/>
  <default><geom rgba="1 0 0 1"/><default class="thick"><geom size="0.05 0.2"/></default></default>
  <asset><mesh name="hand" file="hand.stl" scale="2 2 2"/><mesh name="gone" file="gone.stl"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/><geom type="box" size="0.1 0.2 0.3" pos="0 0 0.3"/>
    <body name="upper" pos="0 0 0.6" childclass="thick">
      <inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/><joint name="a" axis="0 1 0"/>
      <geom type="capsule" pos="0 0 0.2"/>
      <geom type="cylinder" fromto="0 0 0 0.3 0 0" size="0.02" group="3"/>
      <body name="tool" pos="0.3 0 0" quat="0.7071067811865476 0 0.7071067811865476 0">
        <geom type="ellipsoid" size="0.01 0.02 0.03" pos="0 0 0.1"/>
      </body>
      <body name="fore" pos="0 0 0.4">
        <inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/><joint name="b" axis="0 1 0"/>
        <geom type="mesh" mesh="hand"/><geom type="mesh" mesh="gone"/><geom class="none"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_mjcf_geoms(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "hand.stl").write_text(arm.STL)
    (tmp_path / "arm.xml").write_text(MJCF)
    description = ia.load(tmp_path / "arm.xml")
    upper, fore, base = visuals(description)
    assert [s["kind"] for s in upper] == ["rod", "ellipsoid"]  # the group that viewers hide is not drawn beside others
    assert upper[0]["size"] == [0.05, 0.4] and np.allclose(upper[0]["position"], [0, 0, 0.2])
    assert np.allclose(upper[1]["position"], [0.4, 0, 0])  # of a body welded to it, turned by a right angle
    assert [(s["kind"], s["mesh"], s["scale"]) for s in fore] == [("mesh", 0, [2.0, 2.0, 2.0])]
    assert [(s["kind"], list(s["size"])) for s in base] == [("box", [0.2, 0.4, 0.6])]
    drawn = scene(description)
    assert drawn["drawn"] == [True, True] and drawn["foot"][0]["kind"] == "box"


FRAMES = """<mujoco>
  <compiler angle="degree" eulerseq="ZYX"/>
  <default><default class="pin"><geom type="capsule" size="0.02 0.1"/></default></default>
  <worldbody>
    <frame pos="0.1 0 0" euler="30 0 0"><geom name="foot" type="box" size="0.1 0.2 0.05" pos="0 0 0.05"/></frame>
    <frame pos="0 0 0.1" quat="0.8 0 0.6 0">
      <body name="upper" pos="0 0.05 0.3" euler="0 20 0">
        <inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/><joint name="a" axis="0 1 0" pos="0.02 0 0"/>
        <geom name="plain" type="box" size="0.02 0.03 0.2" pos="0 0 0.2"/>
        <frame pos="0 0.1 0" axisangle="1 0 0 40" childclass="pin">
          <geom name="one" pos="0 0 0.1" euler="10 0 50"/>
          <frame pos="0.2 0 0" xyaxes="0 1 0 -1 0 0">
            <geom name="two" type="ellipsoid" size="0.01 0.05 0.03" pos="0 0.1 0"/>
            <geom name="three" class="pin" fromto="0 0 0 0.1 0.2 0.3"/>
            <body name="welded" pos="0 0 0.2" euler="0 0 70"><geom name="four" type="cylinder" size="0.03 0.02" pos="0.01 0 0"/></body>
          </frame>
        </frame>
        <frame pos="0 0 0.4" euler="0 -35 0">
          <body name="fore">
            <inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/><joint name="b" type="slide" axis="1 0 1"/>
            <frame zaxis="1 1 1"><geom name="five" size="0.04" pos="0 0 0.1"/></frame>
          </body>
        </frame>
      </body>
    </frame>
  </worldbody>
</mujoco>
"""


def test_geoms_inside_frames_are_where_mujoco_compiles_them(tmp_path):
    """Every geom of the file, also of welded bodies and of the world, at a pose that is not zero."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    (tmp_path / "arm.xml").write_text(FRAMES)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    data = mujoco.MjData(model)
    data.qpos[:] = (0.7, -0.13)
    mujoco.mj_kinematics(model, data)
    description = ia.load(tmp_path / "arm.xml")
    at = frames(description.robot, data.qpos[None])
    drawn = []
    for link, several in enumerate(visuals(description)):
        R, p = (at.rotation[0, link], at.origin[0, link]) if link < 2 else (np.eye(3), np.zeros(3))
        drawn += [(p + R @ s["position"], R @ s["rotation"]) for s in several]
    assert len(drawn) == model.ngeom == 7
    for k in range(model.ngeom):
        distance, (_, R) = min(((np.abs(p - data.geom_xpos[k]).max(), (p, R)) for p, R in drawn), key=lambda x: x[0])
        assert distance < 1e-9, model.geom(k).name
        turned = data.geom_xmat[k].reshape(3, 3).T @ R
        fine = (
            turned[:, 2] if model.geom(k).name == "three" else np.diag(turned)
        )  # fromto says nothing of the turn about its axis
        assert np.allclose(fine, (0, 0, 1) if model.geom(k).name == "three" else 1.0, atol=1e-9), model.geom(k).name


def test_shapes_are_where_the_file_puts_them(tmp_path):
    """The far end of the upper arm's box is where the elbow is."""
    description = ia.load(arm.write(tmp_path / "arms"))
    box, *_ = visuals(description)[0]
    at = frames(description.robot, np.array([[0.3, 0.4]]))
    assert np.allclose(at.point(0, tuple(np.add(box["position"], (0.2, 0.0, 0.0)))), at.origin[:, 1])


def test_links_without_shapes_are_capsules():
    drawn = scene(ia.load("tx40"))
    assert drawn["drawn"] == [False] * 6 and all(shape["kind"] == "capsule" for link in drawn["shapes"] for shape in link)
    assert len(drawn["bodies"]) == 6


@pytest.mark.parametrize(
    "name", ["../secret.stl", "package://../secret.stl", "package:///secret.stl", "secret.txt", "/etc/passwd", "package://."]
)
def test_meshes_stay_near_their_model(tmp_path, name):
    (tmp_path / "project" / "model").mkdir(parents=True)
    for place in ("secret.stl", "project/secret.txt", "project/model/secret.txt"):
        (tmp_path / place).write_text("secret")
    assert mesh_path(tmp_path / "project" / "model" / "arm.urdf", name, tmp_path / "project") is None


def test_packages_above_a_linked_model_but_not_above_the_project(tmp_path):
    for place in ("robots/arm/meshes/a.stl", "project/model/b.stl"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(arm.STL)
    project, inside = tmp_path / "project", tmp_path / "project" / "model" / "arm.urdf"
    assert mesh_path(tmp_path / "robots" / "arm" / "urdf" / "arm.urdf", "package://arm/meshes/a.stl", project) is not None
    assert mesh_path(inside, f"package://{tmp_path.name}/robots/arm/meshes/a.stl", project) is None
    assert mesh_path(inside, "package://arm/meshes/b.stl", project) == project / "model" / "b.stl"  # dropped beside the model


@pytest.mark.parametrize("kind", ["capsule", "cylinder", "box", "ellipsoid"])
def test_a_geom_between_two_points_without_a_size_is_not_drawn(tmp_path, kind):
    text = MJCF.replace(
        '<geom type="cylinder" fromto="0 0 0 0.3 0 0" size="0.02" group="3"/>',
        f'<geom class="main" type="{kind}" fromto="0 0 0 0.3 0 0"/>',
    )
    assert f'{kind}" fromto' in text
    (tmp_path / "arm.xml").write_text(text.replace(' childclass="thick"', "").replace('<geom type="capsule" pos="0 0 0.2"/>', ""))
    upper, *_ = visuals(ia.load(tmp_path / "arm.xml"))
    assert [s["kind"] for s in upper] == ["ellipsoid"]
