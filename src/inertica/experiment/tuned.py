"""Gains of a control loop that is only stated by how fast and how damped every joint should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.robot.description import Description

POSES = 64
"""Random poses in which the inertia that a joint feels is looked at."""

SLOWEST = 1.0
"""Control steps per time constant of the damping, below half of which a held torque would not be stable."""


def tuned(description: Description, loop: Mapping[str, Any]) -> dict[str, Any]:
    """The loop with gains for `wn` (rad/s) and `zeta` (1 when not stated) where no gain is stated.

    With the largest inertia J that joint j feels in random poses: kp = J wn^2, kd = 2 zeta J wn for pd and pid;
    kp = wn / (2 zeta), kv = 2 zeta J wn for cascade (DIDIM paper, VI.A); kp = wn^2, kd = 2 zeta wn for computed-torque.

    Args:
        description: the robot, with its limits and the values of its file.
        loop: as `read_loop` leaves it.
    """
    if "wn" not in loop or {"kp", "kd", "kv"} & set(loop):
        return dict(loop)
    law = str(loop["law"]).lower()
    if law not in ("pd", "pid", "cascade", "computed-torque"):
        raise InputError(f"gains of the law '{loop['law']}' do not follow from wn and zeta; state them")
    n = description.robot.n
    wn = np.broadcast_to(np.asarray(loop["wn"], float), (n,))
    zeta = np.broadcast_to(np.asarray(loop.get("zeta", 1.0), float), (n,))
    if not (np.all(wn > 0.0) and np.all(zeta > 0.0)):
        raise InputError("wn and zeta of the loop should be greater than zero")
    if law == "computed-torque":
        return {**loop, "kp": list(wn**2), "kd": list(2.0 * zeta * wn)}
    least, most = _inertia(description)
    rate = float(loop.get("rate", np.inf))
    fast = 2.0 * zeta * wn * most / least * SLOWEST
    if np.any(fast > rate):
        j = int(np.argmax(fast))
        raise InputError(
            f"joint {j + 1} ({description.robot.joint_names[j]}) feels inertias from {least[j]:.3g} to {most[j]:.3g}; a loop with wn "
            f"{wn[j]:g} rad/s needs a control rate of {fast[j]:.0f} Hz there; lower wn for it, or raise the rate",
            joint=description.robot.joint_names[j],
        )
    if law == "cascade":
        return {**loop, "kp": list(wn / (2.0 * zeta)), "kv": list(2.0 * zeta * most * wn)}
    return {**loop, "kp": list(most * wn**2), "kd": list(2.0 * zeta * most * wn)}


def _inertia(description: Description) -> tuple[Array, Array]:
    """(n,) smallest and largest inertia that each joint feels on its own, the others being free to give way."""
    limits, n = description.robot.limits, description.robot.n
    lower, upper = (np.clip(x, -np.pi, np.pi) for x in (limits.lower, limits.upper))
    q = np.random.default_rng(0).uniform(lower, upper, (POSES, n))
    M = Engine(description.layout, threads=1).mass_matrix(q, description.prior)
    diagonal = np.diagonal(M, axis1=1, axis2=2)
    free = 1.0 / np.diagonal(np.linalg.inv(M), axis1=1, axis2=2)
    if not np.all(free > 0.0):
        raise InputError(f"{description.name}: links without inertia; gains cannot follow from wn, state them")
    return free.min(axis=0), diagonal.max(axis=0)
