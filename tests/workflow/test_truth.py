"""Fits of simulated logs start off the truth and say so; results are held against known values."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import inertica as ia
from inertica.cli.main import main
from inertica.experiment import ControlLoop
from inertica.logs.simulated import made_with
from inertica.physical.distort import distorted
from inertica.workflow.identify.start_values import SEED, start_values

FIXED = {"delay": 0.0, "friction": ("viscous", "coulomb"), "quick": True, "method": "wls"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    for name in ("log.csv.gz", "log.npz"):
        assert main(["simulate", "scara2", "-o", str(folder / name), "--noise", "standard", "--duration", "5"]) == 0
    return folder


def test_a_simulated_log_says_which_model_made_it(files):
    robot = ia.load("scara2")
    other = replace(robot, prior=robot.prior.replaced({"M2": 3.0}))
    for name in ("log.csv.gz", "log.npz"):
        log = ia.read_log(files / name, robot)
        assert made_with(log, robot) and not made_with(log, other)
    csv, npz = (ia.read_log(files / name, robot) for name in ("log.csv.gz", "log.npz"))
    np.testing.assert_array_equal(csv.need("tau"), npz.need("tau"))


def test_the_fit_starts_off_the_truth_unless_it_is_asked_for(files):
    robot = ia.load("scara2")
    drawn = distorted(robot.prior, np.random.default_rng(SEED)).values
    off = ia.identify("scara2", [files / "log.csv.gz"], **FIXED)
    (choice,) = (c for c in off.choices if c.subject == "prior")
    assert choice.value == "15 % off" and "simulated with this model" in choice.sentence
    np.testing.assert_array_equal(off.description.prior.on(robot.layout).values, drawn)
    exact = ia.identify("scara2", [files / "log.csv.gz"], prior="truth", **FIXED)
    assert [c.value for c in exact.choices if c.subject == "prior"] == ["truth"]
    np.testing.assert_array_equal(exact.description.prior.on(robot.layout).values, robot.prior.values)
    np.testing.assert_allclose(off.estimate.beta, exact.estimate.beta, rtol=1e-6)  # what data decide does not depend on it


def test_other_logs_and_other_models_keep_their_values(files):
    robot = ia.load("scara2")
    log = ia.read_log(files / "log.csv.gz", robot)
    unmarked = replace(log, notes=())
    assert start_values(robot, [unmarked], None) == (robot, ())
    other = replace(robot, prior=robot.prior.replaced({"M2": 3.0}))
    assert start_values(other, [log], None) == (other, ())


def test_a_controller_that_feeds_the_model_forward_keeps_it(files):
    robot = ia.load("scara2")
    fed = replace(robot, loop={**robot.loop, "feedforward": True})
    off, _ = start_values(fed, [ia.read_log(files / "log.npz", robot)], None)
    assert not np.allclose(off.prior.values, robot.prior.values)
    assert ControlLoop.of(off).model is robot.prior
    assert ControlLoop.of(off.with_prior(off.prior)).model is robot.prior


def test_a_result_is_held_against_known_values(files, capsys):
    result = ia.identify("scara2", [files / "log.csv.gz"], **FIXED)
    found = ia.against_truth(result, "scara2")
    robot = ia.load("scara2")
    base = ia.base_model(robot.layout)
    known = dict(zip(base.names, base.beta(robot.prior.values), strict=True))
    assert {h.name: h.known for h in found.base} == pytest.approx(known) and not found.unknown and not found.missing
    miss = np.abs(result.estimate.beta - list(known.values())) / result.estimate.std
    assert found.covered == (int(np.sum(miss <= 1.96)), base.rank)
    covered, of = found.covered
    sure = [abs(h.error) for h in found.sure]
    assert len(sure) >= 5 and np.median(sure) < 0.02

    result.save(files / "result")
    capsys.readouterr()
    assert main(["truth", str(files / "result"), "scara2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["covered"], document["intervals"]) == (covered, of)
    assert document["sure"]["worst"] == pytest.approx(max(sure))
    assert main(["truth", str(files / "result"), "scara2"]) == 0
    assert "hold the known value" in capsys.readouterr().out
    assert main(["truth", str(files / "result"), "tx40"]) == 2
    assert "6 joints" in capsys.readouterr().err


def test_values_that_are_not_known_are_named(files):
    result = ia.identify("scara2", [files / "log.csv.gz"], **{**FIXED, "friction": ("viscous", "coulomb", "offset")})
    found = ia.against_truth(result, "scara2")
    assert found.unknown == ("off1", "off2")
    bare = ia.identify("scara2", [files / "log.csv.gz"], **{**FIXED, "friction": ("coulomb",)})
    assert ia.against_truth(bare, "scara2").missing == ("Fv1", "Fv2")


def test_watch_reduce_and_payload_say_where_they_start(files, capsys):
    log = str(files / "log.csv.gz")
    for words in (["watch", "scara2", log], ["reduce", "scara2", log, "--method", "ols"]):
        assert main(words) == 0
        assert "15 % off its values" in " ".join(capsys.readouterr().out.split())
        assert main([*words, "--prior", "truth"]) == 0
        assert "starts and priors are the values that the log was simulated with" in " ".join(capsys.readouterr().out.split())
    robot = ia.load("scara2")
    drawn = distorted(robot.prior, np.random.default_rng(SEED))
    first = next(iter(ia.watch("scara2", log, every=0.1)))
    truth = next(iter(ia.watch("scara2", log, every=0.1, prior="truth")))
    assert first.estimate.beta[0] != truth.estimate.beta[0]  # not determined yet: what it started from
    assert drawn["M1"] != robot.prior["M1"]
    heavier = replace(robot, prior=robot.prior.replaced({"M2": robot.prior["M2"] + 2.0}))
    loaded = ia.simulate(heavier, noise="standard", seed=3)
    found = ia.payload("scara2", unloaded=[log], loaded=loaded, frame=(0.0, 0.0, 0.0), settings=ia.Settings(**FIXED))
    assert [c.value for c in found.choices if c.subject == "prior"] == ["15 % off"]
    assert found["M"] == pytest.approx(2.0, rel=0.05)  # what a planar arm does not show must not count as known to be zero
    result = ia.identify("scara2", [log], **FIXED)
    again = ia.payload(robot_from=result, loaded=loaded, frame=(0.0, 0.0, 0.0), settings=ia.Settings(**FIXED))
    assert [c.value for c in again.choices if c.subject == "prior"] == ["15 % off"]
