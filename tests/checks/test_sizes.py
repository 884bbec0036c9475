"""Numbers that no robot makes end in a sentence: torques and gravity of absurd size, spikes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.estimators.simulated import exact_motion

import inertica as ia
from inertica.checks.signal_checks import spikes
from inertica.errors import InerticaError
from inertica.logs.log import Log

ROBOT = "planar2"


def log_of(scale: float = 1.0, spike: float = 0.0, rows: int = 600) -> Log:
    motion = exact_motion(ia.load(ROBOT).prior, seed=1, duration=rows / 100.0, amplitude=0.3)
    rng = np.random.default_rng(0)
    q = motion.q[:rows] + 1e-5 * rng.normal(size=(rows, 2))
    q[400, 1] += spike
    return Log.from_arrays(motion.t[:rows], {"q": q, "tau": scale * motion.tau_raw[:rows]})


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e100, 1e300])
def test_torques_of_absurd_size_are_named(scale: float) -> None:
    log = log_of(scale)
    (found,) = ia.check(ROBOT, [log]).problems
    assert found.name == ("torque size" if scale == 1e-9 else "sizes") and "unit" in found.advice
    for force in (False, True):  # there is nothing in such a log that a fit could be forced to find
        with pytest.raises(InerticaError, match="torque") as stop:
            ia.identify(ROBOT, [log], force=force)
        assert "option force" not in str(stop.value)


@pytest.mark.parametrize("size", [10.0, 1e8, 1e30, 1e300])
def test_a_spike_is_named_with_row_and_joint(size: float) -> None:
    log = log_of(spike=size)
    found = ia.check(ROBOT, [log]).of("spikes")[0]
    assert found.verdict == "problem" and "joint 2" in found.text and "row 401" in found.text
    assert found.numbers["spikes"][0]["size"] == pytest.approx(size, rel=0.05)  # type: ignore[index]
    with pytest.raises(InerticaError, match="joint 2, row 401" if size > 1e50 else r"joint 2 .* row 401"):
        ia.identify(ROBOT, [log])
    left_out = Log.from_arrays(log.t, {"q": np.where(np.arange(600)[:, None] == 400, np.nan, log.q), "tau": log.tau})
    assert not ia.check(ROBOT, [left_out.with_mask(np.arange(600) == 400, "missing value")]).of("spikes")


@pytest.mark.parametrize("size", [1e5, 1e30, 1e300])
def test_a_spike_of_torque_is_named_with_row_and_joint(size: float) -> None:
    log = log_of()
    tau = np.array(log.tau)
    tau[400, 1] = -size
    log = Log.from_arrays(log.t, {"q": log.q, "tau": tau})
    found = ia.check(ROBOT, [log]).of("spikes")[0]
    assert found.verdict == "problem" and "torque of joint 2" in found.text and "row 401" in found.text
    assert found.numbers["spikes"][0]["size"] == pytest.approx(size, rel=0.05)  # type: ignore[index]
    with pytest.raises(InerticaError, match="joint 2, row 401" if size > 1e50 else r"joint 2 .* row 401"):
        ia.identify(ROBOT, [log])


def test_torque_that_jumps_is_no_spike() -> None:
    log = log_of()
    glitch, square, contact = (np.array(log.tau) for _ in range(3))
    glitch[400, 1] += 5.0 * np.ptp(glitch[:, 1])  # one wild sample of many, which a fit bears
    square[:, 0] += 50.0 * np.sign(np.sin(20.0 * log.t))
    contact[300:310, 1] += 1e4  # longer than a sample
    for tau in (glitch, square, contact):
        assert spikes(Log.from_arrays(log.t, {"q": log.q, "tau": tau})) is None


def test_motion_steps_and_noise_are_no_spikes() -> None:
    log = log_of()
    rng = np.random.default_rng(1)
    step = log.q + np.where(np.arange(600) < 300, 0.0, 5.0)[:, None]  # jumps and stays
    noisy = log.q + 0.1 * rng.normal(size=log.q.shape)
    rough = np.round(log.q / 0.05) * 0.05
    heavy = log.q + 1e-3 * rng.standard_t(2, size=log.q.shape)
    parked = np.column_stack([log.q[:, 0], np.zeros(600)])
    for q in (log.q, step, noisy, rough, heavy, parked):
        assert spikes(Log.from_arrays(log.t, {"q": q, "tau": log.tau})) is None


@pytest.mark.parametrize("gravity", [1e100, 1e300])
def test_gravity_of_absurd_size(gravity: float) -> None:
    with pytest.raises(InerticaError, match=r"gravity of 0 0 -1e.* cannot be computed with"):
        ia.load("tx40").with_gravity((0.0, 0.0, -gravity))
