"""What a result states of a robot, for combinations of its parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pair
from inertica.workflow.identify.result import Result
from inertica.workflow.payload.records import Stated, _commonly_widened


def test_small_factors_become_a_common_one_and_large_ones_stay() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 12))
    noise = np.linalg.inv(A.T @ A)
    factors = rng.uniform(1.0, 1.1, 12)
    factors[3] = 6.0
    found = _commonly_widened(factors[:, None] * noise * factors, factors)
    size = np.sqrt(np.diag(found) / np.diag(noise))
    assert size[3] == pytest.approx(6.0) and np.allclose(np.delete(size, 3), 1.0, atol=0.1)
    correlation = found / np.outer(np.sqrt(np.diag(found)), np.sqrt(np.diag(found)))
    assert np.allclose(correlation, noise / np.outer(np.sqrt(np.diag(noise)), np.sqrt(np.diag(noise))))


def test_what_widens_all_parameters_is_kept() -> None:
    noise, factors = np.eye(8), np.full(8, 1.5)
    found = _commonly_widened(factors[:, None] * noise * factors, factors)
    assert np.allclose(np.sqrt(np.diag(found)), 1.5)


def test_directions_without_variance_stay_without() -> None:
    covariance, factors = np.diag([1.0, 0.0, 4.0]), np.array([1.0, 1.0, 1.0])
    assert np.array_equal(np.diag(_commonly_widened(covariance, factors)) > 0.0, [True, False, True])


def test_a_result_with_a_prior_says_what_the_data_alone_said(tmp_path: Path) -> None:
    """Least squares of the same rows, to which the stated covariance belongs; also of a result that was read."""
    pulled, free = pair.identified(method="pc-wls+entropic"), pair.identified()
    e = pulled.estimate
    away = np.abs(e.beta - free.estimate.beta) / free.estimate.std
    assert away.max() > 0.02 and np.abs((e.by_data - free.estimate.beta) / free.estimate.std).max() < 1e-3
    assert free.estimate.by_data is free.estimate.beta
    again = Result.load(pulled.save(tmp_path / "r"))
    assert np.array_equal(again.estimate.by_data, e.by_data) and np.array_equal(Stated.of(again).beta, e.by_data)
    assert np.array_equal(Result.load(again.save(tmp_path / "s")).estimate.by_data, e.by_data)
