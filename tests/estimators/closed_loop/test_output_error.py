"""CLIE, CLOE, OLOE, their optimisers and Jacobians."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.closed import experiment_log, mean_error, problem, robot, truth
from inertica.dynamics.simulate import RunOptions
from inertica.dynamics.tangents import simulate_tangents
from inertica.estimators.closed_loop.didim import Didim
from inertica.estimators.closed_loop.loop_gains import LoopGains
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator
from inertica.estimators.closed_loop.optimisers import (
    CmaEs,
    DifferentialEvolution,
    GeneticAlgorithm,
    NelderMead,
    Optimiser,
    ParticleSwarm,
)
from inertica.estimators.closed_loop.output_error import Clie, Cloe, Oloe
from inertica.estimators.closed_loop.outputs import Position
from inertica.estimators.closed_loop.start import Random
from inertica.estimators.closed_loop.tangent_outputs import tangent_replays
from inertica.estimators.consistent.strategy import Consistent
from inertica.estimators.iteration import Stop
from inertica.experiment import ControlLoop
from inertica.preprocessing.filters import Butterworth

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
    (GeneticAlgorithm(population=24, generations=15), 0.7),
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
    e = Clie(solve=Consistent(), start=Random(0.15)).estimate(arm, np.random.default_rng(0))
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
    directions[np.arange(len(beta)), p.base.retained] = 1.0
    run, rate = simulate_tangents(
        p.engine, simulator.chi(beta)[0], directions, reference, loop.all_gains, loop.dt, RunOptions(**options)
    )  # type: ignore[arg-type]
    h = 1e-6
    chi = np.concatenate([simulator.chi(beta + h * np.eye(len(beta))), simulator.chi(beta - h * np.eye(len(beta)))])
    runs = p.engine.simulate(chi, reference, loop.all_gains, loop.dt, **options)
    for name in ("q", "tau"):
        values = getattr(runs, name)
        differences = (values[: len(beta)] - values[len(beta) :]) / (2 * h)
        exact = getattr(rate, name)
        size = np.abs(exact).max(axis=(1, 2), keepdims=True)
        assert np.abs((exact - differences) / size).max() < 2e-3
    np.testing.assert_allclose(
        run.q, p.engine.simulate(simulator.chi(beta), reference, loop.all_gains, loop.dt, **options).q, atol=1e-12
    )


def test_tangents_along_gains_are_the_derivative() -> None:
    """The same for the logarithm of every gain, and for drive gains, which divide the recorded torque."""
    p = problem("scara2", [experiment_log("scara2", "standard", duration=2.0)])
    p = replace(
        p, motions=tuple(replace(m, log=replace(m.log, signals={**m.log.signals, "i": m.log.need("tau")})) for m in p.motions)
    )
    simulator, gains = LoopSimulator(p), LoopGains.of(p)
    beta, x, h = truth("scara2") * (np.arange(1, p.base.rank + 1) < p.base.rank - 3), np.full(gains.size, 0.1), 1e-6
    ((_, rate),) = tangent_replays(simulator, beta, gains, x)  # without Coulomb friction, whose reversals move
    points = np.vstack([x + h * np.eye(gains.size), x - h * np.eye(gains.size)])
    (runs,), stable = simulator(np.tile(beta, (len(points), 1)), gains.simulated(points))
    assert stable.all() and gains.names == ("kp", "kv", "drive")
    drive = gains.drive(points)
    assert drive is not None
    for name, values in (("q", runs.q), ("tau", runs.tau / drive[:, None])):
        differences = (values[: gains.size] - values[gains.size :]) / (2.0 * h)
        exact = getattr(rate, name)[p.base.rank :]
        np.testing.assert_allclose(exact, differences, atol=1e-4 * np.abs(exact).max())


def test_cloe_by_tangents(arm) -> None:  # type: ignore[no-untyped-def]
    e = Cloe(jacobian="tangents", start=Random(0.15)).estimate(arm, np.random.default_rng(0))
    assert mean_error("scara2", e.beta) < 0.06 and e.settings["jacobian"] == "tangents"


def test_cartesian_tangents_follow_the_chain_rule() -> None:
    p = problem("tx40", [experiment_log("tx40", LOW, duration=2.0)])
    ((run, rate),) = tangent_replays(LoopSimulator(p), truth("tx40"))
    output, h = Position("cartesian"), 1e-4 / np.abs(rate.q).max(axis=(1, 2), keepdims=True)
    use, weights = output.use(p), output.weights(p)
    ahead, behind = (output.simulated(p, [replace(run, q=run.q + s * h * rate.q)], weights, use) for s in (1.0, -1.0))
    differences = (ahead - behind) / (2.0 * h[:, 0])
    exact = output.moved(p, [run], [rate], weights, use)
    size = np.abs(exact).max(axis=1, keepdims=True)
    np.testing.assert_allclose(exact / size, differences / size, atol=1e-5)


def test_oloe_by_tangents() -> None:
    p = problem("scara2", [experiment_log("scara2", "standard")], chosen=Butterworth(cutoff=20.0))
    exact, differences = (
        Oloe(jacobian=kind, start=Random(0.15), hac=False).estimate(p, np.random.default_rng(0))  # type: ignore[arg-type]
        for kind in ("tangents", "differences")
    )
    assert exact.history["residual"][-1] <= 1.01 * differences.history["residual"][-1]


@pytest.mark.slow
@pytest.mark.parametrize("jacobian", ["differences", "tangents"])
def test_clie_estimates_each_gain_that_torque_tells(jacobian: str) -> None:
    """The torque of the strong joints tells their gains to a few percent."""
    log = experiment_log("tx40", LOW, duration=6.0)
    loop = ControlLoop.of(robot("tx40")[0])
    p = problem("tx40", [log], loop=loop.with_gains(kp=1.15 * loop.gains["kp"]))
    e = Clie(estimate_gains=True, jacobian=jacobian, hac=False, stop=Stop(iterations=3)).estimate(p)  # type: ignore[arg-type]
    std = np.array(e.loop.gains_relative_std["kp"])
    off = np.log(np.array(e.loop.gains["kp"]) / loop.gains["kp"])
    strong = slice(0, 3)
    assert np.all(np.abs(off[strong]) < 4.0 * std[strong]) and np.all(std[strong] < 0.1)


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
