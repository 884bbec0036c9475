"""Drive gains of a simulated arm whose currents count the wrong way on one joint, and of a real one."""

from __future__ import annotations

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
from inertica.workflow.identify.settings import Settings
from inertica.workflow.payload.drive_gains import drive_gains

LOAD = inertia.from_com(2.5, [0.02, 0.03, 0.05], np.diag([0.006, 0.007, 0.004]))
GAINS = np.array([12.0, 14.0, -9.0, 6.0, 5.0, 4.0])
FIXED = Settings(cutoff=30.0, delay=0.0, friction=("viscous", "coulomb"), gravity=(0.0, 0.0, -9.81))


def currents(log: Log) -> Log:
    signals = {name: values for name, values in log.signals.items() if name != "tau"}
    return replace(log, signals={**signals, "i": log.need("tau") / GAINS}, channels=())


@pytest.fixture(scope="module")
def records() -> tuple[Description, Log, Log]:
    description = load("tx40")
    empty = Experiment.of(description, friction="viscous_coulomb", noise="low_position", threads=1)
    values = np.array(empty.truth.values)
    values[empty.truth.layout.link(5)] += LOAD
    full = replace(empty, truth=Parameters(empty.truth.layout, values, empty.truth.shapes))
    motion = catalog_trajectory("tx40").trajectory
    return description, currents(empty.run(motion, seed=1)[0]), currents(full.run(motion, seed=2)[0])


def test_gains_without_any_prior_and_the_wrong_sign_is_reported(records) -> None:
    description, empty, full = records
    found = drive_gains(description, unloaded=[empty], loaded=[full], mass=2.5, settings=FIXED)
    assert np.allclose(found.values[1:5] / GAINS[1:5], 1.0, atol=0.1)
    inside = (found.intervals[:, 0] <= GAINS) & (found.intervals[:, 1] >= GAINS)
    assert inside.sum() >= 5
    assert not found.revealed[0] and found.revealed[1] and found.revealed[2]
    assert any("joint 3 (joint3): the current counts against" in s for s in found.sentences)
    assert any("does not weigh on this axis" in s and "1 (joint1)" in s for s in found.sentences)
    document = found.document()
    assert document["gains"][0]["label"] == "weak" and document["card"].startswith("torque: {from: current, gain: [")


def test_what_is_missing_is_said(records) -> None:
    description, empty, full = records
    with pytest.raises(InputError, match="greater than zero, not -1"):
        drive_gains(description, unloaded=[empty], loaded=[full], mass=-1.0)
    with pytest.raises(InputError, match="about its centre of mass; state that"):
        drive_gains(description, unloaded=[empty], loaded=[full], mass=1.0, central_inertia=np.eye(3))
    with pytest.raises(InputError, match="no body has the inertia"):
        drive_gains(description, unloaded=[empty], loaded=[full], mass=1.0, com=(0, 0, 0), central_inertia=(1, 0, 0, 1, 0, 5))
    with pytest.raises(InputError, match="2 prior gains were given, tx40 has 6 joints"):
        drive_gains(description, unloaded=[empty], loaded=[full], mass=1.0, prior=(1.0, 2.0))
    torque = replace(empty, signals={"q": empty.need("q"), "tau": empty.need("q")})
    with pytest.raises(InputError, match="has no currents"):
        drive_gains(description, unloaded=[torque], loaded=[full], mass=1.0)


def test_currents_without_gains_lead_here(records) -> None:
    with pytest.raises(InputError, match="`inertica drive-gains` finds the gains with a load of known mass"):
        records[1].need("tau")


def test_the_public_pair_of_a_real_arm(real_data) -> None:
    folder = real_data / "ur10e"
    found = drive_gains(
        folder / "ur10e.urdf",
        unloaded=[f"{folder}/ident_unloaded_b.csv.gz@2.022:52.094"],
        loaded=[f"{folder}/ident_loaded.csv.gz@3.196:53.292"],
        mass=2.805,
    )
    controller = np.array([11.976, 11.976, 9.839, 10.763, 10.763, 10.763])
    assert np.allclose(found.values[1:5], controller[1:5], rtol=0.15)
    assert list(np.flatnonzero(~found.revealed)) == [0, 5]
