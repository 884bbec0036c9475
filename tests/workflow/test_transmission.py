"""Springs, dampers and gaps between motor and link, from positions of both sides, of an arm simulated here and by MuJoCo."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from elastic_arm import CARD, COULOMB, MOTOR, URDF, VISCOUS, Elastic, card
from inertica.logs.log import Log
from inertica.report.transmission import not_testable, transmission_line
from inertica.workflow.identify.transmission import Transmission


def identified(log: Log, model: Path | None = None) -> ia.Result:
    stated = {"cutoff": 15.0, "delay": 0.0, "friction": ("viscous", "coulomb"), "gravity": (0.0, 0.0, -9.81), "method": "wls"}
    return ia.identify(model or card(), [log], quick=True, **stated)


@cache
def found(kind: str, seed: int = 0) -> tuple[Elastic, ia.Result]:
    arm = Elastic.drawn(seed, gap=kind == "gap")
    return arm, identified(arm.by_mujoco() if kind == "mujoco" else arm.ours())


def test_both_simulations_agree() -> None:
    arm = replace(Elastic.drawn(3), seconds=3.0)
    ours, other = arm.ours(), arm.by_mujoco()
    for signal, most in (("q", 2e-5), ("ql", 2e-5), ("tau", 0.1)):
        assert np.abs(ours.need(signal) - other.need(signal)).max() < most
    # and the springs matter: they bend by a hundred times what the simulations differ
    assert np.abs(ours.need("q") - ours.need("ql")).max() > 2e-3


@pytest.mark.parametrize("kind", ["ours", "mujoco"])
def test_springs_dampers_and_motors(kind: str) -> None:
    arm, result = found(kind)
    assert not result.transmission.not_testable
    for k, joint in enumerate(result.transmission.joints):
        assert joint.stiffness.label == "determined" and joint.stiffness.value == pytest.approx(arm.stiffness[k], rel=0.01)
        assert joint.damping is not None and joint.damping.value == pytest.approx(arm.damping[k], rel=0.3)
        assert joint.motor_inertia is not None and joint.motor_inertia.value == pytest.approx(MOTOR[k], rel=0.03)
        assert joint.motor_coulomb is not None and joint.motor_coulomb.value == pytest.approx(COULOMB[k], rel=0.05)
        # nothing was read late: what grows with velocity is viscous friction before the spring
        assert joint.lag.value == pytest.approx(-VISCOUS[k] / arm.stiffness[k], abs=3e-6)
        assert joint.backlash is None and joint.explained > 0.999 > joint.plain
        assert joint.resonance == pytest.approx(np.sqrt(arm.stiffness[k] / MOTOR[k]) / (2.0 * np.pi), rel=0.05)


def test_backlash_is_found_beside_the_spring() -> None:
    arm, result = found("gap")
    for k, joint in enumerate(result.transmission.joints):
        assert joint.backlash is not None
        assert abs(np.degrees(joint.backlash.value - arm.gap[k])) < 0.1
        assert joint.stiffness.value == pytest.approx(arm.stiffness[k], rel=0.05)
    assert "backlash" in transmission_line(result)


def test_a_late_link_side_is_a_lag() -> None:
    arm = Elastic.drawn(1)
    log = arm.ours()
    late = 5  # samples of 2 ms
    ql = np.vstack([log.need("ql")[:late][:1].repeat(late, axis=0), log.need("ql")[:-late]])
    result = identified(replace(log, signals={**log.signals, "ql": ql}).sliced(1.2, 14.5))
    for k, joint in enumerate(result.transmission.joints):
        assert joint.lag.value == pytest.approx(late * 0.002 - VISCOUS[k] / arm.stiffness[k], rel=0.02)
        assert joint.stiffness.value == pytest.approx(arm.stiffness[k], rel=0.1)


def test_without_the_link_side_nothing_is_testable_and_nothing_else_changes() -> None:
    arm, whole = found("ours")
    rigid = identified(arm.ours().without("ql"))
    assert rigid.transmission.joints == () and list(rigid.transmission.not_testable) == ["shoulder", "elbow"]
    assert "all joints: no position of the link's side" in not_testable(rigid) and transmission_line(rigid) == ""
    assert np.array_equal(rigid.parameters.values, whole.parameters.values) and np.array_equal(rigid.intervals, whole.intervals)


def test_one_joint_with_a_link_side_and_columns_by_name(tmp_path: Path) -> None:
    arm = Elastic.drawn(0)
    log = arm.ours()
    table = np.column_stack([log.t, log.need("q"), log.need("tau"), log.need("ql")[:, 1]])
    path = tmp_path / "run.csv"
    np.savetxt(path, table, delimiter=",", header="t,q1,q2,tau1,tau2,far2", comments="", fmt="%.12g")
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "card.yaml").write_text(CARD + "columns: {ql: 'far{}'}\n")
    read = ia.read_log(path, ia.load(tmp_path / "card.yaml"))
    assert np.isnan(read.need("ql")[:, 0]).all() and not read.repeated.any()
    result = identified(read, tmp_path / "card.yaml")
    (joint,) = result.transmission.joints
    assert joint.number == 2 and joint.stiffness.value == pytest.approx(arm.stiffness[1], rel=0.01)
    assert list(result.transmission.not_testable) == ["shoulder"]


def test_another_joints_position_is_refused_as_link_side() -> None:
    log = Elastic.drawn(0).ours()
    result = identified(replace(log, signals={**log.signals, "ql": log.need("ql")[:, ::-1]}))
    assert result.transmission.joints == ()
    assert all("does not follow the motor's" in reason for reason in result.transmission.not_testable.values())


def test_a_rigid_drive_has_no_upper_end(tmp_path: Path) -> None:
    log = Elastic.drawn(0).ours()
    rng = np.random.default_rng(0)
    stiff = log.need("q") + 2e-6 * rng.standard_normal(log.need("q").shape)
    result = identified(replace(log, signals={**log.signals, "ql": stiff}))
    for joint in result.transmission.joints:
        assert np.isinf(joint.stiffness.interval[1]) and joint.stiffness.label == "unidentifiable"
        assert joint.backlash is None and joint.motor_inertia is None
    assert "at least" in transmission_line(result)
    # saved and read again, infinite ends stay infinite
    result.save(tmp_path)
    again = ia.Result.load(tmp_path).transmission
    assert isinstance(again, Transmission) and again.joints == result.transmission.joints


def test_units_change_nothing_but_units() -> None:
    """Time half as fast, torques 25 times as large: stiffness and damping scale with them, choices stay."""
    arm, result = found("ours")
    log = arm.ours()
    slow = Log.from_arrays(2.0 * log.t, {**log.signals, "tau": 25.0 * log.need("tau")}, log.joints)
    stated = {
        "cutoff": 7.5,
        "delay": 0.0,
        "friction": ("viscous", "coulomb"),
        "gravity": (0.0, 0.0, -9.81 * 0.25),
        "method": "wls",
    }
    other = ia.identify(card(), [slow], quick=True, **stated)
    for one, two in zip(result.transmission.joints, other.transmission.joints, strict=True):
        assert two.stiffness.value == pytest.approx(25.0 * one.stiffness.value, rel=1e-4)
        assert two.stiffness.label == one.stiffness.label and (two.backlash is None) == (one.backlash is None)


def test_real_arm_with_both_sides(real_data: Path, tmp_path: Path) -> None:
    folder = real_data / "kr300"
    (tmp_path / "card.yaml").write_text(f"model: {folder / 'kr300_r2500.urdf'}\narmature: true\ncolumns: {{ql: 'qse{{}}'}}\n")
    logs = [folder / f"traj_{name}.csv.gz" for name in "abc"]
    stated = {"cutoff": 24.0, "delay": 0.0, "friction": ("viscous", "coulomb"), "method": "wls"}
    found = ia.identify(tmp_path / "card.yaml", logs, quick=True, **stated).transmission
    assert [joint.number for joint in found.joints] == [1, 2, 3] and len(found.not_testable) == 3
    assert all(joint.explained > 0.95 for joint in found.joints)
    assert all(np.isfinite(joint.stiffness.interval).all() for joint in found.joints[1:])
