"""Repair under constraints that a card states: the nearest values that break none."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from inertica.physical.check import check_link
from inertica.physical.cone import InfeasibleError
from inertica.physical.constraints import PHYSICAL, Bounds, Equal, MassBounds, TotalMass
from inertica.physical.pseudo import PSEUDO
from inertica.physical.repair import repair
from inertica.physical.scales import Reference
from inertica.physical.stated import broken
from inertica.robot.load import load


def test_a_body_follows_its_stated_mass_on_the_shortest_way() -> None:
    prior = load("tx40").prior
    light = MassBounds({4: (1.0, 2.0)})
    found = repair(prior, constraints=(*PHYSICAL, light))
    where = prior.layout.bodies[3][1]
    assert set(found.changed) <= set(prior.layout.names[where]) and "M4" in found.changed
    assert broken(found.parameters, (*PHYSICAL, light)) == ()
    size = Reference.of(prior.layout, prior.values).sizes[3]
    x = cp.Variable(10)
    J = sum((x[k] * (size.pseudo @ PSEUDO[k] @ size.pseudo) for k in range(10)), np.zeros((4, 4)))
    miss = cp.norm(cp.multiply(1.0 / size.scale, x - prior.values[where]))
    cp.Problem(cp.Minimize(miss), [J >> 1e-5 * np.eye(4), x[9] <= 2.0]).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(found.parameters.values[where] / size.scale, x.value / size.scale, atol=1e-5)
    assert found.distance == pytest.approx(float(miss.value), rel=1e-5)


def test_what_an_equation_ties_to_a_broken_bound_moves_along() -> None:
    prior = load("tx40").prior.replaced({"Ia4": 0.0, "Ia5": 0.0})
    found = repair(prior, constraints=(*PHYSICAL, Equal({"Ia4": 1.0, "Ia5": -1.0}), Bounds({"Ia4": (0.01, np.inf)})))
    assert found.changed == ("Ia4", "Ia5")
    assert (found.parameters["Ia4"], found.parameters["Ia5"]) == (pytest.approx(0.01), pytest.approx(0.01))


def test_statements_that_hold_change_nothing() -> None:
    prior = load("tx40").prior
    total = sum(prior[f"M{k}"] for k in range(1, 7))
    said = (TotalMass(total, total), MassBounds({4: (1.0, 5.0)}), Equal({"Ia4": 1.0, "Ia5": -1.0}, prior["Ia4"] - prior["Ia5"]))
    assert repair(prior, constraints=(*PHYSICAL, *said)).changed == ()


def test_an_empty_link_gets_values_only_when_they_are_asked_for() -> None:
    prior = load("tx40").prior
    where = prior.layout.bodies[5][1]
    bare = prior.with_values(np.where(np.isin(np.arange(prior.layout.size), np.r_[where]), 0.0, prior.values))
    lighter = repair(bare, constraints=(*PHYSICAL, TotalMass(10.0, 15.0)))
    assert not lighter.parameters.values[where].any() and lighter.parameters["M1"] < prior["M1"]
    weighed = repair(bare, constraints=(*PHYSICAL, MassBounds({6: (0.5, 1.0)})))
    assert check_link("", weighed.parameters.values[where]).consistent
    assert weighed.parameters["M6"] == pytest.approx(0.5, abs=1e-6)
    assert set(weighed.changed) <= set(prior.layout.names[where])
    held = Bounds({f"M{k}": (0.0, prior[f"M{k}"]) for k in range(1, 6)})
    heavier = repair(bare, constraints=(*PHYSICAL, held, TotalMass(30.0, 40.0)))  # only the empty link can weigh more
    assert heavier.parameters["M6"] > 5.0 and check_link("", heavier.parameters.values[where]).consistent


def test_statements_that_exclude_each_other_are_named() -> None:
    prior = load("tx40").prior
    with pytest.raises(InfeasibleError, match="exclude each other: total mass at most 20 kg; link 3: mass at least 30 kg"):
        repair(prior, constraints=(*PHYSICAL, TotalMass(10.0, 20.0), MassBounds({3: (30.0, 40.0)})))


def test_what_the_user_fixes_stays() -> None:
    prior = load("tx40").prior
    known = prior.on(replace(prior.layout, fixed=frozenset({"XX4"})))
    light = (*PHYSICAL, MassBounds({4: (1.0, 2.0)}))
    found = repair(known, constraints=light)
    assert found.parameters["XX4"] == prior["XX4"] and "ZZ4" in found.changed and broken(found.parameters, light) == ()
