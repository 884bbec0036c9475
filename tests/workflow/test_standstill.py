"""Friction near standstill in predictions: rounded where the torque of the logs asks for it, held where it does not."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import pair
from inertica.dynamics.engine import Engine
from inertica.errors import FileError
from inertica.logs.breaks import recordings
from inertica.logs.log import Log
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.drives import Coupling
from inertica.robot.friction import Coulomb, DirectionalCoulomb, LoadDependent, SmoothCoulomb, Stribeck
from inertica.robot.load import load
from inertica.workflow.decisions.filter import recipe_for
from inertica.workflow.decisions.standstill import choose_standstill
from inertica.workflow.export.lost import STANDSTILL
from inertica.workflow.export.model import export_model
from inertica.workflow.identify.prediction import judged, predicted_torque
from inertica.workflow.identify.result import RESULT, Result
from inertica.workflow.identify.saved import standstill_of
from inertica.workflow.identify.standstill import HELD, Standstill
from scaled import Scale

RATE, DURATION = 200.0, 20.0
SHARES = (0.02, 0.05)
"""True widths of the rounded robot, as shares of the largest speed of each joint."""


def robot() -> Description:
    return load(pair.folder() / "pair.urdf")


def moved(seed: int, stops: bool = False) -> tuple[np.ndarray, ...]:
    """t, q, dq, ddq of sums of sines; with stops, the second half of every two seconds is spent where the first half ended."""
    rng, t = np.random.default_rng(seed), np.arange(int(RATE * DURATION)) / RATE
    path, speed, acceleration = t, np.ones_like(t), np.zeros_like(t)
    if stops:
        phase = np.minimum(t % 2.0, 1.0)
        path = t // 2.0 + phase - np.sin(2.0 * np.pi * phase) / (2.0 * np.pi)
        speed, acceleration = 1.0 - np.cos(2.0 * np.pi * phase), 2.0 * np.pi * np.sin(2.0 * np.pi * phase)
    q, dq, ddq = (np.zeros((len(t), 2)) for _ in range(3))
    for j in range(2):
        for k in range(1, 6):
            a, at, w = 0.5 * rng.normal() / k, rng.uniform(0.0, 6.0), 2.0 * np.pi * k / (10.0 if stops else 5.0)
            x = w * path + at
            q[:, j] += a * np.sin(x)
            dq[:, j] += a * w * np.cos(x) * speed
            ddq[:, j] += a * w * (np.cos(x) * acceleration - w * np.sin(x) * speed**2)
    return t, q, dq, ddq


def log_of(robot: Description, seed: int, *, rounded: bool, stops: bool = False) -> Log:
    """Torque of the model's own values, with noise; friction at a stop is on the side of the last motion, or rounded."""
    t, q, dq, ddq = moved(seed, stops)
    friction = np.array([robot.prior[f"Fc{j + 1}"] for j in range(2)])
    side = np.sign(dq)
    for j in range(2):
        last = np.maximum.accumulate(np.where(np.abs(dq[:, j]) > 1e-9, np.arange(len(t)), 0))
        side[:, j] = np.sign(dq[last, j])
    dry = np.tanh(dq / (np.array(SHARES) * np.abs(dq).max(axis=0))) if rounded else side
    tau = Engine(robot.layout).inverse_dynamics(q, dq, ddq, robot.prior) + friction * (dry - np.sign(dq))
    tau = tau + 0.02 * np.random.default_rng(seed + 100).normal(size=tau.shape)
    return Log.from_arrays(t, {"q": q, "tau": tau}, robot.robot.joint_names)


def motion_of(log: Log):
    return prepare(log, recipe_for(0.1 * log.rate, log.rate, Recipe()).for_prediction)


def chosen_for(robot: Description, *logs: Log):
    return choose_standstill(robot.prior, [motion_of(log) for log in logs], Engine(robot.layout))


def test_rounded_friction_gets_its_width_and_predicts_another_motion_better() -> None:
    standstill, choice = chosen_for(robot(), log_of(robot(), 1, rounded=True), log_of(robot(), 2, rounded=True))
    fastest = np.max([np.abs(moved(seed)[2]).max(axis=0) for seed in (1, 2)], axis=0)
    assert standstill.widths == pytest.approx(np.array(SHARES) * fastest, rel=0.3)
    assert choice.score < 0.8 * choice.score_without and choice.scores == {"held": choice.score_without, "rounded": choice.score}
    other = [motion_of(log_of(robot(), 3, rounded=True))]
    rounded, held = (judged(robot().prior, other, standstill=s).raw.all for s in (standstill, HELD))
    assert rounded < 0.8 * held


def test_sharp_friction_that_holds_at_stops_is_left_as_it_is() -> None:
    standstill, choice = chosen_for(robot(), log_of(robot(), 1, rounded=False, stops=True))
    assert standstill == HELD and choice.value == "held" and choice.score == choice.score_without


@pytest.mark.parametrize("scale", [Scale(1e3, 10.0, 0.1), Scale(1e-3, 0.1, 10.0)])
def test_a_robot_of_another_size_and_clock_gets_the_same(scale: Scale) -> None:
    one, log = robot(), log_of(robot(), 1, rounded=True)
    other = scale.description(one)
    (before, said), (after, again) = chosen_for(one, log), chosen_for(other, scale.log(log, one.robot))
    assert np.multiply(after.widths, scale.time) == pytest.approx(np.array(before.widths), rel=1e-6) and before.rounded == (0, 1)
    assert again.value == said.value and again.score == pytest.approx(said.score, rel=1e-6)


def test_a_log_in_three_files_is_one_recording() -> None:
    """Files of a recorder that begins a new one now and then: the same joints are rounded by the same widths."""
    own = robot()
    log = log_of(own, 1, rounded=True)
    ends = [0, 1200, 2600, len(log.t)]
    files = [
        Log.from_arrays(log.t[a:b], {"q": log.q[a:b], "tau": log.need("tau")[a:b]}, own.robot.joint_names)
        for a, b in pairwise(ends)
    ]
    (whole, _), (parts, _) = chosen_for(own, log), chosen_for(own, *files)
    assert parts.rounded == whole.rounded == (0, 1)
    assert parts.widths == pytest.approx(whole.widths, rel=0.05)


def test_logs_that_go_on_with_each_other() -> None:
    """A pause as long as one that is filled within a log goes on; a clock that begins anew does not."""
    t = np.arange(0.0, 2.0, 0.01)
    later, much_later = t + 2.5, t + 10.0
    assert recordings([t, t + 2.0, later + 2.0, much_later]).tolist() == [0, 0, 0, 1]
    assert recordings([t, t]).tolist() == [0, 1] and recordings([t]).tolist() == [0]


def test_friction_that_the_card_states_as_smooth_is_not_looked_at() -> None:
    stated = robot()
    smooth = stated.with_terms(tuple(SmoothCoulomb(t.at, 0.1) if isinstance(t, Coulomb) else t for t in stated.layout.terms))
    assert chosen_for(smooth, log_of(stated, 1, rounded=True)) == (HELD, None)


def test_joints_whose_friction_depends_on_another_joint_are_held() -> None:
    one = robot()
    drives = one.with_terms((*one.layout.terms, Coupling(1, (0, 1))))
    log = log_of(one, 1, rounded=True)
    assert chosen_for(one, log)[0].rounded == (0, 1) and chosen_for(drives, log) == (HELD, None)


def test_rounding_is_the_law_with_a_width_whatever_the_law() -> None:
    """Unequal, load-dependent and plain friction against their own smooth forms; Stribeck's differs where static friction fades."""
    width, moments = 0.1, robot().prior.moments()
    for laws in (
        [Coulomb(0), LoadDependent(0, moments), Coulomb(1)],
        [DirectionalCoulomb(0), DirectionalCoulomb(1)],
        [Stribeck(0, vs=1e3), Coulomb(1)],
    ):
        sharp, smooth = (robot().with_terms(tuple(replace(x, width=w) for x in laws)) for w in (0.0, width))
        values = sharp.prior.with_values(sharp.prior.values + np.arange(1.0, sharp.layout.size + 1.0))
        motion = motion_of(log_of(robot(), 1, rounded=True))
        wanted = Engine(smooth.layout).inverse_dynamics(motion.q, motion.dq, motion.ddq, values.values, values.shapes)
        found = predicted_torque(values, motion, Engine(sharp.layout), Standstill((width, width)))
        assert np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max()


def with_log(folder) -> Result:
    """A result with the model's own values, whose friction is rounded, and its log."""
    log = log_of(robot(), 1, rounded=True)
    file = folder / "log.csv"
    table = np.column_stack([log.t, log.need("q"), log.need("tau")])
    np.savetxt(file, table, delimiter=",", header=pair.HEADER, comments="", fmt="%.12g")
    result = replace(pair.result_on(robot(), robot().prior), logs={"identification": (str(file),)})
    standstill, _ = choose_standstill(result.predictor, [result.motion(log)], result.predictor_engine)
    return replace(result, standstill=standstill)


def test_a_saved_result_predicts_the_same(tmp_path) -> None:
    result, other = with_log(tmp_path), log_of(robot(), 2, rounded=True)
    folder = result.save(tmp_path / "out")
    again = Result.load(folder)
    assert again.standstill == result.standstill and again.standstill.rounded == (0, 1)
    assert np.allclose(again.predict(other), result.predict(other), rtol=1e-9)
    assert again.validate(other).raw.all < 0.8 * replace(again, standstill=HELD).validate(other).raw.all
    document = json.loads((folder / RESULT).read_text())
    without = {key: value for key, value in document.items() if key not in ("standstill", "checksum")}
    (folder / RESULT).write_text(json.dumps(without))
    assert Result.load(folder).standstill == HELD
    for wrong in ([0.1], [0.1, -0.1]):
        with pytest.raises(FileError, match="'standstill' should be 2 widths"):
            standstill_of(folder, wrong, 2)


def test_a_model_file_that_cannot_hold_it_says_so(tmp_path) -> None:
    result = with_log(tmp_path)
    written = export_model(result, tmp_path / "out.urdf")
    own = judged(result.predictor, [result.motion(log_of(robot(), 1, rounded=True))], standstill=result.standstill)
    assert written.result_residual["identification"].raw.all == pytest.approx(own.raw.all, rel=1e-6)
    assert written.residual["identification"].raw.all > 1.1 * own.raw.all
    assert {(each.what, each.joint) for each in written.lost} == {(STANDSTILL, 0), (STANDSTILL, 1)}
    assert all(each.share > 0.0 for each in written.lost) and STANDSTILL in written.warnings[0]
    held = judged(result.predictor, [result.motion(log_of(robot(), 1, rounded=True))])
    assert written.sharp_residual["identification"] == pytest.approx(held.raw.all, rel=1e-6)
    assert written.lost_content("identification") == pytest.approx(0.0, abs=1e-6)  # nothing else is missing
    assert not export_model(replace(result, standstill=HELD), tmp_path / "held.urdf").sharp_residual
