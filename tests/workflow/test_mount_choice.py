"""How the robot is mounted: found where the data say it, left alone where they do not, and on record either way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pair
from estimators.simulated import exact_motion
from inertica.errors import InputError
from inertica.estimators.structure.tilt import between
from inertica.logs.read import read_log
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.load import load
from inertica.workflow.decisions.filter import recipe_for
from inertica.workflow.decisions.mount import choose_mount, with_offsets
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.run import identify
from inertica.workflow.identify.settings import Settings

FIXED = {"method": "wls", "cutoff": 10.0, "delay": 0.0, "friction": ("viscous", "coulomb")}
UP = (0.0, 0.0, -9.81)


def gravity(degrees: float, around: float = 0.0) -> list[float]:
    a, b = np.radians([degrees, around])
    return [float(9.81 * x) for x in (np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), -np.cos(a))]


def log(folder: Path, g: list[float], **options) -> Path:
    """Of the pair mounted on another base."""
    (folder / "pair.urdf").write_text(pair.URDF)
    (folder / "mounted.yaml").write_text(f"model: pair.urdf\ngravity: {g}\n")
    return pair.write_log(folder / "mounted.yaml", folder / "log.csv", 3, **options)


def mount(folder: Path, g: list[float], **options):
    robot = load(pair.folder() / "pair.urdf")
    record = read_log(log(folder, g, **options), robot)
    return choose_mount(robot, [prepare(record, recipe_for(10.0, record.rate, Recipe()))], lambda _: None)


def test_an_upright_robot_stays_upright() -> None:
    result = pair.identified()
    assert result.description.robot.gravity == UP
    assert result.gravity.tested and not result.gravity.accepted and result.gravity.p > 1e-3
    (choice,) = [c for c in result.choices if c.subject == "gravity"]
    assert choice.automatic and "as the model file has it" in choice.sentence


def test_a_lean_is_found_used_and_kept(tmp_path: Path) -> None:
    wanted = gravity(3.0, 40.0)
    path = log(tmp_path, wanted)
    result = identify(pair.folder() / "pair.urdf", [path], **FIXED)
    found = result.gravity
    assert found is not None
    assert found.accepted and between(found.gravity, wanted) < 0.7
    for ends, angle in zip(found.interval, 3.0 * np.array([np.cos(np.radians(40.0)), np.sin(np.radians(40.0))]), strict=True):
        assert abs(np.mean(ends) - angle) < ends[1] - ends[0] < 1.5  # within 4 standard deviations
    assert found.left_out["used"] < found.left_out["file"]
    assert result.description.robot.gravity == pytest.approx(found.gravity)
    again = Result.load(result.save(tmp_path / "result"))
    assert again.description.robot.gravity == pytest.approx(found.gravity) and again.description.gravity_given
    assert again.gravity == found
    record = read_log(path, again.description)
    assert np.allclose(again.predict(record), result.predict(record), equal_nan=True)


@pytest.mark.parametrize("around", [0.0, 90.0])
def test_a_robot_on_the_wall_is_found(tmp_path: Path, around: float) -> None:
    found = mount(tmp_path, gravity(90.0, around))
    assert found.accepted and between(found.gravity, gravity(90.0, around)) < 10.0
    assert "mounted otherwise" in found.choice.sentence


def test_half_a_motion_of_a_heavy_arm_does_not_turn_its_base(real_data: Path) -> None:
    robot = load(real_data / "kr300" / "kr300_r2500.urdf")
    record = read_log(f"{real_data / 'kr300' / 'traj_b.csv.gz'}@0.6:3.25", robot)
    found = choose_mount(robot, [prepare(record, recipe_for(36.0, record.rate, Recipe()))], lambda _: None)
    assert not found.accepted and found.gravity == UP


def test_a_hanging_robot_is_found_in_fast_motion_and_called_ambiguous_in_slow_motion() -> None:
    robot = load("tx40")
    hanging = with_offsets(robot.with_gravity((0.0, 0.0, 9.81)))[0].prior
    fast, slow = (exact_motion(hanging, seed=3, duration=20.0 * s, rate=50.0 / s, amplitude=0.5 / s) for s in (1.0, 20.0))
    rng = np.random.default_rng(1)
    for motion in (fast, slow):
        motion.tau.setflags(write=True)
        motion.tau[:] += 0.05 * motion.tau.std(axis=0) * rng.normal(size=motion.tau.shape)
    found, unsure = (choose_mount(robot, [motion], lambda _: None) for motion in (fast, slow))
    assert found.accepted and found.direction == (0.0, 0.0, 1.0) and not found.ambiguous
    assert not unsure.accepted and unsure.gravity == UP and "stands or hangs" in unsure.ambiguous
    assert unsure.ambiguous in unsure.choice.sentence


def test_what_is_stated_is_not_searched(tmp_path: Path) -> None:
    path = log(tmp_path, gravity(3.0))
    stated = identify(tmp_path / "mounted.yaml", [path], **FIXED)
    assert not stated.gravity.automatic and stated.description.robot.gravity == pytest.approx(gravity(3.0))
    fixed = identify(pair.folder() / "pair.urdf", [path], gravity=UP, **FIXED)
    assert not fixed.gravity.automatic and fixed.description.robot.gravity == UP
    assert fixed.residuals["identification"].raw.all > stated.residuals["identification"].raw.all


def test_which_files_state_gravity(tmp_path: Path) -> None:
    assert not load("tx40").gravity_given and load("planar2").gravity_given
    tilted = pair.MJCF.replace("<worldbody>", '<option gravity="9.81 0 0"/><worldbody>')
    (tmp_path / "pair.xml").write_text(tilted)
    assert load(tmp_path / "pair.xml").gravity_given
    (tmp_path / "card.yaml").write_text("model: pair.xml\ngravity: auto\n")
    card = load(tmp_path / "card.yaml")
    assert not card.gravity_given and card.robot.gravity == (9.81, 0.0, 0.0)


def test_auto_starts_from_what_the_file_says(tmp_path: Path) -> None:
    path = log(tmp_path, gravity(90.0))
    result = identify(tmp_path / "mounted.yaml", [path], gravity="auto", **FIXED)
    assert result.gravity.automatic and not result.gravity.accepted


def test_a_first_axis_that_does_not_turn_leaves_a_lean_untold(tmp_path: Path) -> None:
    found = mount(tmp_path, gravity(3.0), still=(0,))
    assert not found.accepted and "encoder offset of joint 2" in found.choice.sentence


def test_without_gravity_there_is_nothing_to_test() -> None:
    robot = load("scara2").with_gravity((0.0, 0.0, 0.0))
    found = choose_mount(robot, [], lambda _: None)
    assert not found.tested and not found.accepted and "not testable" in found.choice.sentence


@pytest.mark.parametrize("wrong", [(0.0, 0.0, 0.0), (1.0, 2.0), "down", (np.nan, 0.0, 1.0)])
def test_what_is_no_direction_is_refused(wrong) -> None:
    with pytest.raises(InputError, match="three numbers"):
        Settings(gravity=wrong)
