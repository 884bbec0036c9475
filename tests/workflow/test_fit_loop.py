"""The control loop found from a log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimators.closed import experiment_log, robot
from inertica.errors import InputError
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import ControlLoop, Experiment
from inertica.robot.control import stated_law
from inertica.workflow.loop.fit_loop import fit_loop


def test_pd_gains() -> None:
    description, _ = robot("tx40")
    fit = fit_loop(description, [experiment_log("tx40", "low_position")], rate=5000.0)
    stated = ControlLoop.of(description).gains
    assert fit.law == "pd" and not fit.warnings
    np.testing.assert_allclose(fit.loop.gains["kp"], stated["kp"], rtol=0.01)
    np.testing.assert_allclose(fit.loop.gains["kd"], stated["kd"], rtol=0.2)
    assert all(10.0 < j.wn < 1000.0 and 0.05 < j.zeta < 2.0 for j in fit.joints)


def test_stated_standard_deviations_hold_over_seeds() -> None:
    """The controller of a noisy robot differentiates positions, so that its velocity lags; the gains must not make up for it."""
    description, _ = robot("tx40")
    stated = ControlLoop.of(description).gains
    logs = Experiment.of(description, noise="low_position").run(catalog_trajectory("tx40").trajectory, runs=10)
    fits = [fit_loop(description, [log], rate=5000.0) for log in logs]
    for name in ("kp", "kd"):
        z = np.array(
            [[(j.gains[name] - true) / j.std[name] for j, true in zip(f.joints, stated[name], strict=True)] for f in fits]
        )
        assert np.abs(z.mean(axis=0)).max() < 3.0 / np.sqrt(10.0)
        assert np.sqrt(np.mean(z**2, axis=0)).max() < 1.72  # 99.9 % of the root of a mean of ten squares


def test_cascade_is_told_from_pd() -> None:
    description, _ = robot("scara2")
    fit = fit_loop(description, [experiment_log("scara2", "standard")], rate=200.0)
    stated = ControlLoop.of(description).gains
    assert fit.law == "cascade" and fit.residuals["cascade"] < 0.7 * fit.residuals["pd"]
    np.testing.assert_allclose(fit.loop.gains["kp"], stated["kp"], rtol=0.01)
    np.testing.assert_allclose(fit.loop.gains["kv"], stated["kv"], rtol=0.02)  # the velocity lags by 2.5 ms
    np.testing.assert_allclose([fit.joints[0].wn, fit.joints[0].zeta], [50.0, 1.0], rtol=0.25)


@pytest.mark.parametrize(("name", "noise", "kp", "ki", "within"), [
    ("scara2", "standard", 25.0, 8.0, 0.02), ("tx40", None, 20.0, 12.0, 0.002), ("tx40", "low_position", 20.0, 12.0, 0.01)
])  # fmt: skip
def test_pi_velocity_loop(name: str, noise: str | None, kp: float, ki: float, within: float) -> None:
    description, _ = robot(name)
    stated = ControlLoop.of(description)
    n, kv = description.robot.n, stated.gains["kv" if stated.law == "cascade" else "kd"]
    gains = {"kp": np.full(n, kp), "kv": kv, "ki": np.full(n, ki)}
    loop = ControlLoop("cascade-pi", stated.rate, gains | {"windup": np.full(n, np.inf)})
    experiment = replace(Experiment.of(description, noise=noise), loop=loop)
    fit = fit_loop(description, [experiment.run(catalog_trajectory(name).trajectory, seed=3)[0]], rate=stated.rate)
    assert fit.law == "cascade-pi" and not fit.warnings
    assert fit.residuals["cascade-pi"] < 0.2 * min(fit.residuals["cascade"], fit.residuals["pd"])
    for gain, true in gains.items():
        np.testing.assert_allclose(fit.loop.gains[gain], true, rtol=within)
        if noise:
            off = [abs(j.gains[gain] - x) / j.std[gain] for j, x in zip(fit.joints, true, strict=True)]
            assert max(off) < 4.0
    assert fit.card()["ki"] == pytest.approx(gains["ki"], rel=within) and np.isinf(fit.loop.gains["windup"]).all()


def test_an_integral_is_only_found_where_there_is_one() -> None:
    description, _ = robot("scara2")
    for run in range(5):
        assert fit_loop(description, [experiment_log("scara2", "standard", run)], rate=200.0).law == "cascade"


def test_a_card_with_an_integral_states_a_pi_velocity_loop() -> None:
    loop = {"law": "cascade", "kp": [1.0, 2.0], "kv": [3.0, 4.0], "ki": [5.0, 0.0]}
    law, gains = stated_law(loop, 2)
    assert law == "cascade-pi" and gains["ki"].tolist() == [5.0, 0.0] and np.isinf(gains["windup"]).all()
    assert stated_law({**loop, "ki": [0.0, 0.0]}, 2)[0] == "cascade"


def test_without_torque() -> None:
    description, _ = robot("tx40")
    log = experiment_log("tx40", "low_position")
    bare = replace(log, signals={k: v for k, v in log.signals.items() if k != "tau"})
    fit = fit_loop(description, [bare], rate=5000.0)
    with_torque = fit_loop(description, [log], rate=5000.0)
    assert fit.law == "pd" and fit.source == "prior model" and any("rest on the prior" in w for w in fit.warnings)
    np.testing.assert_allclose([j.wn for j in fit.joints], [j.wn for j in with_torque.joints], rtol=0.1)


def test_reference_is_needed() -> None:
    description, _ = robot("tx40")
    log = experiment_log("tx40", "low_position", duration=2.0)
    bare = replace(log, signals={k: v for k, v in log.signals.items() if k != "qr"})
    with pytest.raises(InputError, match="qr"):
        fit_loop(description, [bare])
    with pytest.raises(InputError, match="unknown law"):
        fit_loop(description, [log], law="pid")
