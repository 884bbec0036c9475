"""The seam between kernels and targets: a target of one file gives what the compiled one gives."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import butter

from generators import random_parameters, random_robot, rich_layout, states
from inertica import dynamics
from inertica.dynamics import sections
from inertica.dynamics.engine import Engine
from inertica.dynamics.kernels import Normals, Reference, Target, traced, with_rates
from inertica.dynamics.llvm.target import Native
from inertica.dynamics.simulate import Noise, RunOptions
from inertica.dynamics.tangents import simulate_tangents
from inertica.robot.control import PID
from inertica.robot.drives import Armature
from inertica.robot.friction import Coulomb, LuGre, Viscous
from inertica.robot.layout import Layout
from inertica.robot.load import load
from toy_target import Toy

LAYOUTS = {
    "tx40": lambda: load("tx40").layout,
    "scara4": lambda: load("scara4").layout,
    "rich": lambda: rich_layout(random_robot(5, n=4)),
}
TOY: Target = Toy()


def near(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-12) -> bool:
    return found.shape == expected.shape and bool(np.abs(found - expected).max() <= tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", LAYOUTS)
def test_another_target_gives_the_same_dynamics(name: str) -> None:
    layout = LAYOUTS[name]()
    native, toy = Engine(layout), Engine(layout, target=TOY)
    chi = random_parameters(layout, 0)
    q, dq, ddq = states(0, 40, native.n)
    assert near(toy.regressor(q, dq, ddq), native.regressor(q, dq, ddq))
    assert near(toy.inverse_dynamics(q, dq, ddq, chi), native.inverse_dynamics(q, dq, ddq, chi))
    assert near(toy.mass_matrix(q, chi), native.mass_matrix(q, chi))
    for ours, theirs in zip(toy.torque_derivatives(q, dq, ddq, chi), native.torque_derivatives(q, dq, ddq, chi), strict=True):
        assert near(ours, theirs)
    (samples, entries), *none = toy.regressor_chunks(q, dq, ddq)
    assert samples == slice(0, 40) and not none
    assert near(entries.T, native.regressor_entries(q, dq, ddq))


def test_another_target_gives_the_same_factors() -> None:
    layout = load("tx40").layout
    q, dq, ddq = states(0, 90, 6)
    tau, weights = states(1, 90, 6)[0], np.random.default_rng(0).uniform(0, 2, 90)
    ours, theirs = (e.factors(q, dq, ddq, tau, weights=weights) for e in (Engine(layout, target=TOY), Engine(layout)))
    for a, b in zip(ours.joints, theirs.joints, strict=True):
        assert a.columns == b.columns
        assert near(a.R.T @ a.R, b.R.T @ b.R)
        assert near(a.R.T @ a.z, b.R.T @ b.z)


@pytest.mark.parametrize("noise", [None, Noise(q=1e-6, tau=0.05, seed=9)])
def test_another_target_gives_the_same_closed_loop(noise: Noise | None) -> None:
    layout = Layout(random_robot(8, n=3), (*(Armature(j) for j in range(3)), Viscous(0), Coulomb(1, width=0.05), LuGre(2)))
    chi = random_parameters(layout, 1).values * np.linspace(0.98, 1.02, 3)[:, None]
    t = np.arange(60)[:, None] * 1e-3
    reference = {"q": 0.2 * np.sin(5 * t + np.arange(3)), "dq": np.cos(5 * t + np.arange(3))}
    gains = {"kp": 300.0, "kd": 30.0, "ki": 100.0, "windup": 1e-3}
    options = {"law": PID(), "noise": noise, "runs": [4, 5, 1 << 40], "keep": 7}
    ours, theirs = (e.simulate(chi, reference, gains, 1e-3, **options) for e in (Engine(layout, target=TOY), Engine(layout)))
    for name in ("steps", "q", "dq", "ddq", "tau", "q_measured", "tau_measured"):
        assert near(getattr(ours, name), getattr(theirs, name), 1e-9)


@pytest.mark.parametrize("difference", [False, True])
def test_another_target_gives_the_same_tangents(difference: bool) -> None:
    layout = load("scara2").layout
    chi, directions = random_parameters(layout, 1).values, np.random.default_rng(0).normal(size=(3, layout.size))
    t = np.arange(60)[:, None] * 1e-3
    reference = {"q": 0.2 * np.sin(5 * t + np.arange(2)), "dq": np.cos(5 * t + np.arange(2))}
    ours, theirs = (
        simulate_tangents(
            e, chi, directions, reference, {"kp": 200.0, "kd": 20.0}, 1e-3, RunOptions(difference_velocity=difference)
        )
        for e in (Engine(layout, target=TOY), Engine(layout))
    )
    for one, other in zip(ours, theirs, strict=True):
        for name in ("q", "dq", "ddq", "tau"):
            assert near(getattr(one, name), getattr(other, name), 1e-9)


@pytest.mark.parametrize("backward", [False, True])
def test_another_target_gives_the_same_filter(backward: bool) -> None:
    sos = butter(5, 0.2, output="sos")
    found = []
    for target in (TOY, Native()):
        rows, state = np.random.default_rng(0).normal(size=(50, 8)), np.random.default_rng(1).normal(size=(3, 2, 8))
        target.scan(sections.kernel(3), 8)(rows, state, sos[:, [0, 1, 2, 4, 5]].ravel(), backward)
        found.append((rows, state))
    assert near(found[0][0], found[1][0])
    assert near(found[0][1], found[1][1])


def test_a_kernel_says_what_it_reads_and_gives() -> None:
    kinds = {"x": 2, "r": Reference(1, 4), "z": Normals(1)}
    kernel = traced("f", kinds, lambda s: {"y": [s["x"][0] * s["x"][1] + s["r"][0] * s["z"][0], 0.0]})
    assert kernel.sizes == {"x": 2}
    assert list(kernel.places) == [("y", 0), ("y", 1)]
    moved = with_rates(kernel, {"x"})
    assert moved.sizes == {"x": 2, "x rate": 2}
    assert list(moved.outputs) == ["y", "y rate"]
    assert kernel.sizes == {"x": 2}


def test_only_the_default_names_a_target() -> None:
    """What describes kernels does not know what compiles them: `targets` chooses, and `single` works by the sample."""
    root = Path(dynamics.__file__).parent
    named = set()
    for file in root.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if any(m.startswith(("inertica.dynamics.llvm", "llvmlite", "numba", "ctypes")) for m in modules):
                named.add(file.stem)
    assert named == {"targets", "single"}
