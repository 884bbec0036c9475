"""Noise that the control loop makes of measured positions, for filters that are driven by the torque of the simulated controller.

The controller sees q + w, w the noise of the encoders, and so its torque differs from the simulated one by

    - Kp w_j - Kd (w_j - w_j-1) / dt

at every control step.  The first part moves velocities at random.  The second adds to a velocity in one step what it takes away in the
next; what stays is a position that walks, by M^-1 Kd dt w_j.  A filter that takes both for noise of velocities explains by the
state what parameters should explain, and is biased: the walk of the positions is their own noise.

Where a sample of the log falls on a control step, w is no noise of its own but that of the sample: the controller is given the
recorded position there (`laws.Recorded`), which leaves the steps between samples.
"""

from __future__ import annotations

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Problem
from inertica.estimators.recursive.records import Record, hidden, position_noises, transition

POSES = 20
"""At which the loop is looked at."""

ALIKE = 0.01
"""Of the noise of positions, to which those of the log are what the controller saw: a log is written with so many digits."""


def fed_back(problem: Problem, records: list[Record], beta: Array, integrator: str) -> Array:
    """(2n,) variances per sample of velocities and positions: medians over poses.

    Sensitivities of the torque are what the derivatives of one control step with and without the controller differ by.

    Args:
        problem: with a control loop.
        records: driven by it.
        beta: parameters.
        integrator: of the filter.
    """
    loop = problem.loop
    assert loop is not None
    closed, open_loop = transition(problem, beta, None, integrator), transition(problem, beta, loop.dt, integrator)
    n, variance, parts = closed.n, position_noises(problem, records) ** 2, []
    memory, unseen = {name: np.zeros(n) for name in closed.memory}, np.repeat([0.0, 1.0, 0.0, 1.0], n)
    for motion, record in zip(problem.motions, records, strict=True):
        steps = max(1, round(float(np.median(np.diff(record.steps)))))
        unknown = max(hidden(record), ALIKE**2) * steps
        for k in np.linspace(0, len(motion) - 2, POSES).astype(int):
            z = np.concatenate([motion.dq[k], motion.q[k], beta])
            row = np.concatenate([record.table[record.steps[k]][: -4 * n], unseen])[None]
            with_loop, without = closed.jacobian(z, row, memory)[1], open_loop.jacobian(z, motion.tau[k][None], None)[1]
            G = (with_loop - without)[:n, : 2 * n]
            parts.append(unknown * np.concatenate([G[:, n:] ** 2 @ variance, G[:, :n] ** 2 @ variance]))
    return np.asarray(np.median(parts, axis=0))
