"""Torques that parameters predict for a motion, and how far they are from the recorded ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from inertica.dynamics.engine import Engine
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import long_runs
from inertica.robot.layout import Parameters
from inertica.validation.residuals import Moving, Residual, residual

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

NEXT_TO_NOTHING = 1e-9
"""rad/s; has a sign, and no effect otherwise."""

STOP = 0.25
"""s; a joint that rests longer has stopped."""


def predicted_torque(parameters: Parameters, motion: Motion, engine: Engine | None = None) -> Array:
    """(N, n) torques of a motion on its own clock.

    A joint that rests has no direction of motion, the sign of its velocity is noise.  Friction then stays on the side of the
    last motion, as far as it can be told; before the first motion it counts as zero.
    """
    used = engine or Engine(parameters.layout)
    return np.asarray(used.inverse_dynamics(motion.q, held_direction(motion), motion.ddq, parameters))


def held_direction(motion: Motion) -> Array:
    """(N, n) velocities, those of joints at a stop replaced by next to nothing in the direction of their last motion.

    They are the motion's own array where no joint stops.  Rest shorter than a stop is a reversal on its way; there the velocity itself
    says more.
    """
    out = motion.dq
    for j, rests in enumerate(motion.resting.T):
        stops = long_runs(rests, int(STOP * motion.rate))
        if stops.any():
            out = np.array(out) if out is motion.dq else out
            last = np.maximum.accumulate(np.where(rests, -1, np.arange(len(motion))))[stops]
            out[stops, j] = NEXT_TO_NOTHING * np.where(last >= 0, np.sign(motion.dq[last, j]), 0.0)
    return out


def judged(
    parameters: Parameters, motions: Sequence[Motion], engine: Engine | None = None, keep: Sequence[Mask] | None = None
) -> Residual:
    """Figures of merit over motions together: raw at the samples of their logs, filtered on their own clocks.

    Args:
        parameters: that predict.
        motions: to predict.
        engine: of the parameters' layout, when there is one.
        keep: (N,) per motion, samples to look at; all by default.
    """
    return judged_torques([predicted_torque(parameters, motion, engine) for motion in motions], motions, keep)


def judged_torques(torques: Sequence[Array], motions: Sequence[Motion], keep: Sequence[Mask] | None = None) -> Residual:
    """The same of torques that were predicted elsewhere, (N, n) per motion on its own clock."""
    rows = []
    for k, (motion, predicted) in enumerate(zip(motions, torques, strict=True)):
        tau, low = motion.tau_low, motion.decimator.filtered(predicted)
        raw, seen, sound = motion.log.need("tau"), motion.at_samples(predicted), ~(motion.resting | motion.spoiled[:, None])
        if keep is not None:
            use = keep[k]
            at = use[np.clip(np.rint((np.nan_to_num(motion.log.t) - motion.t[0]) / motion.dt).astype(int), 0, len(motion) - 1)]
            raw, seen, tau, low, sound = raw[at], seen[at], tau[use], low[use], sound[use]
        rows.append((raw, seen, tau, low, sound))
    raw, seen, tau, low, sound = rows[0] if len(rows) == 1 else (np.vstack(part) for part in zip(*rows, strict=True))
    noise = np.sqrt(np.mean([torque_noise(motion) ** 2 for motion in motions], axis=0))
    return replace(residual(raw, seen, tau, low), moving=Moving.of(tau, low, sound, noise))


def torque_noise(motion: Motion) -> Array:
    """(n,) standard deviation that white noise on the recorded torque has after the low-pass of the fit."""
    impulse = np.zeros((32 * motion.decimator.ratio + 65, 1))
    impulse[len(impulse) // 2] = 1.0
    return np.asarray(np.linalg.norm(motion.decimator.filtered(impulse)) * motion.torque_noise)
