"""The delay search: delays put into simulated logs are found, what cannot be told is said, real records give nothing absurd."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from inertica.estimators.structure.delay import DelayEstimate, DelayFit
from inertica.estimators.structure.delay_search import busiest, search_delays
from inertica.excitation import catalog_trajectory
from inertica.experiment import Experiment, Sensors
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.robot.plain import assumed_friction
from inertica.workflow.decisions.delay import choose_delay
from inertica.workflow.identify.choice import Choice

LEAD = -0.5e-3
"""A torque held over the 1 ms control period of panda7 leads by half of it."""


@cache
def robot(name: str) -> tuple[Description, BaseModel]:
    description = assumed_friction(replace(load(name), friction_stated=False))
    return description, base_model(description.layout)


@cache
def recorded(name: str, preset: str = "standard", rate: float = 1000.0) -> Log:
    experiment = Experiment.of(load(name), noise=preset, threads=1, sensors=Sensors(rate=rate))
    return experiment.run(catalog_trajectory(name, "identification").trajectory, seed=11)[0]


def late(log: Log, samples: np.ndarray) -> Log:
    """Torque recorded later by whole samples, earlier by negative ones."""
    rows = np.clip(np.arange(len(log))[:, None] - samples, 0, len(log) - 1)
    return replace(log, signals={**log.signals, "tau": np.take_along_axis(log.need("tau"), rows, axis=0)})


def searched(name: str, *logs: Log, loop: bool = True) -> tuple[np.ndarray, Choice]:
    description, base = robot(name)
    described = description if loop else replace(description, loop=None)
    found = choose_delay(described, base, logs, Recipe(), lambda _: None)
    recipe, choice = found.recipe, found.choice
    return np.asarray(recipe.delays(log_joints(name))), choice


def log_joints(name: str) -> int:
    return robot(name)[0].robot.n


def test_the_lead_of_a_held_torque_is_known_from_the_loop_or_found_without_it() -> None:
    known, choice = searched("panda7", recorded("panda7"))
    assert np.all(known == LEAD) and "half of the control period of 1 ms" in choice.sentence and choice.value == "-0.5 ms"
    found, choice = searched("panda7", recorded("panda7"), loop=False)
    assert found == pytest.approx(np.full(7, LEAD), abs=0.1e-3) and "torque leads motion by" in choice.sentence


def test_what_may_be_left_of_delays() -> None:
    """The error of one that was taken out; nothing where the loop tells; all that is not clear; a joint's own by itself."""
    log = recorded("panda7")
    assert not left("panda7", log)
    (error,) = left("panda7", log, loop=False)  # the lead was found
    assert np.all(error == error[0]) and 0.0 < error[0] < abs(LEAD) / 4.5
    samples = np.zeros(7, int)
    samples[3] = 10
    (own,) = left("panda7", late(log, samples))
    assert np.flatnonzero(own).tolist() == [3] and own[3] < 0.2e-3
    noisy = recorded("tx40", "standard")
    assert "do not contradict" in searched("tx40", noisy, loop=False)[1].sentence
    (unclear,) = left("tx40", noisy, loop=False)
    assert np.all(unclear == unclear[0]) and unclear[0] > 0.1e-3  # half of its control period of 0.2 ms is in it


def left(name: str, *logs: Log, loop: bool = True) -> list[np.ndarray]:
    description, base = robot(name)
    described = description if loop else replace(description, loop=None)
    return list(choose_delay(described, base, logs, Recipe(), lambda _: None).left)


def test_a_method_that_simulates_the_hold_keeps_the_lead_in_the_log() -> None:
    description, base = robot("panda7")
    log = late(recorded("panda7"), np.full(7, 3))
    found = choose_delay(description, base, [log], Recipe(), lambda _: None, held=True)
    recipe, choice = found.recipe, found.choice
    assert recipe.delays(7) == pytest.approx(np.full(7, 3e-3), abs=0.1e-3) and "the method simulates it" in choice.sentence


@pytest.mark.parametrize("shift", [3, -2])
def test_a_delay_of_all_joints_is_found_with_its_sign(shift: int) -> None:
    found, choice = searched("panda7", late(recorded("panda7"), np.full(7, shift)))
    assert found == pytest.approx(np.full(7, 1e-3 * shift + LEAD), abs=0.1e-3)
    assert "on all joints" in choice.sentence


def test_a_joint_of_its_own_delay_is_found_and_leaves_the_others_alone() -> None:
    samples = np.zeros(7, int)
    samples[3] = 10
    found, choice = searched("panda7", late(recorded("panda7"), samples))
    assert found[3] == pytest.approx(10e-3 + LEAD, abs=0.2e-3)
    assert np.all(np.delete(found, 3) == LEAD)
    assert "on joint 4" in choice.sentence and "half of the control period" in choice.sentence


def test_two_logs_count_together() -> None:
    log = late(recorded("panda7"), np.full(7, 3))
    halves = log.sliced(t1=5.0), log.sliced(t0=5.0)
    assert searched("panda7", *halves)[0] == pytest.approx(np.full(7, 3e-3 + LEAD), abs=0.2e-3)


def test_what_differs_between_bands_is_not_called_a_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """At half the cut-off joint 4 seems 4 ms later still: that is no shift of time, and its delay is not taken out."""
    samples = np.zeros(7, int)
    samples[3] = 10
    log, each = late(recorded("panda7"), samples), DelayFit.each
    bands = []

    def drifting(fit: DelayFit, start: np.ndarray) -> DelayEstimate:
        found = each(fit, start)
        bands.append(fit.cutoff)
        return replace(found, values=found.values + 4e-3 * (np.arange(7) == 3) * (fit.cutoff < 0.6 * bands[0]))

    monkeypatch.setattr(DelayFit, "each", drifting)
    found, choice = searched("panda7", log)
    assert bands[1] == pytest.approx(0.5 * bands[0])
    assert np.all(found == LEAD) and "joint 4 seems delayed" in choice.sentence and "not a pure delay" in choice.sentence


def test_motion_that_drowns_in_noise_is_not_searched_and_that_is_said() -> None:
    log = recorded("rv2sq", "high_position", 140.0)
    with_loop, choice = searched("rv2sq", log)
    assert np.all(with_loop == -1e-4) and "not searched for" in choice.sentence and "drowns in position noise" in choice.sentence
    without, choice = searched("rv2sq", log, loop=False)
    assert not without.any() and choice.value == "none" and "state the loop's rate" in choice.sentence


def test_at_a_low_rate_what_cannot_be_told_is_said() -> None:
    log = recorded("panda7")
    thin = Log.from_arrays(log.t[::10], {k: v[::10] for k, v in late(log, np.full(7, 3)).signals.items()}, log.joints)
    found, choice = searched("panda7", thin)
    assert np.all(found == LEAD) and "do not contradict" in choice.sentence and "would not be noticed" in choice.sentence


def test_rows_that_parameters_use_up_tell_no_common_delay() -> None:
    """Few rows lie away from reversals at a low cut-off: one joint has more of them than parameters, all together have fewer."""
    description, base = robot("rv2sq")
    fit = DelayFit(base, description.prior, [recorded("rv2sq")], 1.5)
    assert np.maximum(fit.freedom, 0.0).sum() > 4.0 and fit.freedom.sum() < 0.0
    assert not fit.together(np.zeros(6)).sd[0] < fit.most_sd


def test_long_logs_are_cut_to_where_joints_travel_furthest() -> None:
    t = np.arange(20_000) / 100.0
    q = np.where((t > 120.0) & (t < 150.0), np.sin(t), 0.0)[:, None]
    part = busiest(Log.from_arrays(t, {"q": q, "tau": q}), 30.0)
    assert part.duration == pytest.approx(30.0, abs=0.1) and part.t[0] == pytest.approx(120.0, abs=0.2)
    assert busiest(part, 60.0) is part


@pytest.mark.parametrize(
    ("folder", "file", "card", "least", "most"),
    [
        ("tx40", "tx40_joint_public.csv.gz@0:4.0", "coupling: [{motor: 6, joints: [5, 6]}]\n", -4e-3, -1e-3),
        ("kuka_lwr4", "ident_slow_1.csv.gz@3:25", "", 0.0, 0.0),
    ],
)
def test_real_records(real_data: Path, tmp_path: Path, folder: str, file: str, card: str, least: float, most: float) -> None:
    """Torque leads on the TX40 (reading it 3 ms earlier also predicts the rest of the record better); slow motion tells nothing."""
    path = tmp_path / "card.yaml"
    path.write_text(f"model: {real_data / folder / (folder + '.urdf')}\narmature: true\n{card}")
    description = load(path)
    log = read_log(f"{real_data / folder / file}", description)
    assumed = assumed_friction(description)
    recipe = choose_delay(assumed, base_model(assumed.layout), [log], Recipe(), lambda _: None).recipe
    found = np.asarray(recipe.delays(log.n))
    assert least <= found.min() and found.max() <= most


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_repeated_and_missing_rows_do_not_end_the_search(share: float) -> None:
    """They fill the spectrum of the position, and were taken for motion up to half the rate."""
    log = recorded("panda7")
    rng = np.random.default_rng(5)
    chance = rng.random(len(log)) < share
    last = np.maximum.accumulate(np.where(chance, 0, np.arange(len(log))))
    repeated = replace(log, signals={symbol: x[last] for symbol, x in log.signals.items()})
    dropped = replace(log, t=log.t[~chance], signals={s: x[~chance] for s, x in log.signals.items()}, truth={})
    description, base = robot("panda7")
    for changed in (repeated, dropped):
        search = search_delays(replace(description, loop=None), base, [changed])
        assert search.level_known and search.each is not None, search.sentence
        sure = search.each.sd < 0.5e-3
        assert sure.sum() >= 4 and np.all(np.abs(search.each.values - LEAD)[sure] < 4.0 * search.each.sd[sure])
