"""`inertica demo`: the reference, the simulation in base parameters, what it reports."""

import json

import numpy as np
import pytest

from inertica.cli.demo import HARMONICS, multi_harmonic
from inertica.cli.main import main
from inertica.dynamics.engine import Engine
from inertica.identifiability.base import base_model
from inertica.identifiability.compiled import engine
from inertica.robot.load import catalog, load
from inertica.robot.model import Limits, Robot


def test_demo_tracks_its_reference(capsys):
    assert main(["demo", "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert document["base_count"] == 52 and document["rate"] == 5000.0 and document["duration"] == 10.0
    assert document["noise"] == "standard" and document["warnings"] == [] and said.err == ""
    for run in document["tracking"].values():
        assert len(run["rms"]) == document["joints"] == 6
        assert min(run["rms"]) > 0.0 and max(run["max"]) < 0.01  # rad
        assert all(rms <= most for rms, most in zip(run["rms"], run["max"], strict=True))
        assert run["simulated_seconds_per_second"] == pytest.approx(10.0 / run["time"])
    assert set(document["tracking"]) == {"without_noise", "with_noise"} and set(document["time"]) == {
        "model",
        "compile",
        "simulate",
    }


def test_demo_speaks(capsys):
    assert main(["demo", "--robot", "scara4"]) == 0
    said = capsys.readouterr().out
    assert "scara4: 4 joints, 52 standard and 19 base parameters" in said and "simulated seconds per second" in said
    assert " mm" in said and " mrad" in said and max(map(len, said.splitlines())) <= 100


@pytest.mark.parametrize(("card", "said"), [("model: scara2", "cascade"), ("model: arm.urdf", "no control loop")])
def test_demo_needs_a_pd_loop(card, said, tmp_path, capsys):
    joint = '<joint name="a" type="continuous"><parent link="base"/><child link="l"/></joint>'
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm"><link name="base"/><link name="l">{inertial}</link>{joint}</robot>')
    path = tmp_path / "card.yaml"
    path.write_text(card)
    assert main(["demo", "--robot", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_demo_says_when_the_loop_is_unstable(tmp_path, capsys):
    path = tmp_path / "card.yaml"
    path.write_text("model: planar2\nloop: {law: pd, rate: 500, kp: 1.0e9, kd: 1.0e6}\n")
    assert main(["demo", "--robot", str(path)]) == 1
    assert "did not stay finite" in capsys.readouterr().err


@pytest.mark.parametrize("name", catalog())
def test_the_reference_keeps_the_limits_and_ends_at_rest(name):
    robot = load(name)
    dt, duration = 1e-3, 10.0
    r = multi_harmonic(robot.robot, robot.home, duration, dt)
    limits = robot.robot.limits
    assert np.all(r["q"] > limits.lower) and np.all(r["q"] < limits.upper)
    assert np.all(np.abs(r["dq"]) < limits.velocity) and np.all(np.abs(r["ddq"]) < limits.acceleration)
    peak = np.abs(r["dq"]).max(axis=0)
    assert np.abs(r["dq"][0]).max() < 1e-12 and np.all(np.abs(r["dq"][-1]) < 1e-2 * peak)
    assert np.abs(r["ddq"][0]).max() < 1e-9 and np.all(np.ptp(r["q"], axis=0) > 0.05)
    rate = np.gradient(r["q"], dt, axis=0)
    assert rate[2:-2] == pytest.approx(r["dq"][2:-2], abs=1e-3 * peak.max())
    spectrum = np.abs(np.fft.rfft(r["dq"], axis=0))
    assert np.all(spectrum[HARMONICS + 1 :] < 1e-9 * spectrum.max())


def test_a_reference_without_limits_stays_modest():
    robot = Robot("free", load("planar2").robot.joints, limits=Limits.none(2))
    r = multi_harmonic(robot, (), 10.0, 1e-2)
    assert np.abs(r["q"] - r["q"].mean(axis=0)).max() < 2.0 and np.abs(r["dq"]).max() <= 1.0


def test_the_reduced_engine_simulates_the_same_robot():
    robot = load("planar2")  # has fixed parameters
    prior = robot.prior.replaced({"MY1": 0.4, "MY2": -0.3})
    reference = multi_harmonic(robot.robot, robot.home, 1.0, 2e-3)
    gains = {"kp": robot.loop["kp"], "kd": robot.loop["kd"]}
    full = Engine(robot.layout).simulate(prior, reference, gains, 2e-3)
    reduced = engine(base_model(robot.layout)).simulate(prior, reference, gains, 2e-3)
    assert reduced.q == pytest.approx(full.q, abs=1e-9)
