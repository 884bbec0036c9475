"""Faults of large robots: which are fitted at all, and that the order finds what all fits together find."""

from __future__ import annotations

import numpy as np
import pytest

from checks.test_proof import TX40, judged
from inertica.checks import search as module
from inertica.checks.hypotheses import hypotheses
from inertica.checks.plausible import Judge
from inertica.checks.screen import by_model
from inertica.checks.search import search

MOVING = np.ones(6, bool)
FAULTS = {
    "sign": "the torque of joint 2 counts the other way round",
    "zero": "the position of joint 2 reads 90 degrees too high",
}


def torque_swapped() -> Judge:
    judge = judged("right")
    columns = [0, 2, 1, 3, 4, 5]
    return judge.on(type(judge.rows)(judge.rows.q, judge.rows.dq, judge.rows.ddq, judge.rows.tau[:, columns]))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kind", [*FAULTS, "swap"])
def test_the_fault_comes_first(kind: str, known: bool) -> None:
    """Also where capsules stand in for masses that the model does not state, among the first tenth."""
    judge = torque_swapped() if kind == "swap" else judged(kind)
    candidates = list(hypotheses(TX40.robot, MOVING))
    order = [h.text for h in by_model(judge if known else judge.by_geometry, candidates) if h.gravity is None]
    assert len(order) == sum(h.gravity is None for h in candidates)
    place = order.index("torque columns 2 and 3 are swapped" if kind == "swap" else FAULTS[kind])
    assert place == 0 if known else place < len(order) / 10


@pytest.mark.parametrize("kind", ["right", *FAULTS])
def test_a_large_robot_is_told_the_same_after_fewer_fits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = judged(kind)
    everything = search(judge, MOVING)
    monkeypatch.setattr(module, "is_large", lambda robot: True)
    screened = search(judge, MOVING)
    assert len(screened.tried) < len(everything.tried) / 2
    assert len(screened.tried) + len(screened.screened) == len(everything.tried)
    if everything.fault is None:
        missed = {h.text for h in everything.untold} - {h.text for h in screened.untold}
        assert screened.fault is None and len(missed) < 0.1 * len(everything.untold)
    else:
        assert screened.fault is not None and screened.fault[0] == everything.fault[0]
        assert screened.alike == everything.alike
