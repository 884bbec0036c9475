"""The compiled position servo beside MuJoCo, its derivatives beside differences, friction that holds, gains that are far too large."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inertica.dynamics.equations import Equations
from inertica.dynamics.llvm.target import Native
from inertica.dynamics.servo import HARD, ServoLoop, ServoModel, Standstill, branch, branches
from inertica.robot.load import load
from inertica.robot.model import Joint, Robot
from mujoco_servos import Link, Servos, quadruped, simulate, write_model

ARM = [
    Link(-1, (0, 0, 0.1), (0, 0, 1), 1.0, (0.02, 0.01, 0.05), (0.002, 0.002, 0.002)),
    Link(0, (0, 0, 0.1), (0, 1, 0), 1.2, (0.01, 0.03, 0.12), (0.008, 0.008, 0.001)),
    Link(1, (0, 0, 0.3), (0, 1, 0), 0.6, (0.02, 0, 0.1), (0.003, 0.003, 0.0005)),
]
COEFFICIENTS = {"armature": 0.02, "viscous": 0.2, "coulomb": 0.4, "zero": 0.01, "kp": 40.0, "kd": 1.0, "limit": 8.0}


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> tuple[ServoModel, np.ndarray]:
    description = load(write_model(ARM, tmp_path_factory.mktemp("arm") / "arm.xml"))
    links = np.array(Equations(description.layout).link_inertia(list(description.prior.values)), float).ravel()
    return ServoModel(description.robot, ServoLoop(), Native(1)), links


RICHER = {"stribeck": 0.3, "stribeck speed": 0.5, "load": 0.1}


def fields(links: np.ndarray, dt: float, standstill: Standstill = HARD, **changes: object) -> dict[str, np.ndarray]:
    n = len(links) // 10
    out = {
        name: np.broadcast_to(np.asarray(changes.get(name, value), float), (n,))
        for name, value in (COEFFICIENTS | RICHER).items()
    }
    zero = np.zeros(n)
    state = {"q": zero, "dq": zero, "dq before": zero, "sliding": zero, "saturated": zero, "lead": zero, "links": links}
    return {
        **state,
        **{k: np.asarray(v, float) for k, v in changes.items() if k in state},
        **out,
        **standstill.fields(np.full(n, 0.03), dt),
    }


def steps_and_sines(rate: float, duration: float) -> np.ndarray:
    t = np.arange(round(rate * duration)) / rate
    return (
        np.column_stack([0.6 * np.sign(np.sin(6 * t)), 0.5 * np.sin(4 * t), 0.7 * np.sin(7 * t)])
        * np.minimum(1, t / 0.2)[:, None]
    )


@pytest.mark.parametrize(("coulomb", "close"), [(1e-12, 2e-3), (0.4, 4e-3)])
def test_follows_as_mujoco_does(arm: tuple[ServoModel, np.ndarray], coulomb: float, close: float) -> None:
    model, links = arm
    n, rate, h = 3, 500.0, 1e-3
    u = steps_and_sines(rate, 1.5)
    of = {name: np.full(n, value) for name, value in COEFFICIENTS.items()}
    servos = Servos(
        of["armature"], of["viscous"], np.full(n, coulomb), np.zeros(n), of["zero"], of["kp"], of["kd"], of["limit"]
    )  # fmt: skip
    measured = simulate(ARM, servos, u, rate)
    table = np.repeat(u, 2, axis=0)
    M0 = np.full(n, 0.05)
    start = fields(links, h, Standstill.mujoco(), coulomb=coulomb, q=measured[0]) | Standstill.mujoco().fields(M0, h)
    ours = model.run(start, np.hstack([table, 0 * table]), h, 2 * np.arange(len(u)))[0]
    assert np.abs(u).max() > 0.5  # the limit of the first joint is reached by its steps
    error = np.sqrt(np.mean((ours - measured) ** 2, axis=0)) / np.std(measured, axis=0)
    assert np.all(error < close)


@pytest.mark.parametrize("richer", [False, True])
def test_derivatives_are_those_of_the_simulated_motion(arm: tuple[ServoModel, np.ndarray], richer: bool) -> None:
    """Through sticking, reversals and saturation: nothing jumps."""
    model, links = arm
    h, names = 2e-3, (*COEFFICIENTS, *(RICHER if richer else ()))
    model = ServoModel(model.robot, ServoLoop(richer=richer), Native(1))
    u = steps_and_sines(1.0 / h, 1.0)
    table, keep = np.hstack([u, 0 * u]), np.arange(len(u))
    here = fields(links, h)
    directions = {name: np.zeros((3 * len(names), 3)) for name in names}
    for i, name in enumerate(names):
        directions[name][3 * i : 3 * i + 3] = np.eye(3)
    q, rates = model.rates(here, directions, table, h, keep)
    np.testing.assert_array_equal(q, model.run(here, table, h, keep)[0])
    for i, name in enumerate(names):
        for j in range(3):
            step = 1e-6 * max(here[name][j], 1e-2) * np.eye(3)[j]
            ahead, behind = (model.run({**here, name: here[name] + s * step}, table, h, keep)[0] for s in (1, -1))
            difference = (ahead - behind) / (2 * step[j])
            assert np.linalg.norm(rates[3 * i + j] - difference) < 1e-4 * np.linalg.norm(difference) + 1e-9


def test_friction_holds_a_joint_where_it_is(arm: tuple[ServoModel, np.ndarray]) -> None:
    model, links = arm
    q = np.array([0.3, 0.4, -0.2])
    table = np.hstack([np.tile(q + COEFFICIENTS["zero"], (2000, 1)), np.zeros((2000, 3))])
    held = model.run(fields(links, 1e-3, coulomb=20.0, q=q), table, 1e-3, np.arange(2000))[0]
    assert np.abs(held - q).max() < 1e-4
    falling = model.run(fields(links, 1e-3, coulomb=1e-9, q=q), table, 1e-3, np.arange(2000))[0]
    assert np.abs(falling - q).max() > 1e-2


@pytest.mark.parametrize("speed", [0.02, 0.2, -0.2])
def test_friction_by_speed_and_load(speed: float) -> None:
    """A weight that is lifted and let down at constant speed: the servo's torque is gravity and friction."""
    mass, g, h, kp, kd, count = 2.0, 9.81, 1e-3, 4e3, 40.0, 3000
    lift = Robot("lift", (Joint("lift", "weight", -1, prismatic=True),))
    u = speed * h * (np.arange(count) + 0.5)[:, None]
    links = np.append(np.zeros(9), mass)
    start = fields(links, h, kp=kp, kd=kd, limit=1e30, zero=0.0, viscous=0.0, dq=[speed])
    q = ServoModel(lift, ServoLoop(richer=True), Native(1)).run(start, np.hstack([u, 0 * u]), h, np.arange(count))[0, -1, 0]
    level = COEFFICIENTS["coulomb"] + RICHER["stribeck"] * np.exp(-((speed / RICHER["stribeck speed"]) ** 2))
    level += RICHER["load"] * mass * g
    assert kp * (speed * h * (count - 1) - q) - kd * speed == pytest.approx(mass * g + np.sign(speed) * level, rel=1e-3)


def test_large_gains_do_not_make_it_diverge(arm: tuple[ServoModel, np.ndarray]) -> None:
    """With kp h^2 / M of 5 to 50 000, where an explicit method ends at 4."""
    model, links = arm
    u = steps_and_sines(100.0, 2.0)
    u[:, 0] = u[:, 1]  # no steps
    for kp in (1e3, 1e5, 1e7):
        stiff = fields(links, 1e-2, kp=kp, kd=1e-2 * kp, limit=1e30)
        q = model.run(stiff, np.hstack([u, 0 * u]), 1e-2, np.arange(len(u)))[0]
        assert np.abs(q).max() < 2.0


def test_legs_do_not_influence_each_other(tmp_path: Path) -> None:
    robot = load(write_model(quadruped(), tmp_path / "q.xml")).robot
    legs = branches(robot)
    assert legs == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)]
    assert [j.parent for j in branch(robot, legs[2]).joints] == [-1, 0, 1]
