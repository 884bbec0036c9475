"""Torques that parameters predict for a motion, and how far they are from the recorded ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from inertica.arrays import Array, Mask
from inertica.dynamics.engine import Engine
from inertica.identifiability.base import BaseModel
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import long_runs
from inertica.robot.friction import friction_terms
from inertica.robot.layout import Parameters
from inertica.robot.natural import levers
from inertica.validation.residuals import Moving, Residual, TorqueShares, residual
from inertica.workflow.identify.standstill import HELD, NEXT_TO_NOTHING, Standstill

STOP = 0.5
"""A joint that rests for longer than this many times rms speed / rms acceleration of its motion has stopped.  For a sine that is a
twelfth of its period, many times what a reversal takes."""

_DIRECTIONS: WeakKeyDictionary[Motion, Array] = WeakKeyDictionary()
"""Motion -> its `held_direction`, which every prediction asks for."""


def predicted_torque(
    parameters: Parameters, motion: Motion, engine: Engine | None = None, standstill: Standstill = HELD
) -> Array:
    """(N, n) torques of a motion on its own clock.

    A joint that rests has no direction of motion, the sign of its velocity is noise.  Friction then stays on the side of the
    last motion, as far as it can be told, unless it is rounded there; before the first motion it counts as zero.
    """
    used = engine or Engine(parameters.layout)

    def dynamics(q: Array, dq: Array, ddq: Array) -> Array:
        return np.asarray(used.inverse_dynamics(q, dq, ddq, parameters))

    return standstill.torque(dynamics, motion.q, motion.dq, held_direction(motion), motion.ddq)


def engine_of(parameters: Parameters, base: BaseModel) -> Engine:
    """Compiled dynamics for parameters: those of a base model where it has their layout."""
    return base.engine if base.layout == parameters.layout else Engine(parameters.layout)


def with_correction(parameters: Parameters, correction: Parameters | None) -> Parameters:
    """Parameters with a correction added, on its layout; those that grouping keeps are changed, so links need not be possible."""
    if correction is None:
        return parameters
    wider = parameters.on(correction.layout)
    return wider.with_values(wider.values + correction.values)


def held_direction(motion: Motion) -> Array:
    """(N, n) velocities, those of joints at a stop replaced by next to nothing in the direction of their last motion.

    They are the motion's own array where no joint stops.  Rest shorter than a stop is a reversal on its way; there the velocity itself
    says more.
    """
    if (known := _DIRECTIONS.get(motion)) is not None:
        return known
    out = motion.dq
    for j, rests in enumerate(motion.resting.T):
        speed, acceleration = (_rms(signal[~rests, j]) for signal in (motion.dq, motion.ddq))
        longest = STOP * speed / acceleration if acceleration > 0.0 else 0.0
        stops = long_runs(rests, int(longest * motion.rate))
        if stops.any():
            out = np.array(out) if out is motion.dq else out
            last = np.maximum.accumulate(np.where(rests, -1, np.arange(len(motion))))[stops]
            out[stops, j] = NEXT_TO_NOTHING * speed * np.where(last >= 0, np.sign(motion.dq[last, j]), 0.0)
    out.setflags(write=False)
    _DIRECTIONS[motion] = out
    return out


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0


def judged(
    parameters: Parameters,
    motions: Sequence[Motion],
    engine: Engine | None = None,
    keep: Sequence[Mask] | None = None,
    standstill: Standstill = HELD,
) -> Residual:
    """Figures of merit over motions together: raw at the samples of their logs, filtered on their own clocks.

    Args:
        parameters: that predict.
        motions: to predict.
        engine: of the parameters' layout, when there is one.
        keep: (N,) per motion, samples to look at; all by default.
        standstill: of predictions.
    """
    engine, only = engine or Engine(parameters.layout), friction_only(parameters)
    torques, friction = (
        [predicted_torque(values, motion, engine, standstill) for motion in motions] for values in (parameters, only)
    )
    return judged_torques(torques, motions, levers(parameters.layout.robot), keep, friction)


def judged_torques(
    torques: Sequence[Array],
    motions: Sequence[Motion],
    lever: Array,
    keep: Sequence[Mask] | None = None,
    friction: Sequence[Array] | None = None,
) -> Residual:
    """The same of torques that were predicted elsewhere.

    Args:
        torques: (N, n) per motion on its own clock.
        motions, keep: as in `judged`.
        lever: (n,) the robot's `levers`.
        friction: (N, n) per motion, the part of the torques that is friction and offsets, for what recorded torque consists of.
    """
    rows = []
    for k, (motion, predicted) in enumerate(zip(motions, torques, strict=True)):
        tau, low = motion.tau_low, motion.decimator.filtered(predicted)
        # both in one go: what interpolation does for the clock is the same for all columns
        both = predicted if friction is None else np.hstack([predicted, friction[k]])
        recorded = None if keep is None else _recorded(motion, keep[k])
        raw, sound = motion.log.need("tau"), ~(motion.resting | motion.spoiled[:, None])
        raw, seen = raw if recorded is None else raw[recorded], motion.at_samples(both, recorded)
        if keep is not None:
            use = keep[k] & ~motion.paused
            tau, low, sound = tau[use], low[use], sound[use]
        elif motion.paused.any():
            tau, low, sound = tau[~motion.paused], low[~motion.paused], sound[~motion.paused]
        rows.append((raw, seen[:, : motion.n], seen[:, motion.n :], tau, low, sound))
    raw, seen, braking, tau, low, sound = rows[0] if len(rows) == 1 else (np.vstack(part) for part in zip(*rows, strict=True))
    white, left = (
        np.sqrt(np.mean([sigma**2 for sigma in each], axis=0))
        for each in ([motion.torque_noise for motion in motions], [torque_noise(motion) for motion in motions])
    )
    shares = None if friction is None else TorqueShares.of(raw, braking, white)
    return replace(residual(raw, seen, tau, low, lever), moving=Moving.of(tau, low, sound, left, lever=lever), shares=shares)


def _recorded(motion: Motion, use: Mask) -> Mask:
    """(M,) samples of the log nearest to those of a motion that are in use (N,)."""
    nearest = np.rint((np.nan_to_num(motion.log.running) - motion.t[0]) / motion.dt).astype(int)
    return np.asarray(use[np.clip(nearest, 0, len(motion) - 1)])


def friction_only(parameters: Parameters) -> Parameters:
    """The same parameters with everything but the joints' own friction and offsets set to zero."""
    names = {p.name for term in friction_terms(parameters.layout.terms) for p in term.parameters}
    mask = np.array([name in names for name in parameters.layout.names])
    return parameters.with_values(np.where(mask, parameters.values, 0.0))


def torque_noise(motion: Motion) -> Array:
    """(n,) standard deviation that white noise on the recorded torque has after the low-pass of the fit."""
    impulse = np.zeros((32 * motion.decimator.ratio + 65, 1))
    impulse[len(impulse) // 2] = 1.0
    return np.asarray(np.linalg.norm(motion.decimator.uncut.filtered(impulse)) * motion.torque_noise)
