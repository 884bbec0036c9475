"""Bandwidths of records that are fitted together."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.identifiability.base import base_model
from inertica.preprocessing.filters import Butterworth, Unfiltered
from inertica.preprocessing.recipe import Recipe
from inertica.workflow.decisions.filter import choose_bandwidth, recipe_for
from inertica.workflow.decisions.shared_bandwidth import SharedBandwidth, fitted_bandwidth, shared_bandwidth
from inertica.workflow.identify.settings import Settings
from workflow.pan_tilt import pair, pan_tilt

BASE = base_model(pan_tilt().layout)


def shared(logs, bandwidth: float, settings: Settings | None = None, *, of_first: bool = True) -> SharedBandwidth:
    recipe = recipe_for(bandwidth, logs[0].rate, Recipe())
    return shared_bandwidth(pan_tilt(), BASE, recipe, [[log] for log in logs], settings or Settings(), of_first=of_first)


def test_the_narrower_of_two_holds_for_both() -> None:
    logs = pair(2)
    own = choose_bandwidth(pan_tilt(), BASE, [logs[1]], Recipe()).chosen
    for wide in (own, 4.0 * own):
        found = [fitted_bandwidth(r) for r in shared(logs, wide).recipes]
        assert found == pytest.approx([own, own])


def test_repeated_rows_do_not_widen_it() -> None:
    """Noise edges of positions with 6 % repeated rows lie at half the rate."""
    found = [fitted_bandwidth(r) for r in shared(pair(2, share=0.06), 100.0).recipes]
    assert all(f is not None and f < 0.06 * 500.0 for f in found)


def test_a_slow_motion_does_not_cut_off_a_fast_one() -> None:
    logs = pair(3, share=0.0, speed=0.1)
    fast = choose_bandwidth(pan_tilt(), BASE, [logs[0]], Recipe())
    first, second = (fitted_bandwidth(r) for r in shared(logs, fast.chosen).recipes)
    assert first is not None and second is not None and fast.search.start <= first <= fast.chosen and second <= first


def test_logs_of_different_rates_share_filters_that_the_slower_one_can_hold() -> None:
    logs = pair(4, rate=100.0)
    first, second = shared(logs, 60.0).recipes
    assert isinstance(second.filter, Butterworth) and second.filter.cutoff is not None and second.filter.cutoff < 50.0
    assert first.rate is None and second.rate is None


def test_what_the_user_states_is_taken() -> None:
    logs = pair(5)
    found = shared(logs, 50.0, Settings(cutoff=7.0))
    assert [fitted_bandwidth(r) for r in found.recipes] == [7.0, 7.0] and not found.choice.automatic
    recipe = Recipe(filter=Unfiltered())
    kept = shared_bandwidth(pan_tilt(), BASE, recipe, [[log] for log in logs], Settings(), of_first=True).recipes
    assert all(r.filter == Unfiltered() for r in kept)


def test_a_result_is_not_gone_beyond() -> None:
    _, loaded = pair(6)
    own = choose_bandwidth(pan_tilt(), BASE, [loaded], Recipe())
    low = max(own.search.start, 0.6 * own.chosen)
    (recipe,) = shared([loaded], low, of_first=False).recipes
    found = fitted_bandwidth(recipe)
    assert found is not None and np.isclose(found, low)
