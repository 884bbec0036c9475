"""A robot of one's own in `simulate`: loop, noise and encoder steps on the command line or in the card."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.cli.main import main

LOOP = "{law: pd, wn: 20, zeta: 0.8, rate: 1000}"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A robot that states no loop."""
    (tmp_path / "bare.yaml").write_text("model: scara2\nloop: none\n")
    return tmp_path / "bare.yaml"


def test_loop_noise_and_steps_on_the_command_line(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = bare.parent / "log.csv"
    words = ["simulate", str(bare), "-o", str(log), "--duration", "2", "--rate", "500", "--json"]
    assert main(words) == 2
    assert "states no control loop" in capsys.readouterr().err
    noise = ["--position-noise", "1e-4", "--torque-noise", "0.3,0.1", "--quantise", "1e-3"]
    assert main([*words, "--loop", LOOP, *noise]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["noise"] == {"q": 1e-4, "tau": [0.3, 0.1]} and said["rate"] == 500
    M = ia.dynamics_at("scara2", [0.3, -0.7]).M
    assert said["loop"]["kp"][1] == pytest.approx(M[1, 1] * 20.0**2) and said["loop"]["kd"][1] == pytest.approx(
        1.6 * M[1, 1] * 20.0
    )
    q = ia.read_log(log, ia.load(bare)).need("q")
    assert np.allclose(q / 1e-3, np.round(q / 1e-3), atol=1e-6) and len(q) == 1000


def test_the_same_from_a_card_and_from_python(bare: Path) -> None:
    card = bare.parent / "own.yaml"
    noise = "noise: {lab: {q: 1.0e-4, tau: [0.3, 0.1]}}\nsensors: {rate: 500, position_step: 0.001}\n"
    card.write_text(f"model: scara2\nloop: {LOOP}\n{noise}")
    (one,) = ia.simulate(card, noise="lab", duration=2.0)
    loop = {"law": "pd", "wn": 20, "zeta": 0.8, "rate": 1000}
    options = {"loop": loop, "position_noise": 1e-4, "torque_noise": [0.3, 0.1], "position_step": 1e-3, "rate": 500.0}
    (two,) = ia.simulate(bare, duration=2.0, **options)
    np.testing.assert_array_equal(one.need("q"), two.need("q"))
    np.testing.assert_array_equal(one.need("tau"), two.need("tau"))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--loop", "{law: pd, kp: [1, 2, 3], rate: 100}"], "kp has 3 values for 2 joints"),
        (["--loop", "{law: pd, wn: 2000, rate: 100}"], "needs a control rate of"),
        (["--loop", "{law: pd, wn: -1, rate: 100}"], "wn and zeta of the loop should be greater than zero"),
        (["--loop", "pd"], "the loop 'pd' is no mapping"),
        (["--loop", LOOP, "--position-noise=-1"], "noise is a standard deviation that is not negative"),
    ],
)
def test_bad_input_is_one_sentence(bare: Path, more: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(bare), "-o", str(bare.parent / "log.csv"), *more]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
