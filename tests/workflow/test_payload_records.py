"""What a result states of a robot, for combinations of its parameters."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.workflow.payload_records import BY_CHANCE, _commonly_widened


def test_factors_that_chance_makes_become_one_and_large_ones_stay() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 12))
    noise = np.linalg.inv(A.T @ A)
    factors = BY_CHANCE * rng.uniform(0.9, 1.1, 12)
    factors[3] = 6.0
    found = _commonly_widened(factors[:, None] * noise * factors, factors)
    size = np.sqrt(np.diag(found) / np.diag(noise))
    assert size[3] == pytest.approx(6.0) and np.allclose(np.delete(size, 3), 1.0, atol=0.1)
    correlation = found / np.outer(np.sqrt(np.diag(found)), np.sqrt(np.diag(found)))
    assert np.allclose(correlation, noise / np.outer(np.sqrt(np.diag(noise)), np.sqrt(np.diag(noise))))


def test_what_widens_all_parameters_is_kept() -> None:
    noise, factors = np.eye(8), np.full(8, 1.5 * BY_CHANCE)
    found = _commonly_widened(factors[:, None] * noise * factors, factors)
    assert np.allclose(np.sqrt(np.diag(found)), 1.5)


def test_directions_without_variance_stay_without() -> None:
    covariance, factors = np.diag([1.0, 0.0, 4.0]), np.array([1.0, 1.0, 1.0])
    assert np.array_equal(np.diag(_commonly_widened(covariance, factors)) > 0.0, [True, False, True])
