"""Constants of friction laws found from the data."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

import inertica as ia
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.preprocessing.filters import Unfiltered
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.friction import Stribeck, Viscous
from inertica.robot.plain import with_laws
from inertica.workflow.decisions.shapes import refine_shapes
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.settings import Settings

VS, ES = (0.1, 0.5), (2.0, 1.5)


def stribeck(vs: tuple[float, ...], es: tuple[float, ...]) -> Description:
    """scara2 with Stribeck friction, half of Coulomb friction more at standstill."""
    d = ia.load("scara2")
    laws = [law for j in range(2) for law in (Viscous(j), Stribeck(j, vs[j], es[j]))]
    robot = with_laws(d, laws)
    values = robot.prior.replaced({f"dFs{j + 1}": 0.5 * max(robot.prior[f"Fc{j + 1}"], 0.2) for j in range(2)}).values
    return replace(robot, prior=type(robot.prior)(robot.layout, values), friction_stated=True)


@cache
def silent() -> Log:
    return Experiment.of(stribeck(VS, ES)).run(catalog_trajectory("scara2").trajectory)[0]


@cache
def record(seed: int) -> Log:
    """With 2 % of noise on the torque."""
    log = silent()
    tau = np.asarray(log.signals["tau"])
    noise = 0.02 * np.sqrt(np.mean(tau**2, axis=0)) * np.random.default_rng(seed).normal(size=tau.shape)
    return replace(log, signals={**log.signals, "tau": tau + noise})


def exact(robot: Description) -> Log:
    """A log whose torques are those of the model along the measured motion, so that nothing but shapes is to be found."""
    log = silent()
    motion = prepare(log, Recipe(filter=Unfiltered(), standstill=None, reversal=None))
    tau = Engine(robot.layout).inverse_dynamics(motion.q, motion.dq, motion.ddq, robot.prior)
    return Log.from_arrays(motion.t, {"q": motion.q, "tau": tau}, log.joints, log.origin)


def test_exact_rows_give_the_exact_constants() -> None:
    true = stribeck(VS, ES)
    motion = prepare(exact(true), Recipe(filter=Unfiltered(), standstill=None, reversal=None))
    refined = refine_shapes(stribeck((0.05, 0.05), (2.0, 2.0)), [motion], lambda _: None)
    np.testing.assert_allclose(refined.description.prior.shapes, [VS[0], ES[0], VS[1], ES[1]], rtol=1e-5)
    assert [s.value for s in refined.description.layout.shapes] == refined.description.prior.shapes.tolist()


def test_it_is_the_least_squares_of_all_parameters_at_once() -> None:
    """scipy moves shapes and linear parameters together; variable projection gives the same minimum."""
    start = stribeck((0.3, 0.3), (2.0, 2.0))
    log = exact(stribeck(VS, ES))
    noisy = np.asarray(log.signals["tau"]) + [0.05, 0.02] * np.random.default_rng(5).normal(size=(len(log), 2))
    log = replace(log, signals={**log.signals, "tau": noisy})
    motion = prepare(log, Recipe(filter=Unfiltered(), standstill=None, reversal=None))
    refined = refine_shapes(start, [motion], lambda _: None).description
    base, use = base_model(start.layout), ~motion.mask
    state = [x[use] for x in (motion.q, motion.dq, motion.ddq)]

    def weighted(shapes: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Y = np.asarray(base.engine.regressor(*state, shapes))[:, :, base.retained]
        A, y = (Y / sigma[:, None]).reshape(-1, base.rank), (motion.tau[use] / sigma).ravel()
        return A, y

    def residual(x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        A, y = weighted(np.exp(x[:4]), sigma)
        return y - A @ x[4:]

    own = refined.prior.shapes
    sigma = np.ones(2)
    for _ in range(4):  # weights that reproduce themselves
        A, y = weighted(own, sigma)
        r = (y - A @ np.linalg.lstsq(A, y, rcond=None)[0]).reshape(-1, 2) * sigma
        sigma = np.sqrt(np.mean(r**2, axis=0))
    A, y = weighted(own, sigma)
    first = np.concatenate([np.log(own * 1.1), np.linalg.lstsq(A, y, rcond=None)[0]])
    referee = least_squares(residual, first, args=(sigma,), x_scale="jac", xtol=1e-10, ftol=1e-10)
    np.testing.assert_allclose(np.exp(referee.x[:4]), own, rtol=2e-3)


def test_identify_finds_them_within_their_intervals(tmp_path: Path) -> None:
    found = []
    for seed in range(3):
        settings = Settings(method="wls", friction=("viscous", "stribeck"), refine_shapes=True, quick=True)
        result = ia.identify("scara2", [record(seed)], settings=settings)
        found.append(result.document()["shapes"])
    told = [
        (s, true) for run in found for s, true in zip(run, (VS[0], ES[0], VS[1], ES[1]), strict=True) if s["label"] == "found"
    ]
    assert len(told) >= 9
    off = np.array([abs(np.log(s["value"] / true)) * s["value"] / s["std"] for s, true in told])
    assert np.mean(off < 1.96) > 0.75 and off.max() < 4.5
    result.save(tmp_path)
    again = Result.load(tmp_path)
    for ours, theirs in zip(again.document()["shapes"], result.document()["shapes"], strict=True):
        assert (ours["name"], ours["label"], ours["value"]) == (theirs["name"], theirs["label"], theirs["value"])
        assert ours["interval"] == pytest.approx(theirs["interval"])
    log = record(7)
    np.testing.assert_allclose(again.predict(log), result.predict(log), rtol=1e-9, atol=1e-12)
    choice = next(c for c in result.choices if c.subject == "friction constants")
    assert "vs1" in choice.value and "separable" in choice.sentence


@pytest.mark.slow
def test_predictions_use_the_constants_found() -> None:
    log, other = record(1), record(8)
    kept, refined = (
        ia.identify(
            "scara2", [log], settings=Settings(method="wls", friction=("viscous", "stribeck"), quick=True, refine_shapes=r)
        )
        for r in (False, True)
    )
    assert refined.validate(other).filtered.all < 0.98 * kept.validate(other).filtered.all


def test_laws_without_constants_are_refused() -> None:
    with pytest.raises(InputError, match="viscous,stribeck"):
        ia.identify("scara2", [record(1)], settings=Settings(friction=("viscous", "coulomb"), refine_shapes=True))
