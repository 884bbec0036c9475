"""Joint states as MCAP, read again by the packages' own reader and by ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from documents import ROOT
from inertica.cli.main import main
from inertica.logs.mcap_write import write_joint_states
from inertica.logs.readers.options import ReadOptions

pytest.importorskip("mcap_ros2", reason="the extra ros is not installed")

DATA = ROOT / "examples" / "data"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    t = np.arange(20) / 128.0 - 0.5
    q, tau = rng.normal(size=(2, 20, 3))
    t[7] = np.nan
    target = tmp_path / "a.mcap"
    write_joint_states(
        target, ("pan", "lift", "elbow"), t, {"/measured": {"position": q, "effort": tau}, "/residual": {"effort": 2 * tau}}
    )
    log = ia.read_log(target, ia.load(DATA / "arm.urdf"), options=ReadOptions(topic="/measured"))
    assert log.t == pytest.approx(np.delete(t, 7) - t[0], abs=1e-9)
    assert np.array_equal(log.need("q"), np.delete(q, 7, axis=0)) and np.array_equal(log.need("tau"), np.delete(tau, 7, axis=0))


def test_predict_writes_topics_whose_difference_is_the_residual(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from mcap_ros2.reader import read_ros2_messages

    result = ia.identify(DATA / "arm.urdf", [DATA / "run1.csv.gz"], quick=True)
    result.save(tmp_path / "result")
    target = tmp_path / "predicted.mcap"
    assert main(["predict", str(tmp_path / "result"), str(DATA / "run2.csv.gz"), "-o", str(target)]) == 0
    effort: dict[str, list[list[float]]] = {}
    for message in read_ros2_messages(target):
        effort.setdefault(message.channel.topic, []).append(list(message.ros_msg.effort))
        assert list(message.ros_msg.name) == ["pan", "lift", "elbow"]
    measured, predicted, residual = (np.array(effort[topic]) for topic in ("/measured", "/predicted", "/residual"))
    assert np.array_equal(measured - predicted, residual)
    log = ia.read_log(DATA / "run2.csv.gz", result.description)
    assert np.array_equal(measured, log.need("tau")) and np.array_equal(predicted, result.predict(log))
    assert 0.0 < np.linalg.norm(residual) < 0.1 * np.linalg.norm(measured)
