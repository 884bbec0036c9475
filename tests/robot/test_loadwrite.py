"""A load in the words of others, read back by others."""

from __future__ import annotations

import re

import numpy as np
import pytest

from inertica.robot import inertia
from inertica.robot.load import load
from inertica.robot.loadwrite import mjcf_text, statements, urdf_text
from inertica.robot.model import matrix, rotation_x, rotation_y, rotation_z
from inertica.robot.terms import RigidBody

Q, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))
LOAD = inertia.from_com(1.7, [0.03, -0.05, 0.12], Q @ np.diag([0.004, 0.007, 0.0095]) @ Q.T)
POSE = RigidBody(0, "p", matrix(rotation_z(0.4) @ rotation_y(-0.3) @ rotation_x(0.7)), (0.01, 0.02, 0.3))


def test_urdf_link_adds_the_load_to_its_link(tmp_path) -> None:
    arm = (
        '<robot name="a"><link name="base"/><link name="arm"/><joint name="j" type="continuous"><parent link="base"/>'
        '<child link="arm"/><axis xyz="0 1 0"/></joint>'
    )
    path = tmp_path / "arm.urdf"
    path.write_text(arm + urdf_text(LOAD, "arm", POSE) + "</robot>")
    merged = load(path).prior.link(0)
    assert np.allclose(merged, inertia.change_frame(LOAD, POSE.rotation, POSE.position), atol=1e-12)


def test_mjcf_body_has_the_same_inertia_for_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco")
    arm = f'<body name="arm"><joint/>{mjcf_text(LOAD, "arm", POSE)}<geom size="1e-6" mass="1e-9"/></body>'
    text = f"<mujoco><worldbody>{arm}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    k = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "load")
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, model.body_iquat[k])
    R = R.reshape(3, 3)
    body = inertia.to_com(LOAD)
    assert model.body_mass[k] == pytest.approx(body.mass) and np.allclose(model.body_ipos[k], body.com)
    assert np.allclose(R @ np.diag(model.body_inertia[k]) @ R.T, body.inertia, atol=1e-9)
    mujoco.mju_quat2Mat(pose := np.zeros(9), model.body_quat[k])
    assert np.allclose(pose.reshape(3, 3), POSE.rotation, atol=1e-9)


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]


def test_statements_state_the_body() -> None:
    body, said = inertia.to_com(LOAD), statements(LOAD)
    m, x, y, z, xx, yy, zz, xy, xz, yz = numbers(said["UR"])
    L = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert said["UR"].startswith("set_target_payload(") and m == pytest.approx(body.mass)
    assert np.allclose([x, y, z], body.com, rtol=1e-5) and np.allclose(L, body.inertia, rtol=1e-4, atol=1e-8)
    franka = numbers(said["Franka"])
    assert np.allclose(np.reshape(franka[4:], (3, 3)), body.inertia, rtol=1e-4, atol=1e-8)
    m, x, y, z, a, b, c, jx, jy, jz = numbers(said["KUKA"].partition("=")[2])
    R = rotation_z(np.radians(a)) @ rotation_y(np.radians(b)) @ rotation_x(np.radians(c))
    assert np.allclose([x, y, z], 1000.0 * body.com, rtol=1e-5)
    assert np.allclose(R @ np.diag([jx, jy, jz]) @ R.T, body.inertia, rtol=1e-3, atol=1e-7)
