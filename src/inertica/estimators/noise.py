"""Noise of the measured motion and torque: how large it is, and what the preprocessing makes of it."""

from __future__ import annotations

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import NoiseLevels, Problem
from inertica.logs.noise import position_noise
from inertica.preprocessing.filters import Kinematics, SmoothingSpline, Unfiltered, default_cutoff
from inertica.preprocessing.motion import Motion

_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation


def noise_of(problem: Problem) -> tuple[NoiseLevels, ...]:
    """Noise of every motion as estimators see it: what the problem states, else what the data show."""
    if problem.noise is not None:
        return (problem.noise,) * len(problem.motions)
    return tuple(noise_levels(motion) for motion in problem.motions)


def noise_levels(motion: Motion) -> NoiseLevels:
    """Noise of a motion after its filter and decimation.

    From the spread between repeated periods when they were averaged; else position noise from what the filter removed (without a
    filter: from fourth differences), torque noise from fourth differences, both taken as white at the recorded rate.
    """
    if motion.variances is not None and np.isfinite(motion.variances.q).all():
        q, tau, source = np.sqrt(motion.variances.q_of_mean), np.sqrt(motion.variances.tau_of_mean), "repeated periods"
    else:
        q, tau = recorded_position_noise(motion), motion.torque_noise
        source = "fourth differences" if isinstance(motion.recipe.filter, Unfiltered) else "filter residual"
    gains, torque_gain = _gains(motion)
    return NoiseLevels(gains[0] * q, gains[1] * q, gains[2] * q, torque_gain * tau, source)


def recorded_position_noise(motion: Motion) -> Array:
    """(n,) standard deviation of white noise on the recorded positions, before any filter."""
    chosen = motion.recipe.filter
    if isinstance(chosen, Unfiltered) or motion.recipe.average:
        return position_noise(motion.q)
    recorded = motion.log.need("q")
    rest = recorded - motion.at_samples(motion.q)
    good = np.isfinite(rest).all(axis=1) & ~motion.log.mask
    response = _response(motion).q[:, 0]
    passed = 1.0 - 2.0 * response[len(response) // 2] + float(response @ response)  # what a filter removes of white noise
    return np.asarray(_MAD * np.median(np.abs(rest[good]), axis=0) / np.sqrt(max(passed, 1e-12)))


def position_noise_before_filter(motion: Motion, levels: NoiseLevels) -> Array:
    """(n,) white noise of the recorded positions that comes out as the stated levels of filtered position."""
    gains, _ = _gains(motion)
    return np.asarray(levels.q / gains[0])


def motion_noise(motion: Motion, sigma: Array, rng: np.random.Generator) -> Kinematics:
    """A draw of the noise in position, velocity and acceleration, (N, n) each: white noise through the filter of the motion."""
    white = sigma * rng.standard_normal(motion.q.shape)
    chosen = motion.recipe.filter
    if chosen == SmoothingSpline():  # its penalty by cross-validation would smooth pure noise away
        chosen = SmoothingSpline(default_cutoff(motion.rate))
    return chosen.kinematics(white, motion.dt)


def _response(motion: Motion) -> Kinematics:
    """What one unit of noise on one sample becomes."""
    chosen = motion.recipe.filter
    half = 4 * max(chosen.reach(motion.dt), 4 * motion.decimator.ratio) + 32
    impulse = np.zeros((2 * half + 1, 1))
    impulse[half] = 1.0
    fixed = SmoothingSpline(default_cutoff(motion.rate)) if chosen == SmoothingSpline() else chosen
    return fixed.kinematics(impulse, motion.dt)


def _gains(motion: Motion) -> tuple[tuple[float, float, float], float]:
    """Standard deviations of position, velocity, acceleration and of torque, per unit of white noise on positions and torque."""
    response, decimate = _response(motion), motion.decimator.uncut.filtered
    q, dq, ddq = (float(np.linalg.norm(decimate(x))) for x in response)
    unit = np.zeros_like(response.q)
    unit[len(unit) // 2] = 1.0
    passed = motion.recipe.filter.smoothed(unit, motion.dt) if motion.recipe.filter_torque else unit
    return (q, dq, ddq), float(np.linalg.norm(decimate(passed)))
