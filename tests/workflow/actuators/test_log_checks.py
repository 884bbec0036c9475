"""Logs that hardly show actuators."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.errors import InputError
from inertica.estimators.actuators.record import Record
from inertica.estimators.actuators.values import ActuatorValues
from inertica.logs.log import Log
from inertica.workflow.actuators.log_checks import in_words, motion_findings, saturation_findings
from inertica.workflow.actuators.records import records

T = np.arange(1000) / 100.0
RNG = np.random.default_rng(0)


def record(q: np.ndarray, u: np.ndarray) -> Record:
    return Record("a log", T, q[:, None], np.ones((len(T), 1), bool), {"q": u[:, None]})


def sentences(q: np.ndarray, u: np.ndarray) -> str:
    noisy = q + 1e-4 * RNG.normal(size=len(q))
    return " ".join(in_words(motion_findings([record(noisy, u)], [0]), ["knee"]))


def test_a_motion_that_shows_everything_is_not_remarked() -> None:
    u = np.sin(2 * np.pi * 0.5 * T)
    assert sentences(0.9 * u, u) == ""


@pytest.mark.parametrize("cycles", [1, 8])
def test_reversals_are_counted(cycles: int) -> None:
    u = np.sin(2 * np.pi * cycles * T / 10.0)
    assert ("joint 1 (knee) hardly reverses" in sentences(u, u)) == (cycles == 1)


def test_commands_that_change_rarely() -> None:
    wave = np.sin(2 * np.pi * 0.5 * T)
    assert "changes every 8 samples" in sentences(wave, np.repeat(wave[::8], 8)[: len(T)])
    assert "less than 10 steps" in sentences(wave, np.sign(np.sin(2 * np.pi * 0.2 * T + 0.1)))


@pytest.mark.parametrize(("symbol", "what"), [("q", "position"), ("qr", "position target")])
def test_a_spike_is_named(symbol: str, what: str) -> None:
    """It is so large that nothing else of the log seems to move."""
    signals = {"q": np.sin(np.outer(T, [2.0, 3.0])), "qr": np.sin(np.outer(T, [2.0, 3.0]) + 0.1)}
    signals[symbol][50, 0] = 1e30
    with pytest.raises(InputError, match=rf"the {what} of joint 1 jumps by 1e\+30 at row 51 "):
        records(Log.from_arrays(T, signals, ["hip", "knee"]))


def test_drives_at_their_limit() -> None:
    u = np.sin(2 * np.pi * 0.5 * T)
    values = ActuatorValues.of(1, kp=10.0, torque_limit=[1.0])
    assert "at its torque limit" in " ".join(saturation_findings([record(0.2 * u, u)], values, [0]))
    assert not saturation_findings([record(0.99 * u, u)], values, [0])
