"""The benchmark on simulated strangers: what its draws are, and one small scenario the whole way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pinocchio")

import pinocchio as pin
import strangers
from strange_logs import DEFECTS, ERRORS, Drives, Motion, Scenario, simulate
from strange_robots import STRANGERS, TrueRobot, scaled, scara_urdf, with_wrong_lengths

from inertica.benchmark.plain import pinocchio_model, score

SCARA = next(k for k, robot in enumerate(STRANGERS) if not robot.wheel)
"""Number of a scenario that needs no collection."""


def quiet(number: int) -> Scenario:
    """A scenario without fault of model and recorder."""
    return replace(Scenario.drawn(number, 0), error="none", friction="plain", bristles=False, defects=(), noise=0.0, duration=8.0)


def scara(folder: Path) -> Path:
    path = folder / "scara.urdf"
    path.write_bytes(scara_urdf())
    return path


def test_draws_depend_on_number_and_seed_only() -> None:
    drawn = [Scenario.drawn(k, 0) for k in range(6 * len(STRANGERS))]
    assert drawn == [Scenario.drawn(k, 0) for k in range(len(drawn))]
    assert Scenario.drawn(0, 1) != drawn[0]
    for robot in STRANGERS:
        assert {s.error for s in drawn if s.robot is robot} == set(ERRORS)
    assert {d for s in drawn for d in s.defects} == set(DEFECTS)
    assert all(s.defects and s.duration * s.rate <= 30_000 for s in drawn)


def test_logs_are_the_same_every_time(tmp_path: Path) -> None:
    scenario = replace(Scenario.drawn(SCARA, 0), duration=8.0, rate=100.0)
    texts = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        made = simulate(scenario, folder)
        assert made is not None
        texts.append(made.fit.path.read_text() + made.test.path.read_text())
    assert texts[0] == texts[1]


@pytest.mark.parametrize("kind", ["fourier", "sines", "points"])
def test_states_are_derivatives_of_each_other(kind: str, tmp_path: Path) -> None:
    robot, rng = TrueRobot(scara(tmp_path), np.random.default_rng(0)), np.random.default_rng(1)
    motion = Motion.drawn(replace(quiet(SCARA), motion=kind), robot, rng)
    t = np.arange(0.0, 8.0, 1e-4)
    q, dq, ddq = motion.states(t)
    for x, dx in ((q, dq), (dq, ddq)):
        assert np.gradient(x, t, axis=0)[1:-1] == pytest.approx(dx[1:-1], abs=3e-3 * np.abs(dx).max())
    middle, half = robot.ranges
    assert (np.abs(q - middle) <= 1.0001 * half).all() and (np.abs(dq) <= 1.0001 * robot.speeds).all()


def test_true_bodies_can_exist_and_are_near_the_file(tmp_path: Path) -> None:
    path = scara(tmp_path)
    stated, true = pinocchio_model(path), TrueRobot(path, np.random.default_rng(0))
    for k in range(1, stated.njoints):
        body = true.model.inertias[k]
        assert np.linalg.eigvalsh(pin.PseudoInertia.FromInertia(body).toMatrix()).min() > 0.0
        assert 0.3 < body.mass / stated.inertias[k].mass < 3.0 and body.mass != stated.inertias[k].mass
        assert true.values[f"M{k}"] == body.mass


def test_scaled_robot_swings_like_a_longer_pendulum(tmp_path: Path) -> None:
    """Three times the lengths at the same density: torque of weight 81-fold, the pace of free motion slower by the root of three."""
    paths = [scara(tmp_path), tmp_path / "large.urdf"]
    paths[1].write_bytes(scaled(scara_urdf(), 3.0))
    small, large = (pinocchio_model(p) for p in paths)
    for model in (small, large):
        model.gravity.linear = np.array([3.0, 0.0, -9.0])
    q, force = np.array([0.3, -0.5, 0.0, 0.2]), np.array([81.0, 81.0, 27.0, 81.0])
    weights = [pin.computeGeneralizedGravity(m, m.createData(), q) for m in (small, large)]
    assert weights[1] == pytest.approx(force * weights[0], rel=1e-6)
    rates = [pin.aba(m, m.createData(), q, np.zeros(4), np.zeros(4)) for m in (small, large)]
    assert rates[1] == pytest.approx(rates[0] * np.array([1.0, 1.0, 3.0, 1.0]) / 3.0, rel=1e-6)


def test_wrong_lengths_move_joints_and_nothing_else(tmp_path: Path) -> None:
    paths = [scara(tmp_path), tmp_path / "wrong.urdf"]
    paths[1].write_bytes(with_wrong_lengths(scara_urdf(), np.array([1.0, 1.02, 0.99, 1.0])))
    right, wrong = (pinocchio_model(p) for p in paths)
    for k, factor in enumerate((1.0, 1.02, 0.99, 1.0), start=1):
        assert wrong.jointPlacements[k].translation == pytest.approx(factor * right.jointPlacements[k].translation)
        assert wrong.inertias[k] == right.inertias[k]


def test_bristles_hold_their_side_at_a_stop(tmp_path: Path) -> None:
    """Slower than its width a rounded sign vanishes; over less way than bristles take it stays."""
    robot = TrueRobot(scara(tmp_path), np.random.default_rng(0))
    t = np.arange(0.0, 4.0, 1e-3)
    dq = np.where(t < 2.0, 1.0, 0.0)[:, None] * np.ones(4)
    at_stop = []
    for bristles in (True, False):
        scenario = replace(quiet(SCARA), bristles=bristles)
        drives = Drives.drawn(scenario, robot, (np.cumsum(dq, axis=0) * 1e-3, dq, 0.0 * dq), np.random.default_rng(3))
        at_stop.append(drives._sign(t, dq)[-1])
    assert (at_stop[0] > 0.9).all() and (at_stop[1] == 0.0).all()


def test_plain_pipeline_on_a_log_without_fault(tmp_path: Path) -> None:
    """Its residual is that of what it leaves out, the rounding of the sign; a wrong row or sign of the simulation shows here."""
    scenario = replace(quiet(SCARA), motion="fourier", rate=200.0, band=0.8)
    made = simulate(scenario, tmp_path)
    assert made is not None
    fit, test = strangers.Part.of(made.fit), strangers.Part.of(made.test)
    pipeline = strangers.plain_fit(made.model, scenario.motor_side, fit.recorded)
    assert score(test.recorded, pipeline.predict(test.recorded), 8.0).low < 0.05


def test_parts_of_a_log_share_no_row(tmp_path: Path) -> None:
    made = simulate(replace(quiet(SCARA), rate=100.0, defects=("jitter", "repeats")), tmp_path)
    assert made is not None
    first, rest = strangers.Part.of(made.fit, 0.0, 0.7), strangers.Part.of(made.fit, 0.7, 1.0)
    assert len(first.clean) + len(rest.clean) == len(made.fit.clean)
    assert first.recorded.t[-1] < rest.recorded.t[0]


@pytest.mark.slow
def test_a_scenario_the_whole_way(tmp_path: Path) -> None:
    """A robot that needs no collection, with everything a line has."""
    scenario = replace(Scenario.drawn(SCARA, 0), duration=8.0, rate=100.0, motion="fourier", defects=("repeats",), error="none")
    line = strangers.measured(scenario, strangers.SPLITS, tmp_path)
    assert line is not None and not line.crash and [s.split for s in line.splits] == list(strangers.SPLITS)
    assert strangers.fine([line])
    for split in line.splits:
        assert split.ours is not None and split.floor.raw <= split.ours.raw < 1.0
        assert split.masses is not None and split.coverage["determined"].count > 0
    assert "geometric mean" in "\n".join(strangers.summary([line])) and scenario.description in strangers.table([line])
