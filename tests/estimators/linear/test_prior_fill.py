"""Armature and friction that the prior lacks, from a first weighted least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inertica.estimators.base import Problem
from inertica.estimators.linear.least_squares import Wls
from inertica.estimators.linear.prior_fill import filled_prior, missing_drives
from inertica.estimators.linear.svd import Svd, SvdEssential
from inertica.reproduce.consistent_setup import Setup


@pytest.fixture(scope="module")
def setup() -> Setup:
    return Setup.of()


@pytest.fixture(scope="module")
def problem(setup: Setup) -> Problem:
    return setup.problem(setup.simulated(setup.experiment(), 0).fit)


def bare(problem: Problem) -> Problem:
    """As from a datasheet: links only."""
    assert problem.prior is not None
    listed = problem.prior.layout.parameters
    values = problem.prior.values * ~np.array([p.kind in ("armature", "viscous", "coulomb") for p in listed])
    return replace(problem, prior=problem.prior.with_values(values))


def test_what_is_missing_comes_from_the_first_fit(setup: Setup, problem: Problem) -> None:
    without = bare(problem)
    filled, names = filled_prior(without)
    assert set(names) == {f"{s}{j}" for s in ("Ia", "Fv", "Fc") for j in range(1, 7)} | {"Fvm6", "Fcm6"}
    beta = dict(zip(problem.base.names, Wls().estimate(problem).beta, strict=True))
    for j in range(1, 7):  # base parameters of their own
        for symbol in ("Fv", "Fc"):
            assert filled[f"{symbol}{j}"] == pytest.approx(max(beta[f"{symbol}{j}"], 0.0), rel=1e-9)
    for j in range(3, 7):
        assert filled[f"Ia{j}"] == pytest.approx(beta[f"Ia{j}"], rel=1e-9)
    # ZZ1R and ZZ2R hold Ia1 and Ia2: what the links' prior values leave of them
    kept = without.base.beta(filled.values) - np.array(list(beta.values()))
    place = {name: k for k, name in enumerate(problem.base.names)}
    assert abs(kept[place["ZZ1"]]) < 1e-9 and abs(kept[place["ZZ2"]]) < 1e-9
    links = [k for k, p in enumerate(filled.layout.parameters) if p.name not in names]
    assert np.array_equal(filled.values[links], without.prior.values[links])  # type: ignore[union-attr]


def test_a_kind_that_is_stated_anywhere_is_not_missing(problem: Problem) -> None:
    assert problem.prior is not None and not len(missing_drives(problem.prior))
    assert filled_prior(problem)[0] is problem.prior
    only_one = bare(problem).prior.replaced({"Fc3": 1.0})  # type: ignore[union-attr]
    assert {only_one.layout.names[k][:2] for k in missing_drives(only_one)} == {"Ia", "Fv"}


def test_solutions_use_it_unless_told_otherwise(setup: Setup, problem: Problem) -> None:
    """Eq. 32 leaves what is not essential at its reference: without the first fit, small friction would stay at zero."""
    without = bare(problem)
    for method in (Svd, SvdEssential):
        filled, plain = (method(fill_prior=f).estimate(without) for f in (True, False))
        assert "Fc1" in filled.settings["filled"] and not plain.settings["filled"]
        error = [float(np.linalg.norm(e.chi - setup.truth.values)) for e in (filled, plain)]  # type: ignore[operator]
        assert error[0] < error[1]
