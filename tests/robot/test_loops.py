"""Closed loops in model files and cards: what readers make of them, against MuJoCo, and what is refused."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from inertica.dynamics.engine import Engine
from inertica.errors import FileError, InerticaError
from inertica.robot.load import load
from inertica.robot.loops import complete, follow, gap, spread
from mujoco_loops import FOUR_BAR, PARALLELOGRAM

COUPLED = """<mujoco><compiler angle="radian"/><worldbody>
<body name="a"><joint name="a" axis="0 1 0" ref="0.3"/><inertial pos="0.1 0 0" mass="1" diaginertia="1 1 1"/>
 <body name="b" pos="0.3 0 0"><joint name="b" type="slide" axis="1 0 0" ref="0.1"/>
  <inertial pos="0 0 0.1" mass="1" diaginertia="1 1 1"/>
  <body name="c" pos="0.3 0 0"><joint name="c" axis="0 0 1"/><inertial pos="0 0 0.1" mass="1" diaginertia="1 1 1"/></body>
 </body></body></worldbody>
<equality><joint joint1="b" joint2="a" polycoef="0.02 0.5 0.2 -0.1 0.05" {stiff}/></equality></mujoco>"""

WELDED = """<mujoco><compiler angle="degree"/><worldbody>
<body name="a" pos="0 0 1" euler="10 0 0"><joint name="a" axis="0 1 0"/><inertial pos="0.1 0 0" mass="1" diaginertia="1 1 1"/>
 <body name="b" pos="0.3 0 0"><joint name="b" axis="0 1 0"/><inertial pos="0 0 0.1" mass="1" diaginertia="1 1 1"/>
  <body name="c" pos="0.3 0 0.1"><joint name="c" axis="0 1 0"/><inertial pos="0 0 0.1" mass="1" diaginertia="1 1 1"/></body>
 </body></body>
<body name="d" pos="0 0 1.4" euler="10 0 0"><joint name="d" axis="0 1 0"/><inertial pos="0.1 0 0" mass="1" diaginertia="1 1 1"/></body>
</worldbody><equality><weld body1="d" body2="c" {more}/></equality></mujoco>"""

STIFF = 'solref="0.002 1" solimp="0.9999 0.9999 0.001 0.5 2"'


def constrained(path: Path) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_path(str(path))
    return model, mujoco.MjData(model)


@pytest.mark.parametrize(
    "text",
    [PARALLELOGRAM, COUPLED.format(stiff=STIFF), WELDED.format(more=STIFF), WELDED.format(more=STIFF + ' anchor="0.1 0.2 0"')],
)
def test_equality_constraints_are_mujocos(tmp_path: Path, text: str) -> None:
    """Positions that close the loops leave MuJoCo no error, and its accelerations under the stiffest constraints are ours."""
    path = tmp_path / "robot.xml"
    path.write_text(text)
    rate = 0.0 if "polycoef" in text else 1.0  # MuJoCo leaves out what a bent polynomial adds to accelerations
    description, (model, data) = load(path), constrained(path)
    model.dof_frictionloss[:] = 0.0
    robot, rng = description.robot, np.random.default_rng(1)
    order = [model.joint(name).dofadr[0] for name in robot.joint_names]
    q, arrived = spread(robot, np.array(robot.loops.start) + rng.uniform(-0.3, 0.3, (8, robot.n)))
    assert arrived.all()
    q, dq, _ = complete(robot, q, rate * rng.normal(size=q.shape), np.zeros(q.shape))
    tau = np.zeros(q.shape)
    tau[:, robot.independent] = 5.0 * rng.normal(size=(8, len(robot.independent)))
    values = description.prior.values.copy()
    values[[k for k, p in enumerate(description.layout.parameters) if p.kind == "coulomb"]] = 0.0
    ours = Engine(description.layout, threads=1).forward_dynamics(q, dq, tau, values)
    for k in range(len(q)):
        data.qpos[order], data.qvel[order], data.qfrc_applied[order] = q[k], dq[k], tau[k]
        mujoco.mj_forward(model, data)
        equalities = np.asarray(data.efc_type) == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        assert np.abs(data.efc_pos[equalities]).max() < 1e-7
        assert np.abs(data.qacc[order] - ours[k]).max() < 1e-3 * np.abs(ours).max()


def test_a_loop_that_is_open_in_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "bar.xml"
    open_loop = FOUR_BAR.replace('name="rocker" pos="1 0 0" euler="0 0 1.82', 'name="rocker" pos="1 0 0" euler="0 0 2.32')
    assert open_loop != FOUR_BAR
    path.write_text(open_loop)
    robot = load(path).robot
    assert robot.independent == (0,)
    assert gap(robot, np.array(robot.loops.start))[1] < 1e-10
    assert np.abs(robot.loops.start).max() > 0.1


URDF = """<robot name="arm"><link name="base"/>{links}{joints}</robot>"""
BODY = '<inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1"/></inertial>'


def parallel_arm(folder: Path, card: str, more: str = "") -> Path:
    """A URDF of upper arm, forearm, crank and rod, with a card."""
    placed = [("upper", "base", "0 0 0"), ("fore", "upper", "0 0 0.4"), ("crank", "base", "0 0 0"), ("rod", "crank", "-0.1 0 0")]
    links = "".join(f'<link name="{name}">{BODY}</link>' for name, _, _ in placed) + '<link name="tip"/><link name="pin"/>'
    joints = "".join(
        f'<joint name="j_{name}" type="continuous"><parent link="{on}"/><child link="{name}"/><origin xyz="{at}"/><axis xyz="0 1 0"/>'
        f"{more if name == 'rod' else ''}</joint>"
        for name, on, at in placed
    ) + "".join(
        f'<joint name="f_{name}" type="fixed"><parent link="{on}"/><child link="{name}"/><origin xyz="{at}"/></joint>'
        for name, on, at in (("tip", "rod", "0 0 0.4"), ("pin", "fore", "-0.1 0 0"))
    )
    (folder / "arm.urdf").write_text(URDF.format(links=links, joints=joints))
    (folder / "card.yaml").write_text(f"model: arm.urdf\n{card}\n")
    return folder / "card.yaml"


@pytest.mark.parametrize(
    "loops",
    [
        "[connect: [tip, pin]]",
        "[connect: [{link: rod, at: [0, 0, 0.4]}, {link: fore, at: [-0.1, 0, 0]}]]",
        "[q2 = q3 - q1, j_rod = q1 - q3]",
    ],
)
def test_cards_state_loops_by_frames_points_and_relations(tmp_path: Path, loops: str) -> None:
    description = load(parallel_arm(tmp_path, f"loops: {loops}\npassive: [j_fore, j_rod]"))
    robot = description.robot
    assert robot.dependent == (1, 3)
    assert {t.joint for t in description.layout.terms} == {0, 2}  # joints without drive have no friction of their own
    q, done = follow(robot, np.array([[0.2, np.nan, -0.1, np.nan], [0.5, np.nan, 0.7, np.nan]]))
    assert done.all()
    assert np.allclose(q[:, [1, 3]], [[-0.3, 0.3], [0.2, -0.2]], atol=1e-9)


def test_mimic_with_factor_and_offset(tmp_path: Path) -> None:
    more = '<mimic joint="j_crank" multiplier="-2" offset="0.1"/>'
    robot = load(parallel_arm(tmp_path, "joints: [j_upper, j_fore, j_crank, j_rod]\nloops: [q2 = q3 - q1]", more)).robot
    q, done = follow(robot, np.array([[0.2, np.nan, -0.1, np.nan]]))
    assert done.all()
    assert np.allclose(q, [[0.2, -0.3, -0.1, 0.3]])


def test_relations_of_a_dh_robot(tmp_path: Path) -> None:
    (tmp_path / "scara.yaml").write_text("model: scara2\nloops: [q2 = -0.5*q1]\n")
    robot = load(tmp_path / "scara.yaml").robot
    assert robot.independent == (0,)


@pytest.mark.parametrize(
    ("card", "sentence"),
    [
        ("loops: [connect: [tip, hook]]", "has no link 'hook'"),
        ("loops: [connect: [tip]]", "connect joins two frames, and 1 are named"),
        ("loops: [connect: [tip, rod]]", "parts of one body"),
        ("loops: [glue: [tip, pin]]", "connect"),
        ("loops: [q2]", "'q2' is no relation of joints"),
        ("loops: [q2 = q9]", "'q9' but the robot has 4 joints"),
        ("loops: [q9 = q2]", "has no joint '9'"),
        ("loops: [q2 = dq1]", "'dq1' in the relation"),
        ("loops: [q2 = 2*q2]", "has q2 on both sides"),
        ("loops: [q2 = q1]\npassive: [j_rod]", "no loop determines the passive joint j_rod"),
        ("passive: [j_rod]", "neither the card nor the model states one"),
        ("loops: [connect: [{link: rod, at: [0, 0, 3]}, pin]]", "the loop 'connect rod pin' cannot close"),
        ("loops: [q1 = 0, q2 = 0, q3 = 0, q4 = 0]", "leave nothing that can move"),
    ],
)
def test_loops_that_cannot_be_used_end_in_a_sentence(tmp_path: Path, card: str, sentence: str) -> None:
    with pytest.raises(InerticaError) as caught:
        load(parallel_arm(tmp_path, card))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, FileError)
