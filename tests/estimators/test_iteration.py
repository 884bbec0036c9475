"""Stop rules."""

from __future__ import annotations

import numpy as np

from inertica.estimators.closed_loop.iterated import held_back
from inertica.estimators.iteration import Stop

SURE = np.array([1e-6, 1e-6])


def test_both_criteria_must_hold() -> None:
    watch = Stop().watch(np.array([1.0, 1.0]), 10.0)
    watch.record(np.array([1.5, 1.0]), 10.1, SURE)
    assert not watch.done
    watch.record(np.array([1.5, 1.01]), 5.0, SURE)
    assert not watch.done
    watch.record(np.array([1.5, 1.01]), 5.01, SURE)
    assert watch.converged and watch.iterations == 3


def test_either_is_enough_if_asked() -> None:
    watch = Stop(rule="either").watch(np.array([1.0, 1.0]), 10.0)
    watch.record(np.array([1.5, 1.0]), 10.1, SURE)
    assert watch.converged


def test_a_large_decrease_is_no_convergence() -> None:
    """Printed without the absolute value, every decrease would count as below the tolerance."""
    watch = Stop().watch(np.array([1.0, 1.0]), 10.0)
    watch.record(np.array([1.0, 1.0]), 1.0, SURE)
    assert not watch.done


def test_zeros_and_noise_do_not_count() -> None:
    watch = Stop().watch(np.array([1.0, 1e-4]), 10.0)
    watch.record(np.array([1.0, -2e-4]), 10.0, np.array([1e-3, 1e-3]))  # a true zero
    assert watch.converged
    watch = Stop().watch(np.array([1.0, 1.0]), 10.0)
    watch.record(np.array([1.0, 1.03]), 10.0, np.array([1e-3, 0.08]))  # moved by less than two standard deviations
    assert watch.converged


def test_limit_and_best() -> None:
    watch = Stop(iterations=2).watch(np.array([1.0]), 10.0)
    watch.record(np.array([2.0]), 1.0, np.array([1e-6]))
    watch.record(np.array([4.0]), 5.0, np.array([1e-6]))
    assert watch.done and not watch.converged and "not converged within 2" in watch.reason
    assert watch.best() == 1
    assert watch.history(("a",))["a"] == (1.0, 2.0, 4.0)


def test_rest_at_a_worse_residual_is_no_convergence() -> None:
    watch = Stop().watch(np.array([1.0]), 1.0)
    watch.record(np.array([3.0]), 10.0, np.array([1e-6]))
    watch.record(np.array([3.0]), 10.0, np.array([1e-6]))
    assert watch.done and not watch.converged and watch.best() == 0


def test_a_simulation_is_held_back_where_data_say_little() -> None:
    """One direction known a million times better than the other: the first arrives, the second stays."""
    known, unknown = np.array([1.0, 1.0]) / np.sqrt(2.0), np.array([1.0, -1.0]) / np.sqrt(2.0)
    information = 1e8 * np.outer(known, known) + 1e2 * np.outer(unknown, unknown)
    last, beta = np.array([1.0, 2.0]), np.array([4.0, -3.0])
    ways = held_back(beta, last, information)
    arrived, moved = (ways - last) @ known / ((beta - last) @ known), (ways - last) @ unknown / ((beta - last) @ unknown)
    assert np.abs(arrived - 1.0).max() < 0.1 and moved[-1] < 1e-4 and np.all(np.diff(moved) < 0.0)
