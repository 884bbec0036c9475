"""The short form of benchmarks/consistent_solve.py: random robots, motions, priors and statements."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from consistent_solve import answered, drawn

from inertica.physical.cone import Program
from inertica.physical.constraints import PHYSICAL
from inertica.physical.uncertainty import profile_intervals


@pytest.mark.parametrize("first", range(0, 24, 6))
def test_every_solve_ends_inside_and_proven_or_names_the_contradiction(first: int, tmp_path: Path) -> None:
    for i in range(first, first + 6):
        problem = drawn(i, tmp_path)
        found = answered(problem)
        if problem.contradictory:
            assert found.named, f"problem {i}: {found}"
        else:
            assert found.held and found.gap <= 1e-2, f"problem {i}: {found}"


def test_intervals_of_poor_problems_hold_their_estimates(tmp_path: Path) -> None:
    """Zero and placeholder priors, where cone programs of single ends stop short."""
    for i in (4, 16, 18, 20):
        problem = drawn(i, tmp_path)
        program = Program(problem.reference, PHYSICAL)
        penalty = problem.prior.penalty(problem.reference, problem.fit)
        chi = answered_chi(program, problem, penalty)
        which = [k for k, p in enumerate(problem.layout.parameters) if p.kind == "mass"]
        ends = profile_intervals(program, problem.fit, penalty, chi, which=which)
        assert (ends.lower[which] <= chi[which]).all() and (chi[which] <= ends.upper[which]).all()
        assert not np.isnan(ends.lower[which]).any()


def answered_chi(program: Program, problem, penalty) -> np.ndarray:
    from inertica.estimators.consistent.strategy import Consistent

    return Consistent(prior=problem.prior).solve(program, problem.fit, penalty).chi
