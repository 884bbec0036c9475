"""Rows near reversals take part where they hold the torque, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lsim, lti

import inertica as ia
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.identifiability.base import base_model
from inertica.logs.log import Log
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.plain import assumed_friction
from inertica.workflow.decisions.filter import choose_filter, recipe_for, search_start
from inertica.workflow.decisions.rows import choose_filter_and_rows, torque_share

SERVO = """<robot name="servo"><link name="case"/>
<link name="horn"><inertial><mass value="0.02"/><inertia ixx="2e-6" ixy="0" ixz="0" iyy="2e-6" iyz="0" izz="4e-6"/></inertial></link>
<joint name="servo" type="revolute"><parent link="case"/><child link="horn"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="10" velocity="6"/></joint></robot>"""

INERTIA, VISCOUS = 0.005, 0.07
COUNT = 2.0 * np.pi / 4096.0


@pytest.fixture
def servo(tmp_path: Path) -> Path:
    path = tmp_path / "servo.urdf"
    path.write_text(SERVO)
    return path


def stepping(rng: np.random.Generator, seconds: float = 20.0) -> Log:
    """A servo that rings after every step of a few counts and then rests: its torque is where its velocity changes sign."""
    fine = np.arange(0.0, seconds, 1e-3)
    command = np.repeat(rng.uniform(-0.06, 0.06, int(seconds / 0.8) + 1), 800)[: len(fine)]
    w, d = 2.0 * np.pi * 5.0, 0.2
    _, _, state = lsim(lti([[0.0, 1.0], [-w * w, -2.0 * d * w]], [[0.0], [w * w]], np.eye(2), np.zeros((2, 1))), command, fine)
    q, dq = state.T
    ddq = w * w * (command - q) - 2.0 * d * w * dq
    tau = INERTIA * ddq + VISCOUS * dq + 0.02 * rng.standard_normal(len(fine))
    at = slice(None, None, 10)
    return Log.from_arrays(fine[at], {"q": COUNT * np.rint(q[at] / COUNT)[:, None], "tau": tau[at, None]}, ("servo",))


def creeping(rng: np.random.Generator, seconds: float = 40.0) -> Log:
    """A servo that sticks and slips along a slow triangle: while it sticks, its torque is what the controller makes of the error."""
    fine = np.arange(0.0, seconds, 1e-3)
    command = np.cumsum(0.03 * np.sign(np.sin(2.0 * np.pi * fine / 10.0))) * 1e-3
    q, dq, ddq = np.zeros((3, len(fine)))
    slip, at, position = 0.12, 0, 0.0
    share = np.arange(int(1e3 * slip)) / int(1e3 * slip)
    while at < len(fine):
        start = at + int(1e3 * rng.uniform(0.3, 0.5))
        q[at:start] = position
        during = slice(min(start, len(fine)), min(start + len(share), len(fine)))
        way, s = command[min(start, len(fine) - 1)] - position, share[: during.stop - during.start]
        q[during] = position + way * (s - np.sin(2.0 * np.pi * s) / (2.0 * np.pi))
        dq[during] = way / slip * (1.0 - np.cos(2.0 * np.pi * s))
        ddq[during] = way / slip**2 * 2.0 * np.pi * np.sin(2.0 * np.pi * s)
        position, at = position + way, start + len(share)
    tau = INERTIA * ddq + VISCOUS * dq + 3.0 * (command - q) + 0.003 * rng.standard_normal(len(fine))
    rows = slice(None, None, 10)
    return Log.from_arrays(fine[rows], {"q": COUNT * np.rint(q[rows] / COUNT)[:, None], "tau": tau[rows, None]}, ("servo",))


def sliding(rng: np.random.Generator) -> Log:
    """The same servo on a sine: away from its reversals it has most of its torque."""
    t = np.arange(0.0, 20.0, 0.01)
    w = 2.0 * np.pi * 0.4
    q, dq, ddq = 1.2 * np.sin(w * t), 1.2 * w * np.cos(w * t), -1.2 * w * w * np.sin(w * t)
    tau = INERTIA * ddq + VISCOUS * dq + 0.3 * np.sign(dq) + 0.01 * rng.standard_normal(len(t))
    return Log.from_arrays(t, {"q": q[:, None], "tau": tau[:, None]}, ("servo",))


def test_every_row_where_the_torque_is_near_reversals(servo: Path) -> None:
    log = stepping(np.random.default_rng(1))
    assumed = assumed_friction(ia.load(str(servo)))
    recipe, choice = choose_filter_and_rows(assumed, base_model(assumed.layout), [log], Recipe(), lambda _: None)
    assert recipe.reversal is None and recipe.standstill is None
    assert choice.value.startswith("every row") and "of the squared torque" in choice.sentence
    result = ia.identify(str(servo), [log], quick=True)
    found = dict(zip(result.estimate.base.names, result.estimate.beta, strict=True))
    assert found["ZZ1"] == pytest.approx(INERTIA, rel=0.15)
    assert found["Fv1"] == pytest.approx(VISCOUS, rel=0.3)


def test_a_drive_that_sticks_and_slips_is_not_its_controller(servo: Path) -> None:
    """A fit below 2 Hz predicts best in all rows, and its inertia is 20 times too large: that of the controller's spring."""
    result = ia.identify(str(servo), [creeping(np.random.default_rng(1))], quick=True)
    found = dict(zip(result.estimate.base.names, result.estimate.beta, strict=True))
    assert INERTIA / 2.0 < found["ZZ1"] < 2.0 * INERTIA


def test_usual_rows_where_they_hold_the_torque(servo: Path) -> None:
    log = sliding(np.random.default_rng(2))
    assumed = assumed_friction(ia.load(str(servo)))
    base = base_model(assumed.layout)
    both = [choose(assumed, base, [log], Recipe(), lambda _: None) for choose in (choose_filter, choose_filter_and_rows)]
    assert both[0] == both[1] and both[0][0].reversal is not None


def test_torque_beyond_the_bandwidth_counts_as_left_out(servo: Path) -> None:
    t = np.arange(0.0, 40.0, 0.01)
    slow, fast = 2.0 * np.pi * 0.4, 2.0 * np.pi * 6.0
    assumed = assumed_friction(ia.load(str(servo)))
    base = base_model(assumed.layout)
    shares = []
    for ringing in (0.0, 0.004):  # rad, which the position hardly shows
        q = 0.2 * np.sin(slow * t) + ringing * np.sin(fast * t)
        dq = 0.2 * slow * np.cos(slow * t) + ringing * fast * np.cos(fast * t)
        ddq = -0.2 * slow**2 * np.sin(slow * t) - ringing * fast**2 * np.sin(fast * t)
        tau = INERTIA * ddq + VISCOUS * dq
        log = Log.from_arrays(t, {"q": q[:, None], "tau": tau[:, None]}, ("servo",))
        narrow = recipe_for(2.0 * search_start([log], base).band, log.rate, Recipe())
        shares.append(torque_share(Problem(base, (prepare(log, narrow),), assumed.prior), 20.0))
    # squares of the torque: 0.2 slow VISCOUS for the sine; ringing fast sqrt(VISCOUS^2 + (INERTIA fast)^2) for the rest
    ratio = (0.004 * fast * np.hypot(VISCOUS, INERTIA * fast)) ** 2 / (0.2 * slow * np.hypot(VISCOUS, INERTIA * slow)) ** 2
    assert shares[0] > 0.7
    assert shares[1] == pytest.approx(shares[0] / (1.0 + ratio), rel=0.1)
    assert shares[1] < 0.5


def test_a_joint_that_rests_is_still_refused(servo: Path) -> None:
    rng = np.random.default_rng(3)
    log = Log.from_arrays(
        np.arange(0.0, 10.0, 0.01),
        {"q": COUNT * np.rint(0.4 + 0.2 * rng.standard_normal((1000, 1))), "tau": 0.1 * rng.standard_normal((1000, 1))},
        ("servo",),
    )
    with pytest.raises(InputError):
        ia.identify(str(servo), [log])
