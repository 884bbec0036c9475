"""The Frisch scheme: its definition, Kalman's condition, several relations at once."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.estimators.frisch.scheme import Scheme, window_boxes

THETA = np.array([2.0, -1.0, 0.5, 3.0])


def data(
    seed: int, noise: float = 0.3, rows: int = 400, theta: np.ndarray = THETA, scales: tuple = (1, 10, 0.1, 3)
) -> np.ndarray:
    """[W, -tau] with independent noise on every variable, in proportion to its size."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(rows, len(theta))) * scales
    X = np.column_stack([W, -W @ theta])
    return X + noise * X.std(axis=0) * rng.normal(size=X.shape)


@pytest.mark.parametrize("seed", range(5))
def test_vertices_satisfy_the_defining_singularity(seed: int) -> None:
    X = data(seed)
    Sigma, found = X.T @ X, Scheme.of_data(X)
    for i, (vertex, noise) in enumerate(zip(found.vertices, found.noise, strict=True)):
        D = np.zeros_like(Sigma)
        D[i, i] = noise
        a = np.append(vertex, 1.0)
        scale = np.sqrt(np.diag(Sigma))
        assert np.linalg.norm((Sigma - D) @ a / scale) <= 1e-9 * np.linalg.norm(scale * a)
        assert np.linalg.eigvalsh((Sigma - D) / np.outer(scale, scale))[0] >= -1e-9
        assert noise == pytest.approx(1.0 / np.linalg.inv(Sigma)[i, i], rel=1e-9)


def test_every_vertex_is_a_regression_on_one_variable() -> None:
    X = data(3)
    found = Scheme.of_data(X)
    for i, vertex in enumerate(found.vertices):
        others = np.delete(X, i, axis=1)
        a = np.insert(np.linalg.lstsq(others, -X[:, i], rcond=None)[0], i, 1.0)
        np.testing.assert_allclose(vertex, a[:-1] / a[-1], rtol=1e-9)
    np.testing.assert_allclose(found.vertices[-1], np.linalg.lstsq(X[:, :-1], -X[:, -1], rcond=None)[0], rtol=1e-9)


def test_where_kalmans_condition_holds_the_simplex_holds_the_truth() -> None:
    """Noise-free covariance plus diagonal noise is inside the premise for small noise: barycentric coordinates are positive."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(500, 3)) @ (np.eye(3) + 0.2 * rng.random((3, 3)))
    clean = np.column_stack([W, -W @ [1.0, 2.0, 3.0]])
    Sigma = clean.T @ clean
    Sigma = Sigma + np.diag(0.02 * np.diag(Sigma))  # the scheme's own assumption, exactly
    found = Scheme.of_factor(np.linalg.cholesky(Sigma).T)
    assert found.simplex_holds and found.relations.count == 1
    weights = np.linalg.solve(np.vstack([found.vertices.T, np.ones(4)]), [1.0, 2.0, 3.0, 1.0])
    assert np.all(weights > 0.0)
    assert np.all((found.lower < [1.0, 2.0, 3.0]) & (found.upper > [1.0, 2.0, 3.0]))


def test_a_parameter_near_zero_breaks_the_condition() -> None:
    found = Scheme.of_data(data(1, theta=np.array([2.0, -1.0, 1e-3, 3.0])))
    assert not found.simplex_holds and found.sign_changes[2]
    assert Scheme.of_data(data(1, noise=0.05)).simplex_holds


@pytest.mark.parametrize("factors", [1, 2])
def test_several_relations_are_found_where_a_factor_model_has_them(factors: int) -> None:
    """Six variables that are combinations of one or two, plus noise of their own: five or four relations at once (footnote 4)."""
    rng = np.random.default_rng(5)
    L, D = rng.normal(size=(6, factors)), rng.uniform(0.5, 1.5, 6)
    Sigma = L @ L.T + np.diag(D)
    found = Scheme.of_factor(np.linalg.cholesky(Sigma).T)
    assert not found.simplex_holds
    relations = found.relations
    assert relations.count == 6 - factors and relations.left < 1e-3
    np.testing.assert_allclose(relations.noise, D, rtol=5e-3)
    unit = np.sqrt(found.noise)
    left = (Sigma - np.diag(relations.noise)) / np.outer(unit, unit) @ relations.kernel
    assert np.abs(left).max() < 1e-3


def test_many_windows_at_once_and_those_that_say_nothing() -> None:
    X = [data(k) for k in range(3)]
    grams = np.array([x.T @ x for x in X] + [np.zeros((5, 5)), np.ones((5, 5))])
    lower, upper = window_boxes(grams)
    for k, x in enumerate(X):
        np.testing.assert_allclose(lower[k], Scheme.of_data(x).lower, rtol=1e-8)
        np.testing.assert_allclose(upper[k], Scheme.of_data(x).upper, rtol=1e-8)
    assert np.all(np.isneginf(lower[3:])) and np.all(np.isposinf(upper[3:]))
