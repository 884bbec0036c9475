"""The CUDA target: its text, run by a C++ compiler, gives what the processor's target gives; on a card, the same again."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.signal import butter

from generators import random_parameters, random_robot, rich_layout, states
from host_cuda import COMPILER, Host
from inertica.dynamics import sections
from inertica.dynamics.cuda.target import Cuda
from inertica.dynamics.engine import Engine
from inertica.dynamics.llvm.target import Native
from inertica.dynamics.simulate import Noise, RunOptions, Simulation
from inertica.dynamics.tangents import simulate_tangents
from inertica.errors import InputError, MissingDependencyError
from inertica.robot.control import PD, PID
from inertica.robot.drives import Armature
from inertica.robot.friction import Coulomb, LuGre, Viscous
from inertica.robot.layout import Layout
from inertica.robot.load import load
from philox import normals

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++ to run the card's text with")

SIGNALS = ("q", "dq", "ddq", "tau", "q_measured", "tau_measured")


def near(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-13) -> bool:
    return found.shape == expected.shape and bool(np.abs(found - expected).max() <= tolerance * np.abs(expected).max())


def engines(layout: Layout, **device: object) -> tuple[Engine, Engine]:
    return Engine(layout, target=Cuda(device=Host(**device))), Engine(layout)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["tx40", "rich"])
def test_the_same_dynamics(name: str) -> None:
    layout = load("tx40").layout if name == "tx40" else rich_layout(random_robot(5, n=4))
    card, native = engines(layout)
    chi = random_parameters(layout, 0)
    q, dq, ddq = states(0, 150, native.n)
    assert near(card.regressor(q, dq, ddq), native.regressor(q, dq, ddq))
    assert near(card.inverse_dynamics(q, dq, ddq, chi), native.inverse_dynamics(q, dq, ddq, chi))
    assert near(card.mass_matrix(q, chi), native.mass_matrix(q, chi))
    for ours, theirs in zip(card.torque_derivatives(q, dq, ddq, chi), native.torque_derivatives(q, dq, ddq, chi), strict=True):
        assert near(ours, theirs)
    chunks = [entries.T for _, entries in card.regressor_chunks(q, dq, ddq)]
    assert near(np.vstack(chunks), native.regressor_entries(q, dq, ddq))


def test_samples_in_parts_when_memory_is_small() -> None:
    layout = load("scara2").layout
    card, native = engines(layout, free=40_000)
    q, dq, ddq = states(0, 150, 2)
    assert len(list(card.regressor_chunks(q, dq, ddq))) > 1
    assert near(card.regressor(q, dq, ddq), native.regressor(q, dq, ddq))


def test_the_same_factors() -> None:
    layout = load("tx40").layout
    q, dq, ddq = states(0, 200, 6)
    tau, weights = states(1, 200, 6)[0], np.random.default_rng(0).uniform(0, 2, 200)
    ours, theirs = (e.factors(q, dq, ddq, tau, weights=weights) for e in engines(layout, free=400_000))
    for a, b in zip(ours.joints, theirs.joints, strict=True):
        assert a.columns == b.columns
        assert near(a.R.T @ a.R, b.R.T @ b.R, 1e-12)
        assert near(a.R.T @ a.z, b.R.T @ b.z, 1e-12)
        assert np.hypot(np.linalg.norm(a.z), a.rest) == pytest.approx(np.hypot(np.linalg.norm(b.z), b.rest), rel=1e-12)


def runs_of(layout: Layout, engine: Engine, noise: Noise | None, integrator: str, own_gains: bool = False) -> Simulation:
    chi = random_parameters(layout, 1).values * np.linspace(0.98, 1.02, 5)[:, None]
    t = np.arange(80)[:, None] * 1e-3
    phases = np.arange(layout.robot.n)
    reference = {"q": 0.2 * np.sin(5 * t + phases), "dq": np.cos(5 * t + phases)}
    kp = 300.0 * np.linspace(1.0, 1.1, 5)[:, None] * np.ones(layout.robot.n) if own_gains else 300.0
    gains = {"kp": kp, "kd": 30.0, "ki": 100.0, "windup": 1e-3}
    options = {"law": PID(), "noise": noise, "runs": [4, 5, 6, 7, 1 << 40], "keep": 7, "integrator": integrator}
    return engine.simulate(chi, reference, gains, 1e-3, **options)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize("noise", [None, Noise(q=1e-6, tau=0.05, seed=9 << 33)])
def test_the_same_closed_loop(noise: Noise | None, integrator: str) -> None:
    layout = Layout(random_robot(8, n=3), (*(Armature(j) for j in range(3)), Viscous(0), Coulomb(1, width=0.05), LuGre(2)))
    for own_gains in (False, True):
        ours, theirs = (runs_of(layout, e, noise, integrator, own_gains) for e in engines(layout))
        for name in SIGNALS:
            assert near(getattr(ours, name), getattr(theirs, name), 1e-10), name


def test_a_run_is_the_same_alone_and_in_parts() -> None:
    layout = load("scara2").layout
    noise = Noise(q=1e-6, tau=0.05, seed=3)
    whole, parts = (runs_of(layout, engines(layout, free=free)[0], noise, "euler") for free in (1 << 32, 6_000))
    for name in SIGNALS:
        assert getattr(whole, name).tobytes() == getattr(parts, name).tobytes()


def test_too_little_memory_is_a_sentence() -> None:
    layout = load("scara2").layout
    with pytest.raises(InputError, match="does not hold a single run"):
        runs_of(layout, engines(layout, free=100)[0], None, "euler")


class Crowded:
    """NumPy on a card that others use: large arrays do not fit, whatever was free before."""

    def __getattr__(self, name: str) -> object:
        return getattr(np, name)

    def empty(self, shape: tuple[int, ...]) -> np.ndarray:
        if shape[-1] > 2:
            raise MemoryError
        return np.empty(shape)


def test_a_crowded_card_computes_in_smaller_parts() -> None:
    layout = load("scara2").layout
    crowded, whole = (runs_of(layout, engines(layout, arrays=arrays)[0], None, "euler") for arrays in (Crowded(), np))
    for name in SIGNALS:
        assert getattr(crowded, name).tobytes() == getattr(whole, name).tobytes()


def test_without_a_card_the_processor_computes_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = load("scara2").layout
    monkeypatch.setattr("inertica.dynamics.targets.BREAK_EVEN", 1)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingDependencyError, match="needs the package cupy"):
        Engine(layout, device="cuda")
    engine = Engine(layout, threads=1, device="auto")
    with pytest.warns(UserWarning, match="cupy.*the processor computes instead"):
        found = runs_of(layout, engine, None, "euler")
    assert found.q.tobytes() == runs_of(layout, Engine(layout), None, "euler").q.tobytes()


def test_large_batches_go_to_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    layout, host = load("scara2").layout, Host()
    monkeypatch.setattr("inertica.dynamics.cuda.target.Card", lambda: host)
    for from_runs, texts in ((6, 0), (5, 1)):
        monkeypatch.setattr("inertica.dynamics.targets.BREAK_EVEN", from_runs)
        runs_of(layout, Engine(layout, threads=1, device="auto"), None, "euler")
        assert len(host.texts) == texts
    with pytest.raises(InputError, match="unknown device 'gpu'"):
        Engine(layout, device="gpu")  # type: ignore[arg-type]


def test_what_the_card_needs_imports_with_numpy_and_scipy_alone() -> None:
    absent = "numba llvmlite clarabel yaml lxml threadpoolctl matplotlib rich cmaes pinocchio cupy"
    needed = "inertica.dynamics.cuda.target, inertica.dynamics.engine"
    code = f"import sys; sys.modules |= dict.fromkeys('{absent}'.split()); import {needed}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_same_noise_as_its_definition() -> None:
    layout = load("scara2").layout
    chi, still = load("scara2").prior.values, np.zeros((50, 2))
    card = engines(layout)[0]
    out = card.simulate(
        chi, {"q": still, "dq": still}, {"kp": 0.0, "kd": 0.0}, 1e-3, law=PD(), noise=Noise(q=1.0, tau=1.0, seed=77)
    )
    assert near(out.q_measured[0] - out.q[0], normals(77, [0], np.arange(50), 2)[0], 1e-13)
    assert near(out.tau_measured[0] - out.tau[0], normals(77, [0], np.arange(50), 2, 1 << 16)[0], 1e-13)


def test_mixed_precision_is_near() -> None:
    layout = load("scara2").layout
    target = Cuda("mixed", Host())
    mixed, exact = (runs_of(layout, e, None, "rk4") for e in (Engine(layout, target=target), Engine(layout)))
    difference = np.abs(mixed.q - exact.q).max()
    assert 0.0 < difference < 1e-6


def test_the_same_tangents() -> None:
    layout = load("scara2").layout
    chi, directions = random_parameters(layout, 1).values, np.random.default_rng(0).normal(size=(3, layout.size))
    t = np.arange(60)[:, None] * 1e-3
    reference = {"q": 0.2 * np.sin(5 * t + np.arange(2)), "dq": np.cos(5 * t + np.arange(2))}
    ours, theirs = (
        simulate_tangents(e, chi, directions, reference, {"kp": 200.0, "kd": 20.0}, 1e-3, RunOptions(difference_velocity=True))
        for e in engines(layout)
    )
    for a, b in zip(ours, theirs, strict=True):
        for name in ("q", "dq", "ddq", "tau"):
            assert near(getattr(a, name), getattr(b, name), 1e-10)


@pytest.mark.parametrize("backward", [False, True])
def test_the_same_filter(backward: bool) -> None:
    sos = butter(5, 0.2, output="sos")
    found = []
    for target in (Cuda(device=Host()), Native()):
        rows, state = np.random.default_rng(0).normal(size=(50, 8)), np.random.default_rng(1).normal(size=(3, 2, 8))
        target.scan(sections.kernel(3), 8)(rows, state, sos[:, [0, 1, 2, 4, 5]].ravel(), backward)
        found.append((rows, state))
    assert near(found[0][0], found[1][0])
    assert near(found[0][1], found[1][1])
