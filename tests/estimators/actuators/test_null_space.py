"""What cannot be told: the combinations that are named span the null space of the information, by differences of simulations."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.dynamics.llvm.target import Native
from inertica.estimators.actuators.evidence import confounded, evidence, units
from inertica.estimators.actuators.fit import Fit, Name, criterion
from inertica.estimators.actuators.links import LinkErrors
from inertica.estimators.actuators.record import Record
from inertica.estimators.actuators.simulation import Runs, Start
from inertica.estimators.actuators.values import ActuatorValues
from inertica.robot.inertia import from_com
from inertica.robot.model import Joint, Robot, matrix, rotation_x, rotation_y, vector

FOUND = ("armature", "viscous", "coulomb", "delay", "zero")


def random_fit(seed: int, gains: str, load: bool) -> Fit:
    """At the true values of a random chain with little noise; `gains`: none, kp or both are known."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    joints = tuple(
        Joint(
            f"j{j + 1}", f"l{j + 1}", j - 1, rotation=matrix(rotation_y(rng.uniform(-1, 1)) @ rotation_x(rng.uniform(0.3, 1.2))),
            position=vector(rng.uniform(-0.2, 0.2, 3)),
        )
        for j in range(n)
    )  # fmt: skip
    links = [
        from_com(rng.uniform(0.5, 2), rng.uniform(0.05, 0.15, 3), np.diag(rng.uniform(0.01, 0.012, 3))) if load else np.zeros(10)
        for _ in joints
    ]
    values = ActuatorValues.of(
        n, armature=rng.uniform(0.02, 0.1, n), viscous=rng.uniform(0.2, 1, n), coulomb=rng.uniform(0.1, 0.5, n),
        delay=rng.uniform(0, 0.01, n), zero=0.02 * rng.normal(size=n), kp=rng.uniform(20, 60, n), kd=rng.uniform(0.5, 2, n),
    )  # fmt: skip
    t = np.arange(600) / 200.0
    u = np.stack([sum(0.2 * np.sin(w * t + p) for w, p in rng.uniform([1, 0], [20, 6], (4, 2))) for _ in joints], axis=1)
    u = u - u[0]
    known = {"none": (), "kp": ("kp",), "both": ("kp", "kd")}[gains]
    free: tuple[Name, ...] = tuple((name, j) for j in range(n) for name in (*FOUND, "kp", "kd") if name not in known)
    record = Record("a log", t, np.zeros((600, n)), np.ones((600, n), bool), {"q": u})
    runs = Runs(Robot("chain", joints), np.concatenate(links), [record], Native(1), 2e-3)
    start = Start(np.zeros(n), np.zeros(n))
    noise = 1e-6 * rng.normal(size=(600, n))
    record.q[:] = runs.positions(0, values, start) + noise
    residuals = [noise]
    errors, score = LinkErrors(runs.links, 0.0), criterion(residuals, np.zeros(n))
    return Fit(runs, free, values, (start,), errors, np.zeros(0), 1.0, score, residuals)


def differences(fit: Fit, unit: np.ndarray) -> np.ndarray:
    """(p, N n) derivatives of positions in units of the quantities, by central differences of whole simulations."""
    out = []
    for (name, j), size in zip(fit.free, unit, strict=True):
        step = 1e-5 * size
        ends = []
        for sign in (1, -1):
            moved = np.array(getattr(fit.values, name))
            moved[j] += sign * step
            ends.append(fit.runs.positions(0, fit.values.changed(**{name: moved}), fit.starts[0]))
        out.append((ends[0] - ends[1]).ravel() / 2e-5)
    return np.array(out)


def check(seed: int, gains: str, load: bool) -> None:
    fit = random_fit(seed, gains, load)
    unit = units(fit)
    J = differences(fit, unit)
    lengths = np.linalg.svd(J, compute_uv=False)
    null = int(np.sum(lengths < 1e-6 * lengths[0]))
    found = evidence(fit)
    n = fit.runs.robot.n
    # kd and viscous friction brake alike; without a known gain or a load nothing says how large a torque is
    assert null == {("none", True): n, ("none", False): 2 * n, ("kp", True): n, ("kp", False): n}.get((gains, load), 0)
    assert len(found.undetermined) == null
    assert np.all(np.linalg.norm(found.undetermined @ J, axis=1) < 1e-5 * lengths[0])
    named = np.zeros((null, len(fit.free)))
    for row, combination in zip(named, confounded(found), strict=True):
        assert combination.exact
        for name, d in zip(combination.parameters, combination.direction, strict=True):
            i = fit.free.index(name)
            row[i] = d / unit[i]
    assert np.linalg.matrix_rank(named, tol=1e-6) == null
    if null:
        sizes = np.linalg.norm(named, axis=1)
        assert np.all(np.linalg.norm(named @ J, axis=1) < 1e-4 * sizes * lengths[0])


CASES = [("none", True), ("none", False), ("kp", True), ("kp", False), ("both", True), ("both", False)]


@pytest.mark.parametrize(("gains", "load"), CASES)
def test_combinations_span_the_null_space(gains: str, load: bool) -> None:
    check(1, gains, load)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_combinations_span_the_null_space_of_random_robots(seed: int) -> None:
    for gains, load in CASES:
        check(seed, gains, load)
