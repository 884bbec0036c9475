"""The verdict: three levels by fixed conditions, judged joint by joint while joints move, with one next step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.signal import butter, filtfilt

import pair
from inertica.dynamics.engine import Engine
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.robot.load import load
from inertica.validation.residuals import Moving, Relative, Residual
from inertica.workflow.hold_out import STRETCHES, HoldOut
from inertica.workflow.identify import identify
from inertica.workflow.verdict import BAD, DOUBTFUL, GOOD, verdict

OPTIONS = {"method": "pc-wls", "cutoff": 10.0, "delay": 0.0, "friction": ("viscous", "coulomb")}


def figures(error, torque, noise):
    moving = Moving(tuple(error), tuple(torque), tuple(noise), (0.05, 0.06))
    shares = tuple(e / t for e, t in zip(error, torque, strict=True))
    return Residual(Relative(shares, moving.all), Relative(shares, moving.all), 0.0, 0.1, 10, moving=moving)


def judged(error, torque, noise=(0.0, 0.0), own=None, name="run2.csv", **changes):
    possible = replace(pair.identified(), parameters=pair.identified().description.prior)
    sets = {"identification": own or figures(error, torque, noise), name: figures(error, torque, noise)}
    return verdict(replace(possible, residuals=sets, **changes))


def test_three_levels():
    assert judged((0.5, 0.05), (10.0, 1.0)).level == GOOD
    assert judged((2.5, 0.05), (10.0, 1.0)).level == DOUBTFUL
    assert judged((9.0, 0.9), (10.0, 1.0)).level == BAD


def test_a_joint_missed_by_ten_times_its_torque_is_never_good():
    """A sum over joints hides it; noise of the torque, however large, does not excuse it."""
    for noise in (0.0, 0.1, 5.0):
        said = judged((0.5, 1.0), (100.0, 0.1), (0.0, noise))
        assert said.level == DOUBTFUL and "joint 2" in said.next and "Joint 2 is predicted badly" in said.sentence


def test_a_joint_below_its_noise_does_not_decide():
    said = judged((0.5, 0.1), (10.0, 0.1), (0.1, 0.1))
    assert said.level == GOOD and "torque of joint 2 is hardly above its noise" in said.sentence


def test_a_joint_that_does_not_move_does_not_decide():
    assert judged((0.5, np.nan), (10.0, np.nan)).level == GOOD


def test_a_model_of_which_little_is_determined_is_for_motions_like_these():
    labels = pair.identified().labels
    assert judged((0.5, 0.05), (10.0, 1.0)).next.startswith("use the model: ")
    said = judged((0.5, 0.05), (10.0, 1.0), labels=dict.fromkeys(labels, "weak"))
    assert said.level == GOOD and f"only 0 of {len(labels)} parameters" in said.next and "inertica excite" in said.next


def test_carrying_over_and_the_next_steps():
    own = figures((0.2, 0.02), (10.0, 1.0), (0.0, 0.0))
    said = judged((1.0, 0.1), (10.0, 1.0), own=own)
    assert said.level == DOUBTFUL and "carry over" in said.headline and "inertica excite" in said.next
    assert judged((0.4, 0.04), (10.0, 1.0), own=figures((0.1, 0.01), (10.0, 1.0), (0.0, 0.0))).level == GOOD  # 4 %, from 1 %
    assert "--validate" in judged((0.5, 0.05), (10.0, 1.0), name="hold-out").next
    assert "export" in judged((0.5, 0.05), (10.0, 1.0)).next
    assert "inertica check" in judged((9.0, 0.9), (10.0, 1.0)).next
    alone = replace(pair.identified(), residuals={"identification": figures((0.5, 0.05), (10.0, 1.0), (0.0, 0.0))})
    assert verdict(replace(alone, parameters=alone.description.prior)).headline == "Not validated"


def test_what_others_found_enters():
    problem = {"findings": [{"name": "signs", "verdict": "problem", "text": "joint 2 turns the other way", "advice": "flip it"}]}
    said = judged((0.5, 0.05), (10.0, 1.0), check=problem)
    assert said.level == DOUBTFUL and said.next == "flip it" and "Joint 2 turns the other way." in said.sentence
    fit = {"findings": [{"joint": 1, "sentence": "friction of joint 1 drifts", "next": "warm the robot up"}]}
    said = judged((0.5, 0.05), (10.0, 1.0), lack_of_fit=fit)
    assert said.level == DOUBTFUL and said.next == "warm the robot up"
    assert judged((0.5, 0.05), (10.0, 1.0), check={"findings": []}, lack_of_fit={"findings": []}).level == GOOD
    prior = pair.identified().description.prior
    body = prior.layout.link(1)
    values = np.array(prior.values)
    values[body] *= 12.0  # a body of the same shape, twelve times as dense
    heavy = verdict(
        replace(pair.identified(), parameters=prior.with_values(values), intervals=np.tile([-99.0, 99.0], (len(values), 1)))
    )
    assert heavy.level == DOUBTFUL and "link 2 comes out at 12 kg" in heavy.next and "constraints:" in heavy.next


def test_impossible_links_are_not_good():
    impossible = replace(pair.identified(), parameters=pair.identified().parameters.replaced({"ZZ2": 9.0}))
    said = verdict(impossible)
    assert said.level == DOUBTFUL and "pc-wls" in said.next


@pytest.fixture(scope="module")
def resting_at_the_end() -> Log:
    """A good log that comes to rest after two thirds, where dry friction then takes any value inside its band."""
    robot = load(pair.folder() / "pair.urdf")
    log = read_log(pair.folder() / "run1.csv", robot)
    t = np.arange(1800) / pair.RATE
    slowing = np.clip((t - 5.0) / 1.0, 0.0, 1.0)
    faded = (1.0 - slowing**3 * (10.0 - 15.0 * slowing + 6.0 * slowing**2))[:, None]
    moving = np.vstack([log.need("q"), np.zeros((600, 2))]) * faded
    path = CubicSpline(t[::10], filtfilt(*butter(3, 0.05), moving, axis=0)[::10])
    q, dq, ddq = (path(t, order) for order in (0, 1, 2))
    rng = np.random.default_rng(5)
    tau = Engine(robot.layout).inverse_dynamics(q, np.where(faded > 0.0, dq, 0.0), ddq, robot.prior)
    tau = np.where(faded > 0.0, tau, tau + np.array([0.7, -0.25])) + 0.02 * rng.normal(size=q.shape)
    return Log.from_arrays(t, {"q": q + 1e-6 * rng.normal(size=q.shape), "tau": tau}, log.joints)


def test_standstill_at_the_end_of_a_good_log_does_not_condemn_it(resting_at_the_end):
    result = identify(pair.folder() / "pair.urdf", [resting_at_the_end], **OPTIONS)
    said = verdict(result)
    assert said.level == GOOD, said
    assert result.residuals["hold-out"].moving.all < 0.05 and len(result.residuals["hold-out"].moving.blocks) == STRETCHES


def test_what_is_left_out_moves_and_is_spread_over_the_log(resting_at_the_end):
    result = identify(pair.folder() / "pair.urdf", [resting_at_the_end], **OPTIONS)
    motion = result.motion(resting_at_the_end)
    (mask,) = HoldOut.of([motion]).masks
    moving = ~motion.resting.all(axis=1)
    assert np.count_nonzero(mask & moving) == pytest.approx(0.2 * np.count_nonzero(moving), rel=0.02)
    assert np.count_nonzero(mask & ~moving) < 0.05 * np.count_nonzero(mask)
    starts = np.flatnonzero(np.diff(mask.astype(int)) == 1)
    assert len(starts) == STRETCHES and np.ptp(starts) > 0.7 * np.ptp(np.flatnonzero(moving))
    (rest,) = HoldOut((mask,)).rest([motion])
    assert not np.any(~rest.mask & mask)


def test_a_joint_that_moves_seldom_keeps_its_motion_in_the_fit():
    """Joint 2 moves only in the middle of the log's third stretch: another fifth is left out."""
    result = pair.identified()
    motion = result.motion(pair.logs()["identification"][0])
    resting = np.array(motion.resting)
    resting[:, 0] = False
    n = len(motion)
    resting[:, 1] = True
    resting[int(0.49 * n) : int(0.51 * n), 1] = False
    seldom = replace(motion, resting=resting)
    (mask,) = HoldOut.of([seldom]).masks
    assert not np.any(mask & ~resting[:, 1])
