"""Logs with the torque of some joints only: fits take those rows, and the log is not held against the model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.checks.findings import Finding, joint_list
from inertica.logs.log import Log
from inertica.robot.floating import JOINTS


def without_torque(logs: Sequence[Log]) -> Finding | None:
    """What is said of joints without any torque in some log; None when every joint has one or none has, or a position lacks, too."""
    lacking = [~np.isfinite(log.need("tau")).any(axis=0) for log in logs]
    placed = all(np.isfinite(log.signals["q"]).any(axis=0).all() for log in logs if "q" in log.signals)
    bare = np.flatnonzero(np.any(lacking, axis=0)).tolist()
    if not bare or not placed or any(lacks.all() for lacks in lacking):
        return None
    if {logs[0].joints[j] for j in bare} <= set(JOINTS):
        text = (
            "the forces on the floating base were not measured: fits take the rows of its joints, and the log is not held against the "
            "model"
        )
        return Finding("torque", "not testable", text, "measure the force on the base for its own parameters")
    text = (
        f"no torque of {joint_list(bare)} was recorded: fits take the rows of the other joints, friction and drive of "
        f"{'this one' if len(bare) == 1 else 'these'} stay as they are in the model, and the log is not held against it"
    )
    return Finding("torque", "not testable", text, "record the torque of all joints that move")
