"""What recorders do to a log without asking changes nothing: no refusal, estimates within their intervals, predictions as good."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from real_changes import BY_NAME, UNCHANGED, Effect, Recording, Reference, harmful, most_misses, problems, recorded

import inertica as ia
import mujoco_arm
from changes import HARMLESS, LATE_VELOCITY, LOW_PASSED, Change, named_joints, read, write
from inertica.identifiability.labels import DETERMINED
from inertica.logs.simulated import marked
from inertica.robot.layout import Parameters
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.truth import against_truth

FAST = {"6 % of rows repeated", "stamps jitter by 14 %", "5 % of rows dropped", "columns permuted"}

SIMULATED = (("tx40", "low_position"), ("panda7", "standard"))
"""Catalog robots and noise presets; their loop and friction laws are not stated."""


def assert_harmless(reference: Reference, change: Change, folder: Path) -> None:
    if not change.applies(reference.recording.columns):
        pytest.skip("the log does not end at rest")
    effect = Effect.of("", reference, change, folder)
    assert not list(effect.faults())
    if change.exact:
        assert effect.result is not None and effect.result.labels == reference.result.labels
    if (truth := reference.recording.truth) is not None:
        assert effect.result is not None
        assert_truth(effect.result, truth, {name for name, label in reference.result.labels.items() if label == DETERMINED})


def assert_truth(result: Result, truth: Parameters, known: set[str]) -> None:
    """Intervals hold the truth, also those of parameters that were not called determined before."""
    held = against_truth(result, truth)
    for group in (held.determined, [h for h in held.determined if h.name not in known], held.base):
        missed = [h for h in group if not h.covered]
        assert len(missed) <= most_misses(len(group)), missed


# Recordings


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Three joints, simulated by MuJoCo."""
    pytest.importorskip("mujoco")
    folder = tmp_path_factory.mktemp("arm")
    true, stated = mujoco_arm.write_models(folder)
    write(folder / "left_out.csv", mujoco_arm.simulate(true, 8.0, 2))
    columns = mujoco_arm.simulate(true, 12.0, 1)
    recording = Recording(stated, columns, folder / "left_out.csv", ia.load(true).prior)
    return Reference(recording, recording.identified(UNCHANGED, folder))


@cache
def simulated(robot: str, noise: str, folder: Path) -> Reference:
    description = ia.load(robot)
    experiment = ia.Experiment.of(description, noise=noise, threads=1)
    log, other = (marked(log, description) for log in experiment.run(ia.catalog_trajectory(robot).trajectory, runs=2, seed=1))
    other.write_csv(folder / f"{robot}_left_out.csv")
    columns = {name: x for name, x in log.table().items() if not name.startswith("qr")}
    stranger = replace(description, loop=None, friction_stated=False)
    recording = Recording(stranger, columns, folder / f"{robot}_left_out.csv", experiment.truth, log.notes[-1:])
    return Reference(recording, recording.identified(UNCHANGED, folder))


@cache
def of_record(name: str, folder: Path) -> Reference:
    """First 70 % of a real record to fit, the rest left out."""
    return recorded(BY_NAME[name], folder)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what all tests of this file use."""
    return tmp_path_factory.mktemp("shared")


def by_name(change: Change) -> str:
    return change.name


# Harmless changes


def test_intervals_of_the_untouched_arm_hold_the_truth(arm: Reference) -> None:
    assert arm.recording.truth is not None and not problems(arm.result)
    assert sum(label == DETERMINED for label in arm.result.labels.values()) >= 8
    assert_truth(arm.result, arm.recording.truth, set())


@pytest.mark.parametrize("change", [c for c in HARMLESS if c.name in FAST], ids=by_name)
def test_arm_of_another_engine(arm: Reference, change: Change, tmp_path: Path) -> None:
    assert_harmless(arm, change, tmp_path)


def test_joints_named_in_another_order(arm: Reference, tmp_path: Path) -> None:
    names = ia.load(arm.recording.robot).robot.joint_names
    assert_harmless(arm, Change("joints by name", named_joints(names), exact=True), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("change", [c for c in HARMLESS if c.name not in FAST], ids=by_name)
def test_arm_of_another_engine_all_changes(arm: Reference, change: Change, tmp_path: Path) -> None:
    assert_harmless(arm, change, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("change", HARMLESS, ids=by_name)
@pytest.mark.parametrize(("robot", "noise"), SIMULATED)
def test_simulated(robot: str, noise: str, change: Change, shared: Path, tmp_path: Path) -> None:
    assert_harmless(simulated(robot, noise, shared), change, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("change", HARMLESS, ids=by_name)
@pytest.mark.parametrize("name", list(BY_NAME))
def test_real(name: str, change: Change, real_data: Path, shared: Path, tmp_path: Path) -> None:
    assert_harmless(of_record(name, shared), change, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur10e", "kuka_lwr4"])
def test_real_rest_before_the_motion(name: str, real_data: Path, shared: Path, tmp_path: Path) -> None:
    """The seconds before the motion, in which the robot stands, are in the file as well."""
    reference, record = of_record(name, shared), BY_NAME[name]
    until = float(reference.recording.columns["t"][-1])
    from_start = read(record.folder / record.windows[0].file, -np.inf, until)
    assert len(from_start["t"]) > len(reference.recording.columns["t"])
    assert_harmless(reference, Change("rest before", lambda _: [from_start]), tmp_path)


# Harmful changes: found and said, or shown in the intervals


def finding(result: Result, name: str) -> str:
    """Verdict of the check on one subject."""
    assert result.check is not None
    return next(str(f.verdict) for f in result.check.findings if f.name == name)


def assert_late_velocity_found(reference: Reference, folder: Path) -> None:
    """The check says that it lags, and the fit does without it."""
    assert reference.recording.truth is not None
    result = reference.recording.identified(LATE_VELOCITY, folder)
    assert finding(result, "velocity") in ("note", "warning") and result.recipe.velocity == "differences"
    assert_truth(result, reference.recording.truth, set())


def assert_lowpass_found(reference: Reference, change: Change, folder: Path) -> None:
    """Torque that a filter made late is read later, and intervals hold what is left of the filter."""
    assert reference.recording.truth is not None
    result = reference.recording.identified(change, folder)
    before, after = (np.mean(r.recipe.delays(r.description.robot.n)) for r in (reference.result, result))
    assert (after - before > 2e-3) == change.late
    assert_truth(result, reference.recording.truth, set())


@pytest.mark.slow
@pytest.mark.parametrize("change", [LATE_VELOCITY, *LOW_PASSED], ids=by_name)
@pytest.mark.parametrize("name", list(BY_NAME))
def test_harmful_changes_of_real_records(name: str, change: Change, real_data: Path, shared: Path, tmp_path: Path) -> None:
    """Something is said of them, or what is found from the record as it is lies in the intervals."""
    assert not harmful(Effect.of(name, of_record(name, shared), change, tmp_path))


def test_late_velocity_is_found(arm: Reference, tmp_path: Path) -> None:
    assert_late_velocity_found(arm, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("robot", "noise"), SIMULATED)
def test_late_velocity_of_simulated_arms_is_found(robot: str, noise: str, shared: Path, tmp_path: Path) -> None:
    assert_late_velocity_found(simulated(robot, noise, shared), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("change", LOW_PASSED, ids=by_name)
def test_torque_low_passed_by_a_drive(arm: Reference, change: Change, tmp_path: Path) -> None:
    assert_lowpass_found(arm, change, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("change", LOW_PASSED, ids=by_name)
@pytest.mark.parametrize(("robot", "noise"), SIMULATED)
def test_torque_of_simulated_arms_low_passed_by_a_drive(
    robot: str, noise: str, change: Change, shared: Path, tmp_path: Path
) -> None:
    assert_lowpass_found(simulated(robot, noise, shared), change, tmp_path)
