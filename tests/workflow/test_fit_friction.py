"""LuGre friction found from logs."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import inertica as ia
from inertica.cli.main import main
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment, Sensors
from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.robot.friction import LuGre
from inertica.robot.plain import with_laws
from inertica.workflow.friction.fit_friction import FrictionFit, fit_friction, friction_columns
from inertica.workflow.identify.settings import Settings

TRUE = (
    {"sigma0": 500.0, "sigma1": 4.0, "sigma2": 0.4, "fc": 0.9, "fs": 1.3, "vs": 0.05},
    {"sigma0": 120.0, "sigma1": 0.7, "sigma2": 0.05, "fc": 0.2, "fs": 0.2, "vs": 0.1},  # the second does not fall with speed
)
RATE, SECONDS = 2000.0, 8.0


def path(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two joints with reversals at many speeds."""
    a, w, p = (
        np.array([[0.5, 0.6], [0.15, 0.2], [0.05, 0.08]]),
        np.array([[1.1, 1.7], [4.3, 5.9], [13.0, 17.0]]),
        np.arange(6).reshape(3, 2),
    )
    s = [w[k] * t[:, None] + p[k] for k in range(3)]
    q = sum(a[k] * np.sin(s[k]) for k in range(3))
    return q, sum(a[k] * w[k] * np.cos(s[k]) for k in range(3)), sum(-a[k] * w[k] ** 2 * np.sin(s[k]) for k in range(3))


def lugre(t: np.ndarray, j: int) -> np.ndarray:
    """Torque of the law along the path, its bristle integrated by scipy."""
    c = TRUE[j]

    def parts(now: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        v = path(np.atleast_1d(now))[1][:, j]
        return v, (c["fc"] + (c["fs"] - c["fc"]) * np.exp(-((v / c["vs"]) ** 2))) / c["sigma0"]

    def rate(now: float, z: np.ndarray) -> np.ndarray:
        v, phi = parts(now)
        return v - np.abs(v) * z / phi

    z = solve_ivp(rate, (0.0, t[-1]), [0.0], method="LSODA", t_eval=t, rtol=1e-8, atol=1e-12, max_step=0.01).y[0]
    v, phi = parts(t)
    return c["sigma0"] * z + c["sigma1"] * (v - np.abs(v) * z / phi) + c["sigma2"] * v


@cache
def exact() -> tuple[Description, Log]:
    d = ia.load("scara2")
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    q, dq, ddq = path(t)
    bare = with_laws(d, ())
    tau = Engine(bare.layout).inverse_dynamics(q, dq, ddq, bare.prior) + np.column_stack([lugre(t, j) for j in range(2)])
    return d, Log.from_arrays(t, {"q": q, "tau": tau}, d.robot.joint_names)


@cache
def noisy() -> FrictionFit:
    d, log = exact()
    rng = np.random.default_rng(8)
    tau = np.asarray(log.signals["tau"])
    other = replace(
        log, signals={**log.signals, "tau": tau + 0.01 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)}
    )
    return fit_friction(d, [other], settings=Settings(cutoff=400.0, decimate=400.0, delay=0.0))


def test_the_bristle_is_advanced_as_scipy_does() -> None:
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    q, dq, _ = path(t)
    for j, c in enumerate(TRUE):
        shapes = np.array([c["sigma0"] / c["fc"], c["fs"] / c["fc"], c["vs"]])
        made = friction_columns(q[:, j], dq[:, j], True, True, shapes) @ [c["fc"], c["sigma1"] / shapes[0], c["sigma2"]]
        truth = lugre(t, j)
        assert np.sqrt(np.mean((made - truth) ** 2)) < 3e-3 * np.sqrt(np.mean(truth**2))


@pytest.mark.slow
def test_exact_rows_give_the_constants() -> None:
    d, log = exact()
    fit = fit_friction(d, [log], settings=Settings(cutoff=400.0, decimate=400.0, delay=0.0))
    assert [j.law for j in fit.joints] == ["lugre", "lugre"]
    for one, true in zip(fit.joints, TRUE, strict=True):
        for name in ("sigma0", "sigma2", "fc", "fs"):
            assert one.values[name] == pytest.approx(true[name], rel=0.02, abs=2e-3), (one.joint, name)
        assert one.values["sigma1"] == pytest.approx(true["sigma1"], rel=0.1)
    assert fit.joints[0].values["vs"] == pytest.approx(TRUE[0]["vs"], rel=0.02)
    plain, found = fit.residuals["identification"]
    assert found < 0.1 * plain
    bare = with_laws(d, ())
    base = ia.base_model(bare.layout)
    ours, theirs = (base.beta(p.on(bare.layout).values) for p in (fit.robot.prior, d.prior))
    assert np.abs(ours - theirs).max() < 0.01 * np.abs(theirs).max()


@pytest.mark.slow
def test_noise_is_within_the_deviations() -> None:
    fit = noisy()
    off = []
    for one, true in zip(fit.joints, TRUE, strict=True):
        assert one.law == "lugre"
        off += [
            abs(one.values[n] - true[n]) / one.std[n]
            for n in ("sigma0", "sigma1", "sigma2", "fc", "fs")
            if np.isfinite(one.std[n])
        ]
    assert len(off) >= 9 and max(off) < 4.0 and np.mean(np.array(off) < 2.0) >= 0.7
    assert fit.joints[1].values["fs"] == fit.joints[1].values["fc"]  # what is not there is not found


@pytest.mark.slow
def test_the_card_simulates_the_same_friction(tmp_path: Path) -> None:
    fit = noisy()
    (tmp_path / "card.yaml").write_text(fit.card())
    again = ia.load(tmp_path / "card.yaml")
    laws = [t for t in again.layout.terms if isinstance(t, LuGre)]
    assert [law.sigma0 for law in laws] == [j.values["sigma0"] for j in fit.joints]
    assert Experiment.of(again, sensors=Sensors(rate=200.0)).run(catalog_trajectory("scara2").trajectory, duration=0.5)


@pytest.mark.slow
def test_a_log_that_does_not_show_bristles_says_so() -> None:
    d = ia.load("scara2")
    log = Experiment.of(d, noise="standard").run(catalog_trajectory("scara2").trajectory, seed=2)[0]
    fit = fit_friction(d, [log], settings=Settings(cutoff=20.0, delay=0.0))
    assert any(j.law == "coulomb" for j in fit.joints) and any("does not show bristles" in w for w in fit.warnings)
    with pytest.raises(InputError, match="numbered 1 to 2"):
        fit_friction(d, [log], joints=[3], settings=Settings(cutoff=20.0, delay=0.0))


def test_command_adds_the_law_to_a_result_whose_export_and_report_then_have_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A DH robot: its model file holds all that identify found, and gets a card because of the bristles alone."""
    _, log = exact()
    log.save(tmp_path / "log.npz")
    words = ["scara2", str(tmp_path / "log.npz"), "--cutoff", "400", "--decimate", "400", "--delay", "0"]
    folder, card = tmp_path / "r", tmp_path / "card.yaml"
    fixed = ["--friction", "viscous,coulomb", "--method", "wls", "--quick", "--force"]
    assert main(["identify", *words, *fixed, "-o", str(folder)]) == 0
    assert not (folder / "identified.extra.yaml").exists()
    capsys.readouterr()
    assert main(["friction", *words, "--joints", "1", "--json", "-o", str(card), "--result", str(folder)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [j["law"] for j in document["joints"]] == ["lugre", "coulomb"] and card.read_text() == document["card"]
    sigma0 = document["joints"][0]["values"]["sigma0"]
    assert sigma0 == pytest.approx(500.0, rel=0.05)
    assert {Path(f).name for f in document["files"]} == {
        "card.yaml", "result.json", "identified.yaml", "identified.extra.yaml", "report.html",
    }  # fmt: skip
    assert main(["export", str(folder), "--yaml", str(tmp_path / "out.yaml")]) == 0
    (law,) = (t for t in ia.load(tmp_path / "out.extra.yaml").layout.terms if isinstance(t, LuGre))
    assert law.at == 0 and law.sigma0 == sigma0
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    assert 'id="bristles"' in (tmp_path / "page.html").read_text()
    assert main(["simulate", str(tmp_path / "out.extra.yaml"), "-o", str(tmp_path / "again.npz"), "--duration", "0.5"]) == 0
