"""d_q: the simulated loop stays close to the recorded motion with the right parameters, less so with wrong ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inertica.excitation import catalog_trajectory
from inertica.experiment import ControlLoop, Experiment, Sensors
from inertica.logs.log import Log
from inertica.robot.load import load
from inertica.validation.closed_loop import position_error


def test_right_parameters_follow_the_record() -> None:
    description = load("tx40")
    (log,) = Experiment.of(description, noise="low_position").run(catalog_trajectory("tx40").trajectory, duration=3.0)
    right = position_error(description, description.prior, log)
    wrong = position_error(description, description.prior.replaced({"Fc1": 0.0, "Fv2": 25.0}), log)
    assert right is not None and wrong is not None
    assert right < 0.01 and wrong > 2 * right
    assert position_error(description, description.prior, Log.from_arrays(log.t, {"q": log.need("q")})) is None


def test_a_sample_at_zero_does_not_decide() -> None:
    """The robot rests at q = 0 for a while: ratios by sample would be as large as noise is small beside nothing."""
    description = load("tx40")
    (log,) = Experiment.of(description, noise="low_position").run(catalog_trajectory("tx40").trajectory, duration=3.0)
    q, qr = log.need("q").copy(), log.need("qr")
    near = replace(log, signals={**log.signals, "q": np.where(np.arange(len(q))[:, None] == 1000, 1e-12, q)})
    found = position_error(description, description.prior, near)
    assert found is not None and found < 0.01 and qr.shape == q.shape


def test_the_velocity_is_differenced_and_estimated_gains_are_used() -> None:
    """A loop so slow that half a period of delay in the velocity shows."""
    stated = {"law": "pd", "kp": [60.0, 40.0], "kd": [4.0, 2.5], "rate": 60.0, "velocity": "difference"}
    description = replace(load("planar2"), loop=stated)
    experiment = Experiment(description, ControlLoop.of(description), description.prior, sensors=Sensors())
    (log,) = experiment.run(catalog_trajectory("planar2").trajectory, duration=4.0)
    differenced = position_error(description, description.prior, log)
    true = position_error(replace(description, loop={**stated, "velocity": "true"}), description.prior, log)
    assert differenced is not None and true is not None and differenced < 0.2 * true
    wrong = replace(description, loop={**stated, "kp": [30.0, 20.0]})
    assert position_error(wrong, description.prior, log) > 3 * differenced
    assert position_error(wrong, description.prior, log, {"kp": np.array([60.0, 40.0])}) == pytest.approx(differenced)
