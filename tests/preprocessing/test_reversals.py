"""Rows near a reversal: own joints, sums of joints, rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from inertica.logs.log import Log
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.preprocessing.reversals import near_reversal

RATE, REACH = 1000.0, 0.02


def motion(reversal: float | None) -> Motion:
    t = np.arange(4000) / RATE
    q = np.column_stack([np.sin(2 * np.pi * 0.5 * t), 0.7 * np.sin(2 * np.pi * 0.25 * t + 0.4)])
    return prepare(Log.from_arrays(t, {"q": q, "tau": np.zeros_like(q)}, ("a", "b")), Recipe(reversal=reversal, standstill=None))


def test_samples_around_a_change_of_sign_are_near() -> None:
    m = motion(REACH)
    near = near_reversal(m)
    for j in range(2):
        turns = m.t[np.flatnonzero(np.diff(np.sign(m.dq[:, j])))]
        away = np.abs(m.t[:, None] - turns).min(axis=1)
        assert near[away < REACH - 2 / RATE, j].all() and not near[away > REACH + 2 / RATE, j].any()


def test_nothing_is_near_when_the_recipe_says_nothing() -> None:
    assert not near_reversal(motion(None)).any()


def test_sums_of_velocities_count_for_the_joints_they_act_on() -> None:
    m = motion(REACH)
    own, summed = near_reversal(m), near_reversal(m, [(0, {0: 1.0, 1: 2.0})])
    assert (summed[:, 1] == own[:, 1]).all()
    turns = m.t[np.flatnonzero(np.diff(np.sign(m.dq @ [1.0, 2.0])))]
    new = summed[:, 0] & ~own[:, 0]
    assert new.any() and np.abs(m.t[new, None] - turns).min(axis=1).max() < REACH + 2 / RATE


def test_rest_counts_as_a_reversal() -> None:
    m = motion(REACH)
    resting = np.zeros_like(m.resting)
    resting[700:710, 1] = True
    near = near_reversal(replace(m, resting=resting))
    assert near[690:720, 1].all() and not near[600:670, 1].any()
