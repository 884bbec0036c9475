"""What a refusal rests on: predictions of rows left out, and real logs without fault, whole and in slices, that stop no fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from inertica.checks.gate import checked
from inertica.checks.hypotheses import AS_RECORDED, Hypothesis, hypotheses
from inertica.checks.plainfit import movement, observed
from inertica.checks.plausible import Judge, ThinnedLog, with_friction
from inertica.checks.proof import MISSED, PARTS, left_out, proof
from inertica.dynamics.engine import Engine
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.robot.description import Description
from inertica.robot.friction import law
from inertica.robot.load import load
from inertica.robot.plain import assumed_friction, with_laws
from logs.simulated import changed, clean

TX40 = load("tx40")


@cache
def judged(kind: str) -> Judge:
    """The rows of a simulated log: as it is, with the torque of joint 2 turned, or with the zero of joint 2 off."""
    log, second = clean(0), np.arange(6) == 1
    log = {
        "right": log,
        "sign": changed(log, tau=np.where(second, -log.tau, log.tau)),
        "zero": changed(log, q=np.where(second, log.q + np.pi / 2, log.q)),
    }[kind]
    free = with_friction(TX40)
    return Judge(Engine(free.layout), free.prior, ThinnedLog.of([observed(log, base_model(TX40.layout), TX40.prior)]))


def hypothesis(text: str) -> Hypothesis:
    return next(h for h in hypotheses(TX40.robot, np.ones(6, bool)) if h.text == text)


def test_rows_left_out_are_predicted_and_every_row_is_left_out_once() -> None:
    judge = judged("right")
    out = left_out(judge, AS_RECORDED)
    assert out.error.shape == (PARTS, 6) and out.overall < 0.2 and out.residual.max() < 0.2
    fitted = judge.fit()
    assert np.all(out.residual > 0.8 * fitted.residual)  # no row helps to predict itself
    assert left_out(judge.by_geometry, AS_RECORDED).overall < 0.2  # no mass of the model is needed


def test_a_sign_is_proved_by_data_alone_and_a_zero_by_the_model() -> None:
    sign = hypothesis("the torque of joint 2 counts the other way round")
    judge = judged("sign")
    found = proof(judge, sign, judge.fit(sign), periods=10.0)
    assert found.explained and found.by_data and found.geometry_recorded > 2.0 * MISSED > found.geometry_undone
    zero, judge = hypothesis("the position of joint 2 reads 90 degrees too high"), judged("zero")
    found = proof(judge, zero, judge.fit(zero), periods=10.0)
    assert found.explained and found.by_model and not found.by_data
    without = judge.by_geometry
    assert not proof(without, zero, without.fit(zero), periods=10.0).holds  # without masses nothing tells it


def test_few_periods_prove_nothing() -> None:
    sign, judge = hypothesis("the torque of joint 2 counts the other way round"), judged("sign")
    assert not proof(judge, sign, judge.fit(sign), periods=2.0).holds


def test_a_right_log_proves_no_fault() -> None:
    judge = judged("right")
    for text in ("the torque of joint 2 counts the other way round", "torque columns 2 and 3 are swapped"):
        h = hypothesis(text)
        assert not proof(judge, h, judge.fit(h), periods=10.0).explained


def test_movement_is_that_of_the_motion_not_of_the_recorder() -> None:
    """Repeated rows, steps and jitter leave the band where it is; joints at rest do not move however long they are recorded."""
    log, rng = clean(0), np.random.default_rng(0)
    right = movement(log, TX40.robot)
    assert right.moving.all() and 0.8 < right.band < 1.3 and right.periods > 3.5
    keep = np.where(rng.random(len(log)) < 0.06, np.arange(len(log)) - 1, np.arange(len(log)))
    for harmed in (
        changed(log, q=log.q[np.maximum(keep, 0)], tau=log.tau[np.maximum(keep, 0)]),
        changed(log, q=np.round(log.q / 1e-3) * 1e-3),
        replace(log, t=log.t + 0.14 * 0.002 * rng.standard_normal(len(log))),
    ):
        assert movement(harmed, TX40.robot).band == pytest.approx(right.band, rel=0.15)
    parked = log.q.copy()
    parked[:, 4] = log.q[0, 4] + 1e-5 * rng.standard_normal(len(log))
    assert movement(changed(log, q=parked), TX40.robot).moving.tolist() == [True] * 4 + [False, True]


def test_geometry_alone_is_enough(tmp_path: Path) -> None:
    """A DH table without links, and logs whose joints carry torques of very different size, go through."""
    table = tmp_path / "bare.yaml"
    text = (resources.files("inertica") / "robot" / "catalog" / "tx40.yaml").read_text()
    table.write_text(text.partition("\nlinks:")[0] + "\n")
    empty = load(table)
    assert not empty.prior.values.any()
    for tau in (clean(0).tau, clean(0).tau * np.array([1e-6, 1.0, 1.0, 1e-3, 1e-9, 1.0]), 1e-12 * clean(0).tau):
        assert not [f for f in checked(empty, [changed(clean(0), tau=tau)], quick=True).problems if f.name != "units"]


RECORDS = {
    "panda": ("panda/panda.urdf", "panda/excitation.csv.gz"),
    "kr300": ("kr300/kr300_r2500.urdf", "kr300/traj_a.csv.gz"),
    "xmate3pro": ("xmate3pro/xmate3pro.urdf", "xmate3pro/excitation.csv.gz"),
    "lbr_med7": ("lbr_med7/lbr_med7.urdf", "lbr_med7/slow_fourier.csv.gz"),
    "dvrk_mtm": ("dvrk_mtm/card.yaml", "dvrk_mtm/one_motor.csv.gz"),
    "kuka_lwr4": ("kuka_lwr4/kuka_lwr4.urdf", "kuka_lwr4/ident_slow_1.csv.gz"),
    "tx40": ("tx40/tx40.urdf", "tx40/tx40_joint_public.csv.gz"),
}


def recorded(real_data: Path, name: str, *, stated: bool) -> tuple[Description, Log]:
    """A real log and its robot, friction as `identify` assumes it, or stated without an offset."""
    model, record = RECORDS[name]
    robot = load(real_data / model)
    assumed = assumed_friction(robot)
    if stated:
        laws = [law(word, j) for j in range(robot.robot.n) for word in ("viscous", "coulomb")]
        assumed = replace(with_laws(robot, laws), friction_stated=True)
    return assumed, read_log(real_data / record, assumed)


def slices(log: Log) -> Iterator[Log]:
    """The whole log, its halves, and pieces of 5 and 10 s."""
    first, last = float(log.t[0]), float(log.t[-1])
    middle = 0.5 * (first + last)
    ends = [(first, last), (first, middle), (middle, last)]
    ends += [(a, a + w) for w in (5.0, 10.0) for a in np.arange(first, last - w, w).tolist()]
    for a, b in ends:
        yield log.sliced(a, b)


@pytest.mark.parametrize("name", RECORDS)
def test_a_good_real_log_stops_no_fit(real_data: Path, name: str) -> None:
    robot, log = recorded(real_data, name, stated=False)
    quality = checked(robot, [log], quick=True)
    assert not quality.problems, [f.text for f in quality.problems]


@pytest.mark.slow
@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("name", RECORDS)
def test_no_slice_of_a_good_real_log_stops_a_fit(real_data: Path, name: str, stated: bool) -> None:
    robot, log = recorded(real_data, name, stated=stated)
    base = base_model(robot.layout)
    for part in slices(log):
        problems = checked(robot, [part], quick=True, base=base).problems
        assert not problems, (part.origin, [f.text for f in problems])


def test_a_file_without_inertials_is_enough_for_a_real_log(real_data: Path, tmp_path: Path) -> None:
    text = (real_data / "kr300" / "kr300_r2500.urdf").read_text()
    bare = tmp_path / "bare.urdf"
    bare.write_text(re.sub(r"<inertial>.*?</inertial>", "", text, flags=re.DOTALL))
    robot = assumed_friction(load(bare))
    log = read_log(real_data / "kr300" / "traj_a.csv.gz", robot)
    assert not checked(robot, [log, log.sliced(0.0, 3.0)], quick=True).problems


def test_a_gas_spring_is_no_swap_of_columns(real_data: Path) -> None:
    """Friction stated without an offset on a heavy arm with a gas spring, whole motions and their halves."""
    robot, log = recorded(real_data, "kr300", stated=True)
    middle = 0.5 * float(log.t[0] + log.t[-1])
    for part in (log, log.sliced(-np.inf, middle), log.sliced(middle, np.inf)):
        assert not checked(robot, [part], quick=True).problems


PENDULUM = """<robot name="pendulum"><link name="base"/>
<joint name="a" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit lower="-6" upper="6" effort="9" velocity="20"/></joint>
<link name="upper"><inertial><origin xyz="0 0 -0.26"/><mass value="{mass}"/>
  <inertia ixx="0.011" iyy="0.011" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="b" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.3"/><axis xyz="0 1 0"/>
  <limit lower="-6" upper="6" effort="9" velocity="20"/></joint>
<link name="lower"><inertial><origin xyz="0 0 -0.12"/><mass value="0.63"/>
  <inertia ixx="0.017" iyy="0.017" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


@pytest.mark.parametrize("seed", range(3))
def test_single_sines_of_a_pendulum_prove_no_fault(seed: int, tmp_path: Path) -> None:
    """Along one sine gravity is nearly a multiple of inertia, so that turned gravity with other drives explains the torque as well."""
    for name, mass in (("model", 0.6), ("true", 0.76)):
        (tmp_path / f"{name}.urdf").write_text(PENDULUM.format(mass=mass))
    model, true = load(tmp_path / "model.urdf"), with_friction(load(tmp_path / "true.urdf"))
    drives = {"Ia1": 0.175, "Ia2": 0.017, "Fv1": 0.148, "Fv2": 0.035, "Fc1": 0.168, "Fc2": 0.05, "off1": -0.028, "off2": 0.0145}
    t, w, rng = np.arange(1600) / 200.0, 2.0 * np.pi * 1.235, np.random.default_rng(seed)
    sine, cosine = np.array([-0.0518, -0.178]), np.array([-0.171, -0.0177])
    swing = np.outer(np.sin(w * t), sine) + np.outer(np.cos(w * t), cosine)
    rate = w * (np.outer(np.cos(w * t), sine) - np.outer(np.sin(w * t), cosine))
    q = np.array([-0.202, 0.2487]) + swing
    tau = Engine(true.layout).inverse_dynamics(q, rate, -(w**2) * swing, true.prior.replaced(drives))
    q = q + 2e-4 * rng.standard_normal(q.shape)
    tau = tau + 0.02 * np.abs(tau).max(axis=0) * rng.standard_normal(tau.shape)
    assert not checked(model, [Log.from_arrays(t, {"q": q, "tau": tau}, model.robot.joint_names)], quick=True).problems
