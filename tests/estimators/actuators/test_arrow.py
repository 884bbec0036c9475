"""Normal equations with states of their own for every record, against the same equations written out in full."""

import numpy as np
import pytest

from inertica.estimators.actuators.arrow import Arrow


def _arrow_and_dense(rng: np.random.Generator, c: int, K: int, m: int):
    """The same least squares twice: as an arrow, and as one matrix."""
    arrow, A, g = Arrow.empty(c, K, m), np.zeros((c + K * m,) * 2), np.zeros(c + K * m)
    for k in range(K):
        rows, residual = rng.normal(size=(c + m, 40)) * np.logspace(-3, 3, c + m)[:, None], rng.normal(size=40)
        arrow.add(k, rows, residual)
        where = np.concatenate([np.arange(c), c + m * k + np.arange(m)])
        A[np.ix_(where, where)] += rows @ rows.T
        g[where] += rows @ residual
    shared, states = rng.uniform(0.1, 1.0, (2, c)), rng.uniform(0.1, 1.0, (2, K, m))
    arrow.add_prior((shared[0], shared[1]), (states[0], states[1]))
    A += np.diag(np.concatenate([shared[0], states[0].ravel()]))
    g += np.concatenate([shared[1], states[1].ravel()])
    return arrow, A, g


@pytest.mark.parametrize("damping", [0.0, 0.1, 10.0])
def test_steps_are_those_of_the_whole_matrix(damping: float) -> None:
    c, K, m = 7, 5, 4
    arrow, A, g = _arrow_and_dense(np.random.default_rng(3), c, K, m)
    bound = np.arange(c) == 2
    free = np.flatnonzero(~np.concatenate([bound, np.zeros(K * m, bool)]))
    expected = np.zeros(len(g))
    expected[free] = np.linalg.solve((A + damping * np.diag(np.diag(A)))[np.ix_(free, free)], g[free])
    shared, states = arrow.solved(damping, bound)
    np.testing.assert_allclose(np.concatenate([shared, states.ravel()]), expected, rtol=1e-6, atol=1e-12)


def test_shared_coordinates_alone_are_the_schur_complement() -> None:
    c, K, m = 6, 4, 3
    arrow, A, g = _arrow_and_dense(np.random.default_rng(4), c, K, m)
    S, right = arrow.reduced()
    inner = np.linalg.solve(A[c:, c:], np.column_stack([A[c:, :c], g[c:]]))
    whole = A[:c, :c] - A[:c, c:] @ inner[:, :c]
    size = np.sqrt(np.diag(A)[:c])
    np.testing.assert_allclose(S / np.outer(size, size), whole / np.outer(size, size), atol=1e-10)
    np.testing.assert_allclose(right / size, (g[:c] - A[:c, c:] @ inner[:, -1]) / size, atol=1e-8)
