"""`inertica demo`: the whole way, held against the truth."""

import json

import numpy as np
import pytest

from inertica.cli.main import main
from inertica.dynamics.engine import Engine
from inertica.excitation import catalog_trajectory
from inertica.identifiability.base import base_model, engine
from inertica.robot.load import load


def test_the_whole_way(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path / "demo"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["base_count"] == 52 and document["rate"] == 5000.0
    assert max(document["tracking_rms"]) < 0.01
    assert document["check"] != "problem"
    assert {m["method"] for m in document["methods"]} >= {"ols", "wls", "irls", "pc-wls", "didim"}
    assert document["residual"]["validation"]["filtered"]["all"] < 0.05
    errors = np.abs(list(document["base_errors"].values()))
    assert len(errors) > 20 and np.median(errors) < 0.02 and errors.max() < 0.2
    assert (tmp_path / "demo" / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    for file in document["files"]:
        assert (tmp_path / "demo").as_posix() in file


def test_it_speaks(capsys):
    assert main(["demo", "--robot", "scara4"]) == 0
    said = capsys.readouterr().out
    assert "scara4: 4 joints, 52 standard and 19 base parameters" in said and "chosen by cross-validation" in said
    assert max(map(len, said.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--robot", "nothing"], "no robot or file 'nothing'"),
        (["--noise", "loud"], "no noise preset 'loud'"),
        (["-o", "/dev/null/x"], "cannot be made"),
    ],
)
def test_bad_input_is_one_sentence(words, said, capsys):
    assert main(["demo", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_reduced_engine_simulates_the_same_robot():
    robot = load("planar2")  # has fixed parameters
    prior = robot.prior.replaced({"MY1": 0.4, "MY2": -0.3})
    q, dq, _ = catalog_trajectory("planar2").trajectory(np.arange(500) * 2e-3)
    gains = {"kp": robot.loop["kp"], "kd": robot.loop["kd"]}
    full = Engine(robot.layout).simulate(prior, {"q": q, "dq": dq}, gains, 2e-3)
    reduced = engine(base_model(robot.layout)).simulate(prior, {"q": q, "dq": dq}, gains, 2e-3)
    assert reduced.q == pytest.approx(full.q, abs=1e-9)
