"""Names of columns: schemes that are recognised, doubts that are said, maps of the card."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inertica.errors import FileError, InputError
from inertica.logs import Log, read_log
from inertica.logs.names import meaning, take_apart


def table(path: Path, header: list[str], rows: int = 5) -> Path:
    """A file in which the column k holds k + 0.01 times the row, the first one being a clock."""
    body = [",".join([f"{r / 8}", *(f"{k + r / 100:.2f}" for k in range(1, len(header)))]) for r in range(rows)]
    path.write_text(",".join(header) + "\n" + "\n".join(body) + "\n")
    return path


SCHEMES = {
    "plain": ("t", "q{}", "dq{}", "tau{}", 1),
    "underscore": ("time", "pos_{}", "vel_{}", "torque_{}", 1),
    "long": ("timestamp", "position_{}", "velocity_{}", "effort_{}", 1),
    "joint first": ("stamp", "joint_{}_position", "joint_{}_velocity", "joint_{}_torque", 1),
    "ur": ("timestamp", "actual_q_{}", "actual_qd_{}", "joint_torque_{}", 0),
    "brackets": ("time [s]", "q[{}]", "qd[{}]", "tau[{}]", 0),
    "franka": ("time", "q_{}", "dq_{}", "tau_J_{}", 1),
    "topics": ("__time", "/arm/joint_states/position[{}]", "/arm/joint_states/velocity[{}]", "/arm/joint_states/effort[{}]", 0),
    "rostopic": ("%time", "field.position{}", "field.velocity{}", "field.effort{}", 0),
    "camel": ("Time", "JointPosition{}", "JointVelocity{}", "JointTorque{}", 1),
    "units": ("t (s)", "q{} [rad]", "dq{} [rad/s]", "tau{} [N·m]", 1),
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes(tmp_path: Path, scheme: str) -> None:
    clock, *patterns, first = SCHEMES[scheme]
    header = [clock, *(p.format(j + first) for p in patterns for j in range(3))]
    log = read_log(table(tmp_path / "a.csv", header))
    for k, symbol in enumerate(("q", "dq", "tau")):
        np.testing.assert_allclose(log.signals[symbol][0], 1 + 3 * k + np.arange(3))
    assert set(log.signals) == {"q", "dq", "tau"}
    assert log.origin.columns["q"] == tuple(header[1:4])
    assert [c.kind for c in log.channels][:9:3] == ["position", "velocity", "torque"]


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("theta3", "theta"), ("taum3", "taum"), ("tau_m3", "taum"), ("motor_position_3", "theta"), ("motor_torque_3", "taum"),
        ("i3", "i"), ("current_3", "i"), ("actual_current_3", "i"), ("motor_current_3", "i"), ("current_position_3", "q"),
        ("qr3", "qr"), ("q_ref_3", "qr"), ("target_q_3", "qr"), ("target_qd_3", "dqr"), ("target_qdd_3", "ddqr"),
        ("desired_velocity_3", "dqr"), ("q_des3", "qr"), ("cmd_pos_3", "qr"), ("ddq3", "ddq"), ("qddot_3", "ddq"), ("q_dot_3", "dq"),
        ("A3_pos", "q"), ("A3_torque", "tau"), ("jointpos_3", "q"), ("jointvelocity_3", "dq"), ("jointtorque_3", "tau"),
        ("joint_temperature_3", "temp"), ("temp_3", "temp"), ("ql3", "ql"),
    ],
)  # fmt: skip
def test_meaning(name: str, symbol: str) -> None:
    found = meaning(name)
    assert found is not None
    assert (found.symbol, found.number) == (symbol, 3)


@pytest.mark.parametrize("name", ["target_current_3", "target_moment_3", "actual_TCP_pose_3", "q", "q1_2", "tool_3"])
def test_names_of_something_else(name: str) -> None:
    assert meaning(name) is None


def test_topics_that_differ_in_more_than_the_joint(tmp_path: Path) -> None:
    """A word before the last topic still counts: references are no measured positions."""
    topics = ("reference/positions", "feedback/positions", "feedback/efforts")
    log = read_log(table(tmp_path / "a.csv", ["__time", *(f"/jtc/state/{topic}[{j}]" for topic in topics for j in range(2))]))
    assert {symbol: list(values[0]) for symbol, values in log.signals.items()} == {"qr": [1, 2], "q": [3, 4], "tau": [5, 6]}


@pytest.mark.parametrize(
    ("text", "name", "unit"),
    [("q1 [deg]", "q1", "deg"), ("q1 (°)", "q1", "°"), ("q1_deg", "q1", "deg"), ("time_ms", "time", "ms"), ("t_s", "t", "s"),
     ("q[1]", "q[1]", ""), ("tau_m", "tau_m", ""), ("dq1[rad/s]", "dq1", "rad/s"), ("q_1", "q_1", "")],
)  # fmt: skip
def test_units_in_headers(text: str, name: str, unit: str) -> None:
    header = take_apart(text)
    assert (header.name, header.unit) == (name, unit)


@pytest.mark.parametrize(
    "pattern", ["{}_pos", "{}/position", "position_{}", "{}.angle", "/joint_states/{}/position", "/a1/js/{}/position"]
)
def test_joint_names(tmp_path: Path, pattern: str) -> None:
    """Joints are found by name whatever their order, the longest name first."""
    names = ["wrist", "wrist_1", "elbow"]
    header = ["t", *(pattern.format(name) for name in ("elbow", "wrist_1", "wrist"))]
    log = read_log(table(tmp_path / "a.csv", header), joints=names)
    np.testing.assert_allclose(log.need("q")[0], [3, 2, 1])


def test_one_joint_needs_no_number(tmp_path: Path) -> None:
    log = read_log(table(tmp_path / "a.csv", ["t", "q", "tau"]))
    np.testing.assert_allclose(log.need("q")[0], [1])
    assert log.n == 1


def test_card_columns(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", ["clk", "a_x0", "a_x1", "m one", "m two", "q1", "q2"])
    log = read_log(path, columns={"t": "clk", "q": "a_x{}", "tau": ("m one", "m two")})
    np.testing.assert_allclose(log.need("q")[0], [1, 2])
    np.testing.assert_allclose(log.need("tau")[0], [3, 4])
    with pytest.raises(InputError, match=r"the column 'b_1' that the card names for q is not there; the file has: clk, a_x0"):
        read_log(path, columns={"t": "clk", "q": "b_{}"})
    with pytest.raises(InputError, match="the column 'clock' that the card names for t"):
        read_log(path, columns={"t": "clock"})


def test_two_readings_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"both 'q1' and 'pos_1' look like the position of joint 1; say in the card"):
        read_log(table(tmp_path / "a.csv", ["t", "q1", "pos_1", "tau1"]))
    with pytest.raises(FileError, match=r"has 2 clocks: 'time', 'stamp'"):
        read_log(table(tmp_path / "b.csv", ["time", "stamp", "q1"]))


def test_q_d_is_settled_by_a_velocity_beside_it(tmp_path: Path) -> None:
    log = read_log(table(tmp_path / "a.csv", ["t", "q1", "q_d1", "dq1"]))
    np.testing.assert_allclose(log.reference[0], [2])  # type: ignore[index]
    log = read_log(table(tmp_path / "b.csv", ["t", "q1", "q_d1", "tau1"]))
    assert set(log.signals) == {"q", "tau"}
    assert any("q_d1" in warning and "columns:" in warning for warning in log.warnings)


def test_nothing_recognised(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no column is recognised as a joint's position.*the file has: t, a, b; say in the card"):
        read_log(table(tmp_path / "a.csv", ["t", "a", "b"]))
    with pytest.raises(FileError, match=r"no column is recognised as the clock; the file has: x, q1"):
        read_log(table(tmp_path / "b.csv", ["x", "q1", "q2"]))


def test_no_clock_but_a_rate(tmp_path: Path) -> None:
    log = read_log(table(tmp_path / "a.csv", ["x", "q1", "q2"]), rate=4.0)
    np.testing.assert_array_equal(log.t, np.arange(5) / 4.0)
    assert any("4 Hz" in note for note in log.notes)


def test_more_joints_than_the_robot(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", ["t", "q1", "q2", "q3"])
    with pytest.raises(FileError, match="'q3' belongs to joint number 3, but there are 2 joints"):
        read_log(path, joints=("a", "b"))


def test_joint_without_a_column_is_nan_and_said(tmp_path: Path) -> None:
    log: Log = read_log(table(tmp_path / "a.csv", ["t", "q1", "q2", "tau1"]))
    assert np.isnan(log.need("tau")[:, 1]).all()
    assert not log.mask.any()
    assert any("no torque (tau) of joint_2" in note for note in log.notes)
