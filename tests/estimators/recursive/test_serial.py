"""Intervals of fits in a control loop hold for torque noise that lasts, not for white noise alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from inertica.estimators.recursive import serial
from inertica.estimators.recursive.live import OnlineFit, RowStream
from inertica.excitation.files import catalog_trajectory
from inertica.identifiability.base import base_model
from inertica.robot.load import load

RATE, RUNS = 1000.0, 40


def covered(lasting: float, seconds: float, weighted: bool = True, seed: int = 22, **options: float) -> tuple[float, float]:
    """Share of the true parameters of scara2 in their 95 % intervals, and of those that take the noise for white.

    Args:
        lasting: s, time constant of the torque noise.
        seconds: of a run.
        weighted: as for `OnlineFit`.
        seed: of the noise.
        options: of `OnlineFit`.
    """
    robot = load("scara2")
    base = base_model(robot.layout)
    s = catalog_trajectory("scara2").trajectory(np.arange(0.0, seconds, 1.0 / RATE))
    tau = base.engine.inverse_dynamics(s.q, s.dq, s.ddq, robot.prior)
    true, size = base.beta(robot.prior.values), 0.1 * np.sqrt(np.mean(tau**2, axis=0))
    keep = np.exp(-1.0 / (RATE * lasting)) if lasting else 0.0
    rng, held = np.random.default_rng(seed), []
    for _ in range(RUNS):
        white = rng.normal(size=(len(tau) + 2000, 2))
        noise = size * np.sqrt(1.0 - keep**2) * lfilter([1.0], [1.0, -keep], white, axis=0)[2000:]
        stream = RowStream(base, RATE)
        fit = OnlineFit(stream, weighted=weighted, **options)  # type: ignore[arg-type]
        for row, use in zip(*stream.push_many(s.q, tau + noise)[:2], strict=True):
            fit.absorb(row, use)
        found = fit.estimate
        fit._sums[:] = 0.0
        for e in (found, fit.estimate):
            held.append(np.abs(e.beta - true) < 1.96 * e.std)
    return float(np.mean(held[::2])), float(np.mean(held[1::2]))


@pytest.mark.parametrize("weighted", [True, False])
def test_intervals_hold_for_noise_that_lasts(weighted: bool) -> None:
    with_it, without = covered(0.05, 10.0, weighted)
    assert 0.90 <= with_it <= 0.99
    assert without < 0.8


def test_intervals_hold_for_white_noise() -> None:
    assert 0.90 <= covered(0.0, 10.0)[0] <= 0.99


def test_sums_tell_how_long_noise_lasts() -> None:
    """(1 + a) / (1 - a) of an autoregression, less what half a second does not show; one of white noise, and not less."""
    rng, sums = np.random.default_rng(0), np.zeros((3, 6))
    rows, use = np.zeros((200_000, 3, 2)), np.array([True, True, False])
    rows[:, :, 1] = rng.normal(size=(200_000, 3))
    rows[:, 1, 1] = lfilter([1.0], [1.0, -0.8], rows[:, 1, 1])
    for row in rows:
        serial.residuals_in(row, use, 50, 1.0, sums)
    assert serial.longer(sums, 1.0, False)[2] == 1.0  # no rows of that joint
    np.testing.assert_allclose(serial.longer(sums, 1.0, False), [1.0, 9.0 * (1.0 - 0.09), 1.0], rtol=0.08)
    assert serial.longer(sums, 12.0, False).tolist() == [12.0, 12.0, 12.0]
    assert len(set(serial.longer(sums, 1.0, True))) == 1
    assert serial.fading(1.0, 50) == 1.0 and serial.fading(0.5001, 50) == 1.0 - 1.0 / 2000.0


def test_few_sums_say_less() -> None:
    few, many = (np.array([[0.0, 0.0, 0.0, number, 9.0, 1.0]]) for number in (6.0, 1e6))
    assert serial.longer(many, 1.0, False)[0] == pytest.approx(9.0, rel=1e-4)
    assert serial.longer(few, 1.0, False)[0] == pytest.approx(9.0 * (2.4469 / 1.9600) ** 2, rel=1e-4)
    assert serial.longer(few - [0.0, 0.0, 0.0, 1.0, 0.0, 0.0], 1.0, False)[0] == 1.0


def test_a_fit_that_begins_anew_forgets_what_residuals_showed() -> None:
    robot = load("scara2")
    fit = OnlineFit(RowStream(base_model(robot.layout), RATE))
    fit._sums[:] = [1.0, 2.0, 4.0, 10.0, 90.0, 10.0]
    assert np.all(fit.longer > 9.0)
    fit.reset()
    assert np.all(fit.longer == fit.stream.inflation)
