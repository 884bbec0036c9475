"""Units, gears, couplings, currents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.errors import InputError
from inertica.logs import read_log
from inertica.logs.convert import joint_side

N = np.array([[32.0, 0.0, 0.0], [0.0, -45.0, 0.0], [0.0, 30.0, 30.0]])
OFFSET = np.array([0.0, -1.5, 0.3])


def card(folder: Path, **keys: object) -> ia.Description:
    lines = [f"{key}: {value}" for key, value in keys.items()]
    (folder / "card.yaml").write_text("model: planar2\n" + "\n".join(lines) + "\n")
    return ia.load(folder / "card.yaml")


def csv(path: Path, header: str, *rows: tuple[float, ...]) -> Path:
    path.write_text(header + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows))
    return path


def test_power_is_the_same_on_both_sides() -> None:
    """tau' dq = tau_motor' dtheta whatever the matrix, and q comes back from theta = N (q - q_off)."""
    rng = np.random.default_rng(1)
    q, dq, taum = rng.normal(size=(3, 20, 3))
    out = joint_side({"theta": (q - OFFSET) @ N.T, "dtheta": dq @ N.T, "taum": taum}, N, OFFSET)
    np.testing.assert_allclose(out["q"], q, atol=1e-13)
    np.testing.assert_allclose(out["dq"], dq, atol=1e-13)
    np.testing.assert_allclose((out["tau"] * dq).sum(1), (taum * (dq @ N.T)).sum(1), rtol=1e-12)


def test_missing_motor_spoils_only_its_own_joints() -> None:
    theta = np.ones((2, 3))
    theta[0, 0] = np.nan
    theta[1, 1] = np.nan
    q = joint_side({"theta": theta}, N)["q"]
    np.testing.assert_array_equal(np.isnan(q), [[True, False, False], [False, True, True]])


def test_degrees_in_headers(tmp_path: Path) -> None:
    path = csv(
        tmp_path / "a.csv", "t,q1 [deg],q2 [rad],dq1_deg/s,tau1 [mNm]", (0.0, 180.0, 1.0, 90.0, 500.0), (1.0, 0.0, 1.0, 0.0, 0.0)
    )
    log = read_log(path)
    np.testing.assert_allclose(log.need("q")[0], [np.pi, 1.0])
    np.testing.assert_allclose(log.need("tau")[0, 0], 0.5)
    np.testing.assert_array_equal([c.samples[0] for c in log.channels if c.symbol == "q"], [180.0, 1.0])
    assert [c.unit for c in log.channels if c.symbol == "q"] == ["deg", "rad"]


def test_degrees_by_option_and_the_warning_without(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "t,q1,q2", (0.0, 90.0, 1.0), (1.0, 45.0, 1.0))
    assert any("joint_1 (90) but not of the other joints exceed two revolutions" in w for w in read_log(path).warnings)
    np.testing.assert_allclose(read_log(path, units={"q": "deg"}).need("q")[0], [np.pi / 2, np.pi / 180])
    with pytest.raises(InputError, match="no known unit of angle"):
        read_log(path, units={"q": "kg"})
    with pytest.raises(InputError, match="units cannot be stated for 'x'"):
        read_log(path, units={"x": "deg"})


def test_currents_through_gains(tmp_path: Path) -> None:
    robot = card(tmp_path, torque="{from: current, gain: [10, 5]}")
    log = read_log(csv(tmp_path / "a.csv", "t,q1,q2,i1,i2", (0.0, 0.0, 0.0, 2.0, -1.0), (1.0, 0.0, 0.0, 1.0, 1.0)), robot)
    np.testing.assert_array_equal(log.tau, [[20.0, -5.0], [10.0, 5.0]])
    np.testing.assert_array_equal(log.current, [[2.0, -1.0], [1.0, 1.0]])


def test_effort_is_current_when_the_card_says_so(tmp_path: Path) -> None:
    robot = card(tmp_path, torque="{from: current, gain: [10, 5]}")
    log = read_log(
        csv(tmp_path / "a.csv", "t,q1,q2,effort1,effort2", (0.0, 0.0, 0.0, 2.0, -1.0), (1.0, 0.0, 0.0, 1.0, 1.0)), robot
    )
    np.testing.assert_array_equal(log.tau, [[20.0, -5.0], [10.0, 5.0]])
    torques = read_log(csv(tmp_path / "b.csv", "t,q1,q2,tau1,tau2", (0.0, 0.0, 0.0, 2.0, -1.0), (1.0, 0.0, 0.0, 1.0, 1.0)), robot)
    np.testing.assert_array_equal(torques.tau, [[2.0, -1.0], [1.0, 1.0]])
    assert any("holds torques and no current" in note for note in torques.notes)


def test_motor_side_with_motor_currents(tmp_path: Path) -> None:
    """With a transmission, gains give motor torques, which go through N' to the joints."""
    robot = card(tmp_path, torque="{from: current, gain: [2, 3]}", transmission="[[10, 0], [5, 5]]")
    path = csv(tmp_path / "a.csv", "t,theta1,theta2,i1,i2", (0.0, 10.0, 10.0, 1.0, 1.0), (1.0, 0.0, 0.0, 0.0, 0.0))
    log = read_log(path, robot, offset=[0.5, 0.0])
    np.testing.assert_allclose(log.need("q")[0], [1.5, 1.0])
    np.testing.assert_allclose(log.need("tau")[0], [10 * 2 + 5 * 3, 5 * 3])
    assert {"theta", "taum", "i", "q", "tau"} == set(log.signals)


def test_motor_side_without_a_transmission_is_said(tmp_path: Path) -> None:
    log = read_log(csv(tmp_path / "a.csv", "t,theta1,taum1", (0.0, 1.0, 2.0), (1.0, 1.0, 2.0)))
    assert any("the card states no transmission" in w for w in log.warnings)
    with pytest.raises(InputError, match=r"has no position \(q\), only theta, taum"):
        log.need("q")


def test_theta_beside_the_torque_of_joints_is_their_position(tmp_path: Path) -> None:
    rows = (0.0, 1.0, 5.0, 2.0), (1.0, 1.0, 5.0, 2.0)
    log = read_log(csv(tmp_path / "a.csv", "t,theta1,dtheta1,tau1", *rows))
    assert set(log.signals) == {"q", "dq", "tau"} and log.need("q")[0] == [1.0]
    assert any("theta is taken for the position of the joints" in w for w in log.warnings)


def test_card_columns_are_used(tmp_path: Path) -> None:
    robot = card(tmp_path, columns="{t: clk, q: 'a_{}', tau: [m1x, m2x]}")
    log = read_log(csv(tmp_path / "a.csv", "clk,a_1,a_2,m1x,m2x", (0.0, 1.0, 2.0, 3.0, 4.0), (1.0, 1.0, 2.0, 3.0, 4.0)), robot)
    np.testing.assert_array_equal(log.need("q")[0], [1.0, 2.0])
    np.testing.assert_array_equal(log.need("tau")[0], [3.0, 4.0])
    assert log.joints == robot.robot.joint_names
