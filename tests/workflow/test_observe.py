"""External torques: momentum against Pinocchio, the observer against closed forms and its C program, thresholds by counting alarms."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.logs.lines import Block
from inertica.logs.log import Log
from inertica.robot.load import load
from inertica.robot.model import Robot
from inertica.workflow.identify.standstill import Standstill
from inertica.workflow.observe.contact_force import ContactPoint, contact_force, contact_point
from inertica.workflow.observe.events import events
from inertica.workflow.observe.low_pass import LowPass
from inertica.workflow.observe.monitor import ContactMonitor
from inertica.workflow.observe.observer import Observed, Observer
from inertica.workflow.observe.program import write_observer
from inertica.workflow.observe.thresholds import Residuals, thresholds
from referee import pinocchio_model

POLE, RATE = 30.0, 1000.0
COMPILER = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")


def motion(n: int, seconds: float, seed: int = 3) -> tuple[Array, Array, Array, Array]:
    """t, q, dq, ddq of sines that begin at rest."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    w, a = rng.uniform(2.0, 6.0, n), rng.uniform(0.2, 0.5, n)
    phase = np.outer(t, w)
    return t, a * (1.0 - np.cos(phase)), a * w * np.sin(phase), a * w**2 * np.cos(phase)


def observer_of(name: str, **changes: object) -> Observer:
    description = load(name)
    n = description.robot.n
    stated = Observer(
        description.prior, POLE, None, np.full(n, 1e-3), np.full(n, 0.5), np.zeros(n), engine=Engine(description.layout)
    )
    return replace(stated, **changes)


def block_of(observer: Observer, seconds: float = 2.0, external: float = 0.0) -> Block:
    t, q, dq, ddq = motion(observer.n, seconds)
    tau = Engine(observer.parameters.layout).inverse_dynamics(q, dq, ddq, observer.parameters) - external * (t > 1.0)[:, None]
    return Block(t, q, tau, dq)


def test_momentum_and_flow_are_those_of_pinocchio() -> None:
    description = load("panda7")
    robot, n = description.robot, description.robot.n
    values = description.prior.values.copy()
    tens = np.array([description.prior.link(j) for j in range(n)])
    for _, where in description.layout.drives:
        values[where] = 0.0
    engine, model = Engine(description.layout), pinocchio_model(robot, tens)
    data = model.createData()
    q, dq = np.random.default_rng(1).normal(size=(2, 20, n))
    p, flow = engine.momentum_and_flow(q, dq, values, description.prior.shapes)
    for k in range(len(q)):
        M = pin.crba(model, data, q[k])
        M = np.triu(M) + np.triu(M, 1).T
        C, g = pin.computeCoriolisMatrix(model, data, q[k], dq[k]), pin.computeGeneralizedGravity(model, data, q[k])
        np.testing.assert_allclose(p[k], M @ dq[k], atol=1e-11)
        # dM/dt = C + C', so that C dq + g - dM/dt dq = g - C' dq
        np.testing.assert_allclose(flow[k], g - C.T @ dq[k], atol=1e-10)


def test_low_pass_is_exact_for_straight_lines_on_any_clock() -> None:
    rng = np.random.default_rng(0)
    dt = np.append(0.0, rng.uniform(0.0, 0.2, 60))
    t = np.cumsum(dt)
    slope = 1.7
    found = LowPass(POLE)(dt, (0.3 + slope * t)[:, None])[:, 0]
    exact = 0.3 + slope * t - slope / POLE * (1.0 - np.exp(-POLE * t))
    np.testing.assert_allclose(found, exact, atol=1e-13)


@pytest.mark.parametrize("name", ["scara4", "tx40"])
def test_an_external_torque_appears_through_the_low_pass_and_nothing_else(name: str) -> None:
    observer = observer_of(name, rest=np.zeros(load(name).robot.n))
    observed = observer.stream()(block_of(observer, external=3.0))
    expected = np.where(observed.t > 1.0, 3.0 * (1.0 - np.exp(-POLE * (observed.t - 1.0 - 0.5 / RATE))), 0.0)
    size = np.abs(block_of(observer).tau).max()
    # torque is taken as straight between samples; what that leaves at 1 kHz is small
    later = observed.t > 0.8  # the start, which is not at equilibrium, is forgotten
    assert np.abs(observed.torque[later] - expected[later, None]).max() < 2e-3 * size


def test_differentiated_positions_do_as_well() -> None:
    observer = observer_of("scara4", velocity_pole=POLE, rest=np.zeros(4))
    smooth = observer.parameters.values.copy()  # a reversal is blurred where velocities come from positions
    smooth[[k for k, name in enumerate(observer.parameters.layout.names) if name.startswith("Fc")]] = 0.0
    observer = replace(observer, parameters=observer.parameters.with_values(smooth))
    block = block_of(observer, external=3.0)
    observed = observer.stream()(replace(block, dq=None))
    late = POLE * (observed.t - 1.0)
    expected = np.where(observed.t > 1.0, 3.0 * (1.0 - (1.0 + late) * np.exp(-late)), 0.0)
    assert np.abs(observed.torque - expected[:, None])[observed.t > 0.8].max() < 0.03 * np.abs(block.tau).max()


@pytest.mark.parametrize("measured", [True, False])
def test_blocks_of_any_length_give_the_same(measured: bool) -> None:
    observer = observer_of("scara4", velocity_pole=None if measured else 2.0 * POLE, delay=np.array([0.0, 0.002, 0.0035, 0.0]))
    block = block_of(observer, external=1.0)
    whole = observer.stream()(block)
    stream, rng, k, parts = observer.stream(), np.random.default_rng(2), 0, []
    while k < len(block):
        step = int(rng.integers(2, 90))
        parts.append(stream(block[k : k + step]))
        k += step
    for name in ("torque", "hidden", "q"):
        np.testing.assert_allclose(np.concatenate([getattr(p, name) for p in parts]), getattr(whole, name), rtol=0, atol=1e-12)


def test_a_resting_joint_hides_what_its_friction_can_hold() -> None:
    observer = observer_of("scara4")
    t = np.arange(0.0, 1.0, 1.0 / RATE)
    zero = np.zeros((len(t), 4))
    observed = observer.stream()(Block(t, zero, zero, zero))
    assert np.all(observed.hidden == 0.5)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize("widths", [(), (0.02, None, 0.01, None)])
def test_the_c_program_gives_the_same(tmp_path: Path, measured: bool, widths: tuple[float | None, ...]) -> None:
    observer = observer_of("scara4", velocity_pole=None if measured else 2.0 * POLE, standstill=Standstill(widths))
    limits = thresholds(observer, [Residuals([_noise(observer, 20.0, 1)], np.ones(4))], 5.0)
    monitor = ContactMonitor(observer, limits, np.ones(4), {"stated": 1}, {})
    files = write_observer(monitor, tmp_path / "code", "arm")
    sources = [str(f) for f in files if f.suffix == ".c" and not f.name.endswith("_test.c")]
    target = tmp_path / "arm.so"
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared"]
    subprocess.run([COMPILER or "", *flags, "-o", str(target), *sources, "-lm"], check=True)
    step = ctypes.CDLL(str(target)).arm_observer_step
    step.argtypes = [ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * 5]
    block = block_of(observer, external=2.0)
    expected = observer.stream()(block)
    state, external, hidden = np.zeros(4096, np.uint8), np.empty(4), np.empty(4)
    touched, at = [], lambda x: np.ascontiguousarray(x).ctypes.data
    for k in range(len(block)):
        dt = block.t[k] - block.t[k - 1] if k else 0.0
        q, dq, tau = (np.ascontiguousarray(x[k]) for x in (block.q, block.dq, block.tau))
        touched.append(step(at(state), dt, at(q), at(dq), at(tau), external.ctypes.data, hidden.ctypes.data))
        size = max(1.0, float(np.abs(expected.torque).max()))
        np.testing.assert_allclose(external, expected.torque[k], rtol=0, atol=1e-12 * size * POLE)
        np.testing.assert_allclose(hidden, expected.hidden[k], rtol=0, atol=1e-12)
    ratios = np.abs(expected.torque) / (limits.torque + expected.hidden)
    assert touched == [int(np.argmax(r)) if r.max() > 1.0 else -1 for r in ratios] and touched[-1] >= 0


def _noise(observer: Observer, seconds: float, seed: int) -> Observed:
    """Residuals as a model leaves them: noise with memory, of other size on each joint."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 0.01)
    white = rng.standard_normal((len(t), observer.n)) * np.arange(1, observer.n + 1)
    torque = LowPass(observer.pole)(np.append(0.0, np.diff(t)), white)
    return Observed(t, torque, np.zeros_like(torque), np.zeros_like(torque), t >= observer.memory)


@pytest.mark.parametrize("period", [2.0, 10.0, 100.0])
def test_false_alarms_are_as_rare_as_stated(period: float) -> None:
    """Thresholds from 60 s, alarms counted on fresh motion; the last period is longer than what was seen."""
    observer = observer_of("scara4", pole=10.0)
    alarms = seconds = 0.0
    for seed in range(20):
        limits = thresholds(observer, [Residuals([_noise(observer, 60.0, seed)], np.ones(4))], period)
        fresh = _noise(observer, 10.0 * period, 1000 + seed)
        alarms += len(events(observer, limits, fresh))
        seconds += fresh.t[-1]
    assert 0.5 < alarms * period / seconds < 2.0
    assert limits.extrapolated == (period > 60.0)


def test_a_force_is_found_from_all_joints_and_not_where_none_feels_it() -> None:
    robot: Robot = load("panda7").robot
    rng = np.random.default_rng(5)
    q = rng.uniform(-1.0, 1.0, (6, 7)) + np.array([0.0, 0.3, 0.0, -1.5, 0.0, 1.5, 0.5])
    model = pinocchio_model(robot, np.tile([0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0, 1.0], (7, 1)))
    data = model.createData()
    point = ContactPoint(6, (0.03, -0.02, 0.1), moment=True)
    wrench = np.array([10.0, -4.0, 7.0, 0.5, -0.3, 0.2])
    torque = np.empty((6, 7))
    for k in range(6):
        pin.computeJointJacobians(model, data, q[k])
        pin.updateFramePlacements(model, data)
        arm = data.oMi[7].rotation @ (np.array(robot.joints[6].arm) + np.array(point.place))
        J = pin.getJointJacobian(model, data, 7, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        lever = np.vstack([J[:3] - pin.skew(arm) @ J[3:], J[3:]])
        torque[k] = lever.T @ wrench
    found, std = contact_force(robot, point, q, torque, np.full(7, 0.1))
    np.testing.assert_allclose(found, np.tile(wrench, (6, 1)), rtol=1e-7)
    assert np.all(np.isfinite(std))
    planar = load("scara2").robot
    force, std = contact_force(planar, ContactPoint(1, (0.1, 0.0, 0.0)), np.zeros((1, 2)), np.ones((1, 2)), np.ones(2))
    assert np.isnan(force).all() and np.isinf(std).all()
    with pytest.raises(InputError, match="is no joint"):
        contact_point(planar, "elbow", False)
    with pytest.raises(InputError, match="LINK:x,y,z"):
        contact_point(planar, "2:1,2", False)


def test_logs_without_what_is_needed_are_refused() -> None:
    observer = observer_of("scara4")
    t = np.arange(0.0, 1.0, 0.01)
    with pytest.raises(InputError, match="no velocities"):
        observer.run(Log(t, {"q": np.zeros((100, 4)), "tau": np.zeros((100, 4))}, observer.parameters.layout.robot.joint_names))
