"""`check`: what it finds in simulated logs with known faults, and in real logs what their makers describe."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inertica.checks.findings import Finding, Quality
from inertica.checks.lag import scan
from inertica.checks.quality import check
from inertica.errors import InputError
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.robot.description import Description
from inertica.robot.load import load
from logs.simulated import DT, changed, clean

TX40 = load("tx40")


def one(quality: Quality, name: str) -> Finding:
    (finding,) = quality.of(name)
    return finding


@pytest.mark.parametrize("seed", [0, 1])
def test_a_clean_log_raises_no_alarm(seed: int) -> None:
    quality = check(TX40, [clean(seed)])
    assert quality.verdict == "fine", [(f.name, f.text) for f in quality.findings if f.verdict != "fine"]
    excitation, parameters = one(quality, "excitation"), one(quality, "parameters")
    assert 10 < excitation.numbers["condition_scaled"] < 50
    labels = {row["name"]: row["label"] for row in parameters.numbers["base"]}
    assert all(labels[f"{p}{j}"] == "determined" for p in ("Fv", "Fc") for j in range(1, 7))
    assert parameters.numbers["standard"]["M3"] == "in combination only"
    assert parameters.numbers["standard"]["M1"] == "no effect"
    assert parameters.numbers["standard"]["Fc3"] == "determined"


def test_standard_deviations_cover_the_errors() -> None:
    """Errors of the plain fit against the truth, over their stated standard deviations, for two runs: mostly below 3."""
    truth = base_model(TX40.layout).beta(TX40.prior.values)
    rows = [one(check(TX40, [clean(seed, noisy=True, coulomb=True)]), "parameters").numbers["base"] for seed in (0, 1)]
    off = np.array([[abs(r["value"] - b) / r["std"] for r, b in zip(run, truth, strict=True)] for run in rows])
    assert np.mean(off < 3.0) > 0.85


def test_slow_small_motion_is_called_poor_and_its_directions_are_named() -> None:
    quality = check(TX40, [clean(0, amplitude=0.2)])
    excitation = one(quality, "excitation")
    assert excitation.verdict == "warning" and excitation.numbers["condition_scaled"] > 100
    directions = [d["direction"] for d in excitation.numbers["directions"]]
    assert any("MX4" in d and "MX3" in d for d in directions)  # parallel axes that hardly turn against each other
    assert directions[0] in excitation.text
    assert one(quality, "parameters").verdict == "note"


def test_two_logs_determine_more_than_one() -> None:
    alone = one(check(TX40, [clean(0, amplitude=0.2)]), "excitation").numbers
    both = check(TX40, [clean(0, amplitude=0.2), clean(1)])
    together = one(both, "excitation").numbers
    assert together["condition_scaled"] < 0.5 * alone["condition_scaled"]
    assert len(both.logs) == 2 and len(both.of("sampling")) == 2


def test_a_lag_is_recovered_to_a_fraction_of_a_sample() -> None:
    t = DT * np.arange(4000)
    leader = np.sin(5.0 * t) + np.sin(13.0 * t)
    found = scan(
        t, np.ones(len(t), bool), leader, lambda at: 0.9 * (np.sin(5.0 * (at - 7e-4)) + np.sin(13.0 * (at - 7e-4))), 0.03
    )
    assert found.value == pytest.approx(7e-4, abs=DT / 20) and found.sd < DT
    assert not scan(t[:50], np.ones(50, bool), leader[:50], np.sin, 0.01).found


def test_faults_of_single_channels() -> None:
    log = clean(0)
    cut, dead = log.tau.copy(), log.tau.copy()
    cut[:, 1] = np.clip(cut[:, 1], -30, 30)
    dead[:, 4] = 0.3
    saturated = check(TX40, [changed(log, tau=cut)])
    assert one(saturated, "saturation").verdict == "warning" and "joint 2" in one(saturated, "saturation").text
    assert one(saturated, "saturation").numbers["flat_top"][1] > 0.05
    constant = check(TX40, [changed(log, tau=dead)])
    assert one(constant, "dead channels").verdict == "problem" and "tau5" in one(constant, "dead channels").text
    assert constant.worst("coupling") == "fine"
    empty = log.tau.copy()
    empty[:, 3] = np.nan
    lost = check(TX40, [changed(log, tau=empty)])
    assert "no values in tau4" in one(lost, "dead channels").text


def test_rough_and_stale_samples() -> None:
    log = clean(0)
    rough = one(check(TX40, [changed(log, q=np.round(log.q / 0.01) * 0.01)]), "quantisation")
    assert rough.verdict == "note" and np.allclose(rough.numbers["q"], 0.01)
    # the low-pass follows the motion and not the steps, so rougher steps leave more noise
    finer = one(check(TX40, [changed(log, q=np.round(log.q / 1e-3) * 1e-3)]), "quantisation")
    assert np.all(rough.numbers["acceleration_noise"] > 3.0 * finer.numbers["acceleration_noise"])
    held = np.arange(len(log)) // 2 * 2
    stale = one(check(TX40, [changed(log, q=log.q[held], tau=log.tau[held])]), "repeated samples")
    assert stale.verdict == "warning" and stale.numbers["whole_samples"] == pytest.approx(0.5, abs=0.01)
    slow = one(check(TX40, [changed(log, tau=log.tau[held])]), "repeated samples")
    assert slow.verdict == "note" and "tau1" in slow.text


def test_velocity_scale_units_and_gaps() -> None:
    log = clean(0)
    faster = Log.from_arrays(log.t, {"q": log.q, "dq": 1.06 * log.truth["dq"], "tau": log.tau})
    velocity = one(check(TX40, [faster]), "velocity")
    assert velocity.verdict == "note" and np.allclose(velocity.numbers["scale"], 1.06, atol=2e-3)
    late = np.column_stack([np.interp(log.t - 0.004, log.t, x) for x in log.truth["dq"].T])
    lag = one(check(TX40, [Log.from_arrays(log.t, {"q": log.q, "dq": late, "tau": log.tau})]), "velocity")
    assert lag.verdict == "note" and np.allclose(lag.numbers["lag"], 0.004, atol=5e-4)
    degrees = one(check(TX40, [changed(log, q=np.rad2deg(log.q))]), "limits")
    assert degrees.verdict == "warning" and "degrees" in degrees.advice
    keep = np.ones(len(log), bool)
    keep[3000:3090] = False
    gap = one(check(TX40, [Log.from_arrays(log.t[keep], {"q": log.q[keep], "tau": log.tau[keep]})]), "gaps")
    assert gap.verdict == "note" and gap.numbers["gaps"] == 1 and "t = 5.998 s" in gap.text


def test_what_cannot_be_checked_is_said() -> None:
    log = clean(0)
    short = check(TX40, [Log.from_arrays(log.t[:50], {"q": log.q[:50], "tau": log.tau[:50]})])
    assert short.verdict == "problem" and one(short, "length").numbers["samples"] == 50
    with pytest.raises(InputError, match="has 2 joints, tx40 has 6"):
        check(TX40, [Log.from_arrays(log.t, {"q": log.q[:, :2], "tau": log.tau[:, :2]})])
    with pytest.raises(InputError, match="has no torque"):
        check(TX40, [Log.from_arrays(log.t, {"q": log.q})])
    with pytest.raises(InputError, match="no log"):
        check(TX40, [])


def card(folder: Path, name: str, model: Path, *lines: str) -> Description:
    path = folder / f"{name}.yaml"
    path.write_text("\n".join([f"model: {model}", "friction: [viscous, coulomb, offset]", *lines]) + "\n")
    return load(path)


def test_ur10e_jitter_and_standstill(real_data: Path, tmp_path: Path) -> None:
    folder = real_data / "ur10e"
    gain = "torque: {from: current, gain: [11.976, 11.976, 9.839, 10.763, 10.763, 10.763]}"
    robot = card(tmp_path, "ur", folder / "ur10e.urdf", gain)
    log = read_log(f"{folder / 'ident_unloaded_b.csv.gz'}@2:52.1", robot)
    stops = read_log(folder / "valid_ptp.csv.gz", robot)
    quality = check(robot, [log, stops])
    sampling = quality.of("sampling")
    assert all(f.verdict == "note" and "jitters" in f.text and 0.05 < f.numbers["jitter"] < 0.15 for f in sampling)
    standstill = quality.of("standstill")
    assert standstill[0].numbers["share"] < 0.05
    assert standstill[1].verdict == "note" and standstill[1].numbers["share"] > 0.2
    assert all(f.verdict == "fine" for f in quality.of("velocity"))
    assert quality.worst("excitation") == "fine"
    assert quality.verdict == "note"


def test_tx40_without_its_coupling_leaves_a_residual_that_names_joints_5_and_6(real_data: Path, tmp_path: Path) -> None:
    folder = real_data / "tx40"
    log = read_log(folder / "tx40_joint_public.csv.gz", load(folder / "tx40.urdf"))
    lacking = check(card(tmp_path, "plain", folder / "tx40.urdf"), [log])
    coupling, residual = one(lacking, "coupling"), one(lacking, "residual").numbers["per_joint"]
    assert coupling.verdict == "note" and coupling.numbers["pairs"] == [[5, 6]]
    assert "joint 5" in coupling.text and "joint 6" in coupling.text and "joints: [5, 6]" in coupling.advice
    assert residual[4] > 0.3 and residual[5] > 0.2 and residual[:4].max() < 0.1
    whole = check(card(tmp_path, "coupled", folder / "tx40.urdf", "coupling: [{motor: 6, joints: [5, 6]}]"), [log])
    assert whole.worst("coupling") == "fine" and one(whole, "residual").numbers["per_joint"].max() < 0.12
    assert one(whole, "excitation").numbers["base_count"] == 61


def test_kuka_is_poorly_excited(real_data: Path, tmp_path: Path) -> None:
    folder = real_data / "kuka_lwr4"
    robot = card(tmp_path, "kuka", folder / "kuka_lwr4.urdf")
    logs = [read_log(f"{folder / name}@3:", robot) for name in ("ident_slow_1.csv.gz", "ident_slow_2.csv.gz")]
    quality = check(robot, logs)
    excitation = one(quality, "excitation")
    assert excitation.verdict == "warning" and excitation.numbers["condition"] > 1000
    assert all("*" in d["direction"] for d in excitation.numbers["directions"])
    names = set(robot.layout.names)
    words = [part.partition("*")[2] for d in excitation.numbers["directions"] for part in d["direction"].split() if "*" in part]
    assert words and set(words) <= names
    # a fit looks perfect on these records all the same
    assert one(quality, "residual").numbers["all"] < 0.03
    counts = one(quality, "parameters").numbers
    assert counts["weak"] + counts["not_determined"] > 20
