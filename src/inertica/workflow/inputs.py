"""Logs that no fit can use are refused before anything is computed, each with the reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.errors import InputError
from inertica.logs.log import Log

STILL = 1e-3
"""rad or m; a joint whose position stays within this does not move."""

SIGNAL = {"q": "position", "tau": "torque"}


def check_logs(logs: Sequence[Log]) -> None:
    """Every joint has values in every log, every joint moves in some log, and no torque is zero throughout."""
    for log in logs:
        for symbol, words in SIGNAL.items():
            values = log.need(symbol)
            empty = np.flatnonzero(np.isfinite(values).sum(axis=0) < 3)
            if len(empty):
                raise InputError(
                    f"{log.origin}: the {words} of joint {empty[0] + 1} ({log.joints[empty[0]]}) has no usable values"
                )
    still = [name for j, name in enumerate(logs[0].joints) if not joint_moves(logs, j)]
    if len(still) == logs[0].n:
        raise InputError(f"{_names(logs)}: no joint moves; identification needs a log of the robot in motion")
    if still:
        moving = ", ".join(name for name in logs[0].joints if name not in still)
        raise InputError(
            f"{_names(logs)}: {', '.join(still)} does not move, so that nothing can be said of its drive and friction; add a log in "
            f"which it moves, or identify the others alone with a card that lists them (joints: [{moving}])"
        )
    for j, name in enumerate(logs[0].joints):
        if not any(np.any(np.nan_to_num(log.need("tau")[:, j])) for log in logs):
            raise InputError(f"{_names(logs)}: the torque of joint {j + 1} ({name}) is zero throughout; was it recorded?")


def check_references(stated: int, logs: int, validation: int) -> None:
    """Trajectories that the controller followed: none, one for all logs, one for each, or one for validation logs, too."""
    if stated not in (0, 1, logs, logs + validation):
        each = f"{logs} (one for each log)" + (f" or {logs + validation} (validation logs, too)" if validation else "")
        raise InputError(f"{stated} reference trajectories were stated; state one for all logs, or {each}")


def joint_moves(logs: Sequence[Log], j: int) -> bool:
    """Whether a joint moves in any of the logs."""
    return any(np.ptp(q[np.isfinite(q)]) > STILL for q in (log.need("q")[:, j] for log in logs) if np.isfinite(q).any())


def _names(logs: Sequence[Log]) -> str:
    return ", ".join(str(log.origin) for log in logs)
