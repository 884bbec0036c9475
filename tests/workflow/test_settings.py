"""A method as a name or as an object."""

from __future__ import annotations

from dataclasses import replace

import pytest

import inertica as ia
from inertica.errors import InputError
from inertica.estimators.base import Capability
from inertica.workflow.identify.settings import Settings, check_method, prepared_method


def test_an_object_keeps_its_own_options_and_takes_others() -> None:
    description = replace(ia.load("scara2"), trust={"all": 0.1})
    assert prepared_method("bayes", description).trust == {"all": 0.1}  # as the card states
    assert prepared_method(ia.Bayes(trust=0.3), description) == ia.Bayes(trust=0.3)
    assert prepared_method(ia.Didim(retune=True), description, {"iterations": "7"}) == ia.Didim(
        retune=True, stop=ia.Stop(iterations=7)
    )


def test_what_the_method_asked_for_can_do() -> None:
    held = Capability.HOLDS_TORQUE
    assert Settings(method="pc-clie").method_can(held) and Settings(method=ia.Clie(nudge=1e-3)).method_can(held)
    assert not Settings().method_can(held) and not Settings(method=ia.Didim()).method_can(held)


def test_options_are_refused_before_any_work() -> None:
    check_method(Settings(method=ia.Irls(), options={"limit": "7"}))
    with pytest.raises(InputError, match="method 'pc-wls' has no option 'retune'"):
        check_method(Settings(method=ia.Wls(solve=ia.Consistent()), options={"retune": "yes"}))


def test_laws_as_one_text_are_refused_with_the_sequence_that_is_meant() -> None:
    with pytest.raises(InputError, match=r"\['viscous', 'coulomb'\]"):
        Settings(friction="viscous, coulomb")  # type: ignore[arg-type]
