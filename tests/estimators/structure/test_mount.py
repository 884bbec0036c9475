"""Direction of gravity by separable least squares, on motions with known truth."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom

import inertica as ia
from estimators.simulated import exact_motion
from inertica.dynamics.equations import plain_regressor
from inertica.dynamics.weight import Weight
from inertica.estimators.base import Problem
from inertica.estimators.structure.mount import LeanTest, MountData, compare_signs, lean_test
from inertica.estimators.structure.tilt import Tilt, between, sphere, tangents, turned
from inertica.identifiability.base import BaseModel, base_model
from inertica.preprocessing.motion import Motion
from inertica.robot.description import Description
from inertica.workflow.decisions.mount import CLEAR, with_offsets
from robots import random_layout

UP = np.array([0.0, 0.0, -9.81])


def gravity(degrees: float, around: float = 0.0) -> np.ndarray:
    a, b = np.radians([degrees, around])
    return 9.81 * np.array([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), -np.cos(a)])


@lru_cache
def robot(name: str) -> tuple[Description, BaseModel]:
    description, _ = with_offsets(ia.load(name))
    return description, base_model(description.layout)


@lru_cache
def truth(name: str, degrees: float, around: float = 0.0, slower: float = 1.0) -> Motion:
    description, _ = robot(name)
    options = {"duration": 20.0 * slower, "rate": 50.0 / slower, "amplitude": 0.5 / slower}
    return exact_motion(description.with_gravity(gravity(degrees, around)).prior, seed=3, **options)


def data(name: str, motion: Motion, noise: float = 0.0, seed: int = 0) -> MountData:
    description, base = robot(name)
    error = noise * motion.tau.std(axis=0) * np.random.default_rng(seed).normal(size=motion.tau.shape)
    return MountData(Problem(base, (replace(motion, tau=motion.tau + error),), description.prior))


def leaning(found: MountData) -> tuple[Tilt, LeanTest]:
    weights = found.weights(UP)
    tilt = found.tilt(weights)
    test = lean_test(found, tilt, weights, UP)
    assert test is not None
    return tilt, test


@pytest.mark.parametrize("seed", range(4))
def test_the_weight_is_what_gravity_adds_to_the_regressor(seed: int) -> None:
    layout = random_layout(seed, joints=3)
    q, dq, ddq = np.random.default_rng(seed).normal(size=(3, 7, layout.robot.n))
    g = np.array([1.0, -2.0, 3.0])
    turned_over = replace(layout, robot=layout.robot.with_gravity(g))
    wanted = plain_regressor(turned_over, q, dq, ddq) - plain_regressor(layout, q, dq, ddq)
    weight, found = Weight(layout), np.zeros_like(wanted)
    for e, (joint, parameter, axis) in enumerate(weight.pulls):
        found[:, joint, parameter] += (g - np.array(layout.robot.gravity))[axis] * weight.slopes(q)[:, e]
    assert np.allclose(found, wanted, atol=1e-10)


@pytest.mark.parametrize("name", ["tx40", "panda7"])
def test_without_noise_any_direction_is_found(name: str) -> None:
    wanted = gravity(70.0, 40.0)
    found = data(name, truth(name, 70.0, 40.0))
    tilt = found.tilt(found.weights(UP))
    start = min((9.81 * d for d in sphere(20)), key=lambda g: tilt.solve(g).squares)
    assert between(tilt.newton(start, steps=30, close=1e-8)[0], wanted) < 1e-3


def test_a_lean_is_found_with_its_size() -> None:
    found = data("tx40", truth("tx40", 1.0, 30.0), noise=0.05)
    tilt, test = leaning(found)
    assert test.p < 1e-6
    z = (test.angles - np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])) / np.sqrt(np.diag(test.covariance))
    assert np.abs(z).max() < 4.0
    assert between(tilt.newton(UP)[0], gravity(1.0, 30.0)) < 0.3


def test_the_test_keeps_its_level() -> None:
    """p < 0.05 in about 5 % of upright logs; 0.1 % of correct tests would exceed the bound."""
    runs = 60
    p = [leaning(data("scara2", truth("scara2", 0.0), noise=0.05, seed=k))[1].p for k in range(runs)]
    assert sum(x < 0.05 for x in p) <= binom.ppf(0.999, runs, 0.05)


def test_wrong_model_values_do_not_pass_for_a_lean() -> None:
    """First moments about the first axis act only on a leaning robot; the model file's values there must not matter."""
    motion = truth("tx40", 1.0, 30.0)
    description, base = robot("tx40")
    wrong = description.prior.with_values(3.0 * description.prior.values)
    right, other = (MountData(Problem(base, (motion,), prior)) for prior in (description.prior, wrong))
    angles = [leaning(x)[1].angles for x in (right, other)]
    assert np.allclose(*angles, atol=1e-3)


def repeated(motion: Motion) -> Motion:
    """The motion and all that was recorded with it, twice."""
    both = {name: np.concatenate([getattr(motion, name)] * 2) for name in ("q", "dq", "ddq", "tau", "tau_raw", "resting")}
    log = replace(motion.log, t=np.arange(2 * len(motion)) * motion.dt, signals={"q": both["q"]}, masks={}, truth={})
    return replace(motion, t=log.t, masks={}, log=log, **both)


def test_a_motion_that_is_repeated_does_not_vouch_for_itself() -> None:
    """Errors that come back with the motion are seen no better the second time: parts of the data disagree as much as before."""
    description, base = robot("tx40")
    once = truth("tx40", 0.0)
    slip = 0.3 * once.tau.std(axis=0) * np.exp(-((once.dq / (0.1 * once.dq.std(axis=0))) ** 2)) * np.sign(once.dq)
    once = replace(once, tau=once.tau + slip)
    spreads = []
    for motion in (once, repeated(once)):
        found = MountData(Problem(base, (motion,), description.prior))
        spreads.append(np.linalg.norm(found.left_out(found.weights(UP), UP, steps=2).spread(tangents(UP))))
    assert spreads[1] > 0.9 * spreads[0]


def test_fast_motion_tells_standing_from_hanging_and_slow_motion_does_not() -> None:
    quick, slow = (data("tx40", truth("tx40", 180.0, 0.0, s), noise=0.05) for s in (1.0, 20.0))
    gains = []
    for found in (quick, slow):
        tilt, test = leaning(found)
        gains.append(compare_signs(found, tilt, UP, test.correlation, CLEAR).gain)
    assert gains[0] > CLEAR > abs(gains[1])


@pytest.mark.parametrize("g", [UP, -UP, np.array([9.81, 0.0, 0.0]), np.array([1.0, 2.0, 3.0])])
def test_tangents_are_normal_and_turning_keeps_the_size(g: np.ndarray) -> None:
    t = tangents(g)
    assert np.allclose(t @ g, 0.0) and np.allclose(t @ t.T, np.eye(2))
    there = turned(g, np.array([0.1, 0.2]), t)
    assert np.linalg.norm(there) == pytest.approx(np.linalg.norm(g))
    assert between(there, g) == pytest.approx(np.degrees(np.hypot(0.1, 0.2)))
