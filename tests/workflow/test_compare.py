"""`compare`: the stages of `identify`, so that every row is what `identify` finds; methods by name or as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import inertica as ia
import pair
from inertica.errors import InerticaError
from inertica.estimators.base import Estimate, Estimator, Problem
from inertica.estimators.linear.least_squares import Ols, Wls
from inertica.excitation import catalog_trajectory
from inertica.experiment import Experiment, Sensors
from inertica.logs.log import Log
from inertica.workflow.compare import Comparison, compare
from inertica.workflow.settings import Settings

FIXED = {"cutoff": 10.0, "delay": 0.0, "friction": ("viscous", "coulomb")}


def compared(methods: list[str | Estimator], **options) -> Comparison:
    robot, fit, _ = pair.files()
    return compare(robot, [fit], methods, settings=Settings(**FIXED), **options)


@pytest.mark.parametrize("name", ["ols", "pc-wls"])
def test_a_row_is_what_identify_finds(name: str) -> None:
    robot, fit, other = pair.files()
    for validate in ([], [other]):
        (row,) = compared([name], validate=validate).rows
        alone = ia.identify(robot, [fit], validate=validate, method=name, quick=True, **FIXED)
        assert {k: r.raw for k, r in row.residuals.items()} == {k: r.raw for k, r in alone.residuals.items()}
        assert {k: r.moving for k, r in row.residuals.items()} == {k: r.moving for k, r in alone.residuals.items()}
        assert row.condition == alone.estimate.condition and row.physically_consistent == alone.physically_consistent


@dataclass(frozen=True)
class BreaksDown(Wls):
    """Ends before it has used the data."""

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        found = super().estimate(problem, rng)
        return replace(found, failed=True, warnings=("the filter broke down 1.6 s into a record",))


def test_what_a_method_had_when_it_broke_down_is_no_result() -> None:
    """It would have intervals and labels like any other."""
    robot, fit, _ = pair.files()
    with pytest.raises(InerticaError, match=r"wls: the filter broke down 1\.6 s"):
        ia.identify(robot, [fit], method=BreaksDown(), quick=True, **FIXED)
    good, bad = compared([Wls(), BreaksDown()]).rows
    assert good.failure is None and "broke down" in (bad.failure or "") and not bad.residuals


def test_logs_without_position_too() -> None:
    """Stretches left out are those that `identify` leaves out, and what is predicted there is simulated with the second fit."""
    trajectory = catalog_trajectory("scara4").trajectory
    experiment = Experiment.of(ia.load("scara4"), noise="standard", sensors=Sensors(rate=500.0))
    (log,) = experiment.run(trajectory, seed=0)
    bare: Log = replace(log, signals={"tau": log.need("tau")}, channels=())
    found = compare("scara4", [bare], ["didim", "wls"], settings=Settings(references=(trajectory,)))
    alone = ia.identify("scara4", [bare], method="didim", references=(trajectory,), quick=True)
    assert {k: r.raw for k, r in found.rows[0].residuals.items()} == {k: r.raw for k, r in alone.residuals.items()}
    assert "needs measured motion" in (found.rows[1].failure or "")


def test_methods_as_objects_beside_names() -> None:
    found = compared(["ols", Ols(), Wls(), "wls", "wls"])
    assert [row.method for row in found.rows] == ["ols 1", "ols 2", "wls 1", "wls 2"]
    assert [row.failure for row in found.rows] == [None] * 4
    assert found.rows[0].residuals == found.rows[1].residuals and found.rows[2].condition == found.rows[3].condition


def test_choices_are_made_once_and_belong_to_the_reference() -> None:
    said: list[str] = []
    found = compared(["ols", "irls"], progress=said.append)
    subjects = ["filter", "delay", "gravity", "friction", "method", "intervals", "friction near standstill"]
    assert [c.subject for c in found.reference.choices] == subjects
    assert [s for s in said if s.startswith("fit: ")] == ["fit: wls", "fit: ols", "fit: irls"]
    assert sum(s.startswith("gravity") for s in said) == 1
    assert set(found.reference.motions) == {"identification"} and np.isfinite(found.reference.estimate.beta).all()
