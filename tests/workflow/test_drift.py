"""Friction that changes along a log, with temperature or with time; torques are Pinocchio's."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.logs.log import Log
from inertica.report.drift import drift_line, drift_sentences
from inertica.workflow.identify.drift import By
from trio import warm_log

STATED = {"cutoff": 8.0, "delay": 0.0, "gravity": (0.0, 0.0, -9.81), "method": "wls"}


def identified(log: Log, model: Path) -> ia.Result:
    return ia.identify(model, [log], quick=True, **STATED)


@cache
def changed(warm: bool) -> ia.Result:
    return identified(*warm_log(3, np.array([0.0, 0.2, 0.0]), warm=warm))


@pytest.mark.parametrize(("warm", "by"), [(False, By.TIME), (True, By.TEMPERATURE)])
def test_a_fifth_is_found_on_the_joint_that_has_it(warm: bool, by: By) -> None:
    changes = changed(warm).drift.changes
    assert {c.number for c in changes} == {2} and all(c.by is by for c in changes)
    for c in changes:
        assert c.change == pytest.approx(0.2, abs=0.04) and c.interval[0] < c.change < c.interval[1]
        assert c.compared.significantly_better
    assert "Friction drifts with" in drift_line(changed(warm))
    assert ("record the temperature" in drift_sentences(changed(warm))[0]) is not warm
    if warm:
        assert changes[0].low == pytest.approx(25.0, abs=0.5) and changes[0].high == pytest.approx(43.6, abs=0.5)


@pytest.mark.parametrize("warm", [False, True])
def test_constant_friction_is_not_said_to_change(warm: bool) -> None:
    result = identified(*warm_log(4, np.zeros(3), warm=warm))
    assert result.drift.changes == () and drift_line(result) == "" and result.drift.looked_at == ("shoulder", "elbow", "wrist")


def test_a_temperature_that_does_not_change_leaves_time() -> None:
    log, model = warm_log(3, np.array([0.0, 0.2, 0.0]))
    result = identified(replace(log, signals={**log.signals, "temp": np.full(log.need("q").shape, 30.0)}), model)
    assert {c.by for c in result.drift.changes} == {By.TIME}


def test_a_temperature_changes_nothing_else() -> None:
    result, log = changed(True), warm_log(3, np.array([0.0, 0.2, 0.0]), warm=True)[0]
    without = identified(log.without("temp"), warm_log(3, np.zeros(3))[1])
    assert np.array_equal(result.parameters.values, without.parameters.values)
    assert np.array_equal(result.intervals, without.intervals)


def test_units_change_nothing() -> None:
    """Time half as fast, torques 25 times as large, temperatures in Kelvin: the same changes."""
    log, model = warm_log(3, np.array([0.0, 0.2, 0.0]), warm=True)
    signals = {"q": log.need("q"), "tau": 25.0 * log.need("tau"), "temp": log.need("temp") + 273.15}
    slow = Log.from_arrays(2.0 * log.t, signals, log.joints)
    stated = STATED | {"cutoff": 4.0, "gravity": (0.0, 0.0, -0.25 * 9.81)}
    other = ia.identify(model, [slow], quick=True, **stated)
    pairs = zip(changed(True).drift.changes, other.drift.changes, strict=True)
    assert all(a.friction == b.friction and a.change == pytest.approx(b.change, rel=1e-3) for a, b in pairs)


def test_saved_and_read_again(tmp_path: Path) -> None:
    changed(True).save(tmp_path)
    assert ia.Result.load(tmp_path).drift == changed(True).drift
