"""What recorders do to a log without asking changes nothing: no refusal, estimates within their intervals, predictions as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from real_records import RECORDS
from scipy.stats import binom

import inertica as ia
import mujoco_arm
from changes import HARMLESS, LATE_VELOCITY, LOW_PASSED, Change, Columns, named_joints, read, unchanged, write
from inertica.identifiability.labels import DETERMINED
from inertica.logs.simulated import marked
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.truth import against_truth

CHANCE = 1e-3
"""Of a test that fails although every interval holds in 95 %: how many misses are allowed follows from it."""

WORSE = 1.1
"""Residual of a log that took no part, relative to that without the change."""

UNDECIDED = 0.1
"""Of the larger half-width: what differs by less does not count, where truth is unknown and intervals hold noise alone."""

FAST = {"6 % of rows repeated", "stamps jitter by 14 %", "5 % of rows dropped", "columns permuted"}
REAL = ("panda", "xmate3pro", "lbr_med7", "ur10e", "tx40")

SIMULATED = (("tx40", "low_position"), ("panda7", "standard"))
"""Catalog robots and noise presets; their loop and friction laws are not stated."""

UNCHANGED = Change("unchanged", unchanged)


@dataclass(frozen=True, eq=False)
class Recording:
    """A log that was made or recorded once, to be changed.

    Args:
        robot: as its user describes it.
        columns: of the log.
        left_out: a further log, which is never changed.
        truth: parameters of a simulated robot.
        comments: first lines of the file.
    """

    robot: Path | Description
    columns: Columns
    left_out: Path
    truth: Parameters | None = None
    comments: Sequence[str] = ()

    def identified(self, change: Change, folder: Path) -> Result:
        """By all defaults; a log that the check forbids is fitted all the same, and `problems` says which."""
        own = folder / change.name.replace("%", "percent")
        own.mkdir()
        files = change.files(self.columns, own, self.comments)
        return ia.identify(self.robot, [str(f) for f in files], validate=[str(self.left_out)])


@dataclass(frozen=True, eq=False)
class Reference:
    """A recording and what is found from it unchanged."""

    recording: Recording
    result: Result


def problems(result: Result) -> set[str]:
    """Names of what the check of the logs would have refused them for."""
    assert result.check is not None
    return {f.name for f in result.check.problems}


def left_out(result: Result) -> float:
    """Relative residual of the raw torque of the log that took no part."""
    return next(r.raw.all for name, r in result.residuals.items() if name.endswith("left_out.csv"))


def most_misses(intervals: int) -> int:
    """Misses of so many intervals, each of which holds in 95 %, that chance alone exceeds with the probability `CHANCE`."""
    return int(binom.ppf(1.0 - CHANCE, intervals, 0.05))


def differences(a: Result, b: Result) -> dict[str, float]:
    """Parameter -> difference over the larger half-width of both intervals, where both call it determined."""
    first, second = a.parameters.layout, b.parameters.layout
    both = [n for n in first.names if n in second.names and a.labels[n] == b.labels[n] == DETERMINED]
    out = {}
    for name in both:
        i, j = first.index(name), second.index(name)
        half = 0.5 * max(np.ptp(a.intervals[i]), np.ptp(b.intervals[j]))
        out[name] = float(abs(a.parameters.values[i] - b.parameters.values[j]) / half)
    return out


def assert_harmless(reference: Reference, change: Change, folder: Path) -> None:
    if not change.applies(reference.recording.columns):
        pytest.skip("the log does not end at rest")
    before, after = reference.result, reference.recording.identified(change, folder)
    assert problems(after) <= problems(before)
    assert left_out(after) <= WORSE * left_out(before)
    apart = differences(before, after)
    if change.exact:
        assert after.labels == before.labels and max(apart.values()) < 1e-6
    if reference.recording.truth is None:
        far = {name: x for name, x in apart.items() if x > 1.0 + UNDECIDED}
        assert len(far) <= most_misses(len(apart)), far
        return
    far = {name: x for name, x in apart.items() if x > 1.0}
    assert len(far) <= most_misses(len(apart)), far
    assert_truth(after, reference.recording.truth, {name for name, label in before.labels.items() if label == DETERMINED})


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
def recorded(name: str, data: Path, folder: Path) -> Reference:
    """First 70 % of a real record to fit, the rest left out."""
    record = next(r for r in RECORDS if r.name == name)
    window = record.windows[0]
    whole = read(data / record.folder / window.file, window.start, window.end)
    first = whole["t"] <= window.start + 0.7 * (window.end - window.start)
    own = folder / name
    own.mkdir()
    write(own / "left_out.csv", {key: x[~first] for key, x in whole.items()})
    recording = Recording(record.card(own), {key: x[first] for key, x in whole.items()}, own / "left_out.csv")
    return Reference(recording, recording.identified(UNCHANGED, own))


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
@pytest.mark.parametrize("name", REAL)
def test_real(name: str, change: Change, real_data: Path, shared: Path, tmp_path: Path) -> None:
    assert_harmless(recorded(name, real_data, shared), change, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur10e", "kuka_lwr4"])
def test_real_rest_before_the_motion(name: str, real_data: Path, shared: Path, tmp_path: Path) -> None:
    """The seconds before the motion, in which the robot stands, are in the file as well."""
    reference = recorded(name, real_data, shared)
    record = next(r for r in RECORDS if r.name == name)
    until = float(reference.recording.columns["t"][-1])
    from_start = read(real_data / record.folder / record.windows[0].file, -np.inf, until)
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
