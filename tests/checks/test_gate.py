"""`checked`: faults put into simulated logs are named; what cannot be told is not called fine; logs without fault are let through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inertica.checks.findings import UNTESTED, Finding, Quality, unverified
from inertica.checks.gate import CheckError, admitted, checked
from inertica.checks.hypotheses import AS_RECORDED, hypotheses
from inertica.checks.plainfit import observed
from inertica.checks.plausible import Judge, ThinnedLog, _at_least, with_friction
from inertica.checks.proof import MISSED
from inertica.dynamics.engine import Engine
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.robot.natural import NaturalUnits
from inertica.workflow.identify.run import identify
from logs.simulated import changed, clean

TX40 = load("tx40")
BASE = base_model(TX40.layout)


def heavier(factor: float) -> Description:
    """The same robot with all links off by a factor."""
    values = TX40.prior.values.copy()
    for _, where in TX40.layout.bodies:
        values[where] *= factor
    return replace(TX40, prior=TX40.prior.with_values(values))


def scaled(robot: Description, length: float, mass: float, time: float) -> Description:
    """A revolute arm in other units: every length, mass and time by a factor, and with them gravity, limits and prior values."""

    def longer(v: tuple[float, float, float]) -> tuple[float, float, float]:
        return (length * v[0], length * v[1], length * v[2])

    old, torque = robot.robot, mass * length**2 / time**2
    limits = replace(
        old.limits,
        velocity=tuple(v / time for v in old.limits.velocity),
        torque=tuple(torque * v for v in old.limits.torque),
    )
    joints = tuple(replace(j, position=longer(j.position), arm=longer(j.arm)) for j in old.joints)
    gravity = tuple(g * length / time**2 for g in old.gravity)
    layout = replace(robot.layout, robot=replace(old, joints=joints, limits=limits, gravity=gravity))
    units = NaturalUnits(mass, length, time)
    values = [v * units.size(p.unit) for v, p in zip(robot.prior.values, layout.parameters, strict=True)]
    return replace(robot, robot=layout.robot, layout=layout, prior=robot.prior.on(layout).with_values(values))


def report(log: Log, robot: Description = TX40) -> Quality:
    return checked(robot, [log], quick=True, base=BASE)


def fault(log: Log, robot: Description = TX40) -> Finding:
    """The one problem of a log."""
    (found,) = report(log, robot).problems
    return found


def columns(values: np.ndarray, *order: int) -> np.ndarray:
    return values[:, [j - 1 for j in order]]


def flipped(values: np.ndarray, joint: int) -> np.ndarray:
    return values * np.where(np.arange(values.shape[1]) == joint - 1, -1.0, 1.0)


@pytest.mark.parametrize("robot", [TX40, heavier(1.6)])
def test_a_log_without_fault_is_let_through_and_what_it_cannot_tell_is_said(robot: Description) -> None:
    quality = report(clean(0), robot)
    assert quality.verdict == "fine" and not quality.problems
    zeros = quality.of("encoder zeros")[0]
    # the first axis is vertical: no zero of it changes any torque
    assert zeros.verdict == "not testable" and 1 in zeros.numbers["joints"] and 2 not in zeros.numbers["joints"]
    assert quality.of("lean")[0].verdict == "not testable"
    sentence = unverified(quality.findings)  # one line for all kinds
    assert sentence.startswith(UNTESTED) and "zeros of joint" in sentence and "lean" in sentence
    assert quality.of("mount")[0].verdict == "fine" and quality.of("same robot")[0].verdict == "fine"


@pytest.mark.parametrize("joint", [1, 2, 5])
def test_a_torque_of_the_wrong_sign_is_named_even_with_wrong_masses(joint: int) -> None:
    wrong = changed(clean(0), tau=flipped(clean(0).tau, joint))
    for robot in (TX40, heavier(1.6)):
        found = fault(wrong, robot)
        assert found.numbers["fault"] == f"the torque of joint {joint} counts the other way round", found.text
        assert found.numbers["residual_mended"] < found.numbers["residual"]


@pytest.mark.parametrize("joint", [2, 3])
def test_the_right_joint_is_blamed_for_a_position_of_the_wrong_sign(joint: int) -> None:
    found = fault(changed(clean(0), q=flipped(clean(0).q, joint)))
    assert found.name == "joint signs" and found.numbers["joints"] == [joint] and "the position of" in found.text


def test_swapped_columns_are_told_apart() -> None:
    log, order = clean(0), (1, 2, 4, 3, 5, 6)
    both = fault(changed(log, q=columns(log.q, *order), tau=columns(log.tau, *order)))
    assert both.numbers["fault"] == "columns 3 and 4 are swapped, positions and torques alike"
    torques = fault(changed(log, tau=columns(log.tau, *order)))
    assert torques.numbers["fault"] == "torque columns 3 and 4 are swapped" and " -> " in torques.text
    assert torques.name == "joint order" and torques.numbers["joints"] == [3, 4]


def test_an_encoder_zero_is_named() -> None:
    q = clean(0).q + np.where(np.arange(6) == 1, np.pi / 2, 0.0)
    found = fault(changed(clean(0), q=q))
    assert found.name == "encoder zeros" and "joint 2 reads 90 degrees too high" in found.text


def test_units_are_named_and_millinewtons_are_no_saturation() -> None:
    log = clean(0)
    small = report(changed(log, tau=1e3 * log.tau))
    assert [f.name for f in small.problems] == ["units"] and "mN m" in small.problems[0].text
    assert small.worst("saturation") != "problem" and "no saturation" in small.of("saturation")[0].advice
    assert "degrees" in fault(changed(log, q=np.rad2deg(log.q))).text
    single = fault(changed(log, tau=log.tau * np.array([1.0, 1e3, 1.0, 1.0, 1.0, 1.0])))
    assert single.numbers["fault"] == "the torque of joint 2 is 1000 times too large"


def test_a_robot_mounted_sideways_is_named() -> None:
    layout = replace(TX40.layout, robot=TX40.robot.with_gravity((0.0, 9.81, 0.0)))
    upright_model = replace(TX40, robot=layout.robot, layout=layout, prior=TX40.prior.on(layout))
    found = next(f for f in checked(upright_model, [clean(0)], quick=True).problems)
    free = checked(replace(upright_model, gravity_stated=False), [clean(0)], quick=True)
    assert not free.problems and free.worst("mount") == "warning"  # identify finds it by itself
    assert found.name == "mount" and "gravity along -z" in found.text and "gravity: [0, 0, -9.81]" in found.advice


def test_torques_of_another_motion_raise_the_question_of_the_robot_and_stop_nothing() -> None:
    quality = report(changed(clean(0), tau=clean(1).tau))
    (found,) = quality.of("same robot")
    assert not quality.problems and found.verdict == "warning"
    assert "is it a log of the same robot?" in found.text and "usual" in found.text
    assert found.numbers["geometry"] > MISSED  # no masses whatever explain them


def test_masses_that_are_far_off_stop_nothing() -> None:
    """Links drawn with a factor of e: the log is right, and geometry says so."""
    rng = np.random.default_rng(3)
    for _ in range(4):
        values = TX40.prior.values.copy()
        for _, where in TX40.layout.bodies:
            values[where] *= np.exp(rng.standard_normal())
        quality = report(clean(0), replace(TX40, prior=TX40.prior.with_values(values)))
        assert not quality.problems
        for found in quality.of("same robot"):
            assert found.verdict != "warning" or found.numbers["geometry"] < MISSED


def test_a_model_without_masses_can_tell_less_and_says_so() -> None:
    empty = replace(TX40, prior=TX40.prior.with_values(np.zeros(TX40.layout.size)))
    quality = report(clean(0), empty)
    assert not quality.problems and quality.of("same robot")[0].verdict == "not testable"
    units = quality.of("units")[0]
    assert units.verdict == "not testable" and any("mN m" in text for text in units.numbers["untold"])
    flipped_torque = report(changed(clean(0), tau=flipped(clean(0).tau, 2)), empty)
    assert [f.numbers["proof"] for f in flipped_torque.problems] == ["data"]  # friction that drives needs no masses to be wrong


def test_a_placeholder_on_every_link_is_no_mass_to_hold_a_log_against() -> None:
    """Files with 0.1 kg and a round inertia on every link are not of another robot."""
    values = np.array(TX40.prior.values)
    for j in range(6):
        values[TX40.layout.link(j)] = inertia.from_com(0.1, np.zeros(3), 0.01 * np.eye(3))
    quality = report(clean(0), replace(TX40, prior=TX40.prior.with_values(values)))
    assert not quality.problems and quality.of("same robot")[0].verdict == "not testable"


def test_sliding_joints_in_mm_are_among_the_units() -> None:
    robot = load("scara4").robot
    slide = next(j for j, joint in enumerate(robot.joints) if joint.prismatic)
    units = {h.text: h for h in hypotheses(robot, np.ones(4, bool)) if h.kind == "units"}
    recorded = np.ones((1, 4)) * [57.3, 57.3, 57.3, 57.3]
    recorded[0, slide] = 1000.0
    mended = units["positions are in degrees, of sliding joints in mm"].position(recorded)
    np.testing.assert_allclose(mended, np.ones((1, 4)), rtol=1e-4)
    assert units["positions of sliding joints are in mm"].position(recorded)[0, slide] == pytest.approx(1.0)


def test_a_motion_without_periods_is_no_proof() -> None:
    """A fault that stops a log of some periods stops none in which every joint moves to one side only, however it is sampled."""
    log = clean(0)
    wrong = changed(log, tau=flipped(log.tau, 2))
    assert report(wrong).problems
    brief = wrong.sliced(float(log.t[0]), float(log.t[0]) + 0.6)
    quality = report(brief)
    assert not quality.problems and UNTESTED in unverified(quality.findings)


def test_a_log_in_which_nothing_moves_cannot_be_verified() -> None:
    log = clean(0)
    still = log.q[0] + 1e-5 * np.random.default_rng(0).standard_normal(log.q.shape)
    assert not [f for f in report(changed(log, q=still)).problems if f.name != "length"]


@pytest.mark.parametrize("with_velocity", [False, True])
def test_a_clock_in_milliseconds_is_named(with_velocity: bool) -> None:
    log = clean(0)
    signals = {"q": log.q, "tau": log.tau} | ({"dq": log.truth["dq"]} if with_velocity else {})
    found = fault(Log.from_arrays(1e3 * log.t, signals, log.joints))
    assert found.name == "clock" and "milliseconds" in found.text


def test_a_torque_without_sign_is_named_as_that() -> None:
    quality = report(changed(clean(0), tau=np.abs(clean(0).tau)))
    assert "torque sign" in {f.name for f in quality.problems} and "has no sign" in quality.of("torque sign")[0].text
    assert quality.worst("saturation") == "fine"
    shifted = report(changed(clean(0), tau=clean(0).tau + np.abs(clean(0).tau).max()))
    assert shifted.worst("torque sign") == "fine"  # an offset is no lost sign


@pytest.mark.parametrize(("length", "mass", "time"), [(0.1, 1e-3, 1.0), (10.0, 1e3, 1.0), (1.0, 1.0, 10.0)])
def test_verdicts_do_not_depend_on_the_size_of_the_robot(length: float, mass: float, time: float) -> None:
    """The same robot in other units of length, mass and time, gravity among them, has the same findings with the same numbers."""
    robot = scaled(TX40, length, mass, time)
    torque = mass * length**2 / time**2
    for log in (clean(0), changed(clean(0), tau=flipped(clean(0).tau, 2)), changed(clean(0), q=flipped(clean(0).q, 3))):
        other = Log.from_arrays(time * log.t, {"q": log.q, "tau": torque * log.tau}, log.joints)
        before, after = (checked(d, [one], quick=True) for d, one in ((TX40, log), (robot, other)))
        assert [(f.name, f.verdict) for f in before.findings] == [(f.name, f.verdict) for f in after.findings]
        for a, b in zip(before.findings, after.findings, strict=True):
            if "better_by" in a.numbers:
                assert a.numbers["fault"] == b.numbers["fault"]
                assert b.numbers["better_by"] == pytest.approx(a.numbers["better_by"], rel=1e-3)


def test_columns_that_depend_on_each_other_leave_no_singular_matrix() -> None:
    """What the prior adds is lost beside entries of 1e20; the equal columns share what one alone would take."""
    A = np.eye(3) + 1e20 * np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    x = _at_least(A, np.array([1e20, 1e20, 0.0]), np.zeros(3), np.zeros(3, bool))
    assert x[0] + x[1] == pytest.approx(1.0, rel=1e-6) and x[2] == 0.0


def test_a_joint_that_the_log_lacks_is_named() -> None:
    log = clean(0)
    gone = np.array([1.0, 1.0, 1.0, 1.0, 1.0, np.nan])
    quality = report(changed(log, q=log.q * gone, tau=log.tau * gone), TX40)
    (dead,) = quality.of("dead channels")
    assert f"nothing of {log.joints[5]}" in dead.advice and f"joints: [{', '.join(log.joints[:5])}]" in dead.advice


def test_identify_stops_at_a_problem_unless_forced() -> None:
    wrong = changed(clean(0), tau=flipped(clean(0).tau, 2))
    with pytest.raises(CheckError, match=r"the torque of joint 2 counts the other way round.*the option force"):
        identify(TX40, [wrong], method="ols", cutoff=10.0, delay=0.0)
    assert admitted(TX40, [wrong], force=True, base=BASE).problems
    result = identify(TX40, [wrong], method="ols", cutoff=10.0, delay=0.0, force=True)
    assert result.check.verdict == "problem" and any("joint 2" in w for w in result.warnings)
    assert result.document()["check"]["findings"]


def test_hypotheses_undo_what_they_say() -> None:
    """With the fault in and undone again the rows are the same; so is the score."""
    o = observed(clean(0), BASE, TX40.prior, 6.0)
    free = with_friction(TX40)
    judge = Judge(Engine(free.layout), free.prior, ThinnedLog.of([o]))
    best = judge.fit(AS_RECORDED).score
    rng = np.random.default_rng(0)
    listed = [h for h in hypotheses(TX40.robot, np.ones(6, bool)) if h.gravity is None and h.zero is None and h.gain is None]
    for h in rng.permutation(np.array(listed, object))[:6]:
        twice = judge.rows.under(h).under(h) if h.turn is None or abs(h.turn[0]) == 1.0 else judge.rows
        np.testing.assert_array_equal(twice.q, judge.rows.q)
        np.testing.assert_array_equal(twice.tau, judge.rows.tau)
        assert judge.fit(h).score > best - 5.0
