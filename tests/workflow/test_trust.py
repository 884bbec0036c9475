"""The short form of benchmarks/trust.py: what `identify` states, with all defaults, holds on experiments whose truth is known.

Margins: a share that is right in the long run falls below its bound with a probability of 0.1 % if the labels of a run were
independent; the shares assumed are the ones that benchmarks/trust.py asks for over many more runs.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import trust
import trust_tables
import yaml
from scipy.stats import binom
from trust_experiments import DEFECTS, ROWS, Cache, Row
from trust_runs import EQUIVALENT, Job, Record, good_enough, identified, run

import inertica as ia
from inertica.robot import inertia

SHORT = (Row("scara2", "standard"), Row("rv2sq", "standard"))
RUNS = 3
CHANCE = 1e-3


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("trust")


@pytest.fixture(scope="module")
def records(cache) -> list[Record]:
    """Three true laws on two robots, with the control loop in the card; the first runs beside an oracle."""
    return [run(Job("test", row, k, "known", oracle=k == 0), cache) for row in SHORT for k in range(RUNS)]


def least(count: int, assumed: float) -> int:
    """Successes out of `count` that a share of `assumed` reaches but for one time in a thousand."""
    return int(binom.ppf(CHANCE, count, assumed))


def test_every_run_has_a_result(records):
    assert [r["code"] for r in records] == [0] * len(records)
    assert all(r["verdict"]["level"] and r["parameters"] and r["base"] for r in records)


def test_base_parameters_are_inside_their_intervals(records):
    s = trust_tables.summary("all", records)
    assert s.base_count > 100 and s.base * s.base_count >= least(s.base_count, 0.92)


def test_what_is_called_determined_is(records):
    s = trust_tables.summary("all", records)
    assert s.determined_count > 30 and s.determined * s.determined_count >= least(s.determined_count, 0.92)
    assert s.furthest <= 3.0, s.worst
    assert s.useful >= 4.0  # a label that is never given is never wrong


def test_intervals_are_as_wide_as_those_of_an_oracle_where_noise_is_all(records):
    """The RV-2SQ's position noise is large; half-widths of a parameter against 20 repetitions are uncertain by a sixth."""
    (own,) = [r for r in records if r["row"] == "rv2sq standard" and "oracle" in r]
    assert len(set(own["oracle"]) & {b[0] for b in own["base"]}) > 40 and min(own["oracle"].values()) > 0.0
    width, widest = trust_tables.widths([own])
    assert 0.9 < width < 1.4 and widest < 3.0
    assert trust_tables.widths([r for r in records if "oracle" not in r]) == (None, None)


def test_friction_laws_are_right_or_as_good_and_brake(records):
    joints = [j for r in records for j in r["friction"]]
    assert sum(map(good_enough, joints)) >= least(len(joints), 0.90)
    plain = [j for j in joints if j["true"] == "Fv Fc"]
    assert sum(j["true"] == j["chosen"] for j in plain) >= least(len(plain), 0.97)
    assert not any(r["drives"] for r in records)


def test_motions_and_laws_are_spread_evenly(cache):
    for row in (Row("scara2", "standard"), Row("jaco2", "standard")):
        world = Cache(cache).world(row.robot)
        plans = [world.plan(k) for k in range(len(world.laws) * len(world.motions))]
        assert set(Counter((law, motion) for law, motion, _ in plans).values()) == {1}
        assert all(motion != fresh for _, motion, fresh in plans)


def test_the_card_holds_a_wrong_but_possible_model_and_nothing_of_the_truth(cache):
    row = Row("scara2", "standard")
    known, unknown = (ia.load(Cache(cache).card(row, 1, loop)) for loop in ("known", "unknown"))
    true = ia.load("scara2")
    assert unknown.loop is None and known.loop == true.loop
    for description in (known, unknown):
        assert not description.friction_stated and not description.noise and not description.friction_sets
        assert not description.prior.inconsistent_links()
        ratio = description.prior.values[true.prior.values != 0.0] / true.prior.values[true.prior.values != 0.0]
        assert 0.05 < np.median(np.abs(np.log(np.abs(ratio)))) < 1.0
    text = yaml.safe_load(known.source.path.read_text())
    assert not set(text) & {"loop", "noise", "friction_sets", "reference", "sampling"}


def test_truth_of_directional_friction_is_coulomb_and_offset(cache):
    truth = Cache(cache).truth("scara2", "directional")
    simulated = truth.card["parameters"]
    assert truth.value("Fc1") == pytest.approx(0.5 * (simulated["Fcp1"] + simulated["Fcn1"]))
    assert truth.value("off1") == pytest.approx(0.5 * (simulated["Fcp1"] - simulated["Fcn1"]))
    assert (truth.value("Fcp2"), truth.value("Fcn2")) == pytest.approx((simulated["Fcp2"], simulated["Fcn2"]))
    assert truth.value("dFs1") == 0.0 and truth.pieces[0] == ("Fv", "Fc", "off")


def test_fresh_motion_obeys_the_truth_that_labels_are_compared_with(cache):
    """Torques of the noise-free experiment are those of the true parameters, friction law included."""
    store = Cache(cache)
    truth, fresh = store.truth("scara2", "stribeck"), store.fresh("scara2", "stribeck", "validation")
    law = {j + 1: ["viscous", {"stribeck": {"vs": vs}}] for j, vs in enumerate(store.world("scara2").vs)}
    path = cache / "truth.yaml"
    path.write_text(yaml.safe_dump({"model": "scara2", "friction": law}))
    layout = ia.load(path).layout
    chi = ia.load(path).prior.with_values([truth.value(name) for name in layout.names])
    tau = ia.Engine(layout, threads=1).inverse_dynamics(fresh["q"], fresh["dq"], fresh["ddq"], chi)
    np.testing.assert_allclose(tau, fresh["tau"], atol=1e-9 * np.abs(fresh["tau"]).max())


def test_distance_of_a_miss_is_counted_in_half_widths():
    assert trust_tables.miss(1.0, 0.0, 2.0) == 0.0 and trust_tables.miss(4.0, 0.0, 2.0) == pytest.approx(2.0)
    assert (
        trust_tables.miss(-1.0, 0.0, None) == 0.0
        and trust_tables.inside(5.0, 0.0, None)
        and not trust_tables.inside(-5.0, 0.0, None)
    )


def test_a_wrong_law_is_good_enough_only_when_it_predicts():
    joint = {"true": "Fv Fc", "chosen": "Fv Fc dFs", "error": 0.05, "true_law_error": None}
    assert not good_enough(joint) and good_enough(joint | {"true_law_error": 0.05 - EQUIVALENT})
    assert good_enough(joint | {"chosen": "Fv Fc"})


def test_rows_are_catalog_robots_with_such_a_preset():
    for row in ROWS:
        description = ia.load(row.robot)
        assert row.preset in description.noise
        assert all(inertia.physically_consistent(description.prior.link(j)) for j in range(description.robot.n))


def test_a_command_that_refuses_leaves_a_record_with_its_sentence(tmp_path):
    answer = identified(tmp_path / "no_card.yaml", tmp_path / "no_log.csv")
    assert answer.code == 2 and "no such file" in answer.said and answer.result is None
    assert math.isfinite(answer.seconds)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_in_what_was_recorded_and_nowhere_else(cache, defect):
    row = Row("scara2", "standard")
    sound, spoilt = (np.load(Cache(cache).log(row, 0, word)) for word in ("", defect))
    assert set(sound) == set(spoilt) and all(sound[name].shape == spoilt[name].shape for name in sound)
    assert all(np.array_equal(sound[name], spoilt[name]) for name in sound if name.startswith("truth/"))
    changed = {name: np.mean(sound[name] != spoilt[name]) for name in ("t", "q", "tau")}
    if defect == "repeats":
        same = np.mean(np.all(np.diff(spoilt["q"], axis=0) == 0.0, axis=1))
        assert changed["t"] == 0.0 and changed["tau"] > 0.0 and same == pytest.approx(0.05, abs=0.015)
    elif defect == "jitter":
        late = (spoilt["t"] - sound["t"]) / np.median(np.diff(sound["t"]))
        assert changed["q"] == changed["tau"] == 0.0 and late.std() == pytest.approx(0.14, abs=0.01)
    else:
        counts = spoilt["q"] / (2.0 * np.pi / 4096.0)
        assert changed["t"] == changed["tau"] == 0.0 and np.abs(counts - np.round(counts)).max() < 1e-9
    assert not np.array_equal(*(np.load(Cache(cache).log(row, k, defect))["q"][:100] for k in (0, 1)))


def test_sliding_joints_have_no_counts_of_a_turn():
    assert [row.robot for row in ROWS if not row.has("bits")] == ["scara4"] and all(r.has("repeats") for r in ROWS)


def test_records_with_a_defect_are_others(cache):
    sound, spoilt = (Job("test", SHORT[0], 0, "known", defect) for defect in ("", "jitter"))
    assert sound.key != spoilt.key
    record = run(spoilt, cache)
    assert trust.key(record) == spoilt.key and record["code"] == 0
    del record["defect"]  # stores of before
    assert trust.key(record) == sound.key
