"""How well somebody could know the base parameters who knows the true structure and the true noise: the oracle of trust.py.

The oracle knows the friction law with its shapes, the mount and the control loop.  The true robot is simulated in its loop `REPEATS`
times along the log, with position noise as large as the log shows beyond the true motion (which the oracle can subtract), recorded at
the log's stamps, prepared by the recipe that the run under test has chosen, and fitted by weighted least squares on all base columns,
without prior and constraints.  The standard deviation of what is found over the repetitions is the oracle's: noise in torque and
regressor, filter and loop are in it as they are, and nothing has to be assumed about their covariance.

It is no lower bound: another recipe may be better, and constraints and a prior know more where data say little.  Its own error is
1/sqrt(2 (REPEATS - 1)), 16 %, for each parameter; medians over many are better known than that.  What is the same in all
repetitions, bias of filter and method, is not in it.
"""

from __future__ import annotations

from pathlib import Path

from trust_experiments import Truth

import inertica as ia
from inertica.estimators.base import Problem
from inertica.estimators.registry import method
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.workflow.identify.self_application import Repetitions, replicas

REPEATS = 20
"""Simulated logs of a run."""


def oracle_stds(card: Path, log: Log, recipe: Recipe, truth: Truth) -> dict[str, float]:
    """Base parameter -> standard deviation; empty where the loop cannot be simulated.

    Args:
        card: states the true friction law and the true control loop.
        log: of the run.
        recipe: that was chosen for it.
        truth: of the simulated robot.
    """
    description = ia.load(card)
    layout = description.layout
    true = description.prior.with_values([truth.value(name) for name in layout.names])
    base, estimator = base_model(layout), method("wls")
    problem = Problem(base, (prepare(log, recipe),), true)
    found = replicas(description, true, [log], recipe, problem, estimator, repetitions=Repetitions(REPEATS, 1))
    if not found.runs:
        return {}
    return dict(zip(base.names, found.betas.std(axis=0, ddof=1).tolist(), strict=True))
