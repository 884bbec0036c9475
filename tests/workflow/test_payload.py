"""The load of a simulated and of a real arm."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from inertica.errors import InputError
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment
from inertica.logs.log import Log
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.run import identify
from inertica.workflow.identify.settings import Settings
from inertica.workflow.payload.payload import payload
from inertica.workflow.payload.result import Payload

LOAD = inertia.from_com(1.5, [0.04, -0.03, 0.06], np.diag([0.004, 0.006, 0.005]))
FLANGE = (0.0, 0.0, 0.05)
FIXED = Settings(cutoff=30.0, delay=0.0, friction=("viscous", "coulomb"), gravity=(0.0, 0.0, -9.81))


def wrong(description: Description) -> Description:
    rng = np.random.default_rng(3)
    factors = 1.0 + 0.1 * rng.standard_normal(description.layout.size)
    for _, where in description.layout.bodies:
        factors[where] = factors[where.start]
    return replace(description, prior=description.prior.with_values(description.prior.values * factors))


@pytest.fixture(scope="module")
def records() -> tuple[Description, Log, Log]:
    """Without and with load, along different motions."""
    description = load("tx40")
    empty = Experiment.of(description, friction="viscous_coulomb", noise="low_position", threads=1)
    values = np.array(empty.truth.values)
    values[empty.truth.layout.link(5)] += inertia.change_frame(LOAD, np.eye(3), FLANGE)
    warm = Parameters(empty.truth.layout, values, empty.truth.shapes).replaced({"Fc2": 1.3 * empty.truth["Fc2"]})
    first = empty.run(catalog_trajectory("tx40").trajectory, seed=1)[0]
    second = replace(empty, truth=warm).run(catalog_trajectory("tx40", "validation").trajectory, seed=2)[0]
    return wrong(description), first, second


@pytest.fixture(scope="module")
def robot(records) -> Result:
    return identify(records[0], [records[1]], settings=replace(FIXED, quick=True, method="wls"))


@pytest.fixture(scope="module")
def found(records) -> Payload:
    return payload(records[0], unloaded=[records[1]], loaded=[records[2]], frame=FLANGE, settings=replace(FIXED, method="wls"))


def test_the_load_is_found_though_friction_has_changed(found: Payload) -> None:
    assert found["M"] == pytest.approx(1.5, rel=0.03)
    assert np.allclose(found.body.com, [0.04, -0.03, 0.06], atol=0.01)
    off = np.abs(found.values - LOAD) / np.maximum(found.std, 1e-12)
    assert np.mean(off < 2.5) >= 0.9 and off.max() < 4.0
    assert inertia.physically_consistent(found.values)
    assert found.residuals["robot and load"].filtered.all < 0.7 * found.residuals["robot alone"].filtered.all


def test_names_and_intervals_of_the_document(found: Payload) -> None:
    document = found.document()
    assert [p["name"] for p in document["parameters"]] == ["M", "MX", "MY", "MZ", "XX", "XY", "XZ", "YY", "YZ", "ZZ"]
    for p in document["parameters"]:
        low, high = p["interval"]
        assert low <= p["value"] <= high and p["std"] == pytest.approx((high - low) / 3.92)
    assert document["parameters"][0]["label"] == "determined" and document["mass"]["value"] == found["M"]
    assert "bias" in document["choices"][-1]["value"]  # the catalog's card states the loop


def test_a_robot_from_a_result_gives_the_same_load_and_carries_its_uncertainty(
    records, robot: Result, found: Payload, tmp_path
) -> None:
    robot.save(tmp_path / "result")
    own = payload(loaded=[records[2]], robot_from=tmp_path / "result", frame=FLANGE, settings=Settings(quick=True))
    assert own["M"] == pytest.approx(found["M"], rel=0.03)
    estimate = replace(robot.estimate, covariance=9.0 * robot.estimate.covariance)
    vague = payload(
        loaded=[records[2]], robot_from=replace(robot, estimate=estimate), frame=FLANGE, settings=Settings(quick=True)
    )
    assert np.median(np.diff(vague.intervals, axis=1) / np.diff(own.intervals, axis=1)) > 1.3


def test_files_read_back(found: Payload, tmp_path) -> None:
    files = found.save(tmp_path / "load")
    assert {f.name for f in files} == {"payload.json", "load.urdf", "load.xml", "controllers.txt"}
    assert json.loads((tmp_path / "load" / "payload.json").read_text())["mass"]["value"] == pytest.approx(found["M"])
    assert "set_target_payload(" in (tmp_path / "load" / "controllers.txt").read_text()


def test_what_is_missing_is_said(records) -> None:
    model, first, second = records
    with pytest.raises(InputError, match="at least one log of the robot with its load"):
        payload(model, unloaded=[first], loaded=[])
    with pytest.raises(InputError, match="either logs of the robot without load"):
        payload(model, loaded=[second])
    with pytest.raises(InputError, match="needs the robot"):
        payload(unloaded=[first], loaded=[second])
    with pytest.raises(InputError, match="has 6 joints, scara4 has 4"):
        payload("scara4", unloaded=[first], loaded=[second])


def test_the_public_load_of_a_real_arm(real_data, tmp_path) -> None:
    card, folder = tmp_path / "card.yaml", real_data / "ur10e"
    gains = [11.976, 11.976, 9.839, 10.763, 10.763, 10.763]
    card.write_text(f"model: {folder / 'ur10e.urdf'}\ntorque: {{from: current, gain: {gains}}}\n")
    found = payload(
        card, unloaded=[f"{folder}/ident_unloaded_b.csv.gz@2.022:52.094"], loaded=[f"{folder}/ident_loaded.csv.gz@3.196:53.292"]
    )
    low, high = found.intervals[9]
    assert found["M"] == pytest.approx(2.805, rel=0.03) and low < 2.805 < high and high - low < 0.06 * 2.805
    assert found.flange.name == "tool0" and found.labels[9] == "determined"
