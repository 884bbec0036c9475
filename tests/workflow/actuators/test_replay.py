"""Free runs on the commands of logs that MuJoCo simulated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.cli.main import main
from inertica.dynamics.servo import Standstill
from inertica.estimators.actuators.values import QUANTITIES, ActuatorValues
from inertica.workflow.actuators.result import UNSEEN, ActuatorsResult, JointActuator, Posterior, Quantity
from mujoco_servos import Servos, command, quadruped, random_servos, simulate, write_model

RATE = 100.0
LEG = quadruped()[:3]
NAMES = ("j1", "j2", "j3")
SOFT = Standstill.mujoco()


def as_found(model: Path, servos: Servos) -> ActuatorsResult:
    """A result with the true values."""
    true = ActuatorValues.of(len(NAMES), **vars(servos))
    joints = tuple(
        JointActuator(n, **{q: Quantity(float(getattr(true, q)[j]), None, None, "determined") for q in QUANTITIES})
        for j, n in enumerate(NAMES)
    )
    empty = Posterior((), np.zeros(0), np.zeros((0, 0)), np.zeros(0))
    return ActuatorsResult("leg", str(model), joints, (), (), {}, {}, empty, impedance=SOFT.impedance, rate=SOFT.rate)


@pytest.fixture(scope="module")
def leg(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ActuatorsResult, ia.Log]:
    rng = np.random.default_rng(5)
    servos = random_servos(rng, 3, 0.4)
    path = write_model(LEG, tmp_path_factory.mktemp("leg") / "leg.xml")
    u = command(rng, 3, 4.0, RATE)
    q = simulate(LEG, servos, u, RATE, settle=1.5)
    log = ia.Log.from_arrays(np.arange(len(u)) / RATE, {"q": q, "qr": u}, NAMES)
    return path, as_found(path, servos), log


def test_the_true_values_repeat_the_motion(leg: tuple[Path, ActuatorsResult, ia.Log]) -> None:
    path, found, log = leg
    run = ia.replay(path, log, found, threads=1)
    # a rest at the start that friction holds off its equilibrium, and a few ms of commands before the log are what a log lacks
    assert np.all(run.rms < 5e-3 * np.ptp(log.need("q"), axis=0))
    np.testing.assert_array_equal(run.log.truth["q"], log.need("q"))
    wrong = replace(found, joints=tuple(replace(j, delay=replace(j.delay, value=j.delay.value + 0.02)) for j in found.joints))
    assert np.all(ia.replay(path, log, wrong, threads=1).rms > 3.0 * run.rms)


def test_a_joint_without_gains_is_not_simulated(leg: tuple[Path, ActuatorsResult, ia.Log]) -> None:
    path, found, log = leg
    unseen = tuple(replace(j, kp=replace(j.kp, label=UNSEEN)) for j in found.joints)
    assert np.isnan(ia.replay(path, log, replace(found, joints=unseen), threads=1).rms).all()


def test_command_line(leg: tuple[Path, ActuatorsResult, ia.Log], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, found, log = leg
    log.save(tmp_path / "run.csv")
    found.save(tmp_path / "result")
    out = tmp_path / "simulated.csv"
    words = ["simulate", str(path), "--replay", str(tmp_path / "run.csv"), "-o", str(out), "--json"]
    assert main([*words, "--actuators", str(tmp_path / "result")]) == 0
    document = json.loads(capsys.readouterr().out)
    again = ia.read_log(out)
    rms = np.sqrt(np.mean((log.need("q") - again.need("q")) ** 2, axis=0))
    np.testing.assert_allclose(list(document["rms"].values()), rms, rtol=1e-6)
    assert set(document["rms"]) == set(NAMES) and document["samples"] == len(log)

    def refused(*more: str) -> str:
        assert main([*words, *more]) == 2
        return str(json.loads(capsys.readouterr().out)["error"]["message"])

    assert "states no gains of j1, j2, j3" in refused()
    assert "--rate belongs to a rehearsal" in refused("--actuators", str(tmp_path / "result"), "--rate", "50")
    assert "cannot be read" in refused("--actuators", str(tmp_path / "none"))
    assert main(["simulate", str(path), "-o", str(out), "--actuators", str(tmp_path / "result"), "--json"]) == 2
    assert "--replay LOG" in json.loads(capsys.readouterr().out)["error"]["message"]
