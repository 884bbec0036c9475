"""Jacobians of closed-loop methods from exact tangents of the simulation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.tangents import simulate_tangents
from inertica.estimators.closed_loop.loop_gains import DRIVE, LoopGains
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator, Replay
from inertica.estimators.closed_loop.open_loop import OpenLoopSimulator

Array = NDArray[np.float64]


def tangent_replays(
    simulator: LoopSimulator,
    beta: Array,
    gains: LoopGains | None = None,
    x: Array | None = None,
    *,
    parameters: bool = True,
) -> list[tuple[Replay, Replay]]:
    """Every motion replayed at beta, and its derivatives: lanes along the base parameters, then along the unknown gains.

    Torques are those that would be recorded, which matters where drive gains are unknown.

    Args:
        simulator: of the closed loop.
        beta: (b,) where.
        gains: the unknown ones, if any.
        x: (g,) their logarithms.
        parameters: False leaves out the lanes along the parameters.
    """
    problem, loop = simulator.problem, simulator.loop
    b, base, prior = len(beta) if parameters else 0, problem.base, problem.prior
    unknown, at = (None, None) if gains is None or x is None or not gains.size else (gains, x)
    directions = np.zeros((b + (0 if unknown is None else unknown.size), base.layout.size))
    directions[np.arange(b), base.kept[:b]] = 1.0
    if isinstance(simulator, OpenLoopSimulator):
        return simulator.tangents(beta, directions)
    own = {} if unknown is None or at is None else unknown.simulated(at)
    rates = {} if unknown is None or at is None else unknown.directions(at, b)
    out = []
    for track, extra in zip(simulator.tracks, simulator.feedforward, strict=True):
        reference = dict(track.reference) | ({} if extra is None else {"tau": extra})
        t = simulate_tangents(
            problem.engine, simulator.chi(beta)[0], directions, reference, loop.all_gains | own, loop.dt,
            law=loop.compiled_law, integrator=simulator.integrator, shapes=None if prior is None else prior.shapes,
            difference_velocity=True if loop.difference_velocity is None else loop.difference_velocity,
            keep=track.keep, start=(track.reference["q"][0], track.reference["dq"][0]), gain_directions=rates,
        )  # fmt: skip
        run = Replay(*(track.sampled(s[None]) for s in (t.q, t.dq, t.ddq, t.tau)))
        rate = Replay(*(track.sampled(s) for s in (t.q_rate, t.dq_rate, t.ddq_rate, t.tau_rate)))
        out.append((run, rate) if unknown is None or at is None else _recorded(run, rate, unknown, at, b))
    simulator.simulations += len(directions) * len(simulator.tracks)
    return out


def _recorded(run: Replay, rate: Replay, gains: LoopGains, x: Array, b: int) -> tuple[Replay, Replay]:
    """Torques divided by the drive gains, tau / gamma, with the derivative that this adds."""
    gamma = gains.drive(x)
    if gamma is None:
        return run, rate
    seen, change = run.tau / gamma, rate.tau / gamma
    for k, (name, j) in enumerate(gains.unknown):
        if name == DRIVE:
            change[b + k, :, j] -= seen[0, :, j]
    return Replay(run.q, run.dq, run.ddq, seen), Replay(rate.q, rate.dq, rate.ddq, change)
