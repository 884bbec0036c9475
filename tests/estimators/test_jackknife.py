"""Leaving out blocks by R factors gives what fitting without them gives."""

import numpy as np
import pytest

from estimators.simulated import exact_motion, noisy, robot
from inertica.estimators.base import Problem
from inertica.estimators.jackknife import block_deviations


@pytest.mark.parametrize("motions", [1, 2])
def test_deviations_are_those_of_refits(motions: int) -> None:
    description, base = robot("scara4")
    exact = [exact_motion(description.prior, seed=k, duration=4.0) for k in range(motions)]
    rng = np.random.default_rng(0)
    problem = Problem(base, tuple(noisy(m, rng.standard_normal(m.tau.shape)) for m in exact), description.prior)
    system = problem.observations
    weights = 1.0 / system.sigmas
    whole = system.stacked(weights)
    beta = np.linalg.lstsq(whole.R, whole.z, rcond=None)[0]
    rows = list(system.rows())
    sizes = [sum(len(r.y) for r in rows if r.motion == k) for k in range(motions)]
    count, total = 4, sum(sizes)
    place = np.split(np.arange(total) * count // total, np.cumsum(sizes)[:-1])
    found = []
    for g in range(count):
        rest = system.reweighted([np.where(p != g, 1.0, 0.0)[:, None] * np.ones(system.n) for p in place]).stacked(weights)
        found.append(np.linalg.lstsq(rest.R, rest.z, rcond=None)[0])
    spread = np.sqrt((count - 1) / count * np.sum((np.array(found) - np.mean(found, axis=0)) ** 2, axis=0))
    (by_factors,) = block_deviations(system, beta, weights, (count,))
    np.testing.assert_allclose(by_factors, spread, rtol=1e-5)
