"""Columns of commands, and files that are not read because reading them can run code."""

from __future__ import annotations

from pathlib import Path

import pytest

import inertica as ia
from inertica.logs.names import meaning


@pytest.mark.parametrize(
    "name", ["cmd1", "target_1", "action[1]", "des1", "goal_1", "q1_cmd", "dof_pos_target_1", "joint_1_setpoint"]
)
def test_words_for_commands(name: str) -> None:
    found = meaning(name)
    assert found is not None and found.symbol == "qr" and found.number == 1


@pytest.mark.parametrize(("name", "symbol"), [("target_velocity_1", "dqr"), ("tau_cmd_1", "taur"), ("motor_cmd_1", None)])
def test_words_for_other_signals(name: str, symbol: str | None) -> None:
    found = meaning(name)
    assert (found.symbol if found else None) == symbol


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".pkl", ".pickle"])
def test_files_that_can_run_code_are_refused_with_a_conversion(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    path.write_bytes(b"\x80\x04.")
    with pytest.raises(ia.FileError, match=r"numpy\.savez"):
        ia.read_log(path)
