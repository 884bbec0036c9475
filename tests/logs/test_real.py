"""Real records, which are not part of the repository: they are read, and motor side and joint side agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

import inertica as ia
from inertica.logs import read_log

RECORDS = {
    "kuka_lwr4/ident_slow_1.csv.gz": (5027, 7, ("q", "dq", "tau")),
    "kuka_lwr4/ident_slow_2.csv.gz": (5027, 7, ("q", "dq", "tau")),
    "tx40/tx40_joint_public.csv.gz": (26000, 6, ("q", "tau")),
    "ur10e/ident_unloaded_a.csv.gz": (3691, 6, ("q", "dq", "i")),
    "ur10e/ident_unloaded_b.csv.gz": (5375, 6, ("q", "dq", "i")),
    "ur10e/ident_loaded.csv.gz": (5307, 6, ("q", "dq", "i")),
    "ur10e/valid_ptp.csv.gz": (5347, 6, ("q", "dq", "i")),
}


@pytest.mark.parametrize("name", RECORDS)
def test_shapes(real_data: Path, name: str) -> None:
    rows, n, symbols = RECORDS[name]
    log = read_log(real_data / name)
    assert (len(log), log.n, tuple(log.signals)) == (rows, n, symbols)
    assert log.warnings == ()
    assert not log.mask.any()


def test_motor_side_is_joint_side(real_data: Path, tmp_path: Path) -> None:
    """The TX40 before and after gears and wrist coupling, to the last digit of the joint record."""
    facts = yaml.safe_load((real_data / "tx40" / "dataset.yaml").read_text())["transmission"]
    model = real_data / "tx40" / "tx40.urdf"
    (tmp_path / "card.yaml").write_text(f"model: {model}\ntransmission: {facts['N']}\n")
    robot = ia.load(tmp_path / "card.yaml")
    motor = read_log(real_data / "tx40" / "tx40_motor_public.csv.gz", robot, offset=facts["q_off_rad"])
    joint = read_log(real_data / "tx40" / "tx40_joint_public.csv.gz", robot)
    np.testing.assert_array_equal(motor.t, joint.t)
    # the joint record was made from the five digits of the motor record and written with 8 and 6 decimals
    np.testing.assert_allclose(motor.need("q"), joint.need("q"), rtol=0.0, atol=5.1e-9)
    np.testing.assert_allclose(motor.need("tau"), joint.need("tau"), rtol=0.0, atol=5.1e-7)


def test_currents_and_slice(real_data: Path, tmp_path: Path) -> None:
    gain = [11.976, 11.976, 9.839, 10.763, 10.763, 10.763]
    (tmp_path / "card.yaml").write_text(f"model: {real_data / 'ur10e' / 'ur10e.urdf'}\ntorque: {{from: current, gain: {gain}}}\n")
    log = read_log(f"{real_data / 'ur10e' / 'ident_unloaded_a.csv.gz'}@6.756:37.388", ia.load(tmp_path / "card.yaml"))
    np.testing.assert_array_equal(log.tau, log.need("i") * gain)
    assert log.t[0] >= 6.756 and log.t[-1] <= 37.388
    assert 90.0 < log.rate < 96.0
