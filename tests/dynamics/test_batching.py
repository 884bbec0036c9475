"""Fits whose simulations are batched: the same bits as one by one, errors where they belong, nothing left running."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest

from host_cuda import COMPILER, Host
from inertica.dynamics import batching
from inertica.dynamics.batching import BatchClient, run_batched
from inertica.dynamics.cuda.samples import column_factors
from inertica.dynamics.cuda.target import Cuda
from inertica.dynamics.engine import Engine
from inertica.dynamics.llvm.target import Native
from inertica.dynamics.products import MotionPair
from inertica.dynamics.resident import MemorySpace, Resident
from inertica.dynamics.simulate import Simulation
from inertica.errors import InputError
from inertica.experiment.loop import ControlLoop
from inertica.identifiability.base import base_model
from inertica.robot.load import load

STEPS = 400


def simulation(name: str, target: Native | None = None) -> Callable[[np.ndarray, slice], np.ndarray]:
    description = load(name)
    loop, n = ControlLoop.of(description), description.layout.robot.n
    engine = Engine(description.layout, threads=1, target=target)
    t = np.arange(STEPS)[:, None] * loop.dt
    q, dq = 0.3 * np.sin(5 * t + np.arange(n)), 1.5 * np.cos(5 * t + np.arange(n))

    def run(chi: np.ndarray, rows: slice = slice(None), batch: BatchClient | None = None, **gains: np.ndarray) -> np.ndarray:
        keep = np.arange(0, STEPS, 7)[rows]
        simulate = engine.simulate if batch is None else partial(batch.simulate, engine)
        out = simulate(
            chi, {"q": q, "dq": dq}, loop.all_gains | gains, loop.dt, law=loop.compiled_law, keep=keep, integrator="euler",
            start=(q[0], dq[0]),
        )  # fmt: skip
        return np.concatenate([out.q, out.dq, out.ddq, out.tau], axis=2)

    return run


def iteration(run: Callable[..., np.ndarray], k: int, batch: BatchClient | None = None) -> np.ndarray:
    """Requests k + 1 simulations of one or several lanes at its own steps; each request depends on the answer before."""
    chi = load("scara2").prior.values * (1.0 + 0.02 * k)
    kp = ControlLoop.of(load("scara2")).all_gains["kp"]
    seen = []
    for _ in range(k + 1):
        found = run(np.tile(chi, (1 + k % 3, 1)), slice(k, None), batch, kp=kp * (1.0 + 0.01 * (k % 2)))
        seen.append(found[-1])
        chi = chi * (1.0 + 1e-3 * np.tanh(found[0, -1, 0]))
    return np.concatenate(seen)


@pytest.mark.parametrize(("max_concurrent", "workers"), [(1, 1), (3, 1), (8, 2)])
def test_batched_fits_find_the_same_bits(max_concurrent: int, workers: int) -> None:
    run = simulation("scara2")
    alone = [iteration(run, k) for k in range(6)]
    found = {k: x for k, x, _ in run_batched([partial(iteration, run, k) for k in range(6)], max_concurrent, workers)}
    assert sorted(found) == list(range(6))
    for k, x in enumerate(alone):
        assert found[k].tobytes() == x.tobytes()


@pytest.fixture
def lanes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of every batch that is simulated."""
    from inertica.dynamics import simulate as plain

    counted, own = [], plain.simulate

    def counting(model: object, chi: np.ndarray, *given: object, **options: object) -> object:
        counted.append(len(np.atleast_2d(chi)))
        return own(model, chi, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(plain, "simulate", counting)
    return counted


def test_a_batch_takes_no_more_than_its_bytes(lanes: list[int]) -> None:
    run, chi = simulation("scara2"), load("scara2").prior.values
    each = 8 * 4 * 2 * len(range(0, STEPS, 7))  # numbers of a lane: four signals of two joints at every kept step
    first = [np.tile(chi * (1 + k / 50), (1 + 5 * (k == 3), 1)) for k in range(5)]  # no two begin alike
    fits = [lambda b, k=k: (run(first[k], batch=b), run(chi * (1 + k / 100), batch=b))[1] for k in range(5)]
    found = {k: x for k, x, _ in run_batched(fits, 8, max_bytes=3.5 * each)}
    assert lanes == [3, 3, 6, 2, 1]  # 0 to 2 twice; 3 alone, which requests more than the limit; 3 and 4; 4
    assert all(found[k].tobytes() == run(chi * (1 + k / 100)).tobytes() for k in range(5))


def test_concurrent_requests_are_simulated_in_one_batch(lanes: list[int]) -> None:
    run, chi = simulation("scara2"), load("scara2").prior.values
    durations = [d for _, _, d in run_batched([lambda b, k=k: run(chi * (1 + k / 100), batch=b) for k in range(5)], 8)]
    assert lanes == [5]
    assert all(d.wall > 0.0 and d.cpu >= 0.0 for d in durations)


def test_an_error_is_raised_and_nobody_is_left_waiting() -> None:
    run, chi = simulation("scara2"), load("scara2").prior.values
    before = threading.active_count()

    def fit(batch: BatchClient, k: int) -> object:
        if k == 1:
            raise ValueError("one of them")
        return [run(chi, batch=batch) for _ in range(3)]

    with pytest.raises(ValueError, match="one of them"):
        list(run_batched([partial(fit, k=k) for k in range(4)], 4))
    next(run_batched([partial(fit, k=2 + k) for k in range(3)], 2))  # the caller stops iterating
    assert threading.active_count() == before


def test_the_error_of_a_batch_is_raised_in_the_fits_that_requested_it() -> None:
    run, chi = simulation("scara2"), load("scara2").prior.values

    def fit(batch: BatchClient, k: int) -> str:
        try:
            run(chi[:-1] if k == 1 else chi, batch=batch)
        except InputError as error:
            return str(error)
        return "fine"

    found = {k: x for k, x, _ in run_batched([partial(fit, k=k) for k in range(2)], 1)}
    assert found[0] == "fine" and "parameters" in found[1]


def test_a_batch_that_breaks_ends_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    run, chi = simulation("scara2"), load("scara2").prior.values

    def broken(*given: object, **options: object) -> None:
        raise ZeroDivisionError("of the program itself")

    monkeypatch.setattr("inertica.dynamics.simulate.simulate", broken)
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="of the program itself"):
        list(run_batched([lambda b: run(chi, batch=b) for _ in range(4)], 4))
    assert threading.active_count() == before


def test_cholesky_twice_is_as_good_as_householder() -> None:
    draw = np.random.default_rng(3)
    rows = draw.standard_normal((3, 6, 500)) * np.array([1e3, 1.0, 1e-3, 1.0, 1.0, 1.0])[None, :, None]
    rows[:, 4] = rows[:, 3] + 1e-5 * rows[:, 4]  # nearly dependent
    rows[1, 5] = rows[1, 0] - 2.0 * rows[1, 1]  # dependent: by reflections
    for own, A in zip(column_factors(MemorySpace(), list(rows)), rows, strict=True):
        exact = np.linalg.qr(A.T, mode="r")
        scale, signs = np.linalg.norm(exact, axis=0), [np.sign(np.diag(R)) for R in (own, exact)]
        assert np.abs((signs[0][:, None] * own - signs[1][:, None] * exact) / scale)[:5].max() < 1e-11
        assert np.abs(own[5, 5]) <= np.abs(exact[5, 5]) + 1e-12 * scale[5]


@pytest.mark.skipif(COMPILER is None, reason="needs g++")
@pytest.mark.parametrize("stays", [False, True])
def test_the_card_factors_and_multiplies_as_the_processor_does(stays: bool) -> None:
    description = load("scara2")
    base, draw, host = base_model(description.layout), np.random.default_rng(1), Host()
    columns, n, N = [int(k) for k in base.retained], description.layout.robot.n, 300
    card, processor = (Engine(base.layout, target=target) for target in (Cuda(device=host), Native()))
    measured, simulated = (tuple(draw.standard_normal((3, N, n))) for _ in range(2))
    tau, weights = draw.standard_normal((N, n)), (draw.random((N, n)) > 0.1).astype(float)
    there = tuple(Resident.signal(host, x) for x in simulated) if stays else simulated
    factors, own = (
        processor.factors(*simulated, tau, columns, weights=weights),
        card.factors(*there, tau, columns, weights=weights),
    )
    assert np.array_equal(own.counts, factors.counts)
    for found, exact in zip(own.joints, factors.joints, strict=True):
        assert found.columns == exact.columns
        gram, wanted = found.triangle.T @ found.triangle, exact.triangle.T @ exact.triangle
        assert np.abs(gram - wanted).max() < 1e-12 * np.abs(wanted).max()
    wanted = processor.products(MotionPair(measured, simulated, tau, weights), columns)
    for found, exact in zip(card.products(MotionPair(measured, there, tau, weights), columns), wanted, strict=True):
        assert np.abs(found - exact).max() < 1e-12 * np.abs(exact).max()


def test_equal_first_simulations_are_computed_once(monkeypatch) -> None:
    """Six fits with three starts make three first simulations, in whatever order they start, and each gets what it gets alone."""
    run, lanes = simulation("scara2"), []
    prior = load("scara2").prior.values
    whole = batching._Request.simulated

    def counted(self: batching._Request, others: Sequence[batching._Request]) -> list[Simulation]:
        lanes.append(sum(request.size for request in others))
        return whole(self, others)

    def fit(batch: BatchClient | None, k: int) -> np.ndarray:
        first = run(prior * (1.0 + 0.1 * (k % 3)), batch=batch)
        return np.concatenate([first, run(prior * (1.0 + 0.01 * k), batch=batch)])

    alone = [fit(None, k) for k in range(6)]
    monkeypatch.setattr(batching._Request, "simulated", counted)
    found = {k: x for k, x, _ in run_batched([partial(fit, k=k) for k in range(6)], 3)}
    assert sum(lanes) == 3 + 6
    for k, x in enumerate(alone):
        assert np.array_equal(found[k], x)


@pytest.mark.parametrize("runs", [2, 4, 5, 9, 12, 13])
def test_runs_of_a_half_block_have_the_bits_of_single_ones(runs: int) -> None:
    run, prior = simulation("scara2"), load("scara2").prior.values
    chi = prior * (1.0 + 0.01 * np.arange(runs)[:, None])
    found = run(chi)
    assert len(found) == runs
    for k in (0, runs - 1):
        assert np.array_equal(found[k], run(chi[k])[0])
