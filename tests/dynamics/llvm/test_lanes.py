"""Elementary functions in lanes, the assembly they become, and the store of compiled code."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from generators import random_parameters, random_robot
from inertica import scalars
from inertica.dynamics.closed_loop import ClosedLoop
from inertica.dynamics.engine import Engine
from inertica.dynamics.kernels import traced
from inertica.dynamics.llvm import native
from inertica.dynamics.llvm.lanes import Lanes
from inertica.dynamics.llvm.rows import LANES, RowLayout, aligned
from inertica.dynamics.llvm.write import compiled, write
from inertica.dynamics.trace import differentiate
from inertica.errors import ModelWarning
from inertica.robot.control import PD
from inertica.robot.load import load

RANGES = {
    "sin": (-500.0, 500.0),
    "cos": (-500.0, 500.0),
    "exp": (-700.0, 700.0),
    "log": (1e-9, 1e9),
    "sqrt": (0.0, 100.0),
    "tanh": (-20.0, 20.0),
    "absolute": (-5.0, 5.0),
    "sign": (-2.0, 2.0),
}


def run(expression, inputs: np.ndarray, lanes: int) -> np.ndarray:
    """Evaluate a traced expression of k inputs on (k, N) numbers in compiled lanes."""
    k, N = inputs.shape
    kernel = traced("f", {"x": k}, lambda symbols: {"y": [expression(*symbols["x"])]})
    code = compiled([kernel], lanes, RowLayout(N, {"x": k, "y": 1}).offset)
    call = code.function("f", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    work = aligned((k + 1) * N)
    work[: k * N] = inputs.ravel()
    call(work.ctypes.data, N, 0, None)
    return work[k * N :].copy()


@pytest.mark.parametrize("lanes", [1, LANES])
@pytest.mark.parametrize("name", RANGES)
def test_functions_match_numpy(name: str, lanes: int) -> None:
    low, high = RANGES[name]
    x = np.linspace(low, high, 4096) if name != "log" else np.geomspace(low, high, 4096)
    f = getattr(scalars, name)
    found, expected = run(f, x[None], lanes), f(x)
    tolerance = 4e-16 * np.maximum(np.abs(expected), 1.0 if name in ("sin", "cos", "tanh") else 0.0) + 1e-300
    if name == "log":
        tolerance = 4e-16 * np.maximum(np.abs(expected), 0.1)
    assert np.all(np.abs(found - expected) <= tolerance)


def test_powers_minima_and_signs_at_zero() -> None:
    x = np.zeros((2, 8))
    x[0] = [0.0, -0.0, 1e-12, 0.5, 2.0, 3.0, 0.0, 1.0]
    x[1] = [1.5, 2.0, 2.0, 0.7, 1.3, 0.0, 0.3, 9.0]
    assert np.allclose(run(scalars.power, x, LANES), np.power(np.abs(x[0]), x[1]), rtol=1e-13, atol=1e-80)
    assert np.array_equal(run(scalars.minimum, x, LANES), np.minimum(*x))
    assert np.array_equal(run(scalars.maximum, x, LANES), np.maximum(*x))
    assert np.array_equal(run(scalars.sign, x[:1], LANES), np.sign(x[0]))


def test_divergence_stays_visible() -> None:
    """A run that blew up must show it: no operation may turn NaN into a number on the way."""
    x = np.full((1, 8), np.nan)
    for f in (scalars.sin, scalars.exp, scalars.sqrt, lambda v: 1.0 / (v * v + 1.0)):
        assert np.isnan(run(f, x, LANES)).all()


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log", "sqrt", "tanh", "absolute"])
def test_derivatives_match_the_complex_step(name: str) -> None:
    x = np.linspace(0.3, 2.0, 16)

    def rate(v):
        g = v.graph
        return differentiate([getattr(scalars, name)(v * v + 0.1)], {v: g.constant(1.0)})[0]

    h = 1e-30
    f = getattr(np, name)
    value = x + 1j * h
    expected = 2 * x if name == "absolute" else f(value * value + 0.1).imag / h
    assert np.allclose(run(rate, x[None], LANES), expected, rtol=1e-13)


def test_hot_loops_are_packed() -> None:
    """Forward dynamics and control of a six-joint arm: packed double arithmetic only, stack aligned for vectors."""
    features = native.features()
    if not features.get("avx2"):
        pytest.skip("this processor has no AVX2")
    engine = Engine(load("tx40").layout)
    for integrator in ("euler", "rk4"):
        loop = ClosedLoop(PD(), integrator, True, True).described(engine.equations, engine.retained)
        rows = RowLayout(LANES, loop.fields | {"run": 1, "seed": 1})
        for kernel in (loop.forward, loop.begin, *loop.stages):
            text = native.assembly(Lanes(LANES).declarations() + write(kernel, LANES, rows.offset))
            arithmetic = r"v(?:mul|add|sub|div|sqrt|fn?m(?:add|sub)\d+)"
            packed, scalar = len(re.findall(arithmetic + "pd", text)), len(re.findall(arithmetic + "sd", text))
            assert packed > (500 if kernel is loop.forward else 10)
            assert scalar == 0
            assert not re.findall(r"vmovup[sd]\s+[^\n]*rsp", text), "vector spills that are not aligned"


def test_compiled_code_is_found_again_on_disk(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INERTICA_CACHE", str(tmp_path))
    x = np.arange(8.0)[None]
    first = run(lambda v: v * 1.2345678, x, LANES)
    files = list(tmp_path.glob("*.o"))
    assert len(files) == 1
    stamp = files[0].stat().st_mtime_ns
    assert np.array_equal(first, run(lambda v: v * 1.2345678, x, LANES))
    assert files[0].stat().st_mtime_ns == stamp


def test_an_unwritable_cache_costs_nothing_but_time(tmp_path, monkeypatch) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    monkeypatch.setenv("INERTICA_CACHE", str(blocker / "sub"))
    assert np.array_equal(run(lambda v: v + 1.0, np.zeros((1, 8)), LANES), np.ones(8))


def test_a_damaged_cache_file_is_replaced(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INERTICA_CACHE", str(tmp_path))
    x = np.arange(8.0)[None]
    run(lambda v: v * 3.25, x, LANES)
    (file,) = tmp_path.glob("*.o")
    file.write_bytes(b"garbage")
    with pytest.warns(ModelWarning, match="was damaged; it is compiled anew"):
        assert np.array_equal(run(lambda v: v * 3.25, x, LANES), 3.25 * x[0])


def test_structure_prunes_the_graph() -> None:
    """The regressor of a six-joint arm has far fewer entries than 6 x P, and no joint feels a link before it."""
    layout = load("tx40").layout
    engine = Engine(layout)
    assert len(engine.entries) < 0.5 * 6 * layout.size
    for joint, parameter in engine.entries:
        owner = layout.parameters[parameter].joint
        assert owner is None or owner >= joint


def test_a_robot_of_one_joint_works() -> None:
    from inertica.robot.layout import Layout

    layout = Layout(random_robot(7, n=1))
    engine = Engine(layout)
    assert engine.inverse_dynamics([[0.1]], [[0.2]], [[0.3]], random_parameters(layout, 0)).shape == (1, 1)
