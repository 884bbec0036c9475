"""`inertica payload` on the command line."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from inertica.cli.main import main
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment
from inertica.robot.layout import Parameters
from inertica.robot.load import load


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A planar arm of two joints without and with a load of 2 kg, 10 cm off the last link's origin."""
    folder = tmp_path_factory.mktemp("payload")
    description = load("scara2")
    empty = Experiment.of(description, noise="standard", threads=1)
    truth = empty.truth
    heavier = Parameters(truth.layout, truth.values, truth.shapes).replaced(
        {"M2": truth["M2"] + 2.0, "MX2": truth["MX2"] + 0.2, "ZZ2": truth["ZZ2"] + 0.03}
    )
    motion = catalog_trajectory("scara2").trajectory
    empty.run(motion, seed=1)[0].save(folder / "empty.npz")
    replace(empty, truth=heavier).run(motion, seed=2)[0].save(folder / "full.npz")
    return folder


def test_a_planar_arm_shows_a_part_of_the_load(files, capsys) -> None:
    words = [
        "payload",
        "scara2",
        "--unloaded",
        str(files / "empty.npz"),
        "--loaded",
        str(files / "full.npz"),
        "--quick",
        "--json",
    ]
    assert main([*words, "-o", str(files / "load")]) == 0
    document = json.loads(capsys.readouterr().out)
    listed = {p["name"]: p for p in document["parameters"]}
    assert list(listed) == ["M", "MX", "MY", "MZ", "XX", "XY", "XZ", "YY", "YZ", "ZZ"]
    assert listed["MX"]["value"] == pytest.approx(0.2, rel=0.03)  # no bias is taken out of a quick run
    assert listed["XX"]["label"] == "unidentifiable" and listed["XX"]["std"] is None
    assert len(document["files"]) == 4 and np.isfinite(document["mass"]["value"])


def test_the_text_names_frame_and_statements(files, capsys) -> None:
    words = ["payload", "scara2", "--unloaded", str(files / "empty.npz"), "--loaded", str(files / "full.npz"), "--quick"]
    assert main([*words, "--flange=0.1,0,0"]) == 0
    said = capsys.readouterr().out
    assert "set_target_payload(" in said and "LOAD_DATA" in said and "a given pose on" in said


def test_bad_input_is_one_sentence(files, capsys) -> None:
    assert main(["payload", "scara2", "--loaded", str(files / "full.npz")]) == 2
    assert "either logs of the robot without load (unloaded)" in capsys.readouterr().err
