"""Triangular systems against NumPy's general solver, in either order of memory."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.physical.triangular import back_substituted


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("transposed", [False, True])
def test_solutions_are_those_of_the_general_solver(order: str, transposed: bool) -> None:
    rng = np.random.default_rng(0)
    M = np.array(np.triu(rng.normal(size=(9, 9))) + 4.0 * np.eye(9), order=order)
    for right in (rng.normal(size=9), rng.normal(size=(9, 3))):
        found = back_substituted(M, right, transposed)
        np.testing.assert_allclose(found, np.linalg.solve(M.T if transposed else M, right), rtol=1e-12, atol=1e-13)


def test_what_has_no_solution_is_refused() -> None:
    M = np.triu(np.ones((3, 3)))
    with pytest.raises(ValueError, match="not finite"):
        back_substituted(M, np.array([1.0, np.nan, 0.0]))
    M[1, 1] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="diagonal 1 is zero"):
        back_substituted(M, np.ones(3))
