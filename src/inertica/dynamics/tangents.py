"""Exact derivatives of a closed-loop simulation with respect to parameters and gains: every lane carries the run and one tangent.

The kernels of the closed loop are differentiated on their graphs, so a step advances state and tangent together.
This is the derivative of the discrete map: the sign of Coulomb friction counts as constant, and the shift of the instants at which a
velocity reverses is not in it.  Give friction a smooth sign where that matters.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from inertica.dynamics.model import Model
from inertica.dynamics.simulate import RunOptions, Simulation, checked_runs
from inertica.errors import InputError

_MOVING = ("q", "dq", "ddq", "tau", "q_before", "q_measured", "chi", "q0", "dq0", "sum_q", "sum_dq", "friction")


def simulate_tangents(
    model: Model, chi: ArrayLike, directions: ArrayLike, reference: Mapping[str, ArrayLike], gains: Mapping[str, ArrayLike],
    dt: float, options: RunOptions, gain_directions: Mapping[str, ArrayLike] | None = None,
) -> tuple[Simulation, Simulation]:  # fmt: skip
    """One run without noise, (1, K, n), and its derivatives along D directions of the parameters and gains, (D, K, n).

    Args:
        model, reference, gains, dt, options: as for `simulate`, of one run.
        chi: (P,) parameters.
        directions: (D, P), each a rate of change of the parameters.
        gain_directions: name -> (D, n), how fast gains change along the same directions; those not named do not.
    """
    law, loop = options.law, options.loop
    rates = np.atleast_2d(np.asarray(directions, float))
    # every lane runs the same parameters and carries one direction
    values = np.tile(np.asarray(chi, float), (len(rates), 1))
    runs = checked_runs(model, values, reference, gains, dt, options)
    runs.fields["chi rate"] = model.reduced(rates)
    moving = {name: np.atleast_2d(np.asarray(values, float)) for name, values in (gain_directions or {}).items()}
    for name, values in moving.items():
        if name not in law.gains or values.shape != (len(rates), model.n):
            raise InputError(
                f"rates of the gain '{name}' have shape {values.shape}; expected ({len(rates)}, {model.n}) of one of "
                f"{', '.join(law.gains)}"
            )
        runs.fields[f"{name} rate"] = values
    names = {*_MOVING, *(f"memory {m}" for m in law.memory), *moving}
    both = model.once(
        ("tangents", loop, tuple(sorted(moving))),
        lambda: model.target.loop(loop.described(model.equations, model.retained).with_rates(names)),
    )
    out = both(runs)
    run = [out[name][:1].copy() for name in ("q", "dq", "ddq", "tau")]
    rate = [out[f"{name} rate"] for name in ("q", "dq", "ddq", "tau")]
    first, derivatives = (Simulation(runs.steps, q, dq, ddq, tau, q, tau) for q, dq, ddq, tau in (run, rate))
    return first, derivatives
