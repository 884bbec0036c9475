"""Drive gains from the identity of a control law whose gains are torques: what the law commands over the current that followed.

    i = (1 / K) tau_law(qr - q, dqr - dq) + a ddq + c

a is the lag of a velocity that the controller takes from positions, c what an integral held at the first sample (a constant of the
current otherwise).  No dynamics of the robot enter.  Instruments as in `fit_loop`: position noise is in the right-hand side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.experiment.loop import ControlLoop
from inertica.logs.log import Log
from inertica.preprocessing.edge import usual_cutoff
from inertica.robot.control import LAWS
from inertica.robot.description import Description
from inertica.threads import one_thread
from inertica.workflow.loop.loop_rows import Signals, constants, judged, orthogonal, solved


def gains_by_law(description: Description, logs: Sequence[Log], cutoff: float | None = None) -> tuple[Array, Array, Array]:
    """(n,) gains K, relative standard deviations of 1 / K, and how much of the current the law leaves.

    Args:
        description: robot whose card states the loop, with gains in torque.
        logs: with currents as `tau`, and reference.
        cutoff: of the filter that all signals pass, in Hz; as in `fit_loop` when not given.
    """
    loop = ControlLoop.of(description)
    law = LAWS[loop.law]
    if not law.fitted or law.commands_acceleration:
        known = ", ".join(name for name, one in LAWS.items() if one.fitted and not one.commands_acceleration)
        raise InputError(f"drive gains follow from laws that command torques without a model, {known}, not from '{loop.law}'")
    parts = [Signals(description, log, cutoff or usual_cutoff(logs), None) for log in logs]
    with one_thread():
        fits = [_gain(loop, parts, j) for j in range(description.robot.n)]
    inverse, std, left = (np.array(values) for values in zip(*fits, strict=True))
    return 1.0 / inverse, std / np.abs(inverse), left


def _gain(loop: ControlLoop, parts: Sequence[Signals], j: int) -> tuple[float, float, float]:
    """1 / K of one joint, its standard deviation, and the share of the current that remains."""
    gain = {name: np.asarray(values)[j] for name, values in loop.gains.items()}
    y = np.concatenate([p.tau[p.use, j] for p in parts])
    commanded = np.concatenate([_commanded(loop.law, gain, p, j, 1.0 / loop.rate)[p.use] for p in parts])
    lag = np.concatenate([p.ddq[p.use, j] for p in parts])
    C = constants(parts)
    instruments = np.concatenate([_instruments(loop.law, gain, p, j)[p.use] for p in parts])
    Q = orthogonal(np.column_stack([instruments, C]))
    X = np.column_stack([commanded, lag, C])
    solution = solved(Q.T @ X, Q.T @ y)
    values, std, residual = judged(Q.T @ X, y, y - X @ solution, solution, 1)
    return float(values[0]), float(std[0]), residual


def _commanded(name: str, gain: dict[str, Array], part: Signals, j: int, period: float) -> Array:
    """(N,) torque of the law, without what its integral held at first."""
    law = LAWS[name]
    plain = {name: value for name, value in gain.items() if name != law.integrated}
    stiffness, damping = law.stiffness_damping(plain | ({law.integrated: np.zeros(())} if law.integrated else {}))
    weights = np.array([stiffness, damping, 0.0])
    torque = part.columns(name, j) @ weights
    if law.integrated:
        torque = torque + gain[law.integrated] * (part.integrals(name, j, period) @ weights)
    return np.asarray(torque)


def _instruments(name: str, gain: dict[str, Array], part: Signals, j: int) -> Array:
    integrated = LAWS[name].integrated
    if not integrated:
        return part.instruments[:, j]
    return np.column_stack([part.instruments[:, j], part.slow(j, float(gain[integrated]))])
