"""Forward selection of columns against plain least squares, and its test against the error rates it promises."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from inertica.estimators.observe import Observations, Rows
from inertica.estimators.structure.selection import ForwardSelection

SAMPLES, JOINTS, RIGID = 400, 2, 3


class _Rows(Observations):
    """Rows made here, two joints that share their columns."""

    def __init__(self, rows: list[Rows]) -> None:
        self.motions, self.base = (None,), SimpleNamespace(rank=RIGID)  # type: ignore[assignment]
        self.weights, self._rows, self._straight = None, rows, False
        self.columns = [np.arange(RIGID)] * JOINTS

    lengths, periods = [SAMPLES], [None]  # type: ignore[assignment]


def _coloured(rng: np.random.Generator, rho: float = 0.8) -> np.ndarray:
    e = rng.normal(size=(SAMPLES + 50, JOINTS))
    for k in range(1, len(e)):
        e[k] += rho * e[k - 1]
    return np.asarray(e[50:])


def _smooth(rng: np.random.Generator) -> np.ndarray:
    t = np.linspace(0.0, 10.0, SAMPLES)
    return sum(rng.normal() * np.sin(w * t + rng.uniform(0, 6)) for w in (0.7, 1.9, 3.1, 4.7))


def _problem(seed: int, amplitude: float) -> tuple[ForwardSelection, list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    W = tuple(np.column_stack([_smooth(rng) for _ in range(RIGID)]) for _ in range(JOINTS))
    c = _smooth(rng)
    y = np.column_stack([w @ np.array([1.0, -2.0, 0.5]) for w in W]) + 0.3 * _coloured(rng)
    y[:, 1] += amplitude * c
    use = rng.uniform(size=y.shape) > 0.1
    return ForwardSelection(_Rows([Rows(0, W, y, use)]), np.array([1.0, 2.0])), [c], np.stack(W), y, use


@pytest.mark.parametrize("seed", range(3))
def test_amplitude_and_explained_squares_are_those_of_least_squares(seed: int) -> None:
    selection, blocks, W, y, use = _problem(seed, 0.7)
    k = selection.add(1, blocks)
    X = np.vstack([W[0][use[:, 0]], W[1][use[:, 1]] / 2.0])
    extra = np.concatenate([np.zeros(use[:, 0].sum()), blocks[0][use[:, 1]] / 2.0])
    right = np.concatenate([y[use[:, 0], 0], y[use[:, 1], 1] / 2.0])
    small, large = (np.linalg.lstsq(A, right, rcond=None) for A in (X, np.column_stack([X, extra])))
    ((amplitude, explained),) = selection.quick([], [k])
    assert amplitude == pytest.approx(large[0][-1], rel=1e-8)
    assert explained == pytest.approx(small[1][0] - large[1][0], rel=1e-6)
    assert selection.rigid([k]) == pytest.approx(large[0][:-1], rel=1e-8)
    assert selection.squares([k]).sum() == pytest.approx(large[1][0], rel=1e-8)
    away = selection.away([np.ones_like(use)])
    assert away.quick([], [k])[0] == pytest.approx((amplitude, explained), rel=1e-9)


def test_several_columns_are_tested_as_each_would_be_alone() -> None:
    selection, blocks, *_ = _problem(5, 0.2)
    rng = np.random.default_rng(6)
    chosen = [selection.add(1, blocks), *(selection.add(j, [_smooth(rng)]) for j in (0, 1, 1))]
    together = selection.gains(chosen, chosen[1:])
    for k, gain in zip(chosen[1:], together, strict=True):
        alone = selection.gain([c for c in chosen if c != k], k)
        assert (gain.amplitude, gain.z, gain.share) == pytest.approx((alone.amplitude, alone.z, alone.share), rel=1e-9)


def test_a_column_that_others_explain_says_nothing() -> None:
    selection, _, W, _, _ = _problem(0, 0.0)
    k = selection.add(1, [W[1][:, 0]])
    twice = selection.add(1, [W[1][:, 0] * 3.0])
    assert selection.quick([k], [twice]) == [(0.0, 0.0)]
    assert selection.gain([k], twice).z == 0.0


def test_z_has_its_size_when_residuals_are_coloured() -> None:
    """Of 150 columns that are not there 4.6 % should exceed 2; white-noise z would exceed it in about a third."""
    beyond = 0
    for seed in range(150):
        selection, blocks, *_ = _problem(seed, 0.0)
        k = selection.add(1, blocks)
        selection.settle_colour([k])
        beyond += abs(selection.gain([], k).z) > 2.0
    assert beyond <= 21  # binomial with 0.07 (small samples): mean 10.5, three deviations above


def test_a_column_that_is_there_is_found() -> None:
    found = 0
    for seed in range(20):
        selection, blocks, *_ = _problem(seed, 2.0)
        k = selection.add(1, blocks)
        selection.settle_colour([k])
        gain = selection.gain([], k)
        found += gain.z > 3.3 and gain.share > 0.02
    assert found >= 18
