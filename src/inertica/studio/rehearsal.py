"""A rehearsal: the motion run on a simulated robot whose parameters are known because they were planted, then identified."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import inertica as ia
from inertica.arrays import Array
from inertica.excitation.trajectory import Trajectory
from inertica.options import listed, option
from inertica.robot.description import Description

BANDWIDTH = 8.0
"""Hz of the loop that stands in where the robot states none."""

ARMATURE = 0.5
"""Of the largest inertia that a joint feels along the motion, planted as drive inertia where the model states none: geared drives have
about as much, and without any the friction of a light wrist could not be simulated."""

FRICTION = 0.04
"""Share of the largest torque of a joint that is planted as Coulomb friction, and again as viscous friction at its top speed, where
the model says nothing of friction."""


@listed
@dataclass(frozen=True)
class RehearsalOptions:
    """How an experiment is rehearsed."""

    spread: float = option(
        0.2, "share by which planted values differ from the model's", label="Planted values differ by (%)", least=0.0, most=0.9,
        scale=100.0,
    )  # fmt: skip
    torque_noise: float = option(
        0.02, "share of each joint's root mean square torque", label="Torque noise (%)", least=0.0, most=1.0, scale=100.0
    )
    position_noise: float = option(1e-6, "standard deviation in rad, m", label="Position noise (rad)", least=0.0, most=0.1)
    seed: int = option(1, "of planted values and noise", label="Random seed", least=0, most=2**31)
    quick: bool = option(
        True, "intervals without the bias of filter and method", label="without the bias of filter and method (faster)"
    )


@dataclass(frozen=True)
class Planted:
    """A robot to rehearse with.

    Args:
        description: the robot as its model states it, which is what a controller feeds forward, with a loop.
        truth: the planted values.
        notes: what had to be assumed, one sentence each.
    """

    description: Description
    truth: ia.Parameters
    notes: tuple[str, ...]


def planted(description: Description, trajectory: Trajectory, options: RehearsalOptions) -> Planted:
    """The robot with values that differ from the model's, every link by one factor, so that it stays one that can exist.

    Args:
        description: with its prior values.
        trajectory: what will be run.
        options: links and drives differ by up to `spread`, drawn with `seed`.
    """
    notes: list[str] = []
    prior, rng, n = description.prior, np.random.default_rng(options.seed), description.robot.n
    if not ia.check_model(prior, configurations=100).consistent:
        prior = ia.repair(prior).parameters
        notes.append("the model's own links cannot all exist; the nearest ones that can were planted")
    values = prior.values.copy()
    for _, where in prior.layout.bodies:
        values[where] *= 1.0 + options.spread * rng.uniform(-1.0, 1.0)
    for _, where in prior.layout.drives:
        values[where] *= 1.0 + options.spread * rng.uniform(-1.0, 1.0, where.stop - where.start)
    motion = trajectory(np.linspace(0.0, trajectory.period, 400))
    engine = ia.engine(ia.base_model(prior.layout))
    torque = np.abs(np.asarray(engine.inverse_dynamics(motion.q, motion.dq, motion.ddq, prior))).max(axis=0)
    speed = np.abs(motion.dq).max(axis=0)
    bare = [k for k, name in enumerate(prior.layout.names) if name in {f"Ia{j + 1}" for j in range(n)} and not values[k]]
    if bare:
        size = _inertias(prior, motion.q)
        for k in bare:
            values[k] = ARMATURE * max(size[int(prior.layout.names[k][2:]) - 1], 0.01 * size.max()) * rng.uniform(0.7, 1.3)
        notes.append(f"the model states no drive inertia of {len(bare)} joints; some was planted")
    silent = [j for j in range(n) if not any(values[k] for k in _friction(prior.layout.names, j))]
    for j in silent:
        for k in _friction(prior.layout.names, j):
            size = FRICTION * torque[j] * rng.uniform(0.7, 1.3)
            values[k] = size if prior.layout.names[k].startswith("Fc") else size / max(speed[j], 1e-3)
    if silent:
        notes.append(
            f"the model states no friction of {len(silent)} joints; some was planted, about {100 * FRICTION:.0f} % of their torque"
        )
    truth = prior.with_values(values)
    if description.loop is None:
        description = replace(description, loop=_loop(truth, motion.q))
        notes.append(f"the card states no control loop; a PD loop of {BANDWIDTH:g} Hz stands in")
    return Planted(description, truth, tuple(notes))


def _friction(names: tuple[str, ...], joint: int) -> list[int]:
    return [k for k, name in enumerate(names) if name in (f"Fv{joint + 1}", f"Fc{joint + 1}")]


def _inertias(parameters: ia.Parameters, q: Array) -> Array:
    """(n,) the largest inertia that every joint feels at positions (N, n)."""
    M = np.asarray(ia.Engine(parameters.layout).mass_matrix(q, parameters.values, parameters.shapes))
    return np.maximum(np.diagonal(M, axis1=1, axis2=2).max(axis=0), 1e-5)


def _loop(parameters: ia.Parameters, q: Array) -> dict[str, object]:
    """A PD loop by the inertia that every joint feels along the motion, well damped."""
    size, omega = _inertias(parameters, q), 2.0 * math.pi * BANDWIDTH
    return {"law": "pd", "kp": (size * omega**2).tolist(), "kd": (1.6 * size * omega).tolist(), "rate": 1000.0}


def recorded(robot: Planted, trajectory: Trajectory, options: RehearsalOptions) -> ia.Log:
    """One run.

    Args:
        robot: with planted values.
        trajectory: that it follows.
        options: noise and seed.
    """
    plain = replace(ia.Experiment.of(robot.description), truth=robot.truth)
    (quiet,) = plain.iterate(trajectory, runs=1, seed=options.seed)
    size = np.sqrt(np.nanmean(quiet.need("tau") ** 2, axis=0))
    noise = ia.Noise(q=options.position_noise, tau=options.torque_noise * size, seed=options.seed)
    (log,) = replace(plain, noise=noise).iterate(trajectory, runs=1, seed=options.seed)
    return log


def recovered(
    description: Description, robot: Planted, log: ia.Log, say: Callable[[str], None], options: RehearsalOptions
) -> tuple[ia.Result, ia.AgainstTruth]:
    """What would have been found, beside what was planted."""
    result = ia.identify(description, [log], quick=options.quick, progress=say)
    return result, ia.against_truth(result, robot.truth)
