"""What blocks of a record disagree on: noise alone makes it as large as the noise is, a drift makes it larger."""

import numpy as np
import pytest
from numpy.typing import NDArray

from estimators.simulated import exact_motion, noisy, robot
from inertica.estimators.base import Problem
from inertica.estimators.jackknife import block_changes

BLOCKS, DRAWS = 12, 30


def ratios(motions: int, drift: float = 0.0) -> NDArray[np.float64]:
    """(DRAWS, b) variances by blocks over those of white torque noise of unit variance."""
    description, base = robot("scara4")
    exact = [exact_motion(description.prior, seed=k, duration=4.0) for k in range(motions)]
    rng, out = np.random.default_rng(0), []
    weights = np.ones(description.robot.n)
    for _ in range(DRAWS):
        grown = [1.0 + drift * np.linspace(-1.0, 1.0, len(m.tau))[:, None] for m in exact]
        logs = [noisy(m, (g - 1.0) * m.tau + rng.standard_normal(m.tau.shape)) for m, g in zip(exact, grown, strict=True)]
        system = Problem(base, tuple(logs), description.prior).observations
        whole = system.stacked(weights)
        beta = np.linalg.lstsq(whole.R, whole.z, rcond=None)[0]
        changes = block_changes(system, beta, weights, BLOCKS)
        out.append(np.sum(changes**2, axis=0) / np.diag(np.linalg.inv(whole.R.T @ whole.R)))
    return np.array(out)


@pytest.mark.parametrize("motions", [1, 2])
def test_noise_alone_makes_it_as_large_as_the_noise(motions: int) -> None:
    found = ratios(motions)
    assert np.all(np.abs(found.mean(axis=0) - 1.0) < 4.0 * found.std(axis=0) / np.sqrt(DRAWS))
    assert found.mean() == pytest.approx(1.0, abs=0.1)


def test_a_drive_that_drifts_makes_it_larger() -> None:
    assert np.median(ratios(1, drift=0.5)) > 2.0
