"""Options of methods by the names users type."""

from __future__ import annotations

import pytest

from inertica.errors import InputError, ModelWarning
from inertica.estimators.closed_loop.didim import Didim
from inertica.estimators.closed_loop.output_error import Clie, Cloe, Oloe
from inertica.estimators.closed_loop.start import FilteredWls, Regular, RegularLinks
from inertica.estimators.options import READERS, option_names, with_options
from inertica.estimators.registry import METHODS, method


def test_words_become_values_of_fields() -> None:
    words = {"start": "regular", "stop": "either", "iterations": "7", "tolerance": "0.01", "retune": "yes", "integrator": "rk2"}
    found = with_options(Didim(), words)
    assert isinstance(found, Didim) and isinstance(found.start, Regular) and found.retune and found.integrator == "rk2"
    assert (found.stop.rule, found.stop.iterations, found.stop.residual, found.stop.step) == ("either", 7, 0.01, 0.01)
    assert with_options(Cloe(), {"observed": "velocity", "hac": "no"}) == Cloe(observed="velocity", hac=False)
    assert with_options(Oloe(), {"horizon": "0.2"}) == Oloe(horizon=0.2)


@pytest.mark.parametrize("name", METHODS)
def test_every_option_a_method_lists_can_be_read(name: str) -> None:
    made = method(name)
    for option in option_names(made):
        words = READERS[option].words if option in READERS else ()
        for word in words:
            assert with_options(made, {option: word}).name == name
        with pytest.raises(InputError, match=r"unknown|takes|on or off|stops"):
            with_options(made, {option: "?"})


def test_the_start_by_least_squares_is_called_what_it_is() -> None:
    """It weighs joints, so it is wls; `ols` is what it was called before."""
    with pytest.warns(ModelWarning, match="is called 'wls' now"):
        former = with_options(Didim(), {"start": "ols"})
    assert with_options(Didim(), {"start": "wls"}) == former == Didim(start=FilteredWls())
    assert "ols" not in READERS["start"].words
    assert with_options(Didim(), {"start": "regular-links"}).start == RegularLinks()


def test_iterations_and_tolerance_are_the_same_words_everywhere() -> None:
    """`limit` and `step` are what robust fits called them before."""
    for name in ("irls", "ml", "didim", "clie", "pc-iv"):
        assert {"iterations", "tolerance"} <= set(option_names(method(name)))
        found = with_options(method(name), {"iterations": "7", "tolerance": "0.05"})
        assert (found.stop.iterations, found.stop.step) == (7, 0.05)
        assert with_options(method(name), {"limit": "7", "step": "0.05"}) == found
    with pytest.raises(InputError, match="has no option 'stop'"):
        with_options(method("irls"), {"stop": "either"})


def test_what_a_name_states_is_no_option() -> None:
    """pc-clie is consistent by its name; an open loop has no gains."""
    assert not {"consistent", "solver", "prior-strength"} & set(
        option_names(method("pc-clie"))
    ) and "estimate-gains" not in option_names(Oloe())
    with pytest.raises(InputError, match="no method has an option 'consistent'"):
        with_options(Clie(), {"consistent": "yes"})


def test_solver_and_strength_of_consistent_methods() -> None:
    changed = with_options(method("pc-wls"), {"solver": "points", "prior-strength": "10"})
    assert changed.solve.solver == "points" and changed.solve.prior.strength == 10.0 and changed.solve.strength == "given"
    assert with_options(method("pc-irls"), {"prior-strength": "auto"}).solve.strength == "cross-validated"
    assert "solver" in option_names(method("pc-iv")) and "solver" not in option_names(method("wls"))


@pytest.mark.parametrize(("name", "word"), [("prior-strength", "-1"), ("prior-strength", "much"), ("solver", "simplex")])
def test_wrong_words_for_consistent_methods_are_refused(name: str, word: str) -> None:
    with pytest.raises(InputError, match=word):
        with_options(method("pc-wls"), {name: word})
