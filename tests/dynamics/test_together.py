"""Fits side by side: the same bits as one by one, errors where they belong, nothing left running."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from host_cuda import COMPILER, Host
from inertica.dynamics.cuda.batches import triangles
from inertica.dynamics.cuda.target import Cuda
from inertica.dynamics.engine import Engine
from inertica.dynamics.llvm.target import Native
from inertica.dynamics.sums import Pair
from inertica.dynamics.together import gathered, side_by_side
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

    def run(chi: np.ndarray, rows: slice = slice(None), **gains: np.ndarray) -> np.ndarray:
        keep = np.arange(0, STEPS, 7)[rows]
        out = engine.simulate(
            chi, {"q": q, "dq": dq}, loop.all_gains | gains, loop.dt, law=loop.compiled_law, keep=keep, integrator="euler",
            start=(q[0], dq[0]),
        )  # fmt: skip
        return np.concatenate([out.q, out.dq, out.ddq, out.tau], axis=2)

    return run


def iteration(run: Callable[..., np.ndarray], k: int) -> np.ndarray:
    """Asks k + 1 times, for one or several lanes, at steps of its own; what it asks depends on what it was told."""
    chi = load("scara2").prior.values * (1.0 + 0.02 * k)
    kp = ControlLoop.of(load("scara2")).all_gains["kp"]
    seen = []
    for _ in range(k + 1):
        found = run(np.tile(chi, (1 + k % 3, 1)), slice(k, None), kp=kp * (1.0 + 0.01 * (k % 2)))
        seen.append(found[-1])
        chi = chi * (1.0 + 1e-3 * np.tanh(found[0, -1, 0]))
    return np.concatenate(seen)


@pytest.mark.parametrize(("at_once", "abreast"), [(1, 1), (3, 1), (8, 2)])
def test_fits_side_by_side_find_the_same_bits(at_once: int, abreast: int) -> None:
    run = simulation("scara2")
    alone = [iteration(run, k) for k in range(6)]
    found = {k: x for k, x, _ in side_by_side([lambda k=k: iteration(run, k) for k in range(6)], at_once, abreast)}
    assert sorted(found) == list(range(6))
    for k, x in enumerate(alone):
        assert found[k].tobytes() == x.tobytes()


def test_what_is_asked_together_is_simulated_together(monkeypatch: pytest.MonkeyPatch) -> None:
    from inertica.dynamics import simulate as plain

    lanes, own = [], plain.simulate

    def counted(model: object, chi: np.ndarray, *given: object, **options: object) -> object:
        lanes.append(len(np.atleast_2d(chi)))
        return own(model, chi, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(plain, "simulate", counted)
    run, chi = simulation("scara2"), load("scara2").prior.values
    spent = [s for _, _, s in side_by_side([lambda k=k: run(chi * (1 + k / 100)) for k in range(5)], 8)]
    assert lanes == [5]
    assert all(s.seconds > 0.0 and s.cpu >= 0.0 for s in spent)


def test_an_error_is_raised_and_nobody_is_left_waiting() -> None:
    run, chi = simulation("scara2"), load("scara2").prior.values
    before = threading.active_count()

    def fit(k: int) -> object:
        if k == 1:
            raise ValueError("one of them")
        return [run(chi) for _ in range(3)]

    with pytest.raises(ValueError, match="one of them"):
        list(side_by_side([lambda k=k: fit(k) for k in range(4)], 4))
    next(side_by_side([lambda k=k: fit(2 + k) for k in range(3)], 2))  # given up by who asked
    assert threading.active_count() == before


def test_an_impossible_batch_is_told_to_those_who_asked_for_it() -> None:
    run, chi = simulation("scara2"), load("scara2").prior.values

    def fit(k: int) -> str:
        try:
            run(chi[:-1] if k == 1 else chi)
        except InputError as error:
            return str(error)
        return "fine"

    found = {k: x for k, x, _ in side_by_side([lambda k=k: fit(k) for k in range(2)], 1)}
    assert found[0] == "fine" and "parameters" in found[1]


def test_a_function_with_many_is_called_once_for_all() -> None:
    class Square:
        calls = 0

        def __call__(self, x: int) -> int:
            return x * x

        def many(self, given: list[tuple[int]]) -> list[int]:
            Square.calls += 1
            return [x * x for (x,) in given]

    square = Square()
    found = {k: x for k, x, _ in side_by_side([lambda k=k: gathered(square, k) for k in range(5)], 8)}
    assert found == {k: k * k for k in range(5)} and Square.calls == 1
    assert gathered(square, 7) == 49 and Square.calls == 1


def test_a_batch_that_breaks_ends_everything() -> None:
    class Broken:
        def __call__(self) -> None: ...

        def many(self, given: list[tuple[()]]) -> list[None]:
            raise ZeroDivisionError("of the program itself")

    broken, before = Broken(), threading.active_count()
    with pytest.raises(ZeroDivisionError, match="of the program itself"):
        list(side_by_side([lambda: gathered(broken) for _ in range(4)], 4))
    assert threading.active_count() == before


def test_cholesky_twice_is_as_good_as_householder() -> None:
    draw = np.random.default_rng(3)
    rows = draw.standard_normal((3, 6, 500)) * np.array([1e3, 1.0, 1e-3, 1.0, 1.0, 1.0])[None, :, None]
    rows[:, 4] = rows[:, 3] + 1e-5 * rows[:, 4]  # nearly dependent
    rows[1, 5] = rows[1, 0] - 2.0 * rows[1, 1]  # dependent
    R = triangles(np, rows)
    for own, A in zip(R, rows, strict=True):
        exact = np.linalg.qr(A.T, mode="r")
        scale = np.linalg.norm(exact, axis=0)
        signs = np.sign(np.diag(exact))
        assert np.abs((own - signs[:, None] * exact) / scale)[:5].max() < 1e-10
        assert np.abs(own[5, 5]) <= np.abs(exact[5, 5]) + 1e-12 * scale[5]


@pytest.mark.skipif(COMPILER is None, reason="needs g++")
def test_the_card_factors_and_multiplies_many_motions_as_the_processor_does() -> None:
    description = load("scara2")
    base, draw = base_model(description.layout), np.random.default_rng(1)
    columns, n = [int(k) for k in base.kept], description.layout.robot.n
    card, processor = (Engine(base.layout, target=target) for target in (Cuda(device=Host()), Native()))

    def motion(N: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return draw.standard_normal((N, n)), draw.standard_normal((N, n)), draw.standard_normal((N, n))

    sizes = (300, 250, 310)
    made = [(motion(N), motion(N), draw.standard_normal((N, n)), (draw.random((N, n)) > 0.1).astype(float)) for N in sizes]

    def both(engine: Engine, k: int) -> tuple[object, object]:
        a, b, tau, weights = made[k]
        return engine.factors(*b, tau, columns, weights=weights), engine.products(Pair(a, b, tau, weights), columns)

    found = {k: x for k, x, _ in side_by_side([lambda k=k: both(card, k) for k in range(3)], 3)}
    for k in range(3):
        factors, products = both(processor, k)
        assert np.array_equal(found[k][0].counts, factors.counts)
        for own, exact in zip(found[k][0].joints, factors.joints, strict=True):
            assert own.columns == exact.columns
            gram, wanted = own.triangle.T @ own.triangle, exact.triangle.T @ exact.triangle
            assert np.abs(gram - wanted).max() < 1e-12 * np.abs(wanted).max()
        for own, exact in zip(found[k][1], products, strict=True):
            assert np.abs(own - exact).max() < 1e-12 * np.abs(exact).max()
