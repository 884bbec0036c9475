"""The map from sample to sample: the simulation's own steps, and the derivative of them."""

from __future__ import annotations

import numpy as np
import pytest

from generators import random_parameters
from inertica.dynamics.closed_loop import ClosedLoop
from inertica.dynamics.engine import Engine
from inertica.dynamics.laws import Law, TorqueDriven
from inertica.dynamics.llvm import stepping
from inertica.dynamics.transition import LAG, Transition
from inertica.identifiability.base import base_model
from inertica.robot.control import PD, PID, Cascade, CascadePI
from inertica.robot.load import load
from toy_target import Toy

DT = 1e-3
GAINS = {"kp": 300.0, "kd": 30.0, "ki": 50.0, "windup": 5.0, "kv": 30.0}


def gains_of(law: Law) -> dict[str, float]:
    return {name: GAINS[name] for name in law.gains}


def reference(law: Law, n: int, steps: int) -> dict[str, np.ndarray]:
    t = np.arange(steps)[:, None] * DT
    phase = 7 * t + np.arange(n)
    signals = {"q": 0.3 * np.sin(phase), "dq": 2.1 * np.cos(phase), "tau": 3.0 * np.sin(phase)}
    return {name: signals[name] for name in law.references}


def table(given: dict[str, np.ndarray]) -> np.ndarray:
    return np.hstack(list(given.values()))


@pytest.mark.parametrize("integrator", ["euler", "rk2", "rk4"])
def test_steps_are_those_of_the_simulation(integrator: str) -> None:
    description = load("tx40")
    base = base_model(description.layout)
    chi, law, rng = description.prior.values, TorqueDriven(), np.random.default_rng(0)
    followed = reference(law, 6, 8)
    transition = Transition.of(base.engine, ClosedLoop(law, integrator), DT, chi, base.retained)
    beta = base.engine.reduced(chi[None])[:, list(transition.parameters)]  # `base.beta` sums in another order
    z = np.hstack([0.3 * rng.normal(size=(3, 12)), np.tile(beta, (3, 1))])
    run = base.engine.simulate(chi, followed, {}, DT, law=law, integrator=integrator, start=(z[:, 6:12], z[:, :6]), keep=[7])
    assert np.array_equal(transition(z, table(followed)[:7]), np.hstack([run.dq[:, 0], run.q[:, 0]]))


@pytest.mark.parametrize(
    ("law", "difference"), [(TorqueDriven(), False), (PD(), True), (PID(), True), (Cascade(), False), (CascadePI(), True)]
)
def test_derivative(law: Law, difference: bool) -> None:
    layout = load("scara2").layout
    base, chi = base_model(layout), random_parameters(layout, 3).values
    transition = Transition.of(base.engine, ClosedLoop(law, "rk4", difference=difference), DT, chi, base.retained, gains_of(law))
    memory = {name: np.array([0.01, -0.02]) for name in transition.memory}
    rows = table(reference(law, 2, 5))
    z = np.concatenate([[0.5, -0.7, 0.2, 0.4], base.beta(chi)])
    x, F = transition.jacobian(z, rows, memory)
    assert np.array_equal(x, transition(z, rows, memory)[0])
    h = 1e-6 * np.diag(np.maximum(np.abs(z), 0.1))
    differences = (transition(z + h, rows, memory) - transition(z - h, rows, memory)) / (2.0 * np.diag(h)[:, None])
    np.testing.assert_allclose(F, differences.T, atol=1e-7 * np.abs(F).max())


def test_another_target_gives_the_same_transition() -> None:
    layout = load("scara2").layout
    chi, law = random_parameters(layout, 1).values, PD()
    engines = Engine(layout, target=Toy()), Engine(layout)
    found = [
        Transition.of(e, ClosedLoop(law, "rk2", difference=True), DT, chi, range(layout.size), gains_of(law)).jacobian(
            np.concatenate([[0.1, 0.2, 0.3, 0.4], chi]), table(reference(law, 2, 3)), {LAG: np.zeros(2)}
        )
        for e in engines
    ]
    for ours, theirs in zip(*found, strict=True):
        assert np.abs(ours - theirs).max() < 1e-9 * np.abs(theirs).max()


@pytest.mark.parametrize(("law", "difference"), [(TorqueDriven(), False), (PID(), True)])
def test_sample_after_sample(law: Law, difference: bool) -> None:
    """With what the controller remembers carried along, a simulation in pieces is the simulation in one."""
    layout = load("scara2").layout
    base, chi = base_model(layout), random_parameters(layout, 2).values
    followed, each = reference(law, 2, 101), 5
    transition = Transition.of(base.engine, ClosedLoop(law, "rk4", difference=difference), DT, chi, base.retained, gains_of(law))
    start = np.array([0.1, 0.3]), np.array([0.5, -0.2])
    run = base.engine.simulate(chi, followed, gains_of(law), DT, law=law, difference_velocity=difference, start=start, keep=each)
    plain, _code = stepping.stepper(transition, False)
    both, _more = stepping.stepper(transition, True)
    z = np.concatenate([start[1], start[0], base.beta(chi)])
    points, rates = np.tile(z, (11, 1)), z.copy()
    memory = [np.zeros(2 * len(transition.memory)) for _ in range(2)]
    out, x, F = np.zeros((11, 4)), np.zeros(4), np.zeros((4, transition.size))
    for k in range(20):
        stepping.advance_points(plain, table(followed), k * each, (k + 1) * each, points, memory[0], out)
        stepping.advance_rates(both, table(followed), k * each, (k + 1) * each, rates, memory[1], x, F)
        points[:, :4], rates[:4] = out, x
        expected = np.concatenate([run.dq[0, k + 1], run.q[0, k + 1]])
        np.testing.assert_allclose(out, np.tile(expected, (11, 1)), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(x, expected, rtol=1e-11, atol=1e-12)
