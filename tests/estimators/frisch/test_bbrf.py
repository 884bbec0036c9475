"""`Bbrf`: windows as written down, updated row by row."""

from __future__ import annotations

import numpy as np
import pytest

import inertica as ia
from inertica.errors import InputError
from inertica.estimators.frisch.scheme import Scheme

THETA = np.array([2.0, -1.0, 0.5])


def rows(count: int, noise: float = 0.2, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(count, 3)) * [1.0, 5.0, 0.2]
    X = np.column_stack([W, -W @ THETA])
    return X + noise * X.std(axis=0) * rng.normal(size=X.shape)


def by_definition(X: np.ndarray, window: int, lower: np.ndarray, stride: int = 1) -> tuple[np.ndarray, np.ndarray, int]:
    l, u, refused = lower.copy(), np.full(3, np.inf), 0
    for k in range(0, len(X) - window + 1, stride):
        box = Scheme.of_data(X[k : k + window])
        new = np.maximum(l, box.lower), np.minimum(u, box.upper)
        if np.any(new[0] > new[1]):
            refused += 1
        else:
            l, u = new
    return l, u, refused


@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("known", [-np.inf, 0.0])
def test_same_as_the_definition(stride: int, known: float) -> None:
    X, lower = rows(300), np.array([known, -np.inf, known])
    box = ia.Bbrf(3, 40, lower, stride=stride)
    box.extend(X)
    l, u, refused = by_definition(X, 40, lower, stride)
    np.testing.assert_allclose(box.lower, l, rtol=1e-9)
    np.testing.assert_allclose(box.upper, u, rtol=1e-9)
    assert box.windows == len(range(0, 261, stride)) and box.refused == refused > 0


def test_rows_one_by_one_give_what_they_give_together() -> None:
    X = rows(200, seed=4)
    whole, single = ia.Bbrf(3, 30), ia.Bbrf(3, 30)
    whole.extend(X)
    widths = []
    for row in X:
        single.update(row)
        widths.append(single.upper - single.lower)
    np.testing.assert_allclose(single.lower, whole.lower, rtol=1e-9)
    np.testing.assert_allclose(single.upper, whole.upper, rtol=1e-9)
    assert (single.rows, single.windows, single.refused) == (200, 171, whole.refused)
    assert np.all(np.isinf(widths[28])) and np.all(np.isfinite(widths[29]))
    assert np.all(np.diff(np.array(widths[29:]), axis=0) <= 0.0)


def test_rounding_does_not_grow_with_the_record() -> None:
    """A large stretch leaves the window; what it leaves behind in the sums is gone after one turn of the ring."""
    X = rows(400, seed=2)
    X[:50] *= 1e6
    box = ia.Bbrf(3, 60)
    for part in np.array_split(X, 13):
        box.extend(part)
    last = Scheme.of_data(X[-60:])
    np.testing.assert_allclose(box._sum, X[-60:].T @ X[-60:], rtol=1e-9, atol=1e-9)
    assert np.all(box.lower >= last.lower - 1e-9) or box.refused > 0


def test_bad_input_is_a_sentence() -> None:
    with pytest.raises(InputError, match="cannot determine 3 parameters"):
        ia.Bbrf(3, 3)
    with pytest.raises(InputError, match=r"expected \(m, 4\)"):
        ia.Bbrf(3, 10).extend(np.zeros((5, 3)))
