"""d_q: the simulated loop stays close to the recorded motion with the right parameters, less so with wrong ones."""

from __future__ import annotations

from inertica.excitation import catalog_trajectory
from inertica.experiment import Experiment
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
