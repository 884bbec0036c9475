"""Stamps in two columns, and the names that `rostopic echo -p` gives."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.logs.read import read_log


@pytest.mark.parametrize("names", ["secs,nsecs", "header.stamp.sec,header.stamp.nanosec", "time_sec,time_nsec"])
def test_seconds_and_nanoseconds_are_one_clock(tmp_path, names) -> None:
    path, start = tmp_path / "log.csv", 1_700_000_000_900_000_000
    stamps = start + 2_000_000 * np.arange(200)
    lines = [f"{s // 10**9},{s % 10**9},{np.sin(k / 50):.6f},{np.cos(k / 50):.6f}" for k, s in enumerate(stamps.tolist())]
    path.write_text("\n".join([f"{names},position_0,effort_0", *lines]))
    log = read_log(path)
    np.testing.assert_allclose(log.t, 0.002 * np.arange(200), atol=1e-9)
    assert log.n == 1 and any("together, in ns" in note for note in log.notes)


def test_columns_of_rostopic_echo(tmp_path) -> None:
    path = tmp_path / "log.csv"
    lines = [f"{1_700_000_000_000_000_000 + 10_000_000 * k},{k},{0.1 * k},{0.2 * k},{k},{2 * k}" for k in range(50)]
    path.write_text("\n".join(["%time,field.header.seq,field.position0,field.position1,field.effort0,field.effort1", *lines]))
    log = read_log(path)
    assert log.n == 2 and set(log.signals) == {"q", "tau"} and log.rate == pytest.approx(100.0)
