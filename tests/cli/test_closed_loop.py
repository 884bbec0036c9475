"""Closed-loop methods from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from estimators.closed import experiment_log, truth
from inertica.cli.main import main
from inertica.excitation.files import catalog_trajectory, save_trajectory


def written(capsys: pytest.CaptureFixture[str], *words: str) -> dict:  # type: ignore[type-arg]
    assert main([*words, "--json"]) == 0, capsys.readouterr().err
    return dict(json.loads(capsys.readouterr().out))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv.gz"
    experiment_log("tx40", "low_position").save(path)
    return path


def test_identify_didim(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = written(capsys, "identify", "tx40", str(log), "--method", "didim", "--cutoff", "50", "--delay", "0")
    assert found["method"] == "didim" and found["stop_reason"].startswith("converged")
    assert found["base_count"] == 52


def test_torque_only_log_with_a_trajectory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = experiment_log("tx40", "low_position")
    table = np.column_stack([source.t, source.need("tau")])
    header = ",".join(["t", *(f"tau{j + 1}" for j in range(6))])
    path, reference = tmp_path / "torque.csv", tmp_path / "traj.yaml"
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.9g")
    save_trajectory(catalog_trajectory("tx40").trajectory, reference)
    found = written(capsys, "identify", "tx40", str(path), "--method", "didim", "--reference", str(reference))
    beta, true = np.array([b["value"] for b in found["base"]]), truth("tx40")
    large = np.abs(true) > 0.05
    assert np.mean(np.abs(beta - true)[large] / np.abs(true)[large]) < 0.02
    assert found["residual"]["identification"]["raw"]["all"] < 0.3
    assert main(["identify", "tx40", str(path), "--method", "wls"]) == 2


def test_gains_only_for_methods_that_simulate(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["identify", "tx40", str(log), "--method", "wls", "--estimate-gains", "--cutoff", "50", "--delay", "0"]
    assert main(words) == 2
    assert "does not simulate the controller" in capsys.readouterr().err


def test_fit_loop(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = written(capsys, "fit-loop", "tx40", str(log), "--rate", "5000")
    assert found["law"] == "pd" and len(found["joints"]) == 6 and found["loop"]["rate"] == 5000.0
    assert main(["fit-loop", "tx40", str(log)]) == 0
    assert "for the card" in capsys.readouterr().out
    assert main(["fit-loop", "tx40", str(log), "--rate", "-1"]) == 2


def test_reproduce_names_its_papers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "dydim"]) == 2
    assert "didim" in capsys.readouterr().err


@pytest.mark.slow
def test_reproduce(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = written(capsys, "reproduce", "didim", "--seeds", "1", "--figures", str(tmp_path / "figures"))
    assert {"quantity", "published", "ours", "verdict"} == set(found["rows"][0])
    assert len(found["files"]) == 6
