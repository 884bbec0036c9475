"""Variable steps within control periods, against scipy and against many fixed ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from inertica.dynamics.closed_loop import ClosedLoop
from inertica.dynamics.engine import Engine
from inertica.dynamics.laws import TorqueDriven
from inertica.dynamics.simulate import Noise, RunOptions
from inertica.dynamics.tangents import simulate_tangents
from inertica.dynamics.transition import Transition
from inertica.errors import InputError
from inertica.robot.layout import Parameters
from inertica.robot.load import load

SLOW = 0.02
"""A control period in which the arm moves far: one step of any fixed method shows its error."""


def arm() -> tuple[Engine, Parameters, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """planar2 without dry friction, whose jumps no order of a method survives, in a loop at 50 Hz."""
    description = load("planar2")
    prior = description.prior
    values = prior.values * ~np.array([p.kind == "coulomb" for p in prior.layout.parameters])
    t = SLOW * np.arange(60)[:, None]
    q = np.array([0.8, -0.6]) * (1.0 - np.cos(4.0 * t)) + np.array([0.1, 0.3])
    reference = {"q": q, "dq": np.array([0.8, -0.6]) * 4.0 * np.sin(4.0 * t)}
    mass = Engine(prior.layout).mass_matrix(q[:1], prior)[0]
    gains = {"kp": 40.0 * np.diag(mass), "kd": 6.0 * np.diag(mass)}
    return Engine(prior.layout), prior.with_values(values), reference, gains


def test_each_period_is_what_scipy_integrates() -> None:
    engine, chi, reference, gains = arm()
    run = engine.simulate(chi, reference, gains, SLOW, integrator="variable")
    x, worst = np.concatenate([run.q[0, 0], run.dq[0, 0]]), 0.0
    for k in range(len(reference["q"]) - 1):
        tau = gains["kp"] * (reference["q"][k] - x[:2]) + gains["kd"] * (reference["dq"][k] - x[2:])

        def rate(_: float, s: np.ndarray, tau: np.ndarray = tau) -> np.ndarray:
            return np.concatenate([s[2:], engine.forward_dynamics(s[None, :2], s[None, 2:], tau[None], chi)[0]])

        x = solve_ivp(rate, (0.0, SLOW), x, rtol=1e-11, atol=1e-12).y[:, -1]
        worst = max(worst, float(np.abs(run.q[0, k + 1] - x[:2]).max()))
    fixed = engine.simulate(chi, reference, gains, SLOW, integrator="rk2")
    assert worst < 3e-6 < 1e-4 < np.abs(fixed.q[0, -1] - x[:2]).max()


def test_a_run_is_the_same_alone_and_in_a_batch() -> None:
    engine, chi, reference, gains = arm()
    several = np.stack([chi.values, 1.1 * chi.values, 0.9 * chi.values])
    together = engine.simulate(several, reference, gains, SLOW, integrator="variable", noise=Noise(q=1e-4, tau=0.1, seed=3))
    alone = engine.simulate(several[1], reference, gains, SLOW, integrator="variable", noise=Noise(1e-4, 0.1, 3), runs=[1])
    assert np.array_equal(together.q_measured[1], alone.q_measured[0])


def test_dry_friction_does_not_stop_it() -> None:
    description = load("planar2")
    engine, _, reference, gains = arm()
    assert any(p.kind == "coulomb" for p in description.layout.parameters)
    run = engine.simulate(description.prior, reference, gains, SLOW, integrator="variable")
    q, dq, h = run.q[0, 0], run.dq[0, 0], SLOW / 200
    for k in range(30):
        tau = gains["kp"] * (reference["q"][k] - q) + gains["kd"] * (reference["dq"][k] - dq)
        for _ in range(200):  # half-implicit steps, far too short to matter
            dq = dq + h * engine.forward_dynamics(q[None], dq[None], tau[None], description.prior)[0]
            q = q + h * dq
    assert run.stable.all() and np.abs(run.q[0, 30] - q).max() < 3e-3 * np.ptp(run.q[0], axis=0).max()


def test_tangents_follow_the_same_steps() -> None:
    engine, chi, reference, gains = arm()
    direction = 0.01 * np.abs(chi.values)[None]
    pair = simulate_tangents(engine, chi.values, direction, reference, gains, SLOW, RunOptions(integrator="variable"))
    h = 1e-3
    ends = [
        engine.simulate(chi.values + s * h * direction[0], reference, gains, SLOW, integrator="variable").q[0] for s in (1, -1)
    ]
    slope = (ends[0] - ends[1]) / (2.0 * h)
    assert np.abs(pair[1].q[0] - slope).max() < 2e-3 * np.abs(slope).max()


def test_filters_refuse_it() -> None:
    engine, chi, _, _ = arm()
    with pytest.raises(InputError, match="one length"):
        Transition.of(engine, ClosedLoop(TorqueDriven(), "variable"), 1e-3, chi, range(chi.layout.size))
