"""Elastic drives: a spring between the torque and the position makes a log look like that of another unit or another robot.

Where recorded position follows torque from sample to sample (`inertica.validation.compliance`), the deflection is taken out and
the log is looked at again: what a rigid robot with these columns would show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inertica.checks.findings import Finding
from inertica.logs.log import Log
from inertica.robot.model import Robot
from inertica.validation.compliance import TOGETHER, fast_compliance
from inertica.validation.misfit_words import elastic_drive


def stiffened(log: Log) -> Log | None:
    """The log with the deflection of its elastic drives taken out of the positions; None when it shows none."""
    fast = fast_compliance([log])
    if fast.joint is None:
        return None
    compliance = np.where(np.array(fast.correlation) >= TOGETHER, fast.compliance, 0.0)
    return replace(log, signals={**log.signals, "q": log.need("q") - compliance * log.need("tau")})


def with_elasticity(findings: Sequence[Finding], stiff: Sequence[Finding], log: Log, robot: Robot) -> list[Finding]:
    """What an elastic log says: its findings without the deflection, and the elasticity.

    Args:
        found: about the log as it is.
        stiff: about the same log with its deflection taken out.
        log: the log as it is.
        robot: whose it should be.
    """
    drive = elastic_drive([log], robot)
    sentence, advice = ("", "") if drive is None else (drive.symptom, drive.remedy)
    settled = bool(stiff) and not any(f.verdict == "problem" for f in stiff)
    if settled and any(f.verdict == "problem" for f in findings):
        text = f"{sentence}; as recorded, its torque does not follow from its motion, with the deflection taken out it does"
        return [Finding("elasticity", "problem", text, advice), *stiff]
    return [Finding("elasticity", "warning", sentence, advice), *(stiff or findings)]
