"""Products of rows in registers against NumPy, and R factors from them."""

from __future__ import annotations

import numpy as np
import pytest

from generators import random_parameters, random_robot, rich_layout, states
from inertica.dynamics.engine import Engine
from inertica.dynamics.llvm import native, products
from inertica.dynamics.products import MotionPair
from inertica.dynamics.triangle import TRUSTED, cholesky_factor


@pytest.fixture(scope="module")
def problem():
    layout = rich_layout(random_robot(5, n=3))
    engine = Engine(layout, threads=1)
    tau = np.random.default_rng(0).normal(size=(1100, 3))
    return engine, states(0, 1100, 3), states(1, 1100, 3), tau


def used(samples: int, n: int) -> np.ndarray:
    use = np.ones((samples, n))
    use[: samples // 5] = 0.0
    use[samples // 2 :: 7, 1] = 0.0
    return use


@pytest.mark.parametrize("samples", [1, 7, 256, 257, 1100])
def test_products_of_two_motions_equal_those_of_their_rows(problem, samples: int) -> None:
    engine, measured, simulated, torque = problem
    own, other = ([x[:samples] for x in motion] for motion in (measured, simulated))
    tau, use, columns = torque[:samples], used(samples, 3), range(engine.layout.size)
    found = engine.products(MotionPair(tuple(own), tuple(other), tau, use), columns)
    W, Z = engine.regressor(*own), engine.regressor(*other)
    for j, product in enumerate(found):
        seen = [k for i, k in engine.entries if i == j]
        z = Z[:, j, seen] * use[:, j, None]
        expected = z.T @ np.column_stack([Z[:, j, seen], W[:, j, seen], tau[:, j]])
        np.testing.assert_allclose(product, expected, rtol=0, atol=1e-13 * max(1.0, np.abs(expected).max()))


def test_whole_chunks_by_one_call_give_the_bits_of_chunks_one_by_one(problem, monkeypatch) -> None:
    """Rows without weights go through one compiled loop; the same rows taken for special ones go through Python."""
    engine, measured, simulated, tau = problem
    use = np.ones_like(tau)
    use[600:603, 1] = 0.0
    pair, columns = MotionPair(measured, simulated, tau, use), range(engine.layout.size)
    usual, factors = engine.products(pair, columns), engine.factors(*measured, tau, columns, weights=use)
    assert products._special(len(tau), use) == [2, 4]  # the rows left out, and the end
    with monkeypatch.context() as patch:
        patch.setattr(products, "_special", lambda samples, weights: range(-(-samples // products.CHUNK)))
        single, alone = engine.products(pair, columns), engine.factors(*measured, tau, columns, weights=use)
    for a, b in zip(usual, single, strict=True):
        assert np.array_equal(a, b)
    for f, g in zip(factors.joints, alone.joints, strict=True):
        assert np.array_equal(f.triangle, g.triangle)


def test_a_short_tile_gives_the_same_bits(problem, monkeypatch) -> None:
    """Processors with fewer registers work on smaller tiles, the order of every sum is the same."""
    engine, measured, simulated, tau = problem
    pair = MotionPair(measured, simulated, tau, used(len(tau), 3))
    columns = range(engine.layout.size)
    usual = engine.products(pair, columns)
    with monkeypatch.context() as patch:
        products._multiply.cache_clear()
        known = native.features()
        patch.setattr(native, "features", lambda: {**known, "avx512f": not known.get("avx512f", False)})
        other = engine.products(pair, columns)
    products._multiply.cache_clear()
    for a, b in zip(usual, other, strict=True):
        assert np.array_equal(a, b)


def test_root_of_products_or_none() -> None:
    rng = np.random.default_rng(4)
    A = rng.normal(size=(400, 6)) * 10.0 ** rng.uniform(-4, 4, 6)
    R = cholesky_factor(A.T @ A)
    exact = np.linalg.qr(A, mode="r")
    exact *= np.sign(np.diag(exact))[:, None]
    assert R is not None
    assert np.all(np.abs(R - exact) <= 1e-12 * np.linalg.norm(exact, axis=0))
    A[:, 3] = A[:, 0] + 0.3 * TRUSTED * np.linalg.norm(A[:, 0]) * rng.normal(size=400) / 20.0
    assert cholesky_factor(A.T @ A) is None
    A[:, 3] = 0.0
    assert cholesky_factor(A.T @ A) is None
    assert cholesky_factor(np.full((3, 3), np.nan)) is None


def test_torque_that_is_explained_exactly_keeps_its_digits(problem) -> None:
    """What products would leave of a residual is rounding of the squares of the torque: reflections are taken there."""
    engine, motion, _, noise = problem
    exact = engine.inverse_dynamics(*motion, random_parameters(engine.layout, 0))
    for size in (0.0, 1e-7):
        factors = engine.factors(*motion, exact + size * noise)
        Y = engine.regressor(*motion)
        for j, factor in enumerate(factors.joints):
            W, y = Y[:, j, factor.columns], exact[:, j] + size * noise[:, j]
            scale = np.linalg.norm(W, axis=0)
            found = factor.z - factor.R / scale @ np.linalg.lstsq(factor.R / scale, factor.z, rcond=1e-12)[0]
            left = y - W / scale @ np.linalg.lstsq(W / scale, y, rcond=1e-12)[0]  # columns of a joint are dependent
            assert abs(np.hypot(np.linalg.norm(found), factor.rest) - np.linalg.norm(left)) < 1e-12 * np.linalg.norm(y)
