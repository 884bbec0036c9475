"""`inertica dynamics`: the parts of the torque of a planar arm against its textbook formulas."""

import json

import numpy as np

import inertica as ia
from inertica.cli.main import main


def test_a_two_joint_arm_by_its_textbook_formula(capsys):
    """Two parallel axes: M12 - M22 = l c2 MX2 - l s2 MY2, C from its derivative h along q2."""
    q, dq, ddq = (0.4, -0.9), (1.3, -0.7), (2.0, 3.0)
    assert main(["dynamics", "scara2", "--at=" + ",".join(map(str, (*q, *dq, *ddq))), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    robot = ia.load("scara2")
    length = float(np.linalg.norm(robot.robot.joints[1].position))
    c, s = np.cos(q[1]), np.sin(q[1])
    MX, MY = robot.prior["MX2"], robot.prior["MY2"]
    M, C = np.array(found["M"]), np.array(found["C"])
    h = -length * (s * MX + c * MY)
    np.testing.assert_allclose(M[0, 1] - M[1, 1], length * (c * MX - s * MY), atol=1e-12)
    np.testing.assert_allclose(C, [[h * dq[1], h * (dq[0] + dq[1])], [-h * dq[0], 0.0]], atol=1e-12)
    parts = (found[key] for key in ("inertial", "coriolis", "gravity", "friction", "other"))
    np.testing.assert_allclose(np.sum([*parts], axis=0), found["tau"], rtol=1e-12)
    from_python = ia.dynamics_at("scara2", q, dq, ddq)
    np.testing.assert_array_equal(from_python.tau, found["tau"])


def test_a_wrong_count_of_numbers_is_one_sentence(capsys):
    assert main(["dynamics", "scara2", "--at=1,2,3"]) == 2
    assert "scara2 has 2 joints" in capsys.readouterr().err


def test_text(capsys):
    assert main(["dynamics", "scara2", "--at=1,2"]) == 0
    assert "Coriolis matrix" in capsys.readouterr().out
