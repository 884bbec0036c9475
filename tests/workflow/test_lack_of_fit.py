"""`identify` tests for lack of fit where the loop is known, and says so where it cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest
from effects import with_elasticity, with_ripple

import inertica as ia
from inertica.experiment import Experiment
from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.workflow.identify.result import Result

STATED = {"method": "irls", "cutoff": 15.0, "delay": 0.0}


@pytest.fixture(scope="module")
def scara() -> Description:
    return ia.load("scara4")


@pytest.fixture(scope="module")
def log(scara: Description) -> Log:
    (found,) = Experiment.of(scara, noise="standard", threads=1).run(ia.catalog_trajectory("scara4").trajectory, seed=3)
    return with_ripple(found, 0.05)


def test_a_finding_is_a_warning_and_stays_in_the_saved_result(scara: Description, log: Log, tmp_path) -> None:
    result = ia.identify(scara, [log], **STATED)
    found = result.lack_of_fit
    assert found is not None and found.named == ("position",) and found.replicas == 4
    assert found.findings[0] in result.warnings and "ripples with the position" in found.findings[0]
    assert Result.load(result.save(tmp_path / "result")).lack_of_fit == found


def test_without_a_loop_or_in_a_hurry_nothing_is_tested(scara: Description, log: Log) -> None:
    for robot, more in ((scara, {"quick": True}), (replace(scara, loop=None), {})):
        result = ia.identify(robot, [log], **STATED, **more)
        found = result.lack_of_fit
        assert found is not None and not found.findings
        assert all(not t.tested and ("quick" in t.why or "loop is not known" in t.why) for t in found.tests)
        assert not any("ripple" in w for w in result.warnings)


def test_a_fit_that_stops_says_that_the_drives_give(scara: Description, log: Log) -> None:
    """Deflections look like noise, or like positions in another unit."""
    with pytest.raises(ia.InerticaError, match=r"the drive of joint \d looks elastic \(a deflection of 5 m"):
        ia.identify(scara, [with_elasticity(log)], cutoff=1e6)
