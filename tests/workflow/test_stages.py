"""The stages of a job: functions from a frozen value to the next, which leave what they were given as it was."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import pair
from inertica.estimators.linear.least_squares import Ols
from inertica.report.report import report
from inertica.workflow.identify import choose as choose_module
from inertica.workflow.identify import replay
from inertica.workflow.identify.choice import Choice, Say, candidates
from inertica.workflow.identify.choose import Chosen, Draft, check, choose
from inertica.workflow.identify.fit import assess, fit
from inertica.workflow.identify.inputs import Inputs, numbered, read
from inertica.workflow.identify.judge import judge
from inertica.workflow.identify.reasons import Words
from inertica.workflow.identify.run import identification
from inertica.workflow.identify.settings import Settings


def silent(_: str) -> None:
    pass


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    robot, fitted, other = pair.files()
    return read(robot, [fitted], [other], Settings(method="wls", cutoff=10.0, delay=0.0, friction=("viscous", "coulomb")), silent)


@pytest.fixture(scope="module")
def chosen(inputs: Inputs) -> Chosen:
    return choose(check(inputs, silent), silent)


def test_values_are_frozen_and_carry_what_came_before(inputs: Inputs, chosen: Chosen) -> None:
    with pytest.raises(FrozenInstanceError):
        inputs.logs = ()  # type: ignore[misc]
    assert list(inputs.notes.time) == ["read"] and not inputs.notes.choices
    assert list(chosen.notes.time) == ["read", "check", "choose"] and chosen.inputs is inputs
    assert [c.subject for c in chosen.notes.choices] == ["filter", "delay", "gravity", "friction", "method"]
    judged = judge(assess(fit(chosen, chosen.estimator, silent), silent), silent)
    assert list(judged.time) == ["read", "check", "choose", "fit", "intervals", "validate", "lack of fit"]
    assert list(chosen.notes.time) == ["read", "check", "choose"]
    assert list(judged.motions) == list(judged.residuals) == ["identification", pair.files()[2]]


def test_a_stage_done_twice_gives_the_same_numbers(inputs: Inputs, chosen: Chosen) -> None:
    again = choose(check(inputs, silent), silent)
    assert again.notes.choices == chosen.notes.choices and again.notes.warnings == chosen.notes.warnings
    once, twice = (assess(fit(c, c.estimator, silent), silent).estimate for c in (chosen, again))
    assert np.array_equal(once.beta, twice.beta) and np.array_equal(once.covariance, twice.covariance)


def test_other_methods_are_fitted_on_the_same_choices(chosen: Chosen) -> None:
    other = fit(chosen, Ols(), silent)
    assert other.uncorrected.method == "ols" and other.chosen.estimator.name == "wls"
    assert all(a is b for a, b in zip(other.problem.motions, chosen.problem.motions, strict=True))


def test_the_report_draws_what_was_judged(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = identification(inputs, silent)

    def refuse(*_: object) -> None:
        raise AssertionError("a log was prepared again")

    for module in (replay, choose_module):
        monkeypatch.setattr(module, "prepare", refuse)
    assert "Validation: " in report(judged, judged.motions)
    with pytest.raises(AssertionError, match="prepared again"):
        judged.motions_of({"identification": inputs.logs})


def test_the_motions_of_a_loaded_result_are_those_that_were_judged(inputs: Inputs) -> None:
    judged = identification(inputs, silent)
    prepared = judged.motions_of({"identification": inputs.logs} | {n: (log,) for n, log in inputs.validation.items()})
    for name, (motion,) in judged.motions.items():
        assert np.allclose(prepared[name][0].q, motion.q, rtol=0.0, atol=1e-12)
        assert np.allclose(prepared[name][0].ddq, motion.ddq, rtol=1e-9, atol=1e-9)


def test_what_shares_a_name_is_numbered() -> None:
    assert numbered(["a", "b", "a"], [1, 2, 3]) == {"a 1": 1, "b": 2, "a 2": 3}
    assert numbered(["a", "a 1", "a"], [1, 2, 3]) == {"a 2": 1, "a 1": 2, "a 3": 3}


def test_a_further_decision_is_one_function(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sees what was decided before it, and its choice is in the record with candidates, score and reason."""

    def decide_colour(draft: Draft, say: Say) -> Draft:
        assert draft.problem is not None and [c.subject for c in draft.choices][-1] == "friction"
        return draft.decided(
            Choice(
                "colour",
                "red",
                Words("red: seen best"),
                candidates=candidates({"red": 0.1, "blue": 0.2}, "red"),
                score=0.1,
                score_without=0.2,
            )
        )

    before_method = (*choose_module.DECISIONS[:-1], decide_colour, choose_module.DECISIONS[-1])
    monkeypatch.setattr(choose_module, "DECISIONS", before_method)
    found = identification(inputs, silent)
    assert [c.subject for c in found.choices][3:6] == ["friction", "colour", "method"]
    decision = next(d for d in found.document()["decisions"] if d["subject"] == "colour")
    assert (
        decision["chosen"] == "red" and decision["candidates"] == {"red": 0.1, "blue": 0.2} and decision["score_without"] == 0.2
    )
    assert "red: seen best" in report(found, found.motions)
