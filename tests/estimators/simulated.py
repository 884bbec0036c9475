"""Problems with known truth for tests of estimators: exact motions, torque noise added, W the same in all runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.estimators.base import Estimator, Problem
from inertica.excitation.fourier import Fourier
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.preprocessing.filters import Filter, Unfiltered
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.layout import Parameters

SIGMA = np.array([2.0, 2.0, 1.0, 0.5, 0.5, 0.3])
"""Torque noise per joint in N m, of the size that filtered industrial logs show."""


@lru_cache
def robot(name: str) -> tuple[Description, BaseModel]:
    description = ia.load(name)
    return description, base_model(description.layout)


@lru_cache
def engine_of(layout: object) -> Engine:
    return Engine(layout)


def exact_motion(
    truth: Parameters,
    *,
    seed: int = 0,
    rate: float = 100.0,
    duration: float = 10.0,
    ratio: int = 1,
    amplitude: float = 0.5,
    mean: float = 0.3,
    delays: np.ndarray | None = None,
) -> Motion:
    """A motion without any noise: Fourier series of 12 harmonics, torque of the truth, late by `delays`."""
    n, rng = truth.layout.robot.n, np.random.default_rng(seed)
    A, B = amplitude * rng.normal(size=(2, 12, n))
    trajectory = Fourier.at_rest(duration, mean * rng.normal(size=n), A, B)
    t = np.arange(round(rate * duration) + 1) / rate
    q, dq, ddq = (np.array(x) for x in trajectory(t))
    engine = engine_of(truth.layout)
    tau = engine.inverse_dynamics(q, dq, ddq, truth)
    for j, delay in enumerate(np.zeros(n) if delays is None else delays):
        if delay:
            tau[:, j] = engine.inverse_dynamics(*trajectory(np.clip(t - delay, 0.0, duration)), truth)[:, j]
    log = Log.from_arrays(t, {"q": q, "tau": tau}, truth.layout.robot.joint_names)
    motion = prepare(log, Recipe(filter=Unfiltered(), border=20, standstill=None, ratio=ratio))
    return replace(motion, q=q, dq=dq, ddq=ddq, tau=tau)


def measured(motion: Motion, position_noise: float, torque_noise: np.ndarray, seed: int, chosen: Filter | None = None) -> Motion:
    """The same motion as sensors would record it in open loop, prepared from noisy positions."""
    rng = np.random.default_rng(seed)
    q = motion.q + position_noise * rng.normal(size=motion.q.shape)
    tau = motion.tau + torque_noise * rng.normal(size=motion.tau.shape)
    log = Log.from_arrays(motion.t, {"q": q, "tau": tau}, motion.joints)
    recipe = Recipe(filter=chosen or Unfiltered(), border=20, standstill=None, ratio=motion.decimator.ratio)
    return prepare(log, recipe)


def noisy(motion: Motion, error: np.ndarray) -> Motion:
    return replace(motion, tau=motion.tau + error)


def repeated(
    problem: Problem, method: Estimator, error: Callable[[np.random.Generator], np.ndarray], runs: int, seed: int = 7
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimates, standard deviations and plain standard deviations (runs, b) of a problem of one motion with new torque errors."""
    out: list[tuple[np.ndarray, ...]] = []
    for k in range(runs):
        motion = noisy(problem.motions[0], error(np.random.default_rng([seed, k])))
        found = method.estimate(replace(problem, motions=(motion,)))
        out.append((found.beta, found.std, np.sqrt(np.diag(found.diagnostics.plain_covariance))))
    beta, std, plain = (np.array(x) for x in zip(*out, strict=True))
    return beta, std, plain


def stacked_rows(problem: Problem) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Per joint [W y] of all motions by the plain definition: full regressor, decimated, masked, known torque taken off."""
    base, prior = problem.base, problem.prior
    engine = engine_of(base.layout)
    W: list[list[np.ndarray]] = [[] for _ in range(base.layout.robot.n)]
    y: list[list[np.ndarray]] = [[] for _ in range(base.layout.robot.n)]
    for motion in problem.motions:
        Y = engine.regressor(motion.q, motion.dq, motion.ddq)
        tau = motion.tau - (base.known_torque(Y, prior.values) if len(base.fixed) else 0.0)
        d = motion.decimator
        use = ~d.mask(motion.mask, motion.spoiled)
        for j in range(len(W)):
            W[j].append(d.decimate(Y[:, j][:, base.retained])[use])
            y[j].append(d.decimate(tau[:, [j]])[use, 0])
    return [np.concatenate(x) for x in W], [np.concatenate(x) for x in y]
