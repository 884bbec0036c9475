"""Jobs without a check of their own say what a log lacks, and refuse sizes that nothing can be computed with."""

from __future__ import annotations

from pathlib import Path

import pytest

import pair
from inertica.cli.main import main

SPOILT = {
    "spike": lambda table: table.__setitem__((500, 1), 1e30),
    "huge": lambda table: table.__setitem__(slice(None), table * [1.0, 1.0, 1.0, 1e300, 1e300]),
}


@pytest.fixture
def words(tmp_path: Path) -> dict[str, list[str]]:
    pair.identified().save(tmp_path / "result")
    robot = str(pair.folder() / "pair.urdf")
    return {"predict": ["predict", str(tmp_path / "result")], "watch": ["watch", robot], "reduce": ["reduce", robot]}


@pytest.mark.parametrize("command", ["predict", "watch", "reduce"])
def test_spikes_and_gaps_are_said_and_absurd_sizes_refused(command: str, words, tmp_path: Path, capsys) -> None:
    spike, huge = (pair.write_log(pair.folder() / "pair.urdf", tmp_path / f"{k}.csv", edit=edit) for k, edit in SPOILT.items())
    lines = spike.read_text().splitlines()
    lines[100] = lines[100].rpartition(",")[0] + ","
    spike.write_text("\n".join(lines) + "\n")
    assert main([*words[command], str(spike)]) == 0
    said = capsys.readouterr().err
    assert "the position of joint 1 jumps by 1e+30 at row 501" in said
    assert "1 values of 'tau2' are missing or not finite (the first at line 101); they are masked" in said
    assert main([*words[command], str(huge)]) == 2
    assert "a size that cannot be computed with" in capsys.readouterr().err


def test_identify_says_it_of_data_that_are_not_fitted(tmp_path: Path, capsys) -> None:
    robot, log, _ = pair.files()
    spike, huge = (pair.write_log(pair.folder() / "pair.urdf", tmp_path / f"{k}.csv", edit=edit) for k, edit in SPOILT.items())
    fixed = ["--method", "wls", "--cutoff", "10", "--delay", "0", "--friction", "viscous,coulomb"]
    assert main(["identify", robot, log, "--validate", str(spike), "--full", *fixed]) == 0
    assert "the position of joint 1 jumps by 1e+30 at row 501" in capsys.readouterr().err
    assert main(["identify", robot, log, "--validate", str(huge), *fixed]) == 2
    assert "a size that cannot be computed with" in capsys.readouterr().err
