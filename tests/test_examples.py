"""The scripts of examples/ run as a user would run them, and leave what they promise."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import inertica
from inertica.excitation import load_trajectory
from inertica.robot.load import load

FOLDER = Path(__file__).parents[1] / "examples"
TRUE = {"Fc1": 1.2, "Fc2": 1.5, "Fc3": 0.5}  # of the simulated logs


def run(script: str, cwd: Path, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(Path(inertica.__file__).parents[1])}
    command = [sys.executable, str(FOLDER / script), *words]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_own_robot(tmp_path):
    shutil.copytree(FOLDER / "data", tmp_path, dirs_exist_ok=True)
    said = run("own_robot.py", tmp_path, "arm.urdf", "run1.csv.gz", "run2.csv.gz", "out")
    assert said.startswith("Identification(arm by ") or "\nIdentification(arm by " in said
    for name in (
        "result.json",
        "identified.urdf",
        "parameters.csv",
        "report.html",
        "code/arm.c",
        "code/arm.h",
        "code/arm_test.c",
    ):
        assert (tmp_path / "out" / name).is_file()
    found = load(tmp_path / "out" / "identified.urdf").prior
    assert all(found[name] == pytest.approx(value, rel=0.1) for name, value in TRUE.items())


def test_exciting_trajectory(tmp_path):
    said = run("exciting_trajectory.py", tmp_path, str(FOLDER / "data" / "arm.urdf"), "1")
    assert float(re.search(r"base regressor (\S+)", said)[1]) < 100.0
    assert load_trajectory(tmp_path / "trajectory.yaml").period == 10.0
    assert len((tmp_path / "trajectory.csv").read_text().splitlines()) > 5000
    assert (tmp_path / "trajectory_ros2.yaml").is_file()


def test_compare_methods(tmp_path):
    said = run("compare_methods.py", tmp_path)
    rows = dict(re.findall(r"^(\S+) +(\d+\.\d+) %", said, flags=re.M))
    assert list(rows) == ["ols", "wls", "irls", "pc-wls", "pc-wls+entropic"] and all(float(x) < 10.0 for x in rows.values())


def test_payload(tmp_path):
    """The load of the simulated log weighs 0.6 kg, 0.22 m from the elbow."""
    said = run("payload.py", tmp_path)
    mass, low, high = (float(x) for x in re.search(r"mass (\S+) kg, 95 %: (\S+) \.\.\. (\S+)", said).groups())
    assert low < 0.6 < high and mass == pytest.approx(0.6, abs=0.02)
    assert float(re.search(r"centre x (\S+) m", said)[1]) == pytest.approx(0.22, abs=0.01)


@pytest.mark.slow
def test_cluster(tmp_path):
    """Two Dask workers here; the second call finds everything done."""
    said = run("cluster.py", tmp_path)
    rows = re.findall(r"^(quiet|loud) +(\S+) +(\S+) % off, 4 fits", said, flags=re.M)
    assert [row[:2] for row in rows] == [(noise, name) for noise in ("quiet", "loud") for name in ("ols_f", "wls_f", "pc-wls_f")]
    assert all(float(x) < 20.0 for noise, _, x in rows if noise == "quiet")
    assert (tmp_path / "small-arm" / "report.html").is_file()
    again = run("cluster.py", tmp_path)
    assert "of 4 units" in said and "of 4 units" not in again and again.splitlines()[:6] == said.splitlines()[4:10]


def test_every_script_is_run_here():
    here = Path(__file__).read_text(encoding="utf-8")
    assert all(f'run("{script.name}"' in here for script in FOLDER.glob("*.py"))
