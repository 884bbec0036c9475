"""Closed-loop experiments with known truth, for tests of the methods that simulate the loop."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

import inertica as ia
from inertica.estimators.base import Problem
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import ControlLoop, Experiment
from inertica.identifiability.base import BaseModel
from inertica.logs.log import Log
from inertica.preprocessing.filters import Filter, Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description

FASTER = {"scara2": {"kp": [25.0, 30.0], "kv": [375.9, 7.32]}}
"""Gains for 50 and 60 rad/s; with the catalog's 1 and 10, which are those printed, the arm hardly follows its trajectory."""


@lru_cache
def robot(name: str) -> tuple[Description, BaseModel]:
    description = ia.load(name)
    if name in FASTER:
        assert description.loop is not None
        description = replace(description, loop={**description.loop, **FASTER[name]})
    return description, ia.base_model(description.layout)


@lru_cache
def experiment_log(name: str, noise: str | None, run: int = 0, duration: float | None = None) -> Log:
    description, _ = robot(name)
    trajectory = catalog_trajectory(name).trajectory
    return Experiment.of(description, noise=noise).run(trajectory, seed=11, first_run=run, duration=duration)[0]


def problem(
    name: str, logs: list[Log], *, chosen: Filter | None = None, loop: ControlLoop | None = None, **recipe: object
) -> Problem:
    description, base = robot(name)
    motions = tuple(prepare(log, Recipe(filter=chosen or Unfiltered(), **recipe)) for log in logs)  # type: ignore[arg-type]
    return Problem(base, motions, description.prior, loop or ControlLoop.of(description))


def truth(name: str) -> np.ndarray:
    description, base = robot(name)
    return base.beta(description.prior.values)


def mean_error(name: str, beta: np.ndarray) -> float:
    """Mean relative error of the base parameters above 0.05."""
    true = truth(name)
    large = np.abs(true) > 0.05
    return float(np.mean(np.abs(beta - true)[large] / np.abs(true)[large]))


def scaled(loop: ControlLoop, factor: float) -> ControlLoop:
    return loop.with_gains(**{name: factor * loop.gains[name] for name in ("kp", "kd")})


def without_position(log: Log) -> Log:
    return replace(log, signals={k: v for k, v in log.signals.items() if k != "q"}, truth={})
