"""`identify` on simulated robots with known truth, and on real records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pair
from inertica.dynamics.engine import Engine
from inertica.dynamics.simulate import Noise
from inertica.errors import InputError
from inertica.excitation import catalog_trajectory
from inertica.experiment import Experiment, Sensors
from inertica.logs.log import Log
from inertica.robot.load import load
from inertica.workflow.identify import identify
from inertica.workflow.prediction import held_direction
from inertica.workflow.result import Result


def record(
    name: str, kind: str = "identification", *, seed: int = 0, friction: str | None = None, noise: Noise | None = None, **sensors
) -> Log:
    description = load(name)
    options = {"rate": 500.0} | sensors
    experiment = Experiment.of(description, noise="standard", friction=friction, sensors=Sensors(**options))
    if noise is not None:
        experiment = replace(experiment, noise=noise)
    return experiment.run(catalog_trajectory(name, kind).trajectory, seed=seed)[0]


@pytest.fixture(scope="module")
def simulated() -> Result:
    return identify("scara4", [record("scara4")], validate=[record("scara4", "validation", seed=1)], method="wls")


def test_known_parameters_are_found_and_labelled(simulated: Result) -> None:
    truth = load("scara4").prior
    beta = simulated.estimate.base.beta(truth.on(simulated.parameters.layout).values)
    z = (simulated.estimate.beta - beta) / simulated.estimate.std
    assert np.abs(z).max() < 4.5 and np.median(np.abs(z)) < 1.5
    sure = simulated.estimate.relative_std < 2.0
    assert np.count_nonzero(sure) >= 4
    assert np.abs(simulated.estimate.beta[sure] / beta[sure] - 1).max() < 0.05
    labels = simulated.labels
    assert labels["Fc1"] == labels["Fv3"] == "determined"
    assert labels["XX1"] == "unidentifiable"
    assert np.isinf(simulated.std[simulated.parameters.layout.index("XX1")])


def test_it_predicts_a_motion_it_has_not_seen(simulated: Result) -> None:
    (name,) = [n for n in simulated.residuals if n != "identification"]
    assert simulated.residuals[name].filtered.all < 0.5 * simulated.residuals[name].raw.all
    motion, truth = catalog_trajectory("scara4", "validation").trajectory, load("scara4").prior
    state = motion(np.linspace(0.0, motion.period, 2000))
    true, found = (Engine(p.layout).inverse_dynamics(state.q, state.dq, state.ddq, p) for p in (truth, simulated.parameters))
    assert np.linalg.norm(found - true) < 0.01 * np.linalg.norm(true)  # what the logs show besides is noise of the torque


def test_standard_parameters_explain_what_the_base_parameters_do(simulated: Result) -> None:
    base = simulated.estimate.base
    assert np.allclose(base.beta(simulated.parameters.values), simulated.estimate.beta, rtol=1e-8, atol=1e-10)


def test_by_default_every_link_could_exist() -> None:
    result = identify("scara4", [record("scara4")], cutoff=20.0, delay=0.0)
    assert result.method.startswith("pc-") and result.physically_consistent
    (choice,) = [c for c in result.choices if c.subject == "method"]
    assert "could exist" in choice.sentence


def test_every_choice_says_why(simulated: Result) -> None:
    assert {c.subject for c in simulated.choices} >= {"filter", "delay", "method"}
    for choice in simulated.choices:
        assert len(choice.sentence) > 20


def test_a_saved_result_predicts_the_same(simulated: Result, tmp_path) -> None:
    simulated.save(tmp_path / "r")
    again = Result.load(tmp_path / "r")
    log = record("scara4", "validation", seed=5)
    assert np.allclose(again.predict(log), simulated.predict(log), rtol=1e-9, atol=1e-9, equal_nan=True)
    assert again.labels == dict(simulated.labels)
    assert again.residuals["identification"].raw.all == pytest.approx(simulated.residuals["identification"].raw.all)
    with pytest.raises(InputError, match="not the folder of a result"):
        Result.load(tmp_path / "nothing")


def test_without_validation_a_hold_out_is_reported() -> None:
    result = identify("scara4", [record("scara4")], cutoff=20.0, delay=0.0, method="wls")
    assert set(result.residuals) == {"identification", "hold-out"}
    assert all(not c.automatic for c in result.choices if c.subject in ("filter", "delay", "method"))


def test_delays_are_found_where_they_are() -> None:
    late = record("scara4", noise=Noise(q=1e-6, tau=0.01), delay=[0.0, 0.02, 0.0, 0.0])
    result = identify("scara4", [late], method="wls")
    delays = np.array(result.recipe.delay)
    assert delays[1] == pytest.approx(0.02, abs=0.002)
    assert np.all(delays[[0, 2, 3]] == -0.25e-3)  # half a period of the 2 kHz loop: a held torque leads by that


def test_friction_that_is_not_there_is_not_chosen(tmp_path) -> None:
    card = tmp_path / "card.yaml"
    card.write_text("model: scara4\nfriction: auto\n")
    viscous = identify(card, [record("scara4", friction="viscous")], cutoff=20.0, delay=0.0, method="wls")
    assert not any(name.startswith("dFs") for name in viscous.parameters.layout.names)
    found = viscous.parameters
    for j in range(4):
        name = f"Fc{j + 1}"
        assert name not in found.layout.names or abs(found[name]) < 0.05 * load("scara4").prior[name]
    both = identify(card, [record("scara4", friction="viscous_coulomb")], cutoff=20.0, delay=0.0, method="wls")
    assert {"Fc1", "Fc2", "Fc3", "Fc4"} <= set(both.parameters.layout.names)


def test_friction_at_rest_stays_on_the_side_of_the_last_motion(simulated: Result) -> None:
    log = record("scara4", noise=Noise(q=1e-6, tau=0.01))
    motion = simulated.motion(log)
    resting = np.zeros_like(motion.resting)
    resting[:200, 0] = resting[1000:1200, 0] = resting[1500:1520, 0] = True
    motion = replace(motion, resting=resting)
    held = held_direction(motion)
    assert not held[:200, 0].any()
    assert np.all(np.sign(held[1000:1200, 0]) == np.sign(motion.dq[999, 0])) and np.abs(held[1000:1200, 0]).max() < 1e-6
    assert np.array_equal(held[1500:1520], motion.dq[1500:1520])
    assert np.array_equal(held[:, 1:], motion.dq[:, 1:])
    for factor in (0.1, 10.0):  # another unit of time: the same stops
        slower = replace(motion, t=motion.t * factor, dq=motion.dq / factor, ddq=motion.ddq / factor**2)
        assert np.allclose(held_direction(slower), held / factor, rtol=1e-9, atol=0.0)


def test_bad_input_is_one_sentence() -> None:
    log = record("scara4")
    with pytest.raises(InputError, match="has 4 joints, tx40 has 6"):
        identify("tx40", [log])
    with pytest.raises(InputError, match="unknown method 'wsl'"):
        identify("scara4", [log], method="wsl")
    with pytest.raises(InputError, match="at least one log"):
        identify("scara4", [])
    t = np.arange(4000) / 500.0
    still = Log.from_arrays(t, {"q": np.zeros((4000, 4)), "tau": np.ones((4000, 4))})
    with pytest.raises(InputError):
        identify("scara4", [still])


def test_a_joint_at_rest_is_named_and_the_others_are_identified() -> None:
    """Its encoder's noise fills the spectrum, which is no reason to fit the others up to half the sampling rate."""
    log = record("scara4")
    q, tau = log.need("q").copy(), log.need("tau").copy()
    q[:, 3] = 0.1 + 1e-5 * np.random.default_rng(0).standard_normal(len(q))
    tau[:, 3] = 0.3
    still = Log.from_arrays(log.t, {"q": q, "tau": tau}, log.joints)
    result, whole = (identify("scara4", [x], quick=True, friction=("viscous", "coulomb")) for x in (still, log))
    assert any("joint4 does not move" in w for w in result.warnings)
    one, all_of_them = (r.residuals["identification"].raw.per_joint[:3] for r in (result, whole))
    assert (np.array(one) < 1.2 * np.array(all_of_them)).all()  # the slide feels the joint that stands still here
    assert all(result.labels[name] in ("unidentifiable", "fixed") for name in ("Fv4", "Fc4"))
    with pytest.raises(InputError, match="joint4 does not move"):
        identify("scara4", [still], method="tls")


def test_a_joint_that_moves_in_one_stretch_only_is_no_reason_to_refuse_a_log() -> None:
    log = record("scara4")
    q, tau, n = log.need("q").copy(), log.need("tau").copy(), len(log) // 6
    q[n:, 3], tau[n:, 3] = q[n, 3], tau[n, 3]
    seldom = Log.from_arrays(log.t, {"q": q, "tau": tau}, log.joints)
    assert identify("scara4", [seldom], quick=True).residuals["identification"].raw.per_joint[0] < 0.9


def test_real_six_joint_arm_with_coupled_wrist(real_data, tmp_path) -> None:
    card = tmp_path / "card.yaml"
    card.write_text(f"model: {real_data / 'tx40' / 'tx40.urdf'}\ncoupling: [{{motor: 6, joints: [5, 6]}}]\n")
    log = real_data / "tx40" / "tx40_joint_public.csv.gz"
    result = identify(card, [f"{log}@0:4.0"], validate=[f"{log}@4.0:5.2"])
    assert result.residuals[f"{log}@4.0:5.2"].raw.all <= 0.169
    low, high = result.intervals[result.parameters.layout.index("Fv1")]
    assert low < 8.05 < high  # as published for this type of robot


def test_real_arm_with_currents(real_data, tmp_path) -> None:
    card, folder = tmp_path / "card.yaml", real_data / "ur10e"
    gains = [11.976, 11.976, 9.839, 10.763, 10.763, 10.763]
    card.write_text(f"model: {folder / 'ur10e.urdf'}\ntorque: {{from: current, gain: {gains}}}\n")
    logs = [f"{folder}/ident_unloaded_a.csv.gz@6.756:37.388", f"{folder}/ident_unloaded_b.csv.gz@2.022:52.094"]
    target = f"{folder}/valid_ptp.csv.gz@7.45:44.86"
    result = identify(card, logs, validate=[target])
    assert result.residuals[target].raw.all <= 0.056
    assert not np.any(result.recipe.delay)  # away from reversals, where friction imitates a lag, no delay can be told


def test_bayes_trusts_the_prior_as_far_as_the_card_says(tmp_path) -> None:
    """Friction stated to many digits stays; the same values trusted little follow the data."""
    model, log, _ = pair.files()
    found = {}
    for trust in ("0.00001", "10"):
        card = tmp_path / f"card{trust}.yaml"
        card.write_text(f"model: {model}\nfriction: [viscous, coulomb]\nprior: {{friction: {trust}}}\nparameters: {{Fv1: 0.7}}\n")
        found[trust] = identify(card, [log], method="bayes", cutoff=10.0, delay=0.0).parameters["Fv1"]
    assert found["0.00001"] == pytest.approx(0.7, rel=0.01) and found["10"] == pytest.approx(0.5, rel=0.1)
