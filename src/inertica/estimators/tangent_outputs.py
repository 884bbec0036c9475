"""Jacobians of output-error methods from exact tangents of the simulation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.tangents import simulate_tangents
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.loop_simulation import LoopSimulator, Replay
from inertica.estimators.open_loop import OpenLoopSimulator
from inertica.estimators.outputs import Output, Position, Use

Array = NDArray[np.float64]


def tangent_outputs(simulator: LoopSimulator, problem: Problem, beta: Array, output: Output, weights: Array, use: Use) -> Array:
    """(m, b) derivative of the outputs with respect to the base parameters.

    Args:
        simulator: of the closed loop.
        problem: with transients cut off.
        beta: where.
        output, weights, use: what is compared.
    """
    if isinstance(simulator, OpenLoopSimulator) or (isinstance(output, Position) and output.observed == "cartesian"):
        raise InputError("exact tangents are there for closed-loop torques, positions and velocities; use jacobian='differences'")
    b, base, loop, prior = len(beta), problem.base, simulator.loop, problem.prior
    directions = np.zeros((b, base.layout.size))
    directions[np.arange(b), base.kept] = 1.0
    replays = []
    for track, extra in zip(simulator.tracks, simulator.feedforward, strict=True):
        reference = dict(track.reference) | ({} if extra is None else {"tau": extra})
        t = simulate_tangents(
            problem.engine, simulator.chi(beta)[0], directions, reference, loop.all_gains, loop.dt,
            law=loop.compiled_law, integrator=simulator.integrator, shapes=None if prior is None else prior.shapes,
            difference_velocity=True if loop.difference_velocity is None else loop.difference_velocity,
            keep=track.keep, start=(track.reference["q"][0], track.reference["dq"][0]),
        )  # fmt: skip
        replays.append(Replay(*(track.sampled(x) for x in (t.q_rate, t.dq_rate, t.ddq_rate, t.tau_rate))))
    simulator.simulations += b * len(simulator.tracks)
    return output.simulated(problem, replays, weights, use).T
