"""When something was found: stretches of time that findings carry for figures."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.checks.quality import check
from inertica.checks.where import MOST, stretches
from inertica.logs.log import Log
from inertica.robot.load import load
from logs.simulated import DT, changed, clean

TX40 = load("tx40")


def test_stretches_are_runs_in_order_and_joined_where_there_are_many() -> None:
    t = np.arange(10) / 10.0
    mask = np.array([1, 1, 0, 0, 1, 0, 1, 1, 1, 1], bool)
    assert [(s["start"], s["end"]) for s in stretches(t, mask)] == [(0.0, 0.1), (0.4, 0.4), (0.6, 0.9)]
    assert {s["joint"] for s in stretches(t, mask, 2)} == {3} and stretches(t, ~mask & mask) == []
    many = np.zeros(3000, bool)
    many[:1000:2] = many[1990:2990:10] = True  # 500 close together, 100 further apart
    found = stretches(np.arange(3000.0), many)
    assert (
        len(found) == MOST
        and sum(s["start"] >= 1990 for s in found) == 100
        and (found[0]["start"], found[-1]["end"]) == (0, 2980)
    )
    assert all(any(s["start"] <= k <= s["end"] for s in found) for k in np.flatnonzero(many))


def test_a_gap_and_a_cut_torque_are_where_they_were_made() -> None:
    log = clean(0)
    keep = np.ones(len(log), bool)
    keep[3000:3090] = False  # more than a hundred intervals would be a break of the clock
    cut = log.tau.copy()
    cut[:, 1] = np.clip(cut[:, 1], -30, 30)
    there = np.abs(log.tau[:, 1]) >= 30
    found = check(TX40, [Log.from_arrays(log.t[keep], {"q": log.q[keep], "tau": cut[keep]})])
    (gap,) = found.of("gaps")[0].numbers["stretches"]
    assert (gap["start"], gap["end"]) == pytest.approx((log.t[2999], log.t[3090])) and gap["joint"] is None
    tops = found.of("saturation")[0].numbers["stretches"]
    assert {s["joint"] for s in tops} == {2}
    marked = np.any([(log.t >= s["start"] - DT / 2) & (log.t <= s["end"] + DT / 2) for s in tops], axis=0)
    assert np.all(marked[there & keep]) and np.mean(marked[~there & keep]) < 0.35  # runs next to each other are joined


def test_standing_still_and_leaving_the_limits() -> None:
    log = clean(0)
    q, tau = log.q.copy(), log.tau.copy()
    q[2000:4000], tau[2000:4000] = q[2000], tau[2000]
    (rest,) = check(TX40, [changed(log, q=q, tau=tau)]).of("standstill")
    longest = max(rest.numbers["stretches"], key=lambda s: s["end"] - s["start"])
    assert rest.verdict == "note" and (longest["start"], longest["end"]) == pytest.approx((log.t[2000], log.t[4000]), abs=0.3)
    (beyond,) = check(TX40, [changed(log, q=np.rad2deg(log.q))]).of("limits")
    assert {s["joint"] for s in beyond.numbers["stretches"]} >= {1, 2, 3}
    (inside,) = check(TX40, [log]).of("limits")
    assert "stretches" not in inside.numbers
