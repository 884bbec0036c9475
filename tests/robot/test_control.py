"""Control laws of DC motors against the equations of their circuits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inertica.robot.control import LAWS

MOTOR = {"voltage": 12.0, "torque_constant": 1.3, "resistance": 2.5}


@given(st.floats(-2, 2), st.floats(-8, 8), st.sampled_from([0.8, np.inf]))
def test_torque_of_a_servo_is_that_of_its_circuit(error: float, dq: float, most: float) -> None:
    p, d, counts = 0.003, 2e-5, 4096.0
    pwm = np.clip((p * error - d * dq) * counts / (2 * np.pi), -1, 1)
    current = np.clip((12.0 * pwm - 1.3 * dq) / 2.5, -most, most)
    gains = {**MOTOR, "p": p, "d": d, "counts": counts, "current_limit": most}
    torque, memory = LAWS["servo"]().torque({"q": error}, 0.0, dq, gains, {}, 1e-3)
    assert torque == pytest.approx(1.3 * current) and not memory
    volts = {**MOTOR, "kp": 12.0 * p * counts / (2 * np.pi), "kd": 12.0 * d * counts / (2 * np.pi), "current_limit": most}
    assert LAWS["dc-motor"]().torque({"q": error}, 0.0, dq, volts, {}, 1e-3)[0] == pytest.approx(1.3 * current)


def test_what_stated_gains_say_of_a_servo() -> None:
    gains = {name: np.array([value]) for name, value in {**MOTOR, "kp": 20.0, "kd": 0.1, "current_limit": np.inf}.items()}
    servo = LAWS["dc-motor"].servo(gains)
    assert servo["kp"][0] == pytest.approx(1.3 / 2.5 * 20.0) and servo["viscous"][0] == pytest.approx(1.3**2 / 2.5)
    assert servo["torque_limit"][0] == pytest.approx(1.3 * 12.0 / 2.5)
    assert LAWS["pd"].servo({"kp": np.ones(1)}) == {}
