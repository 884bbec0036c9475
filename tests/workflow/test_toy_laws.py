"""A friction law, a control law and a robot that the package does not know: a class and a line each, one file for the robot.

They go the whole way: card, simulation, identification.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.cli.main import main
from inertica.robot import control, files, friction
from inertica.robot.terms import Column, State
from inertica.scalars import Scalar, absolute

Array = np.ndarray


@dataclass(frozen=True)
class Drag(friction.FrictionLaw):
    """tau = Fd |dq| dq"""

    rank = 6
    symbols = (("Fd", "drag", "N m s^2/rad^2", 0.0),)
    candidate = friction.Candidate("drag", felt=True)

    def columns(self, x: State) -> list[Column]:
        return [{self.at: absolute(x.dq[self.at]) * x.dq[self.at]}]


@dataclass(frozen=True)
class Lead(control.ControlLaw):
    """tau = stiff (qr - q + lead (dqr - dq))"""

    formula = "tau = stiff (qr - q + lead (dqr - dq))"
    gains = ("stiff", "lead")
    torque_gains = ("stiff",)

    def torque(
        self, reference: control.Named, q: Scalar, dq: Scalar, gain: control.Named, memory: control.Named, dt: Scalar
    ) -> control.Torque:
        return gain["stiff"] * (reference["q"] - q + gain["lead"] * (reference["dq"] - dq)), {}

    @classmethod
    def stiffness_damping(cls, gain: Mapping[str, Array]) -> tuple[Array, Array]:
        return gain["stiff"], gain["stiff"] * gain["lead"]


def card(folder: Path, text: str) -> Path:
    path = folder / "card.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_friction_law_is_a_class_and_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(friction.LAWS, "drag", Drag)
    drag = {"Fd1": 3.0, "Fd2": 0.8}
    known = card(tmp_path, f"model: scara2\nfriction: [viscous, coulomb, drag]\nparameters: {json.dumps(drag)}\n")
    log = tmp_path / "log.csv.gz"
    assert main(["simulate", str(known), "-o", str(log), "--noise", "standard", "--duration", "10"]) == 0
    stated = ia.identify(known, [str(log)], method="wls")
    for name, value in drag.items():
        assert stated.parameters[name] == pytest.approx(value, rel=0.1)
    assert "drag" in friction.friction_text(friction.friction_terms(stated.description.layout.terms))
    chosen = ia.identify(card(tmp_path, "model: scara2\nfriction: auto\n"), [str(log)], method="wls")
    (choice,) = [c for c in chosen.choices if c.subject == "friction"]
    assert choice.value.count("drag") >= 1 and "drag" in choice.sentence
    assert chosen.parameters["Fd1"] == pytest.approx(3.0, rel=0.1)


def test_a_control_law_is_a_class_and_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(control.LAWS, "lead", Lead)
    loop = "{law: lead, rate: 1000, stiff: [9400, 220], lead: [0.04, 0.033]}"
    robot = card(tmp_path, f"model: scara2\nloop: {loop}\n")
    assert main(["show", str(robot)]) == 0
    assert Lead.formula in capsys.readouterr().out
    log = tmp_path / "log.csv.gz"
    assert main(["simulate", str(robot), "-o", str(log), "--noise", "standard", "--duration", "4"]) == 0
    found = ia.identify(robot, [str(log)], method="didim")
    estimate = found.estimate
    truth = estimate.base.beta(ia.load(robot).prior.on(estimate.base.layout).values)
    sd = 0.01 * estimate.relative_std * np.abs(estimate.beta)
    assert np.all(np.abs(estimate.beta - truth) < 4.0 * sd)
    for k in (estimate.base.names.index("ZZ1"), estimate.base.names.index("MX2")):
        assert estimate.beta[k] == pytest.approx(truth[k], rel=0.1)


TOY = """\
about: a toy
name: toybot
types: [R, R]
dh: {convention: modified, alpha: [0, -90], a: [0, 0], d: [0, 0], theta: [0, 0]}
limits: {lower: [-2, -2], upper: [2, 2], velocity: [3, 3], acceleration: [20, 20], torque: [80, 40]}
links:
  - {ZZ: 0.3, M: 3, Ia: 0.2, Fv: 0.5, Fc: 1}
  - {XX: 0.15, YY: 0.16, ZZ: 0.05, MX: 0.6, M: 4, Ia: 0.1, Fv: 0.4, Fc: 0.8}
loop: {law: pd, rate: 1000, kp: [2000, 1500], kd: [60, 40]}
noise: {standard: {q: 1.0e-5, tau: 0.05}}
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog with one robot."""
    monkeypatch.setattr(files, "CATALOG", tmp_path)
    (tmp_path / "toybot.yaml").write_text(TOY, encoding="utf-8")
    return tmp_path


def test_a_robot_of_the_catalog_is_one_file(shelf: Path, capsys: pytest.CaptureFixture) -> None:
    """Without a stored motion one is designed, the same every time."""
    assert main(["robots", "--json"]) == 0
    assert [r["name"] for r in json.loads(capsys.readouterr().out)["robots"]] == ["toybot"]
    logs = [shelf / "one.csv", shelf / "two.csv"]
    for log in logs:
        assert main(["simulate", "toybot", "-o", str(log), "--noise", "standard", "--duration", "3"]) == 0
        capsys.readouterr()
    assert logs[0].read_bytes() == logs[1].read_bytes()
    assert main(["demo", "--robot", "toybot", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["name"] == "toybot" and document["residual"]["validation"]["filtered"]["all"] < 0.1


def test_what_a_motion_lacks_is_said(shelf: Path, capsys: pytest.CaptureFixture) -> None:
    (shelf / "toybot.yaml").write_text(TOY.replace("velocity: [3, 3], ", ""), encoding="utf-8")
    assert main(["simulate", "toybot", "-o", str(shelf / "log.csv")]) == 2
    said = capsys.readouterr().err
    assert "no identification trajectory for 'toybot'" in said and "limits of the velocity of" in said
