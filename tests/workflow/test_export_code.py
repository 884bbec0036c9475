"""Programs without dependencies: compiled or run, they give the numbers of the engine."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import pair
from inertica.cli.main import main
from inertica.dynamics.code.functions import states
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.identifiability.base import base_model
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.robot.terms import Counterbalance
from inertica.workflow.export.code import LANGUAGES, CodeFormat, export_code

COMPILER = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
compiled = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
FLAGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1")

CARD = """\
model: arm.urdf
friction: [viscous, offset, stribeck]
armature: true
fixed: {Ia1: 0.02}
terms: [{name: S2, joint: 2, formula: "maximum(q2, 0.0) + minimum(q1, 1.0) + sqrt(1.0 + q2 * q2) + sign(dq2) + abs(dq2) * tanh(dq1)"}]
"""


def module(folder: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"exported_{name}", folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def library(folder: Path, name: str) -> ctypes.CDLL:
    assert COMPILER is not None
    target = folder / f"lib{name}.so"
    subprocess.run([COMPILER, *FLAGS, "-fPIC", "-shared", "-o", target, folder / f"{name}.c", "-lm"], check=True)
    return ctypes.CDLL(str(target))


def called(function, size: int, *inputs: np.ndarray) -> np.ndarray:
    out = np.full(size, np.nan)
    function(*(ctypes.c_void_p(np.ascontiguousarray(a).ctypes.data) for a in inputs), ctypes.c_void_p(out.ctypes.data))
    return out


def largest(a: object, b: object, scale: float) -> float:
    return float(np.abs(np.asarray(a) - np.asarray(b)).max() / scale)


def odd_robot(folder: Path) -> Parameters:
    """Every operation of the writers: a formula with a choice, a modulus and tanh, Stribeck's exponential, a known parameter."""
    (folder / "arm.urdf").write_text(pair.URDF)
    (folder / "card.yaml").write_text(CARD)
    prior = load(folder / "card.yaml").prior
    drives = {n: 0.1 * (k + 1) for k, n in enumerate(n for n in prior.layout.names if n[:2] in ("of", "dF", "S2", "Ia"))}
    return prior.replaced({n: v for n, v in drives.items() if n != "Ia1"} | {"Ia1": 0.02})


@compiled
@pytest.mark.parametrize("robot", ["tx40", "scara4"])
def test_c_equals_the_engine(tmp_path, robot):
    """All functions, to 1e-12 of the largest number, base parameters as an argument; scara4 has a sliding joint."""
    description = load(robot)
    written = export_code(robot, tmp_path, "c")
    base, engine, n = base_model(description.layout), Engine(description.layout, threads=1), description.robot.n
    beta = np.ascontiguousarray(base.beta(description.prior.values))
    assert written.parameters == base.rank and (robot != "tx40" or base.rank == 52)
    code = library(tmp_path, robot)
    q, dq, ddq = states(n, 20, seed=1)
    tau = engine.inverse_dynamics(q, dq, ddq, description.prior)
    M, Y = engine.mass_matrix(q, description.prior), engine.regressor(q, dq, ddq)[:, :, base.retained]
    back = engine.forward_dynamics(q, dq, tau, description.prior)
    for k in range(20):
        x = (q[k], dq[k], ddq[k])
        get = lambda name, size, *inputs: called(getattr(code, f"{robot}_{name}"), size, *inputs)  # noqa: E731
        assert largest(get("inverse_dynamics", n, *x, beta), tau[k], np.abs(tau).max()) < 1e-12
        assert largest(get("mass_matrix", n * n, q[k], beta), M[k].ravel(), np.abs(M).max()) < 1e-12
        assert largest(get("regressor", n * base.rank, *x), Y[k].ravel(), np.abs(Y).max()) < 1e-12
        assert largest(get("forward_dynamics", n, q[k], dq[k], tau[k], beta), back[k], np.abs(back).max()) < 1e-9  # conditioning


@compiled
@pytest.mark.parametrize("parameters", ["base", "standard"])
@pytest.mark.parametrize("baked", [False, True])
def test_the_test_program_passes_and_can_fail(tmp_path, parameters, baked):
    values = odd_robot(tmp_path)
    description = replace(load(tmp_path / "card.yaml"), prior=values)
    written = export_code(description, tmp_path / "code", "c", parameters=parameters, baked=baked)
    files = [tmp_path / "code" / f for f in written.files]
    assert [f.name for f in files] == ["pair.c", "pair.h", "pair_test.c"]
    assert COMPILER is not None
    subprocess.run([COMPILER, *FLAGS, "-o", tmp_path / "a.out", files[0], files[2], "-lm"], check=True)
    done = subprocess.run([tmp_path / "a.out"], capture_output=True, text=True)
    assert done.returncode == 0 and float(re.search(r"engine: (\S+) of", done.stdout)[1]) < 1e-12
    wrong = files[0].read_text().replace("sin(", "1e-6 + sin(", 1)
    files[0].write_text(wrong)
    subprocess.run([COMPILER, *FLAGS, "-o", tmp_path / "a.out", files[0], files[2], "-lm"], check=True)
    assert subprocess.run([tmp_path / "a.out"], capture_output=True).returncode == 1


def test_python_equals_the_engine_and_needs_nothing(tmp_path):
    values = odd_robot(tmp_path)
    description = replace(load(tmp_path / "card.yaml"), prior=values)
    for parameters in ("base", "standard"):
        written = export_code(description, tmp_path / parameters, "python", parameters=parameters)
        assert written.difference is not None and written.difference < 1e-12
    code = module(tmp_path / "base", "pair")
    engine, n = Engine(values.layout, threads=1), values.layout.robot.n
    q, dq, ddq = states(n, 5, seed=2)
    tau, M = engine.inverse_dynamics(q, dq, ddq, values), engine.mass_matrix(q, values)
    for k in range(5):
        at, rates, accelerations = q[k].tolist(), dq[k].tolist(), ddq[k].tolist()
        parts = np.array(code.coriolis(at, rates)) + code.gravity(at) + code.friction(at, rates)
        assert largest(np.array(code.mass_matrix(at)) @ ddq[k] + parts, tau[k], np.abs(tau).max()) < 1e-12
        assert largest(code.mass_matrix(at), M[k], np.abs(M).max()) < 1e-12
        assert largest(np.array(code.regressor(at, rates, accelerations)) @ code.PARAMETERS, tau[k], np.abs(tau).max()) < 1e-12
        assert largest(np.array(code.coriolis_matrix(at, rates)) @ dq[k], code.coriolis(at, rates), np.abs(tau).max()) < 1e-12
        assert largest(code.forward_dynamics(at, rates, tau[k].tolist()), ddq[k], np.abs(ddq).max()) < 1e-9
    assert "Ia1" in code.NAMES and code.JOINTS == ("shoulder", "elbow")
    alone = f"import sys; sys.path.insert(0, {str(tmp_path / 'base')!r}); import pair; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", alone], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_dm_dt_minus_two_c_is_skew(tmp_path):
    export_code("tx40", tmp_path, "python")
    code = module(tmp_path, "tx40")
    q, dq, _ = states(6, 1, seed=3)
    step = 1e-5
    ahead, behind = (np.array(code.mass_matrix((q[0] + s * step * dq[0]).tolist())) for s in (1.0, -1.0))
    S = (ahead - behind) / (2.0 * step) - 2.0 * np.array(code.coriolis_matrix(q[0].tolist(), dq[0].tolist()))
    assert np.abs(S + S.T).max() < 1e-8 < np.abs(S).max()


def test_baked_functions_have_no_argument_and_fewer_lines(tmp_path):
    export_code("scara2", tmp_path / "a", "python", name="My arm-2")
    export_code("scara2", tmp_path / "b", "python", baked=True, name="My arm-2")
    texts = [(tmp_path / f / "my_arm_2.py").read_text() for f in "ab"]
    assert "def gravity(q, p=PARAMETERS):" in texts[0] and "def gravity(q):" in texts[1]
    assert len(texts[1].splitlines()) < len(texts[0].splitlines())


def test_a_result_and_a_model_on_the_command_line(tmp_path, capsys):
    result = pair.identified()
    saved = result.save(tmp_path / "result")
    assert main(["export", str(saved), "--as", "python", "-o", str(tmp_path / "code"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["difference"] < 1e-12 and document["format"] == "python" and "regressor" in document["functions"]
    q, dq, ddq = states(2, 3, seed=4)
    code = module(tmp_path / "code", "pair")
    wanted = Engine(result.parameters.layout, threads=1).inverse_dynamics(q, dq, ddq, result.parameters)
    found = [code.inverse_dynamics(*(x[k].tolist() for x in (q, dq, ddq))) for k in range(3)]
    assert largest(found, wanted, np.abs(wanted).max()) < 1e-12
    robot, _, _ = pair.files()
    assert main(["export", robot, "--as", "c", "-o", str(tmp_path / "c"), "--name", "arm"]) == 0
    assert (tmp_path / "c" / "arm.h").is_file() and "compile arm.c with arm_test.c" in " ".join(capsys.readouterr().out.split())
    assert "-o DIR" in pair.refused(capsys, "export", saved, "--as", "c")
    assert "behind --urdf" in pair.refused(capsys, "export", saved, "--urdf", tmp_path / "x.urdf", "-o", tmp_path)


def test_what_cannot_be_said_is_refused(tmp_path):
    with pytest.raises(InputError, match="'rust'"):
        export_code("tx40", tmp_path, "rust")
    tx40 = load("scara2")
    empty = replace(tx40, prior=tx40.layout.zeros())
    assert "states no values" in export_code(empty, tmp_path / "e", "python").notes[0]
    with pytest.raises(InputError, match="leave them an argument"):
        export_code(empty, tmp_path / "f", "python", baked=True)


def test_a_balance_that_acts_like_gravity_keeps_the_sum(tmp_path):
    """Its columns are dependent on gravity's: shares change by regrouping, torques do not."""
    description = load("tx40")
    description = description.with_terms((*description.layout.terms, Counterbalance(1)))
    description = replace(description, prior=description.prior.replaced({"Kbs2": 3.0, "Kbc2": -2.0}))
    written = export_code(description, tmp_path, "python")
    assert written.difference is not None and written.difference < 1e-12


def test_a_further_language_is_one_line(tmp_path, monkeypatch):
    toy = CodeFormat(
        "Toy program", "Names of the functions.", lambda program, _: {"arm.toy": " ".join(f.name for f in program.functions)}
    )
    monkeypatch.setitem(LANGUAGES, "toy", toy)
    assert main(["export", "scara2", "--as", "toy", "-o", str(tmp_path / "code")]) == 0
    assert "inverse_dynamics" in (tmp_path / "code" / "arm.toy").read_text().split()
