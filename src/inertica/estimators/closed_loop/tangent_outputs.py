"""Jacobians of closed-loop methods from exact tangents of the simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inertica.arrays import Array
from inertica.estimators.closed_loop.loop_gains import DRIVE, LoopGains
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator
from inertica.experiment.track import Replay


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
    base, b = simulator.problem.base, len(beta) if parameters else 0
    unknown, at = (None, None) if gains is None or x is None or not gains.size else (gains, x)
    directions = np.zeros((b + (0 if unknown is None else unknown.size), base.layout.size))
    directions[np.arange(b), base.retained[:b]] = 1.0
    if unknown is None or at is None:
        return simulator.tangents(beta, directions, {}, {})
    pairs = simulator.tangents(beta, directions, unknown.simulated(at), unknown.directions(at, b))
    return [_recorded(run, rate, unknown, at, b) for run, rate in pairs]


def _recorded(run: Replay, rate: Replay, gains: LoopGains, x: Array, b: int) -> tuple[Replay, Replay]:
    """Torques divided by the drive gains, tau / gamma, with the derivative that this adds."""
    gamma = gains.drive(x)
    if gamma is None:
        return run, rate
    seen, change = run.tau / gamma, rate.tau / gamma
    for k, (name, j) in enumerate(gains.unknown):
        if name == DRIVE:
            change[b + k, :, j] -= seen[0, :, j]
    return replace(run, tau=seen), replace(rate, tau=change)
