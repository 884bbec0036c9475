"""Equation 65 of the survey, written down in cvxpy on the rows themselves."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import inertica as ia
from estimators.simulated import exact_motion, noisy, robot, stacked_rows
from inertica.estimators.base import Problem
from inertica.estimators.options import with_options
from inertica.physical.distort import distorted


@pytest.mark.parametrize("strength", [1e-3, 10.0])
def test_the_method_minimises_what_the_survey_prints(strength):
    description, base = robot("scara2")
    motion = exact_motion(description.prior, duration=5.0)
    prior = distorted(description.prior, np.random.default_rng(1))
    error = 5.0 * np.random.default_rng(2).normal(size=motion.tau.shape)
    problem = Problem(base, (noisy(motion, error),), prior)
    found = with_options(ia.method("pc-ols+plain"), {"prior-strength": str(strength)}).estimate(problem)

    W, y = stacked_rows(problem)
    W, y = np.vstack(W), np.concatenate(y)
    layout, chi = base.layout, cp.Variable(base.layout.size)
    held = []
    for j in range(layout.robot.n):
        XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M = (chi[k] for k in range(layout.link(j).start, layout.link(j).stop))
        half = (XX + YY + ZZ) / 2
        rows = [[half - XX, -XY, -XZ, MX], [-XY, half - YY, -YZ, MY], [-XZ, -YZ, half - ZZ, MZ], [MX, MY, MZ, M]]
        held.append(cp.bmat(rows) >> 0)
    held += [chi[k] >= 0 for k, p in enumerate(layout.parameters) if p.lower == 0.0]
    cost = cp.sum_squares(W @ base.T @ chi - y) + strength * cp.sum_squares(chi - prior.values)
    expected = cp.Problem(cp.Minimize(cost), held).solve(solver=cp.CLARABEL)
    reached = np.sum((W @ base.T @ found.chi - y) ** 2) + strength * np.sum((found.chi - prior.values) ** 2)
    least = np.sum((W @ np.linalg.lstsq(W, y, rcond=None)[0] - y) ** 2)
    assert abs(reached - expected) < 1e-3 * (expected - least)  # of what pull and constraints cost
    assert expected - least > 1e-6
