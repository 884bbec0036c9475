"""The same closed loop with an adaptive integrator: slow, accurate, for checking the fixed-step ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.dynamics.engine import Engine
from inertica.dynamics.laws import Law
from inertica.errors import InerticaError
from inertica.robot.control import PD

Array = NDArray[np.float64]


def adaptive_simulation(
    engine: Engine,
    chi: ArrayLike,
    reference: Mapping[str, ArrayLike],
    gains: Mapping[str, ArrayLike],
    dt: float,
    *,
    law: Law | None = None,
    start: tuple[ArrayLike, ArrayLike] | None = None,
    tolerance: float = 1e-12,
) -> tuple[Array, Array, Array]:
    """q, dq, tau (T, n) at the control steps, the torque held between them, each interval solved by an 8th-order method.

    Args:
        engine, chi, reference, gains, dt, law, start: as for `simulate`, one run without noise.
        tolerance: relative and absolute, of the adaptive method.
    """
    from scipy.integrate import solve_ivp

    law = law or PD()
    n = engine.n
    table = {name: np.asarray(reference[name], float) for name in law.references}
    rate0 = table["dq"][0] if "dq" in table else np.zeros(n)
    q, dq = (table["q"][0], rate0) if start is None else (np.asarray(x, float) for x in start)
    memory: dict[str, Array] = {m: np.zeros(n) for m in law.memory}
    gain = {name: np.broadcast_to(np.asarray(gains[name], float), (n,)) for name in law.gains}
    out: list[tuple[Array, Array, Array]] = []
    for k in range(len(table["q"])):
        tau, memory = law.torques({name: t[k] for name, t in table.items()}, q, dq, gain, memory, dt)
        out.append((q, dq, tau))
        state = np.concatenate([q, dq])

        def rate(_: float, x: Array, tau: Array = tau) -> Array:
            return np.concatenate([x[n:], engine.forward_dynamics(x[:n], x[n:], tau, chi)[0]])

        solved = solve_ivp(rate, (0.0, dt), state, method="DOP853", rtol=max(tolerance, 3e-14), atol=tolerance)
        if not solved.success:
            raise InerticaError(f"the adaptive integrator stopped at control step {k}: {solved.message}")
        q, dq = solved.y[:n, -1], solved.y[n:, -1]
    positions, velocities, torques = (np.array(x) for x in zip(*out, strict=True))
    return positions, velocities, torques
