"""Hysteresis and offset of torque sensors."""

from __future__ import annotations

import numpy as np
import pytest

import inertica as ia
from inertica.errors import InputError
from inertica.excitation import catalog_trajectory
from inertica.experiment.sensors import played


def test_rising_and_falling_signals_are_a_width_apart() -> None:
    x = np.concatenate([np.linspace(0, 1, 101), np.linspace(1, -1, 201), np.linspace(-1, 1, 201)])[:, None]
    y = played(x, 0.2)[:, 0]
    down, up = 101 + 100, 302 + 100  # both cross zero there
    assert x[down, 0] == pytest.approx(0.0, abs=1e-12) and x[up, 0] == pytest.approx(0.0, abs=1e-12)
    assert y[down] == pytest.approx(0.1) and y[up] == pytest.approx(-0.1)
    assert np.abs(y - x[:, 0]).max() <= 0.1 + 1e-12


def test_small_reversals_do_not_move_the_output_and_columns_have_their_own_width() -> None:
    x = np.array([0.0, 1.0, 0.85, 0.95, 0.81])
    y = played(np.column_stack([x, x]), [0.2, 0.0])
    assert np.array_equal(y[1:, 0], np.full(4, 0.9)) and np.array_equal(y[:, 1], x)


def test_play_does_not_depend_on_the_rate() -> None:
    t = np.linspace(0, 6, 6001)
    x = np.column_stack([np.sin(t) + 0.3 * np.sin(5 * t)])
    assert np.abs(played(x, 0.1)[::10] - played(x[::10], 0.1)).max() < 1e-3


def test_recorded_torque_has_hysteresis_and_offset_before_noise() -> None:
    description = ia.load("planar2")
    motion = catalog_trajectory("planar2").trajectory
    plain = ia.Experiment.of(description, sensors=ia.Sensors(rate=100.0)).run(motion, duration=4.0)[0].signals["tau"]
    sensors = ia.Sensors(rate=100.0, hysteresis=0.02, torque_offset=[0.1, -0.2])
    felt = ia.Experiment.of(description, sensors=sensors).run(motion, duration=4.0)[0].signals["tau"]
    assert felt - [0.1, -0.2] == pytest.approx(played(plain, 0.02 * np.ptp(plain, axis=0)))


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_hysteresis_is_a_share(share: float) -> None:
    with pytest.raises(InputError, match="'hysteresis' is a share, from 0 to below 1"):
        ia.Sensors(hysteresis=share)
