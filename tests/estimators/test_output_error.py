"""CLIE, CLOE, OLOE, their optimisers and Jacobians."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.closed import experiment_log, mean_error, problem, robot, scaled, truth
from inertica.dynamics.tangents import simulate_tangents
from inertica.estimators.didim import Didim
from inertica.estimators.loop_simulation import LoopSimulator
from inertica.estimators.optimisers import CmaEs, DifferentialEvolution, LevenbergMarquardt, NelderMead, Optimiser, ParticleSwarm
from inertica.estimators.output_error import Clie, Cloe, Oloe
from inertica.estimators.start import Random
from inertica.experiment import ControlLoop
from inertica.logs.filters import Butterworth

LOW = "low_position"


@pytest.fixture(scope="module")
def arm():  # type: ignore[no-untyped-def]
    return problem("scara2", [experiment_log("scara2", "standard")])


@pytest.mark.parametrize(("observed", "error"), [("position", 0.05), ("velocity", 0.15), ("both", 0.05), ("cartesian", 0.05)])
def test_cloe_outputs(arm, observed: str, error: float) -> None:  # type: ignore[no-untyped-def]
    """Velocities are differences of noisy positions here, and worth accordingly less."""
    e = Cloe(observed=observed, start=Random(0.15)).estimate(arm, np.random.default_rng(0))  # type: ignore[arg-type]
    assert mean_error("scara2", e.beta) < error, e.stop_reason


@pytest.mark.parametrize("jacobian", ["differences", "tangents"])
def test_clie_agrees_with_didim(arm, jacobian: str) -> None:  # type: ignore[no-untyped-def]
    e = Clie(start=Random(0.15), jacobian=jacobian).estimate(arm, np.random.default_rng(0))  # type: ignore[arg-type]
    other = Didim().estimate(arm)
    assert e.stop_reason.startswith("converged")
    apart = np.abs(e.beta - other.beta) / np.sqrt(e.std**2 + other.std**2)
    assert np.median(apart) < 2.0
    assert mean_error("scara2", e.beta) < 0.05


def test_oloe(arm) -> None:  # type: ignore[no-untyped-def]
    p = problem("scara2", [experiment_log("scara2", "standard")], chosen=Butterworth(cutoff=20.0))
    e = Oloe(start=Random(0.15)).estimate(p, np.random.default_rng(0))
    assert mean_error("scara2", e.beta) < 0.15


OPTIMISERS = [
    (NelderMead(steps=150), 0.7),
    (ParticleSwarm(particles=24, generations=15), 0.7),
    (DifferentialEvolution(population=3, generations=10), 0.8),
    (CmaEs(generations=30), 0.5),
]


@pytest.mark.parametrize(("optimiser", "share"), OPTIMISERS, ids=[o.name for o, _ in OPTIMISERS])
def test_derivative_free(arm, optimiser: Optimiser, share: float) -> None:  # type: ignore[no-untyped-def]
    """They go downhill, the same way for the same seed; none comes near Levenberg-Marquardt at equal cost."""
    method = Clie(optimiser=optimiser, start=Random(0.15), hac=False)
    e = method.estimate(arm, np.random.default_rng(3))
    start, end = e.history["residual"][0], e.history["residual"][-1]
    best = Clie(start=Random(0.15), hac=False).estimate(arm, np.random.default_rng(3))
    floor = best.history["residual"][-1]
    assert end - floor < share * (start - floor)
    assert best.simulations < e.simulations and floor <= end * (1 + 1e-9)
    assert np.array_equal(method.estimate(arm, np.random.default_rng(3)).beta, e.beta)


def test_consistent_search_stays_consistent(arm) -> None:  # type: ignore[no-untyped-def]
    e = Clie(consistent=True, start=Random(0.15)).estimate(arm, np.random.default_rng(0))
    assert e.chi is not None and not robot("scara2")[0].prior.with_values(e.chi).inconsistent_links()
    np.testing.assert_allclose(robot("scara2")[1].beta(e.chi), e.beta, rtol=1e-9, atol=1e-12)
    assert mean_error("scara2", e.beta) < 0.1


def test_tangents_are_the_derivative() -> None:
    """Against central differences over a stretch without velocity reversal."""
    p = problem("tx40", [experiment_log("tx40", LOW, duration=2.0)])
    simulator = LoopSimulator(p)
    loop, track, beta = simulator.loop, simulator.tracks[0], truth("tx40")
    reference = {k: v[:800] for k, v in track.reference.items()}
    options = {
        "law": loop.compiled_law, "difference_velocity": True, "keep": 50, "start": (reference["q"][0], reference["dq"][0]),
    }  # fmt: skip
    directions = np.zeros((len(beta), p.base.layout.size))
    directions[np.arange(len(beta)), p.base.kept] = 1.0
    found = simulate_tangents(p.engine, simulator.chi(beta)[0], directions, reference, loop.all_gains, loop.dt, **options)  # type: ignore[arg-type]
    h = 1e-6
    chi = np.concatenate([simulator.chi(beta + h * np.eye(len(beta))), simulator.chi(beta - h * np.eye(len(beta)))])
    runs = p.engine.simulate(chi, reference, loop.all_gains, loop.dt, **options)
    for name in ("q", "tau"):
        values = getattr(runs, name)
        differences = (values[: len(beta)] - values[len(beta) :]) / (2 * h)
        exact = getattr(found, f"{name}_rate")
        size = np.abs(exact).max(axis=(1, 2), keepdims=True)
        assert np.abs((exact - differences) / size).max() < 2e-3
    np.testing.assert_allclose(
        found.q, p.engine.simulate(simulator.chi(beta), reference, loop.all_gains, loop.dt, **options).q[0], atol=1e-12
    )


def test_positions_alone_do_not_tell_gains_from_parameters(arm) -> None:  # type: ignore[no-untyped-def]
    """With all torques 30 % off, positions fit perfectly and only the torque shows it."""
    loop = arm.loop.with_gains(kv=1.3 * arm.loop.gains["kv"])
    e = Cloe().estimate(replace(arm, loop=loop))
    assert any("recorded torque" in w or "control law" in w for w in e.warnings)
    e = Cloe(estimate_gains=True).estimate(replace(arm, loop=loop))
    assert any("positions alone" in w for w in e.warnings)


def test_survey_difference_step_is_slow() -> None:
    """A perturbation of sqrt(eps) lets Coulomb friction drown the derivative: why published CLIE and CLOE converge slowly."""
    p = problem("scara2", [experiment_log("scara2", "standard")])
    small, ours = (
        Cloe(nudge=nudge, start=Random(0.15), hac=False).estimate(p, np.random.default_rng(0)) for nudge in (1.5e-8, 5e-3)
    )
    assert ours.history["residual"][-1] <= small.history["residual"][-1] * (1 + 1e-3)
    assert ours.iterations <= small.iterations


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Clie, Cloe])
def test_row_one(kind: type) -> None:
    p = problem("tx40", [experiment_log("tx40", LOW)])
    e = kind(start=Random(0.15)).estimate(p, np.random.default_rng(1))
    assert e.stop_reason.startswith("converged") and mean_error("tx40", e.beta) < 0.02


@pytest.mark.slow
def test_clie_estimates_gains() -> None:
    loop = ControlLoop.of(robot("tx40")[0])
    p = problem("tx40", [experiment_log("tx40", LOW)], loop=scaled(loop, 1.3))
    e = Clie(estimate_gains=True, optimiser=LevenbergMarquardt()).estimate(p)
    np.testing.assert_allclose(e.settings["gains"]["kp"], loop.gains["kp"], rtol=0.1)  # type: ignore[index]
