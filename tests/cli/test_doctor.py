"""`inertica doctor`: the self-test passes, and what is missing has a reason."""

from __future__ import annotations

import json

import pytest

from inertica.cli.main import main


def test_doctor_tells_what_there_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    assert main(["doctor", "--robot", "scara2", "--seconds", "0.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    cpu, card = found["devices"]
    assert cpu["usable"] and cpu["passed"] and cpu["simulations_per_second"] > 0
    assert not card["usable"] and "needs the package cupy" in card["reason"]
    assert found["packages"]["numpy"] and found["packages"]["cupy"] is None
    assert found["cache"]["kernels"] > 0
    assert main(["doctor", "--robot", "scara2", "--seconds", "0.1"]) == 0
    assert "self-test" in capsys.readouterr().out
