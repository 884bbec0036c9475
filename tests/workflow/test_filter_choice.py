"""The fit follows what the motion holds, predictions follow the torque."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import inertica as ia
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.recipe import Recipe
from inertica.robot.plain import assumed_friction
from inertica.workflow.decisions.filter import choose_filter, recipe_for


@cache
def simulated(robot: str, noise: str) -> Log:
    (log,) = ia.Experiment.of(ia.load(robot), noise=noise).run(ia.catalog_trajectory(robot).trajectory, seed=1)
    return log


def chosen(log: Log, robot: str) -> tuple[Recipe, dict[str, float]]:
    assumed = assumed_friction(ia.load(robot))
    recipe, choice = choose_filter(assumed, base_model(assumed.layout), [log], Recipe(), lambda _: None)
    assert choice.subject == "filter" and "predictions" in choice.sentence
    return recipe, dict(choice.scores)


def test_noise_inside_the_loop_widens_predictions_and_not_the_fit() -> None:
    """Noise of the position becomes torque through the controller: it predicts raw torque and says nothing of the parameters."""
    recipe, scores = chosen(simulated("tx40", "high_position"), "tx40")
    assert recipe.decimate is not None and recipe.decimate <= 20.0
    widest = max(float(name.split()[0]) for name in scores)
    assert isinstance(recipe.prediction, Butterworth) and recipe.prediction.cutoff == pytest.approx(widest, rel=0.01)
    assert widest > 0.5 * 0.25 * simulated("tx40", "high_position").rate and scores[f"{widest:.3g} Hz, differences"] == min(
        scores.values()
    )


def test_less_noise_lets_the_fit_see_no_less() -> None:
    quiet, loud = (chosen(simulated("tx40", noise), "tx40")[0].decimate for noise in ("low_position", "high_position"))
    assert quiet is not None and loud is not None and quiet >= loud


@pytest.mark.parametrize("defect", ["repeated rows", "jitter"])
def test_defects_of_recorders_do_not_widen_the_fit(defect: str) -> None:
    """6 % repeated rows, or stamps that jitter by 14 %, fill the spectrum of the position up to half the sampling rate."""
    log, rng = simulated("tx40", "standard"), np.random.default_rng(3)
    rows, t = np.arange(len(log.t)), log.t
    if defect == "jitter":
        t = t + 0.14 / log.rate * rng.standard_normal(len(t))
    else:
        stale = rng.random(len(rows)) < 0.06
        rows = np.maximum.accumulate(np.where(stale, 0, rows))
    signals = {name: values[rows] for name, values in log.signals.items()}
    bad = Log.from_arrays(t, signals, log.joints)
    good, found = (chosen(one, "tx40")[0].decimate for one in (log, bad))
    assert good is not None and found is not None and found <= 1.01 * good


def test_one_recipe_for_a_bandwidth() -> None:
    recipe = recipe_for(10.0, 1000.0, Recipe())
    assert recipe.filter == Butterworth(cutoff=30.0) and recipe.decimate == 10.0 and recipe.reversal == 0.025
    assert recipe.for_prediction.filter == Butterworth(cutoff=10.0) and recipe.for_prediction.prediction is None
    slow = recipe_for(10.0, 50.0, Recipe())
    assert slow.filter == Butterworth(cutoff=17.5) and slow.decimate == 10.0  # the rate leaves no more room


def test_drive_inertia_survives_noise_in_the_loop() -> None:
    """With the cut-off that predicts best, Ia5 came out four times too large and was called determined."""
    result = ia.identify(replace(ia.load("tx40"), loop=None), [simulated("tx40", "high_position")], quick=True)
    low, high = result.intervals[result.parameters.layout.index("Ia5")]
    assert low <= 0.0361 <= high and high < 0.12


@pytest.mark.parametrize("cutoff", [0.0, -1.0, np.nan])
def test_a_cutoff_that_is_none_is_refused(cutoff: float) -> None:
    with pytest.raises(ia.InputError, match="greater than zero"):
        ia.identify("tx40", [simulated("tx40", "low_position")], cutoff=cutoff)
