"""`Frisch` on simulated logs, and the points it selects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import inertica as ia
from inertica.dynamics.tsqr import Stacked
from inertica.errors import InputError
from inertica.estimators.checks import example_problem
from inertica.estimators.frisch.method import Frisch, data_rows
from inertica.estimators.frisch.selection import selected, sign_bounds, within
from inertica.physical.check import check_model
from inertica.robot.layout import Parameters


def factor(W: np.ndarray, y: np.ndarray) -> Stacked:
    R = np.linalg.qr(np.column_stack([W, y]), mode="r")
    return Stacked(R[:-1, :-1], R[:-1, -1], abs(float(R[-1, -1])))


@pytest.mark.parametrize("select", ["norm", "squared"])
@pytest.mark.parametrize("width", [0.02, 50.0])
def test_selected_points_minimise_what_is_printed(select: str, width: float) -> None:
    rng = np.random.default_rng(1)
    theta = np.array([3.0, -1.0, 0.5, 8.0])
    W = rng.normal(size=(200, 4)) * [1, 3, 0.2, 0.5]
    y = W @ theta + rng.normal(size=200)
    lower, upper = theta - width * np.array([1, 0.1, 1, 1]), theta + width * np.array([0.1, 1, 1, 1])
    found, _ = selected(factor(W, y), select, within(lower, upper))

    def cost(x: np.ndarray) -> float:
        misfit, size = np.linalg.norm(W @ x - y), np.linalg.norm(x)
        return float(misfit + size) if select == "norm" else float(misfit**2 + size**2)

    assert np.all((found >= lower) & (found <= upper))
    best = minimize(cost, found, method="L-BFGS-B", bounds=list(zip(lower, upper, strict=True)), options={"ftol": 1e-15})
    assert cost(found) <= best.fun * (1.0 + 1e-9)
    for trial in np.clip(found + 1e-3 * rng.normal(size=(200, 4)), lower, upper):
        assert cost(found) <= cost(trial) * (1.0 + 1e-12)


def test_signs_come_from_the_layout() -> None:
    description = ia.load("planar2")
    base = ia.base_model(description.layout)
    known = dict(zip(base.names, sign_bounds(base), strict=True))
    assert {n for n, v in known.items() if v == 0.0} == {"Fv1", "Fv2", "Fc1", "Fc2", "Im2"}
    assert all(np.isneginf(known[n]) for n in ("MX1", "ZZ1", "MX2", "ZZ2"))  # ZZ1 - a1^2 M1 - ... may have either sign


def test_data_without_noise_have_one_point() -> None:
    problem = example_problem()
    truth = problem.prior_beta / 1.1
    system = problem.observations
    tau: list[list[np.ndarray]] = [[] for _ in problem.motions]
    for rows in system.rows():
        tau[rows.motion].append(np.column_stack([W @ truth[c] for W, c in zip(rows.W, system.columns, strict=True)]))
    motions = [replace(m, tau=np.concatenate(t)) for m, t in zip(problem.motions, tau, strict=True)]
    clean = replace(problem, motions=tuple(motions))
    found = Frisch(bounds="box", select="squared", signs=False).estimate(clean)
    np.testing.assert_allclose(found.settings["vertex_lower"], truth, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.settings["vertex_upper"], truth, rtol=1e-4, atol=1e-5)


def test_rows_are_those_of_the_fit() -> None:
    system = example_problem().observations
    X = np.concatenate(list(data_rows(system)))
    stacked = system.stacked()
    assert len(X) == system.counts.sum()
    np.testing.assert_allclose(X[:, :-1].T @ X[:, :-1], stacked.R.T @ stacked.R, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(-X[:, :-1].T @ X[:, -1], stacked.R.T @ stacked.z, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bounds", ["bbrf", "box"])
def test_the_estimate_lies_in_its_box_and_says_what_does_not_hold(bounds: str) -> None:
    problem = example_problem()
    found = Frisch(bounds=bounds, window=300).estimate(problem)  # type: ignore[arg-type]
    lower, upper = (np.array(found.settings[k]) for k in ("lower", "upper"))
    assert np.all((lower <= found.beta) & (found.beta <= upper))
    assert found.settings["simplex_holds"] is False and found.settings["relations"] >= 2
    assert "change sign over the vertices" in found.warnings[0] and "Maxcor at least" in found.warnings[0]
    assert (found.settings.get("windows") is not None) == (bounds == "bbrf")


def test_a_record_shorter_than_a_window_is_one_window() -> None:
    found = Frisch(window=10**6).estimate(example_problem())
    whole = Frisch(bounds="box").estimate(example_problem())
    np.testing.assert_array_equal(found.beta, whole.beta)
    assert any("fewer than a window" in w for w in found.warnings)


def test_consistent_selection_stays_in_the_box() -> None:
    problem = example_problem()
    found = ia.method("pc-frisch").estimate(problem)
    lower, upper = (np.array(found.settings[k]) for k in ("lower", "upper"))
    slack = 1e-6 * np.maximum(np.abs(lower), 1e-6)
    assert np.all((lower - slack <= found.beta) & (found.beta <= upper + 1e-6 * np.abs(upper)))
    assert found.chi is not None and all(
        link.consistent for link in check_model(Parameters(problem.base.layout, found.chi)).links
    )


def test_motion_that_leaves_parameters_open_is_refused_by_name() -> None:
    problem = example_problem()
    still = tuple(replace(m, q=0.0 * m.q, dq=0.0 * m.dq, ddq=0.0 * m.ddq + m.ddq[:, :1] * [1.0, 0.0]) for m in problem.motions)
    with pytest.raises(InputError, match=r"needs data that determine every base parameter, and these leave .* open"):
        Frisch().estimate(replace(problem, motions=still))
