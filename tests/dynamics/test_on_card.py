"""On a graphics card: the processor's motion, the same bits in every batch, and sentences where the card cannot.

Needs NumPy, SciPy and CuPy; the processor's results travel as a file, made by `benchmarks/card.py prepare` where there is a full
installation and named by INERTICA_CARD_REFERENCE.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inertica.dynamics.cuda.target import Cuda
from inertica.dynamics.engine import Engine
from inertica.dynamics.simulate import Noise
from inertica.errors import InputError

REFERENCE = os.environ.get("INERTICA_CARD_REFERENCE")


def no_card() -> str:
    """Why there is none to test on."""
    try:
        import cupy
    except ImportError:
        return "no CuPy"
    try:
        return "" if cupy.cuda.runtime.getDeviceCount() else "no card"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return str(error)


WHY = no_card() or ("" if REFERENCE else "INERTICA_CARD_REFERENCE names no file of results by the processor")
pytestmark = [pytest.mark.card, pytest.mark.skipif(bool(WHY), reason=WHY)]

SIGNALS = ("q", "dq", "ddq", "tau", "q_measured", "tau_measured")
ROBOTS = ("tx40", "panda7")
RATE = 5000.0


@cache
def references() -> dict[str, Any]:
    return pickle.loads(Path(str(REFERENCE)).read_bytes())  # type: ignore[no-any-return]


def simulated(name: str, integrator: str, noisy: bool, runs: range, steps: int | None = None) -> dict[str, np.ndarray]:
    """Runs of the file by their numbers."""
    problem, engine = references()[name], engines(name)
    reference = {key: values[:steps] for key, values in problem["reference"].items()}
    chosen = np.array(runs) % len(problem["chi"])
    out = engine.simulate(
        problem["chi"][chosen], reference, problem["gains"], 1 / RATE, law=problem["law"], keep=500, integrator=integrator,
        noise=Noise(q=1e-6, tau=0.05, seed=5) if noisy else None, runs=list(runs),
    )  # fmt: skip
    return {signal: np.asarray(getattr(out, signal)) for signal in SIGNALS}


@cache
def engines(name: str) -> Engine:
    problem = references()[name]
    return Engine(problem["layout"], problem["reduction"], target=Cuda())


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize("name", ROBOTS)
def test_the_processors_motion_over_ten_seconds(name: str, integrator: str, noisy: bool) -> None:
    expected = references()[name]["expected"][integrator, noisy]
    found = simulated(name, integrator, noisy, range(len(expected["q"])))
    assert np.abs(found["q"] - expected["q"]).max() < 1e-12
    assert np.abs(found["q_measured"] - expected["q_measured"]).max() < 1e-12
    assert np.abs(found["tau_measured"] - expected["tau_measured"]).max() < 1e-8


@pytest.mark.parametrize("name", ROBOTS)
def test_the_same_bits_between_runs_and_batch_sizes(name: str) -> None:
    whole = simulated(name, "euler", True, range(5000), 2500)
    for some in (range(5000), range(1), range(130, 131), range(100, 333), range(4990, 5000)):
        again = simulated(name, "euler", True, some, 2500)
        for signal in SIGNALS:
            assert again[signal].tobytes() == whole[signal][some.start : some.stop].tobytes()


def test_a_full_card_computes_in_parts_or_says_so() -> None:
    import cupy

    pool, whole = cupy.get_default_memory_pool(), simulated("tx40", "euler", True, range(5000), 2500)
    pool.free_all_blocks()
    try:
        pool.set_limit(size=pool.used_bytes() + (4 << 20))
        parts = simulated("tx40", "euler", True, range(5000), 2500)
        assert all(parts[signal].tobytes() == whole[signal].tobytes() for signal in SIGNALS)
        pool.set_limit(size=pool.used_bytes() + 64)
        with pytest.raises(InputError, match="does not hold a single run"):
            simulated("tx40", "euler", True, range(5000), 2500)
    finally:
        pool.set_limit(size=0)


def test_memory_that_others_take_meanwhile_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    import cupy

    pool, whole = cupy.get_default_memory_pool(), simulated("tx40", "euler", False, range(5000), 2500)
    pool.free_all_blocks()
    target = engines("tx40").target
    assert isinstance(target, Cuda)
    monkeypatch.setattr(type(target.device), "free", 1 << 40)  # what the card said a moment ago
    try:
        pool.set_limit(size=pool.used_bytes() + (8 << 20))
        parts = simulated("tx40", "euler", False, range(5000), 2500)
    finally:
        pool.set_limit(size=0)
    assert all(parts[signal].tobytes() == whole[signal].tobytes() for signal in SIGNALS)


def test_without_a_driver_it_is_a_sentence() -> None:
    code = (
        "from inertica.dynamics.cuda.card import Card\n"
        "from inertica.errors import InputError\n"
        "try:\n    Card()\nexcept InputError as error:\n    print(error)"
    )
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    said = subprocess.run([sys.executable, "-c", code], env=hidden, capture_output=True, text=True, check=True).stdout
    assert "graphics card" in said and "use the processor" in said


def test_mixed_precision_is_near() -> None:
    problem = references()["tx40"]
    exact = problem["expected"]["euler", False]["q"]
    mixed = replace(Cuda(), precision="mixed")
    engine = Engine(problem["layout"], problem["reduction"], target=mixed)
    given = (problem["chi"], problem["reference"], problem["gains"], 1 / RATE)
    found = engine.simulate(*given, law=problem["law"], keep=500, integrator="euler")
    assert 0.0 < np.abs(np.asarray(found.q) - exact).max() < 1e-5
