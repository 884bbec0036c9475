"""Every method keeps its contract, and one that does not is found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import inertica as ia
from estimators import closed
from estimators.toy import ByTorque
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Estimator, Need, Problem
from inertica.estimators.checks import CHECKS, ContractError, estimator_checks, example_problem
from inertica.estimators.closed_loop.output_error import Clie
from inertica.estimators.consistent.bounded import Cad
from inertica.estimators.consistent.strategy import Consistent
from inertica.estimators.linear.bayes import Ridge
from inertica.estimators.linear.irls import Irls
from inertica.estimators.linear.least_squares import Ols, Wls
from inertica.estimators.recursive.online import Rls, Rwls
from inertica.estimators.registry import METHODS, able, method
from inertica.estimators.solve import Ridge as RidgeSolve
from inertica.physical.priors import BaseRidge, Entropic, Observability

SLOW = {"oloe", "pc-wls+riemann", "pc-cloe", "pc-clie"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in METHODS])
def test_every_registered_method_keeps_its_contract(name: str) -> None:
    applied = estimator_checks(METHODS[name])
    assert {"says_what_it_is", "same_seed_same_bytes", "leaves_the_problem_alone"} <= set(applied)
    assert "keeps_units" in applied or Capability.ABSOLUTE in METHODS[name]().capabilities
    assert "says_what_is_missing" in applied


def test_a_toy_method_is_one_file_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "by-torque", ByTorque)  # the line
    assert set(estimator_checks(METHODS["by-torque"])) == set(CHECKS) - {"links_that_could_exist"}
    log, (description, _) = closed.experiment_log("scara2", "standard", 0, 4.0), closed.robot("scara2")
    fixed = {"cutoff": 20.0, "delay": 0.0, "friction": ("viscous", "coulomb"), "quick": True}
    named = ia.identify(description, [log], method="by-torque", **fixed)
    given = ia.identify(description, [log], method=ByTorque(), **fixed)
    assert named.method == given.method == "by-torque"
    assert named.estimate.beta.tobytes() == given.estimate.beta.tobytes()


@dataclass(frozen=True)
class Bad:
    """Weighted least squares with a flaw."""

    flaw: Callable[[Estimate, Problem], Estimate]
    also: frozenset[Capability] = frozenset()
    name: ClassVar[str] = "bad"
    needs: ClassVar[frozenset[Need]] = Wls.needs

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.also | {Capability.COVARIANCE}

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        return replace(self.flaw(Wls().estimate(problem), problem), method=self.name)


COUNTER = iter(range(100))


def _restless(e: Estimate, _: Problem) -> Estimate:
    return replace(e, beta=e.beta * (1.0 + 1e-12 * next(COUNTER)))


def _meddling(e: Estimate, p: Problem) -> Estimate:
    assert p.loop is not None
    p.loop.gains["kp"][:] += 1.0
    return e


def _in_newtons(e: Estimate, _: Problem) -> Estimate:
    return replace(e, beta=np.where(np.abs(e.beta) < 0.1, 0.0, e.beta))


def _first_log(e: Estimate, p: Problem) -> Estimate:
    return Wls().estimate(replace(p, motions=p.motions[:1]))


def _sure(e: Estimate, _: Problem) -> Estimate:
    return replace(e, covariance=np.eye(len(e.beta)) * 1e-4)


def _impossible(e: Estimate, p: Problem) -> Estimate:
    assert p.prior is not None
    return replace(e, chi=-p.prior.values)


def _wrong_way_round(e: Estimate, _: Problem) -> Estimate:
    return replace(e, covariance=-e.covariance)


@pytest.mark.parametrize(
    ("flaw", "also", "sentence"),
    [
        (_restless, (), "something else when it is asked again"),
        (_meddling, (), "changes the problem"),
        (_in_newtons, (), "torques are in another unit"),
        (_first_log, (), "logs come in another order"),
        (_sure, (), "does not count data: the variance of"),
        (_impossible, (Capability.CONSISTENT,), "no real body has for link 1, link 2|no real body has"),
        (_wrong_way_round, (), "a covariance that none can be"),
    ],
)
def test_a_flaw_is_found_and_said(flaw: Callable[..., Estimate], also: tuple[Capability, ...], sentence: str) -> None:
    p = example_problem()
    assert p.loop is not None
    own = replace(p, loop=replace(p.loop, gains={k: v.copy() for k, v in p.loop.gains.items()}))
    with pytest.raises(ContractError, match=sentence):
        estimator_checks(lambda: Bad(flaw, frozenset(also)), own)


def test_a_method_that_does_without_what_it_needs_is_found() -> None:
    class Shy(Ols):
        needs: ClassVar[frozenset[Need]] = Ols.needs | {Need.PRIOR}

        def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
            return Ols().estimate(problem)

    with pytest.raises(ContractError, match="needs prior values of the parameters, but does without"):
        estimator_checks(Shy)


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (Wls(), "wls"),
        (Wls(solve=Consistent()), "pc-wls"),
        (Wls(solve=Consistent(prior=Entropic(), strength="mild")), "pc-wls+entropic"),
        (Irls(solve=Consistent.towards("riemann")), "pc-irls+riemann"),
        (Wls(solve=Consistent(prior=BaseRidge())), "pc-ridge"),
        (Ols(solve=Consistent(prior=BaseRidge())), "pc-ols+baseridge"),
        (Wls(solve=Consistent(prior=Observability())), "pc-wls+observability"),
        (Wls(solve=RidgeSolve()), "wls+ridge"),
        (Clie(solve=Consistent()), "pc-clie"),
    ],
)
def test_the_name_follows_from_what_a_method_is_composed_of(made: Estimator, name: str) -> None:
    assert made.name == name
    assert name not in METHODS or METHODS[name]() == made


def test_what_methods_can_do() -> None:
    assert able(Capability.TAKES_TRUST) == ["bayes"]
    held = {"clie", "oloe", "pc-clie", "ekf", "srekf", "ukf", "srukf", "cdkf", "srcdkf", "pf", "dual-ekf", "pc-ekf"}
    assert set(able(Capability.HOLDS_TORQUE)) == held
    assert set(able(Capability.SIMULATES)) == {n for n, make in METHODS.items() if Need.LOOP in make().needs}
    assert set(able(Capability.TAKES_CONSTRAINTS)) == {n for n in METHODS if n.startswith("pc-")} | {"cls-2", "cls-3"}
    assert able(Capability.LINEAR) == [n for n, make in METHODS.items() if isinstance(make(), Ols | Wls | Irls | Rls | Rwls)]
    assert Capability.PULLED not in method("pc-wls").capabilities and Capability.PULLED in Ridge.capabilities & Cad.capabilities
    assert Capability.CONSISTENT not in Wls(solve=Consistent(constraints=())).capabilities


def test_output_error_takes_consistency_as_it_is() -> None:
    """There is no linear problem that a prior could act on."""
    with pytest.raises(InputError, match="'clie' searches among simulations"):
        Clie(solve=Consistent.towards("entropic"))
    with pytest.raises(InputError, match=r"'pc-clie' does not take a prior by \+; these do: .*pc-ols, .*pc-didim, "):
        method("pc-clie+entropic")
