"""A format of model files is one file and one line: the toy format goes the whole way, and nobody had to be told of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.cli.main import main
from inertica.robot.flange import flange
from inertica.robot.formats.table import FORMATS
from inertica.robot.outline import outlines
from inertica.studio.visuals import visuals
from robot.toy_format import TOY

ARM = """\
toy arm
shoulder base upper 0 0 1 0 0 0 0.2 0 0 0.2 0 0.3 0.4 0.02 0.1 3 1.5
elbow upper fore 0 1 0 0.4 0 0 0.02 0 0 0.06 0 0.05 0.2 0 0.03 1.2 0.4
"""
CARD = """\
model: arm.toy
friction: [viscous, coulomb]
armature: true
limits: {lower: [-2, -2], upper: [2, 2], velocity: [5, 5], torque: [60, 30]}
loop: {law: pd, kp: [900, 300], kd: [60, 20], rate: 1000}
noise: {standard: {q: 1.0e-5, tau: 0.01}}
"""


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one line, and a robot in the format with a card."""
    monkeypatch.setitem(FORMATS, TOY.name, TOY)
    (tmp_path / "arm.toy").write_text(ARM)
    (tmp_path / "card.yaml").write_text(CARD)
    return tmp_path / "card.yaml"


def test_a_file_is_known_by_its_beginning(card: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = ia.load(card.parent / "arm.toy")
    assert robot.source.format == "toy" and robot.prior["M2"] == 1.2 and robot.prior["Fv1"] == 1.5
    assert main(["show", str(card.parent / "arm.toy"), "--tip", "upper", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["joints"][0]["name"] == "shoulder"
    assert flange(robot, "fore").body.link == 1
    assert len(visuals(robot)) == 3 and {link.origin for link in outlines(robot).links} == {"built"}


def test_the_whole_way(card: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = card.parent / "log.csv", card.parent / "out"
    assert main(["simulate", str(card), "-o", str(log), "--noise", "standard", "--duration", "10"]) == 0
    assert main(["identify", str(card), str(log), "--method", "pc-wls", "-o", str(out)]) == 0
    result = ia.Result.load(out)
    (written,) = result.exported
    assert written.path.name == "identified.toy" and written.residual and written.read_by == "inertica"
    again = ia.load(out / "identified.toy")
    assert np.allclose(again.prior["Fv1"], result.parameters["Fv1"], rtol=1e-12)
    assert result.parameters["Fv1"] == pytest.approx(1.5, rel=0.05)
    # what the format lacks is in the card beside the file
    assert ia.load(out / "identified.extra.yaml").prior["Ia1"] == result.parameters["Ia1"]
    capsys.readouterr()
    assert main(["export", str(out), "--toy", str(card.parent / "copy.toy"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "toy" and {"armature", "drive inertia"} & {row["what"] for row in document["lost"]}


def test_what_the_format_has_not_is_said(card: Path) -> None:
    card.write_text(CARD + "constraints: {links: {1: {inside: geometry}}}\n")
    with pytest.raises(ia.FileError, match="no geometry that is read"):
        ia.load(card)
