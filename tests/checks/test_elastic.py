"""Elastic drives are named as such: neither units nor another robot are blamed, and true faults are still found behind them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from effects import with_elasticity

from inertica.checks.elastic import stiffened
from inertica.checks.gate import admitted, checked
from inertica.documents import plain
from inertica.excitation import catalog_trajectory
from inertica.experiment import Experiment
from inertica.logs.log import Log
from inertica.robot.load import load

SCARA4 = load("scara4")


@cache
def rigid() -> Log:
    experiment = Experiment.of(SCARA4, noise="standard", threads=1)
    return experiment.run(catalog_trajectory("scara4").trajectory, seed=3)[0]


@cache
def elastic() -> Log:
    return with_elasticity(rigid(), 0.005)


def test_the_deflection_is_taken_out() -> None:
    assert stiffened(rigid()) is None
    mended = stiffened(elastic())
    assert mended is not None
    before, after = (np.abs(log.need("q") - rigid().need("q"))[:, 0].max() for log in (elastic(), mended))
    assert before > 4e-3 and after < 0.1 * before


def test_elasticity_is_blamed_not_degrees_nor_another_robot() -> None:
    report = checked(SCARA4, [elastic()], quick=True)
    (found,) = report.of("elasticity")
    assert found.verdict == "warning" and "looks elastic" in found.text and "5 mrad" in found.text
    assert "record slower motion" in found.advice
    assert not report.problems and report.worst("units") == "fine" and report.worst("same robot") in ("fine", "note")
    assert not checked(SCARA4, [rigid()], quick=True).of("elasticity")


def test_an_elastic_log_may_be_fitted() -> None:
    report = admitted(SCARA4, [elastic()])
    assert str(plain(report)).count("looks elastic") == 1


def test_a_fault_behind_elastic_drives_is_named_all_the_same() -> None:
    order = [1, 0, 2, 3]
    signals = {name: values[:, order] for name, values in elastic().signals.items() if name in ("q", "tau")}
    report = checked(SCARA4, [replace(elastic(), signals=signals)], quick=True)
    (found,) = report.problems
    assert found.numbers["fault"] == "columns 1 and 2 are swapped, positions and torques alike"
    assert report.worst("elasticity") == "warning"
