"""The whole way from a simulated closed loop to parameters, at the survey's lowest noise."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.simulated import robot
from inertica.estimators.base import Problem
from inertica.estimators.registry import METHODS
from inertica.excitation.files import catalog_trajectory
from inertica.experiment.experiment import Experiment
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe

WELL_EXCITED = 2.0
"""Percent of relative standard deviation up to which a base parameter counts as well excited."""


@pytest.fixture(scope="module")
def problem() -> tuple[Problem, np.ndarray]:
    description, base = robot("tx40")
    experiment = Experiment.of(description, noise="low_position")
    log = experiment.run(catalog_trajectory("tx40").trajectory, seed=1)[0]
    motion = prepare(log, Recipe(decimate=100.0))
    rng = np.random.default_rng(0)
    prior = description.prior.with_values(description.prior.values * rng.uniform(0.8, 1.2, description.layout.size))
    return Problem(base, (motion,), prior), base.beta(experiment.truth.values)


@pytest.mark.parametrize("name", ["ols", "wls", "irls", "ml", "svd"])
def test_well_excited_base_parameters_are_within_five_percent(problem, name):
    given, truth = problem
    found = METHODS[name]().estimate(given)
    good = found.relative_std < WELL_EXCITED
    assert np.count_nonzero(good) >= 15
    error = np.abs(found.beta - truth)[good] / np.abs(truth)[good]
    assert error.max() < 0.05, dict(zip(np.array(given.base.names)[good], error, strict=True))
    friction = [i for i, n in enumerate(given.base.names) if n.startswith(("Fv", "Fc"))]
    assert good[friction].all()
