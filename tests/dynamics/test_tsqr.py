"""R factors by chunks against the QR of the whole stack."""

from __future__ import annotations

import numpy as np
import pytest

from generators import random_parameters, random_robot, rich_layout, states
from inertica.dynamics.engine import Engine
from inertica.errors import InputError


@pytest.fixture(scope="module")
def problem():
    layout = rich_layout(random_robot(5, n=4))
    engine = Engine(layout, threads=1)
    q, dq, ddq = states(0, 1700, 4)
    rng = np.random.default_rng(0)
    tau = engine.inverse_dynamics(q, dq, ddq, random_parameters(layout, 0)) + rng.normal(size=q.shape)
    return engine, (q, dq, ddq, tau)


def gram(R: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return R.T @ R, R.T @ z


@pytest.mark.parametrize("samples", [1, 7, 512, 513, 1700])
def test_factors_equal_the_whole_stack(problem, samples: int) -> None:
    engine, motion = problem
    q, dq, ddq, tau = (x[:samples] for x in motion)
    Y = engine.regressor(q, dq, ddq)
    factors = engine.factors(q, dq, ddq, tau)
    assert np.array_equal(factors.counts, np.full(engine.n, samples))
    for j, factor in enumerate(factors.joints):
        W = Y[:, j, factor.columns]
        G, g = gram(factor.R, factor.z)
        assert np.allclose(G, W.T @ W, rtol=0, atol=1e-12 * np.abs(W.T @ W).max())
        assert np.allclose(g, W.T @ tau[:, j], rtol=0, atol=1e-12 * max(1.0, np.abs(W.T @ tau[:, j]).max()))
        outside = np.setdiff1d(np.arange(engine.layout.size), factor.columns)
        assert not Y[:, j, outside].any()
    W = Y.reshape(-1, engine.layout.size)
    whole = factors.stacked()
    G, g = gram(whole.R, whole.z)
    assert np.allclose(G, W.T @ W, rtol=0, atol=1e-12 * np.abs(W.T @ W).max())
    assert np.allclose(g, W.T @ tau.ravel(), rtol=0, atol=1e-11 * np.abs(W.T @ tau.ravel()).max())


def test_chosen_columns_weights_and_residual(problem) -> None:
    engine, (q, dq, ddq, tau) = problem
    columns = [engine.layout.index(n) for n in ("Fv1", "Fv2", "ZZ4", "Fv3", "Fv4")]
    rows = np.random.default_rng(3).uniform(0, 2, len(q))
    rows[100:200] = 0.0
    joints = np.array([1.0, 0.5, 2.0, 3.0])
    factors = engine.factors(q, dq, ddq, tau, columns=columns, weights=rows)
    found = factors.stacked(columns, joints)
    W = (engine.regressor(q, dq, ddq) * rows[:, None, None] * joints[:, None])[:, :, columns].reshape(-1, len(columns))
    y = (tau * rows[:, None] * joints).ravel()
    x, residual, *_ = np.linalg.lstsq(W, y, rcond=None)
    assert np.allclose(np.linalg.solve(found.R, found.z), x, rtol=1e-10)
    assert np.isclose(found.rest**2, residual[0], rtol=1e-10)
    assert np.array_equal(factors.counts, np.full(engine.n, len(q) - 100))


def test_a_condition_number_that_normal_equations_would_lose(problem) -> None:
    engine, (q, dq, ddq, tau) = problem
    factor = engine.factors(q * 1e-5, dq, ddq, tau).joints[0]
    W = engine.regressor(q * 1e-5, dq, ddq)[:, 0, factor.columns]
    direct = np.linalg.svd(W, compute_uv=False)
    ours = np.linalg.svd(factor.R, compute_uv=False)
    assert np.allclose(ours, direct, atol=1e-13 * direct[0])


def test_values_that_are_not_finite_are_refused(problem) -> None:
    engine, (q, dq, ddq, tau) = problem
    bad = tau.copy()
    bad[17, 2] = np.nan
    with pytest.raises(InputError, match="not finite"):
        engine.factors(q, dq, ddq, bad)
