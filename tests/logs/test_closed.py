"""Logs of robots with closed loops: which columns they have, what is solved for, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inertica.errors import FileError
from inertica.logs.read import read_log
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.load import load
from mujoco_loops import FOUR_BAR, PARALLELOGRAM

T = np.arange(200) / 100.0
YAW, UPPER, CRANK = (size * np.sin(rate * T) for size, rate in ((0.5, 2.0), (0.4, 3.0), (0.6, 1.5)))


@pytest.fixture
def arm(tmp_path: Path) -> Description:
    (tmp_path / "arm.xml").write_text(PARALLELOGRAM)
    return load(tmp_path / "arm.xml")


def written(folder: Path, **columns: np.ndarray) -> Path:
    path = folder / "log.csv"
    table = np.column_stack([T, *columns.values()])
    np.savetxt(path, table, delimiter=",", header=",".join(["t", *columns]), comments="", fmt="%.12g")
    return path


@pytest.mark.parametrize("names", [("yaw", "shoulder", "drive"), ("1", "2", "3")])
def test_columns_of_the_drives_are_enough(tmp_path: Path, arm: Description, names: tuple[str, str, str]) -> None:
    positions = {f"q{'_' * name.isalpha()}{name}": x for name, x in zip(names, (YAW, UPPER, CRANK), strict=True)}
    torques = {f"tau{'_' * name.isalpha()}{name}": x for name, x in zip(names, (YAW + 1, UPPER + 2, CRANK + 3), strict=True)}
    log = read_log(written(tmp_path, **positions, **torques), arm)
    assert np.allclose(log.q, np.column_stack([YAW, UPPER, CRANK - UPPER, CRANK, UPPER - CRANK]), atol=1e-9)
    assert np.allclose(log.need("tau")[:, [0, 1, 3]], np.column_stack([YAW + 1, UPPER + 2, CRANK + 3]))
    assert not log.need("tau")[:, [2, 4]].any()
    motion = prepare(log, Recipe(filter=Unfiltered()))
    assert np.allclose(motion.dq[:, 2], motion.dq[:, 3] - motion.dq[:, 1], atol=1e-9)
    assert np.allclose(motion.ddq[:, 4], motion.ddq[:, 1] - motion.ddq[:, 3], atol=1e-9)
    assert motion.resting[:, [2, 4]].all()


def test_torques_of_joints_that_follow_count_as_those_of_the_others(tmp_path: Path, arm: Description) -> None:
    q = {"yaw": YAW, "shoulder": UPPER, "elbow": CRANK - UPPER + 0.01, "drive": CRANK, "pin": UPPER - CRANK}
    tau = {"yaw": YAW, "shoulder": UPPER, "elbow": 2.0 + YAW, "drive": CRANK, "pin": 0 * YAW}
    columns = {f"q_{name}": x for name, x in q.items()} | {f"tau_{name}": x for name, x in tau.items()}
    log = read_log(written(tmp_path, **columns), arm)
    assert np.allclose(log.need("tau")[:, 1], UPPER - (2.0 + YAW))
    assert np.allclose(log.need("tau")[:, 3], CRANK + (2.0 + YAW))
    assert any("differ by up to 0.01 rms (elbow)" in note for note in log.notes)
    assert np.allclose(log.q[:, 2], CRANK - UPPER, atol=1e-9)


def test_a_loop_that_cannot_close_names_itself_and_the_time(tmp_path: Path) -> None:
    (tmp_path / "bar.xml").write_text(FOUR_BAR.replace('pos=".3 0 0"', 'pos=".7 0 0"'))
    columns = {"q_motor": 2.0 + 0.5 * T, "tau_motor": YAW}
    with pytest.raises(
        FileError, match=r"the loop 'connect coupler rocker' cannot close at \d+ of 200 samples, the first at t = .* stays open"
    ):
        read_log(written(tmp_path, **columns), load(tmp_path / "bar.xml"))
