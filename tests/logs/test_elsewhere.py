"""Joints that a card leaves out and that a log shows all the same."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.errors import FileError

LINK = '<link name="{0}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
JOINT = (
    '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>'
    '<limit lower="-3" upper="3" effort="50" velocity="2"/></joint>'
)
NAMES = ("base", "shoulder", "elbow", "wrist")


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """Three joints in the file, of which the card takes the first and the last."""
    links = [LINK.format(f"{name}_link") for name in NAMES]
    joints = [JOINT.format(name, f"{above}_link", f"{name}_link") for above, name in pairwise(NAMES)]
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{"".join(links + joints)}</robot>')
    (tmp_path / "card.yaml").write_text("model: arm.urdf\njoints: [shoulder, wrist]\n")
    return tmp_path / "card.yaml"


def written(folder: Path, names: list[str], elbow: np.ndarray) -> Path:
    t = np.arange(200) / 100.0
    moving = [np.sin(3.0 * t), elbow, np.cos(2.0 * t)]
    table = np.column_stack([t, *moving, *(x + 1.0 for x in moving)])
    np.savetxt(folder / "log.csv", table, delimiter=",", header=",".join(["t", *names]), comments="")
    return folder / "log.csv"


NUMBERED = ["q1", "q2", "q3", "tau1", "tau2", "tau3"]
NAMED = [*(f"{n}_position" for n in NAMES[1:]), *(f"{n}_effort" for n in NAMES[1:])]


@pytest.mark.parametrize("names", [NUMBERED, NAMED])
def test_a_joint_that_is_left_out_and_moves_is_said(card: Path, names: list[str]) -> None:
    robot = ia.load(card)
    log = ia.read_log(written(card.parent, names, np.linspace(0.0, 0.8, 200)), robot)
    assert log.joints == ("shoulder", "wrist")
    np.testing.assert_allclose(log.need("q")[:, 1], np.cos(2.0 * log.t))  # the third column, not the second
    (sentence,) = log.warnings
    assert sentence.startswith("elbow (by 0.8) move in this log, but arm leaves them out and takes them as fixed at zero")


@pytest.mark.parametrize("names", [NUMBERED, NAMED])
def test_at_rest_at_zero_nothing_is_said_elsewhere_it_is(card: Path, names: list[str]) -> None:
    robot = ia.load(card)
    assert not ia.read_log(written(card.parent, names, np.zeros(200)), robot).warnings
    (sentence,) = ia.read_log(written(card.parent, names, np.full(200, 0.7)), robot).warnings
    assert sentence.startswith("elbow (at 0.7) do not move in this log, but do not stand at zero either")


def test_numbers_of_some_other_robot_are_refused(card: Path) -> None:
    table = np.column_stack([np.arange(50.0)] * 5)
    np.savetxt(card.parent / "x.csv", table, delimiter=",", header="t,q1,q2,q3,q4", comments="")
    robot = ia.load(card)
    with pytest.raises(FileError, match="belongs to joint number 3, but there are 2 joints"):
        ia.read_log(card.parent / "x.csv", robot)


def test_all_joints_selected_nothing_to_say(card: Path) -> None:
    log = ia.read_log(written(card.parent, NUMBERED, np.linspace(0.0, 0.8, 200)), ia.load(card.parent / "arm.urdf"))
    assert log.n == 3 and not log.warnings
